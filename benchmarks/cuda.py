"""Distances and min-plus products on a CUDA device, beside the processor of the same machine and the paper's way.

    python benchmarks/cuda.py [--json FILE]

The paper's way for the threshold, a loop over pairs of boundary vertices on the device, is timed on a few pairs and
extrapolated. Without a CUDA device the script says so and ends.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import partwhole as pw
from distances import scipy_dijkstra
from recording import heading, save, table


def seconds_on_device(work: Callable[[], object], repeat: int = 3) -> float:
    """Shortest of several runs after one that compiles; the device is waited for."""
    import torch

    work()
    shortest = np.inf
    for _ in range(repeat):
        torch.cuda.synchronize()
        start = time.perf_counter()
        work()
        torch.cuda.synchronize()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest


def distances(size: int) -> list[list[str]]:
    mesh = pw.datasets.make_body("biped", size, seed=0).rest
    rows = np.linspace(0, size - 1, 64).astype(int)
    start = time.perf_counter()
    scipy_dijkstra(mesh, rows)
    on_scipy = (time.perf_counter() - start) / len(rows) * size
    lines = []
    for method in ("dijkstra", "fast_marching"):
        for kind in (np.float32, np.float64):
            took = seconds_on_device(
                lambda m=method, k=kind: pw.geodesic_distances(mesh, method=m, dtype=k, device="cuda")
            )
            found = pw.geodesic_distances(mesh, rows, method=method, dtype=kind, device="cuda").cpu().numpy()
            expected = pw.geodesic_distances(mesh, rows, method=method)
            apart = expected > 0
            worst = np.abs(found[apart] / expected[apart] - 1).max()
            name = f"all pairs, {method}, {np.dtype(kind).name}, {size} vertices"
            lines.append([name, f"{took:.3f} s", f"{on_scipy / took:.0f}× scipy dijkstra", f"{worst:.1e}"])
    return lines


def min_plus(vertices: int, boundary: int) -> list[list[str]]:
    import torch

    from partwhole.criterion.cuda.distances import min_plus_tensors

    to_boundary = torch.rand(boundary, vertices, device="cuda")
    across = torch.rand(boundary, boundary, device="cuda")
    repeats = 20

    def threshold() -> torch.Tensor:
        for _ in range(repeats):
            result = min_plus_tensors(min_plus_tensors(to_boundary.T, across), to_boundary)
        return result

    took = seconds_on_device(threshold) / repeats
    pairs = 500

    def boundary_pairs() -> torch.Tensor:
        result = torch.full((vertices, vertices), float("inf"), device="cuda")
        for k in range(pairs):
            through = (
                to_boundary[k % boundary][:, None] + across[k % boundary, k // boundary] + to_boundary[k // boundary]
            )
            torch.minimum(result, through, out=result)
        return result

    loop = seconds_on_device(boundary_pairs) / pairs * boundary**2
    expected = (to_boundary[:, 7, None] + across).amin(dim=0)
    expected = (expected[:, None] + to_boundary).amin(dim=0)
    worst = float((threshold()[7] / expected - 1).abs().max())
    operations = 2 * (vertices * boundary**2 + vertices**2 * boundary)
    name = f"threshold by min-plus, float32, V = {vertices}, B = {boundary}"
    rate = f"{operations / took / 1e12:.1f} Top/s"
    return [
        [
            name,
            f"{1e3 * took:.2f} ms",
            f"{loop / took:.0f}× the loop over boundary pairs ({loop:.1f} s); {rate}",
            f"{worst:.1e}",
        ]
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the numbers there as well")
    given = parser.parse_args()
    try:
        import torch

        if not torch.cuda.is_available():
            print("no CUDA device here; nothing was measured")
            return
    except ImportError:
        print("torch is not installed; nothing was measured")
        return
    rows = [*distances(5000), *distances(20_000), *min_plus(5000, 300)]
    print(f"{torch.cuda.get_device_name()}; torch {torch.__version__}; {heading()}\n")
    print(table(["what", "time", "beside", "largest relative difference"], rows))
    save(given.json, {"accelerator": torch.cuda.get_device_name(), "rows": rows})


if __name__ == "__main__":
    main()
