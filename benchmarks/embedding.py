"""Guaranteed pairs and weighted scaling of a rectangle with a hole, beside the way of published code, in one run.

    python benchmarks/embedding.py [--points 2000 5000] [--repeat 3] [--no-reference] [--json FILE]

The way of the published code, written anew. For the mask: a double loop over the points of the boundary, and for each pair
of them an n×n minimum; a few pairs are timed and extrapolated with their number. For the map: the weighted Laplacian in a
double loop over pairs, its pseudo-inverse, and steps X ← V⁺ B(X) X on n×n arrays, 300 at most. Its steps are those of our
majorisation (a test says so), so the stress it comes to is read off there; its time is that of a few rows, one
pseudo-inverse of at most 2000 points and a few steps, extrapolated (the loop with n², the pseudo-inverse with n³, steps by
their number).
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

from partwhole.criterion.points import criterion_of_points
from partwhole.datasets import swiss_roll
from partwhole.embedding import WHCIE, EmbeddingWarning, classical_scaling, weighted_smacof
from partwhole.embedding.estimators.inputs import checked_input
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


def mask_measured(n: int, repeat: int, with_reference: bool, pairs: int = 6) -> dict[str, Any]:
    """The wormhole criterion of a rolled rectangle, with the boundary that is found there."""
    roll = swiss_roll(2 * n, variant="hole").points[:n]
    given = checked_input(WHCIE(), roll, None)
    D, B, points = given.distances, given.boundary, given.points
    criterion_of_points("wormhole", D[:50, :50], np.arange(10), points[:50]).mask.any()  # compiles
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        mask = criterion_of_points("wormhole", D, B, points).mask
        seconds.append(time.perf_counter() - start)
    numbers = {"points": n, "boundary": len(B), "guaranteed": float(mask.mean()), "seconds": min(seconds)}
    if with_reference:
        numbers["reference_seconds"] = mask_loop_seconds(D, B, points, pairs)
        numbers["faster_by"] = numbers["reference_seconds"] / min(seconds)
    return numbers


def mask_loop_seconds(D: np.ndarray, B: np.ndarray, points: np.ndarray, pairs: int) -> float:
    """One n×n sum and minimum for each pair of boundary points; the time of a few for all of them."""
    K = np.full_like(D, np.inf)
    start = time.perf_counter()
    for p, q in zip(B[:pairs], B[::-1][:pairs], strict=True):
        straight = np.float32(np.linalg.norm(points[p] - points[q]))
        K = np.minimum(K, D[:, p, None] + straight + D[None, q])
    return (time.perf_counter() - start) / pairs * len(B) ** 2


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


def mask_table(masks: list[dict[str, Any]]) -> str:
    header = ["points", "on the boundary", "guaranteed", "partwhole, s", "loop over pairs, s", "partwhole is faster by"]
    rows = []
    for one in masks:
        ours = [str(one["points"]), str(one["boundary"]), f"{one['guaranteed']:.1%}", f"{one['seconds']:.3f}"]
        theirs = [f"{one['reference_seconds']:.0f}", f"{one['faster_by']:.0f}×"] if "faster_by" in one else ["", ""]
        rows.append(ours + theirs)
    return table(header, rows)


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
    masks = [mask_measured(n, given.repeat, not given.no_reference) for n in given.points]
    print(mask_table(masks) + "\n")
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
    save(given.json, {"masks": masks, "runs": results})


if __name__ == "__main__":
    main()
