"""Cost against size, from 5k to 250k vertices: seconds of the processor and peak memory of what a large surface takes.

    python benchmarks/large.py [--sizes 5000 20000 50000 100000 250000] [--only WORD] [--plot FILE.png] [--json FILE]
        [--folder DIR]

A body is made with a quarter of the vertices and its triangles are split in four; the part is about six tenths of it. Each
measurement runs in a process of its own, whose peak memory is counted beyond what it held with the surfaces read; seconds are
of the processor, all threads together, so that they do not depend on what else runs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import partwhole as pw
from recording import heading, save, table

# sources of distances and of thresholds; vertices that the loss sees; rows of a step
ROWS, KEPT, SAMPLED = 256, 2000, 300
EIGENPAIRS = 200


def split_in_four(mesh: pw.Mesh) -> pw.Mesh:
    """A vertex in the middle of each edge."""
    middles = mesh.vertices[mesh.edges].mean(axis=1)
    a, b, c = mesh.faces.T
    # edge k of a face lies opposite its corner k
    opposite_a, opposite_b, opposite_c = (mesh.opposite_edges + mesh.n_vertices).T
    corners = [
        (a, opposite_c, opposite_b),
        (b, opposite_a, opposite_c),
        (c, opposite_b, opposite_a),
        (opposite_a, opposite_b, opposite_c),
    ]
    return pw.Mesh(
        np.concatenate([mesh.vertices, middles]), np.concatenate([np.stack(each, axis=1) for each in corners])
    )


def make_surfaces(size: int, folder: Path) -> Path:
    """A whole of about this size and a part of it, in units in which the whole has area 1."""
    path = folder / f"{size}.npz"
    if not path.exists():
        whole = split_in_four(pw.datasets.make_body("biped", size // 4, seed=1).rest)
        whole = whole.scaled(whole.area**-0.5)
        part = pw.datasets.random_cuts(whole, "pfaust-h", seed=1).part
        np.savez(path, wv=whole.vertices, wf=whole.faces, pv=part.vertices, pf=part.faces)
    return path


def distances(part: pw.Mesh, whole: pw.Mesh) -> Callable[[], object]:
    rows = np.linspace(0, part.n_vertices - 1, ROWS).astype(int)
    return lambda: pw.geodesic_distances(part, rows, dtype=np.float32)


def thresholds(part: pw.Mesh, whole: pw.Mesh) -> Callable[[], object]:
    rows = np.linspace(0, part.n_vertices - 1, ROWS).astype(int)
    D = pw.geodesic_distances(part, rows, dtype=np.float32)
    from_boundary = pw.geodesic_distances(part, part.boundary_vertices, dtype=np.float32)
    D.setflags(write=False)
    return lambda: pw.wormhole_criterion(part, D, rows=rows, from_boundary=from_boundary).soft_mask


def eigenpairs(part: pw.Mesh, whole: pw.Mesh) -> Callable[[], object]:
    from partwhole.spectral import eigenpairs as computed

    return lambda: computed(whole, EIGENPAIRS)


def _config() -> object:
    from partwhole.matching import TrainingConfig

    return TrainingConfig(
        distance_vertices=KEPT, rows=SAMPLED, map_eigenpairs=50, diffusion_eigenpairs=50, iterations=1, width=64
    )


def kept_distances(part: pw.Mesh, whole: pw.Mesh) -> Callable[[], object]:
    from partwhole.criterion import distances_among, wormhole_criterion
    from partwhole.matching.training.large.kept import spread_vertices

    def work() -> object:
        vertices, _ = spread_vertices(part, min(KEPT, part.n_vertices))
        return wormhole_criterion(part, distances_among(part, vertices)).soft_mask

    return work


def step(part: pw.Mesh, whole: pw.Mesh) -> Callable[[], object]:
    from partwhole.matching import prepare_pairs, train

    prepared = prepare_pairs([pw.datasets.Pair(part, whole)], _config())
    return lambda: train(prepared, _config())


def match(part: pw.Mesh, whole: pw.Mesh) -> Callable[[], object]:
    return lambda: pw.match(part, whole)


def mask(part: pw.Mesh, whole: pw.Mesh) -> Callable[[], object]:
    from partwhole.cli.main import main as command
    from partwhole.mesh.io import write_mesh

    def work() -> object:
        with tempfile.TemporaryDirectory() as folder:
            write_mesh(part, Path(folder) / "part.ply")
            words = ["mask", f"{folder}/part.ply", "--rows", str(ROWS), "--no-figure", "--quiet", "-o", f"{folder}/out"]
            assert command(words) == 0
            return None

    return work


STAGES = {
    f"distances, {ROWS} sources, part": distances,
    f"wormhole thresholds, {ROWS} rows, part": thresholds,
    f"{EIGENPAIRS} eigenpairs, whole": eigenpairs,
    f"distances and criterion among {KEPT} vertices, part": kept_distances,
    f"a step of training, {SAMPLED} rows": step,
    "match": match,
    f"partwhole mask --rows {ROWS}, part": mask,
}


def measure_here(stage: str, path: Path) -> None:
    """One stage in this process: prints seconds and megabytes."""
    with np.load(path) as held:
        part, whole = (pw.Mesh(held[f"{side}v"], held[f"{side}f"], name=side) for side in "pw")
    small = pw.datasets.sphere(2500)
    warm = pw.datasets.random_cuts(small.scaled(small.area**-0.5), "pfaust-h", seed=1)
    STAGES[stage](warm.part, warm.whole)()  # compiles and imports
    work = STAGES[stage](part, whole)
    # the high-water mark is set back to what the process holds now
    Path("/proc/self/clear_refs").write_text("5")
    before, start = resident("VmRSS"), time.process_time()
    work()
    print(json.dumps([time.process_time() - start, max(resident("VmHWM") - before, 0.0)]))


def resident(what: str) -> float:
    """Megabytes that Linux knows of this process."""
    line = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith(what))
    return int(line.split()[1]) / 1024


def measure(sizes: list[int], stages: list[str], folder: Path, patience: float) -> dict[str, dict[int, list[float]]]:
    found: dict[str, dict[int, list[float]]] = {}
    for size in sizes:
        path = make_surfaces(size, folder)
        for stage in stages:
            last = found.get(stage, {})
            if last and max(seconds for seconds, _ in last.values()) * size / max(last) > patience:
                continue
            command = [sys.executable, __file__, "--stage", stage, str(path)]
            run = subprocess.run(command, capture_output=True, text=True, check=False)
            if run.returncode:
                print(f"{stage} at {size}: {run.stderr.strip().splitlines()[-1]}", flush=True)
                continue
            found.setdefault(stage, {})[size] = json.loads(run.stdout.splitlines()[-1])
            seconds, megabytes = found[stage][size]
            print(f"{size}: {stage}: {seconds:.1f} s, {megabytes:.0f} MB", flush=True)
    return found


def plot(found: dict[str, dict[int, list[float]]], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 5.2), layout="constrained")
    seconds, memory = figure.subplots(1, 2)
    for name, points in found.items():
        sizes = list(points)
        seconds.loglog(sizes, [points[n][0] for n in sizes], "o-", label=name)
        memory.loglog(sizes, [points[n][1] for n in sizes], "o-")
    sizes = np.array(sorted({n for points in found.values() for n in points}))
    memory.loglog(sizes, 4 * sizes**2 / 2**20, "k:", label="one matrix of all pairs, float32")
    memory.legend(fontsize="small")
    seconds.set(xlabel="vertices of the whole", ylabel="seconds of the processor")
    memory.set(xlabel="vertices of the whole", ylabel="peak memory, MB")
    for axes in (seconds, memory):
        axes.grid(alpha=0.3)
    figure.legend(*seconds.get_legend_handles_labels(), fontsize="small", loc="outside lower center", ncols=3)
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", type=int, default=[5000, 20_000, 50_000, 100_000, 250_000])
    parser.add_argument("--patience", type=float, default=300.0, help="a stage that would take longer is left out")
    parser.add_argument("--only", default="", metavar="WORD", help="only stages with this word in their names")
    parser.add_argument("--folder", type=Path, help="where surfaces are kept for the next time")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", type=Path, help="write the numbers there as well")
    parser.add_argument("--stage", nargs=2, metavar=("STAGE", "FILE"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.stage:
        measure_here(given.stage[0], Path(given.stage[1]))
        return
    print(heading())
    with tempfile.TemporaryDirectory() as temporary:
        folder = given.folder or Path(temporary)
        folder.mkdir(exist_ok=True, parents=True)
        found = measure(given.sizes, [name for name in STAGES if given.only in name], folder, given.patience)
    rows = [
        [name, *("{:.1f} s, {:.0f} MB".format(*points[n]) if n in points else "" for n in given.sizes)]
        for name, points in found.items()
    ]
    print()
    print(table(["", *map(str, given.sizes)], rows))
    if given.plot:
        plot(found, given.plot)
    save(given.json, {"seconds and megabytes": found})


if __name__ == "__main__":
    main()
