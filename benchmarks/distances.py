"""All-pairs distances at 5k vertices beside scipy's Dijkstra, and the error of each method, in one run.

    python benchmarks/distances.py [MESH ...] [--vertices 5000] [--exact-rows 24] [--repeat 3] [--json FILE]

Without meshes it takes an articulated body and a sphere full of slivers, made here. Errors are taken against our exact
distances, which are checked against pygeodesic where that is installed. Peers that are not installed are left out, and
said to be.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

import partwhole as pw
from recording import heading, save, table


def best_time(work: Callable[[], np.ndarray], repeat: int) -> tuple[np.ndarray, float]:
    shortest = np.inf
    for _ in range(repeat):
        start = time.perf_counter()
        result = work()
        shortest = min(shortest, time.perf_counter() - start)
    return result, shortest


def scipy_dijkstra(mesh: pw.Mesh, rows: np.ndarray | None = None) -> np.ndarray:
    n = mesh.n_vertices
    graph = sparse.csr_matrix((mesh.edge_lengths, (mesh.edges[:, 0], mesh.edges[:, 1])), shape=(n, n))
    return csgraph.dijkstra(graph, directed=False, indices=rows)


def potpourri_fast_marching(mesh: pw.Mesh, rows: np.ndarray) -> np.ndarray:
    import potpourri3d

    solver = potpourri3d.MeshFastMarchingDistanceSolver(mesh.vertices, mesh.faces)
    return np.array([solver.compute_distance([[(int(v), [])]], sign=False) for v in rows])


def pygeodesic_exact(mesh: pw.Mesh, rows: np.ndarray) -> np.ndarray:
    from pygeodesic.geodesic import PyGeodesicAlgorithmExact

    solver = PyGeodesicAlgorithmExact(mesh.vertices, mesh.faces)
    return np.array([solver.geodesicDistances(np.array([v]))[0] for v in rows])


def error_words(distances: np.ndarray, truth: np.ndarray) -> tuple[str, str]:
    apart = truth > 0
    error = distances[apart] / truth[apart] - 1
    return f"{100 * np.abs(error).mean():.3f} %", f"{100 * error.min():+.2f} % to {100 * error.max():+.2f} %"


def compare(mesh: pw.Mesh, exact_rows: int, repeat: int) -> dict[str, dict[str, object]]:
    n = mesh.n_vertices
    rows = np.unique(np.linspace(0, n - 1, exact_rows).astype(int))
    pw.geodesic_distances(mesh, rows[:1], method="exact")  # compiles
    truth, exact_seconds = best_time(lambda: pw.geodesic_distances(mesh, rows, method="exact", threads=1), 1)
    numbers: dict[str, dict[str, object]] = {}

    def add(name: str, seconds: float, distances: np.ndarray) -> None:
        mean, span = error_words(distances, truth)
        numbers[name] = {"seconds for all pairs": seconds, "mean error": mean, "error from to": span}

    ours = {
        f"partwhole {method}, {np.dtype(kind).name}": (method, kind)
        for method in ("dijkstra", "fast_marching")
        for kind in (np.float32, np.float64)
    }
    for method, kind in ours.values():
        pw.geodesic_distances(mesh, rows[:1], method=method, dtype=kind)
    whole, seconds = best_time(lambda: scipy_dijkstra(mesh), repeat)
    add("scipy dijkstra", seconds, whole[rows])
    for name, (method, kind) in ours.items():
        whole, seconds = best_time(lambda m=method, k=kind: pw.geodesic_distances(mesh, method=m, dtype=k), repeat)
        add(name, seconds, whole[rows])
    add("partwhole exact, one thread (extrapolated)", exact_seconds * n / len(rows), truth)
    for name, peer in {
        "potpourri3d fast marching (extrapolated)": potpourri_fast_marching,
        "pygeodesic exact (extrapolated)": pygeodesic_exact,
    }.items():
        try:
            distances, seconds = best_time(lambda p=peer: p(mesh, rows), 1)
            add(name, seconds * n / len(rows), distances)
        except ImportError:
            print(f"{name}: not installed")
    return numbers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("meshes", nargs="*", type=Path)
    parser.add_argument("--vertices", type=int, default=5000)
    parser.add_argument("--exact-rows", type=int, default=24)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the numbers there as well")
    given = parser.parse_args()
    shapes = [pw.read_mesh(path) for path in given.meshes] or [
        pw.datasets.make_body("biped", given.vertices, seed=0).rest,
        pw.datasets.slivers(given.vertices, surface="sphere"),
    ]
    print(heading())
    recorded = {}
    for mesh in shapes:
        numbers = recorded[mesh.name] = compare(mesh, given.exact_rows, given.repeat)
        reference = numbers["scipy dijkstra"]["seconds for all pairs"]
        widest = np.degrees(mesh.corner_angles.max(axis=1))
        print(
            f"\n{mesh.name}: {mesh.n_vertices} vertices, {100 * (widest > 120).mean():.0f} % of triangles above 120°\n"
        )
        rows = [
            [
                name,
                f"{n['seconds for all pairs']:.2f}",
                f"{reference / n['seconds for all pairs']:.2f}×",
                *list(n.values())[1:],
            ]
            for name, n in numbers.items()
        ]
        print(table(["method", "seconds", "faster than scipy by", "mean error", "error from, to"], rows))
    save(given.json, {"shapes": recorded})


if __name__ == "__main__":
    main()
