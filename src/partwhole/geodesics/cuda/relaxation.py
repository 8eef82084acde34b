"""The relaxation of `geodesics/cpu/fast_marching.py` on a CUDA device: a vertex and BLOCK sources are one program.

D is kept as (vertex, source), sources sorted so that neighbours share a block. A program wakes only if a step into its
vertex got shorter for one of its sources, and wakes those it can shorten in turn; reading values that another program is
just lowering is harmless, since every value only falls, towards the same solution.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int

from partwhole.geodesics.distances import Stencil
from partwhole.store.arguments import cuda_modules

if TYPE_CHECKING:
    import torch

BLOCK = 256
STEPS_BETWEEN_CHECKS = 8  # asking whether anything moved makes the host wait for the device


def relaxed_rows(
    stencil: Stencil,
    sources: Int[np.ndarray, "r"],
    order: Int[np.ndarray, "r"],
    dtype: np.dtype,
    shrink: float,
) -> torch.Tensor:
    """(len(sources), n) distances on the device; `order` lists positions in `sources` so that neighbours are adjacent."""
    cuda_modules()
    import torch

    from partwhole.geodesics.cuda.kernels import relax_step

    real = torch.float32 if dtype == np.float32 else torch.float64

    def on_device(array: np.ndarray, kind: torch.dtype | None = None) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to("cuda", kind)

    n, count = stencil.n_vertices, len(sources)
    blocks = -(-count // BLOCK)
    segment_start, segment_from = on_device(stencil.segment_start), on_device(stencil.segment_from)
    segment_length = on_device(stencil.segment_length, real)
    triangle_start, triangle_from = on_device(stencil.triangle_start), on_device(stencil.triangle_from)
    shape = on_device(stencil.front_numbers, real)
    distance = torch.full((n, blocks * BLOCK), float("inf"), dtype=real, device="cuda")
    columns = torch.arange(count, device="cuda")
    start = on_device(sources[order])
    distance[start, columns] = 0
    awake, woken = (torch.zeros((n, blocks), dtype=torch.int8, device="cuda") for _ in range(2))
    wake_neighbours(awake, sources[order], stencil, columns // BLOCK)
    moved = torch.zeros(1, dtype=torch.int32, device="cuda")
    while True:
        moved.zero_()
        for _ in range(STEPS_BETWEEN_CHECKS):
            relax_step[(n, blocks)](
                distance,
                awake,
                woken,
                moved,
                segment_start,
                segment_from,
                segment_length,
                triangle_start,
                triangle_from,
                shape,
                blocks,
                shrink,
                BLOCK=BLOCK,
                num_warps=1,
            )
            awake, woken = woken, awake
        if moved.item() == 0:
            break
    rows = torch.empty((count, n), dtype=real, device="cuda")
    rows[on_device(order)] = distance[:, :count].T
    return rows


def wake_neighbours(
    awake: torch.Tensor, sources: Int[np.ndarray, "r"], stencil: Stencil, block_of_column: torch.Tensor
) -> None:
    """Mark the vertices one segment away from each source, in that source's block."""
    torch, _ = cuda_modules()
    degree = np.diff(stencil.segment_start)[sources]
    first = np.repeat(stencil.segment_start[sources] - np.concatenate([[0], np.cumsum(degree)[:-1]]), degree)
    neighbours = stencil.segment_from[first + np.arange(degree.sum())]
    column = torch.from_numpy(np.repeat(np.arange(len(sources)), degree)).to("cuda")
    awake[torch.from_numpy(neighbours.astype(np.int64)).to("cuda"), block_of_column[column]] = 1
