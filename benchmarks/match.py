"""`partwhole match` as a user runs it: from files to a written map, wall time and peak memory of the whole program.

python benchmarks/match.py --model any-pose default [--large] [--brief] [--threads 2]

A body of 5000 vertices and a part of 3000 in another pose, first with an empty cache; then another part of it, so that the
whole is known; then the same again, which is answered from the cache; and parts in a list, one after the other. With --large
a scan of 200 000 vertices against a template of 50 000. --brief: only the first time. Of several models, one after the other
in the same run, cores' seconds can be compared on a machine that has other work, too.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import partwhole as pw
from recording import heading, table


def subdivided(mesh: pw.Mesh) -> pw.Mesh:
    """Each triangle in four."""
    edges, opposite = mesh.edges, mesh.opposite_edges
    middles = mesh.vertices[edges].mean(axis=1)
    a, b, c = mesh.faces.T
    ab, bc, ca = (opposite[:, corner] + mesh.n_vertices for corner in (2, 0, 1))
    faces = np.concatenate([np.stack(corners, 1) for corners in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))])
    return pw.Mesh(np.concatenate([mesh.vertices, middles]), faces, name=mesh.name)


def write_pair(
    folder: Path, size: int, *, part_of: int, times: tuple[int, int], pose: int = 2
) -> tuple[Path, Path, str]:
    """A body in two poses; the part is cut out of one of them, with about so many vertices."""
    body = pw.datasets.make_body("biped", n_vertices=size, seed=1)
    scan, whole = body.pose(pose), body.pose(3)
    for _ in range(times[0]):
        scan = subdivided(scan)
    for _ in range(times[1]):
        whole = subdivided(whole)
    # lowest first, until so many are left
    height = np.sort(scan.vertices[:, 1])[max(scan.n_vertices - part_of, 1)]
    part = pw.datasets.cut_plane(scan, (0, height, 0), (0, 1, 0)).part
    files = folder / f"part{pose}.ply", folder / "whole.ply"
    for mesh, file in zip((part, whole), files, strict=True):
        pw.write_mesh(mesh, file)
    return *files, f"{part.n_vertices} / {whole.n_vertices}"


def run(words: list[str], *, cache: Path, threads: int) -> tuple[float, float, float]:
    """Wall seconds, seconds of all cores and peak GiB of the program."""
    surroundings = {**os.environ, "PARTWHOLE_CACHE": str(cache), "OMP_NUM_THREADS": str(threads)}
    start = time.perf_counter()
    child = os.posix_spawn(sys.executable, [sys.executable, "-m", "partwhole.cli.main", *words], surroundings)
    _, status, used = os.wait4(child, 0)
    wall = time.perf_counter() - start
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"partwhole {' '.join(words)} failed")
    return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 2**20


def listed(folder: Path, parts: list[Path], whole: Path, model: str, threads: int) -> list[str]:
    """A row for several parts of one whole in one run: what one more of them takes."""
    took = []
    for count in (1, len(parts)):
        names = folder / f"{count}.csv"
        names.write_text("part,whole\n" + "".join(f"{part.name},{whole.name}\n" for part in parts[:count]))
        words = ["match", "--pairs", str(names), "--model", model, "--output", str(folder / f"all{count}"), "--quiet"]
        took.append(run([*words, "--no-pictures", "--no-cache"], cache=folder / "none", threads=threads))
    more = len(parts) - 1
    wall, cores = ((took[1][place] - took[0][place]) / more for place in (0, 1))
    return ["one more in a list, no cache, no pictures", f"{wall:.1f}", f"{cores:.1f}", f"{took[1][2]:.2f}", ""]


def rows_of(model: str, folder: Path, given: argparse.Namespace) -> list[list[str]]:
    """The rows of one model."""
    rows = []

    def measured(name: str, part: Path, whole: Path, *, cache: str, extra: tuple[str, ...] = ()) -> None:
        out = folder / "out"
        words = ["match", str(part), str(whole), "--model", model, "--output", str(out), "--quiet", *extra]
        wall, cores, memory = run(words, cache=folder / cache, threads=given.threads)
        inside = json.loads((out / "summary.json").read_text())["seconds"]
        steps = ", ".join(f"{step} {seconds:.1f}" for step, seconds in inside.items())
        rows.append([model, name, f"{wall:.1f}", f"{cores:.1f}", f"{memory:.2f}", steps])

    without = ("--no-pictures",)
    part, whole, sizes = write_pair(folder, 5000, part_of=3000, times=(0, 0))
    measured(f"{sizes}, first time, without pictures", part, whole, cache="three", extra=without)
    if not given.brief:
        others = [write_pair(folder, 5000, part_of=3000, times=(0, 0), pose=pose)[0] for pose in (4, 5, 6, 7)]
        measured("another part, without pictures", others[0], whole, cache="three", extra=without)
        measured("the same again, without pictures", others[0], whole, cache="three", extra=without)
        measured(f"{sizes}, first time", part, whole, cache="one")
        measured("another part, known whole", others[0], whole, cache="one")
        measured("the same again", others[0], whole, cache="one")
        rows.append([model, *listed(folder, others, whole, model, given.threads)])
    if given.large:
        part, whole, sizes = write_pair(folder, 12_700, part_of=200_000, times=(2, 1))
        measured(f"{sizes}, first time, without pictures", part, whole, cache="two", extra=without)
        if not given.brief:
            measured(f"{sizes}, warm, without pictures", part, whole, cache="two", extra=without)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", nargs="+", default=["default"])
    parser.add_argument("--brief", action="store_true", help="only the first time, without pictures")
    parser.add_argument("--large", action="store_true", help="the scan of 200 000 vertices too")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    rows = []
    for model in given.model:
        with tempfile.TemporaryDirectory() as place:
            rows += rows_of(model, Path(place), given)
    print(f"{heading()}; {given.threads} threads, load {os.getloadavg()[0]:.1f}")
    print(table(["model", "part / whole vertices", "wall s", "cores s", "peak GiB", "steps, s"], rows))


if __name__ == "__main__":
    main()
