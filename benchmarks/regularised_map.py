"""The regularised functional map, all rows in one batch, beside one system after the other, in one run.

    python benchmarks/regularised_map.py [--eigenpairs 50 200] [--descriptors 256] [--device cpu] [--repeat 5] [--json FILE]

Forward and backward, as a step of training needs them, in float32 on tensors. Both ways must agree.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor

from partwhole.spectral import penalties, regularised_map
from recording import heading, save, table

Solve = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]


def row_by_row(of_part: Tensor, of_whole: Tensor, part_values: Tensor, whole_values: Tensor) -> Tensor:
    """c_i = (F Fᵀ + 100 diag(D_i))⁻¹ F g_iᵀ, in a loop over i."""
    D = penalties(part_values, whole_values)
    FF, FG = of_whole @ of_whole.T, of_whole @ of_part.T
    return torch.stack([torch.linalg.solve(FF + 100 * torch.diag(D[i]), FG[:, i]) for i in range(len(D))])


def step(solve: Solve, problem: tuple[Tensor, ...]) -> tuple[Tensor, Tensor]:
    """The map, and the gradient of the sum of its squares."""
    of_part, *others = problem
    leaf = of_part.detach().requires_grad_(True)
    C = solve(leaf, *others)
    C.square().sum().backward()
    assert leaf.grad is not None
    return C.detach(), leaf.grad


def seconds_of(solve: Solve, problem: tuple[Tensor, ...], repeat: int) -> float:
    times = []
    for _ in range(repeat):
        wait(problem[0])
        start = time.perf_counter()
        step(solve, problem)
        wait(problem[0])
        times.append(time.perf_counter() - start)
    return min(times)


def wait(tensor: Tensor) -> None:
    if tensor.is_cuda:
        torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--eigenpairs", type=int, nargs="+", default=[50, 200])
    parser.add_argument("--descriptors", type=int, default=256)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    torch.manual_seed(0)
    rows, numbers = [], {}
    for k in given.eigenpairs:
        features = [torch.randn(k, given.descriptors, device=given.device) for _ in range(2)]
        values = [torch.linspace(0, top, k, device=given.device) for top in (900.0, 1000.0)]
        problem = (*features, *values)
        for one, other in zip(step(regularised_map, problem), step(row_by_row, problem), strict=True):
            torch.testing.assert_close(one, other, rtol=1e-3, atol=1e-4)
        batch, loop = (seconds_of(solve, problem, given.repeat) for solve in (regularised_map, row_by_row))
        rows.append([str(k), f"{1000 * batch:.2f}", f"{1000 * loop:.2f}", f"{loop / batch:.1f}×"])
        numbers[k] = {"batch": batch, "loop": loop}
    device = torch.cuda.get_device_name() if given.device == "cuda" else "cpu"
    print(heading())
    print(f"on {device}, {given.descriptors} descriptors, forward and backward; torch {torch.__version__}\n")
    print(table(["eigenpairs", "batch, ms", "row by row, ms", "ratio"], rows))
    save(given.json, {"device": device, "descriptors": given.descriptors, "seconds": numbers})


if __name__ == "__main__":
    main()
