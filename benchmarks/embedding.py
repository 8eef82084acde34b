"""Weighted scaling of a rectangle with a hole, side by side with the way it is done in published code, in one run.

    python benchmarks/embedding.py [--points 2000 5000] [--repeat 3] [--no-reference] [--json FILE]

The way of the published code, written anew: the weighted Laplacian in a double loop over pairs, its pseudo-inverse, and
steps X ← V⁺ B(X) X on n×n arrays, 300 at most. Its steps are those of our majorisation (a test says so), so the stress it
comes to is read off there; its time is that of a few rows, one pseudo-inverse of at most 2000 points and a few steps,
extrapolated (the loop with n², the pseudo-inverse with n³, steps by their number).
"""

from __future__ import annotations

import argparse
import os
import resource
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree
from scipy.spatial.distance import pdist, squareform
from sklearn.neighbors import kneighbors_graph

from partwhole.embedding import EmbeddingWarning, classical_scaling, weighted_smacof
from recording import heading, save, table

STEPS, LARGEST_PINV = 300, 2000


def rectangle_with_hole(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Graph distances, and the mask of pairs whose way is straight: what a perfect criterion would guarantee."""
    points = np.random.default_rng(0).uniform(size=(2 * n, 2)) * [3.0, 1.0]
    points = points[np.abs(points - [1.5, 0.5]).max(axis=1) > 0.3][:n]
    D = dijkstra(kneighbors_graph(points, 15, mode="distance"), directed=False)
    straight = squareform(pdist(points))
    spacing = float(np.median(cKDTree(points).query(points, 2)[0][:, 1]))
    straight *= 1.05
    return D, straight + 2 * spacing >= D


def loop_seconds(W: np.ndarray, rows: int = 4) -> float:
    """The Laplacian, entry by entry; the time of a few rows for all of them."""
    V, W = np.zeros((rows, len(W))), W.astype(float)
    start = time.perf_counter()
    for i in range(rows):
        for j in range(len(W)):
            if i != j:
                V[i, j] = -W[i, j]
                V[i, i] += W[i, j]
    return (time.perf_counter() - start) / rows * len(W)


def pinv_seconds(W: np.ndarray) -> float:
    size = min(len(W), LARGEST_PINV)
    weights = W[:size, :size].astype(float)
    start = time.perf_counter()
    np.linalg.pinv(np.diag(weights.sum(axis=1)) - weights)
    return (time.perf_counter() - start) * (len(W) / size) ** 3


def step_seconds(D: np.ndarray, W: np.ndarray, X: np.ndarray, steps: int = 3) -> float:
    inverse, weights = np.eye(len(D)), W.astype(float)  # what it holds makes no difference to the time
    start = time.perf_counter()
    for _ in range(steps):
        r = np.sqrt(((X[:, None] - X) ** 2).sum(axis=2))
        r[r == 0] = 1e-5
        B = -weights * D / r
        B[np.diag_indices(len(B))] -= B.sum(axis=1)
        X = inverse @ (B @ X)
    return (time.perf_counter() - start) / steps


def measured(n: int, repeat: int, with_reference: bool) -> dict[str, Any]:
    D, W = rectangle_with_hole(n)
    weighted_smacof(D[:50, :50], W[:50, :50] | True)  # compiles
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        found = weighted_smacof(D, W)
        seconds.append(time.perf_counter() - start)
    numbers = {
        "points": n,
        "weighted": float(W.mean()),
        "seconds": min(seconds),
        "steps": found.n_iter,
        "converged": found.converged,
        "normalised_stress": found.normalised_stress,
        "peak_gib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }
    if with_reference:
        X = classical_scaling(D)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", EmbeddingWarning)
            theirs = weighted_smacof(D, W, init=X, max_iter=STEPS, finish=False)
        own = {"loop": loop_seconds(W), "pinv": pinv_seconds(W), "step": step_seconds(D, W, X)}
        total = own["loop"] + own["pinv"] + theirs.n_iter * own["step"]
        numbers["reference"] = {
            "seconds": total,
            **{f"{name}_seconds": took for name, took in own.items()},
            "steps": theirs.n_iter,
            "normalised_stress": theirs.normalised_stress,
        }
        numbers["faster_by"] = total / min(seconds)
        assert found.stress <= theirs.stress
    return numbers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, nargs="+", default=[2000, 5000])
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--no-reference", action="store_true", help="ours alone, as for the memory of many points")
    parser.add_argument("--json", type=Path, help="write the numbers there as well")
    given = parser.parse_args()
    print(heading())
    if hasattr(os, "getloadavg"):
        print(f"{os.getloadavg()[0]:.1f} processes at work in the last minute, on {os.cpu_count()} cores")
    results = [measured(n, given.repeat, not given.no_reference) for n in given.points]
    rows = []
    for one in results:
        ours = [f"{one['seconds']:.2f}", str(one["steps"]), f"{one['normalised_stress']:.5f}"]
        rows.append([str(one["points"]), "partwhole", *ours, "", f"{one['peak_gib']:.2f}"])
        if "reference" in one:
            other = one["reference"]
            theirs = [f"{other['seconds']:.0f}", str(other["steps"]), f"{other['normalised_stress']:.5f}"]
            rows.append([str(one["points"]), "pseudo-inverse", *theirs, f"{one['faster_by']:.0f}×", ""])
    header = [
        "points",
        "way",
        "seconds",
        "steps",
        "normalised stress",
        "partwhole is faster by",
        "peak GiB of the process",
    ]
    print(table(header, rows))
    save(given.json, {"runs": results})


if __name__ == "__main__":
    main()
