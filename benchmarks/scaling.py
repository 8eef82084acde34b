"""Cost against size, from 1k to 50k vertices: distances per source, and one row of the threshold, beside others.

    python benchmarks/scaling.py [--sizes 1000 2000 5000 10000 20000 50000] [--plot FILE.png] [--json FILE]

The shape is an articulated body with holes, made here at about each size. Slow ways are run on fewer sources, and beyond
`--patience` seconds they are extrapolated by the slope of their last two points; the plot marks those with open circles.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import partwhole as pw
from distances import potpourri_fast_marching, pygeodesic_exact, scipy_dijkstra
from recording import heading, save, table


def boundary_pair_loop(from_boundary: np.ndarray, across: np.ndarray, seconds: float) -> float:
    """Seconds for one row of K in the way the paper's authors do it: every pair of boundary vertices in turn."""
    row = np.full(from_boundary.shape[1], np.inf, from_boundary.dtype)
    start, done = time.perf_counter(), 0
    for p in range(len(across)):
        for q in range(len(across)):
            np.minimum(row, from_boundary[p, 0] + across[p, q] + from_boundary[q], out=row)
            done += 1
        if time.perf_counter() - start > seconds:
            break
    return (time.perf_counter() - start) / done * len(across) ** 2


def threshold_rows(part: pw.Mesh, D: np.ndarray, from_boundary: np.ndarray, rows: np.ndarray) -> float:
    start = time.perf_counter()
    pw.wormhole_criterion(part, D, rows=rows, from_boundary=from_boundary)
    return (time.perf_counter() - start) / len(rows)


def per_source(work: Callable[[pw.Mesh, np.ndarray], object], mesh: pw.Mesh, rows: np.ndarray) -> float:
    start = time.perf_counter()
    work(mesh, rows)
    return (time.perf_counter() - start) / len(rows)


def ways() -> dict[str, tuple[Callable[[pw.Mesh, np.ndarray], object], int]]:
    """Name, work, and how many sources to time."""

    def ours(method: str) -> Callable[[pw.Mesh, np.ndarray], object]:
        return lambda mesh, rows: pw.geodesic_distances(mesh, rows, method=method, dtype=np.float32)

    return {
        "partwhole dijkstra": (ours("dijkstra"), 512),
        "partwhole fast marching": (ours("fast_marching"), 512),
        "partwhole exact": (ours("exact"), 16),
        "scipy dijkstra": (scipy_dijkstra, 64),
        "potpourri3d fast marching": (potpourri_fast_marching, 8),
        "pygeodesic exact": (pygeodesic_exact, 2),
    }


def measure(sizes: list[int], patience: float) -> dict[str, dict[int, float]]:
    found: dict[str, dict[int, float]] = {}
    slow: set[str] = set()
    for size in sizes:
        whole = pw.datasets.make_body("biped", int(1.7 * size), seed=1).rest
        part = pw.datasets.random_cuts(whole, "pfaust-h", seed=1).part  # about six tenths are left
        n = part.n_vertices
        near_each_other = np.argsort(np.linalg.norm(part.vertices - part.vertices[0], axis=1))
        for name, (work, count) in ways().items():
            if name in slow:
                continue
            rows = near_each_other[: min(count, n)]
            try:
                work(part, rows[:1])  # compiles, and shows whether the peer is there
            except ImportError:
                slow.add(name)
                continue
            found.setdefault(name, {})[n] = per_source(work, part, rows)
            if found[name][n] * count > patience:
                slow.add(name)
        boundary = part.boundary_vertices
        from_boundary = pw.geodesic_distances(part, boundary, dtype=np.float32)
        rows = near_each_other[: min(512, n)]
        D = pw.geodesic_distances(part, rows, dtype=np.float32)
        threshold_rows(part, D[:2], from_boundary, rows[:2])
        found.setdefault("wormhole threshold, partwhole", {})[n] = threshold_rows(part, D, from_boundary, rows)
        points = part.vertices[boundary].astype(np.float32)
        across = np.linalg.norm(points[:, None] - points[None], axis=2)
        loop = boundary_pair_loop(from_boundary, across, 2.0)
        found.setdefault("wormhole threshold, loop over boundary pairs (extrapolated)", {})[n] = loop
        print(f"{n} vertices, {len(boundary)} on the border: done", flush=True)
    return found


def extrapolated(points: dict[int, float], sizes: list[int]) -> dict[int, float]:
    """Values at the sizes that were not measured, on the line through the last two points in logarithms."""
    (n0, t0), (n1, t1) = list(points.items())[-2:]
    slope = np.log(t1 / t0) / np.log(n1 / n0)
    return {n: float(t1 * (n / n1) ** slope) for n in sizes if n not in points}


def plot(found: dict[str, dict[int, float]], sizes: list[int], path: Path) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 5.5), layout="constrained")
    axes = figure.add_subplot()
    for name, points in found.items():
        (line,) = axes.loglog(
            list(points), [1e3 * t for t in points.values()], "s--" if "threshold" in name else "o-", label=name
        )
        beyond = extrapolated(points, sizes) if len(points) > 1 else {}
        if beyond:
            axes.loglog(list(beyond), [1e3 * t for t in beyond.values()], "o:", color=line.get_color(), mfc="white")
    axes.set(xlabel="vertices of the part", ylabel="milliseconds per source (or per row of the threshold)")
    axes.grid(alpha=0.3)
    figure.legend(fontsize="small", loc="outside right upper")
    figure.savefig(path, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", nargs="+", type=int, default=[1000, 2000, 5000, 10_000, 20_000, 50_000])
    parser.add_argument("--patience", type=float, default=20.0, help="seconds after which a way is not tried larger")
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--json", type=Path, help="write the numbers there as well")
    given = parser.parse_args()
    print(heading())
    found = measure(given.sizes, given.patience)
    sizes = list(found["partwhole dijkstra"])
    rows = [
        [
            name,
            *(
                f"{1e3 * points[n]:.3g}" if n in points else f"({1e3 * extrapolated(points, sizes)[n]:.3g})"
                for n in sizes
            ),
        ]
        for name, points in found.items()
    ]
    print("\nmilliseconds per source, or per row of the threshold; in brackets: extrapolated\n")
    print(table(["way", *map(str, sizes)], rows))
    if given.plot:
        plot(found, sizes, given.plot)
    save(given.json, {"milliseconds": found})


if __name__ == "__main__":
    main()
