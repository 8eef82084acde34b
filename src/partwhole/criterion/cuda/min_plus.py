"""The min-plus product on a CUDA device."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from partwhole.store.arguments import cuda_modules

if TYPE_CHECKING:
    import torch

UNROLL = 4


def min_plus_tensors(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """C_ij = min_k a_ik + b_kj for two CUDA tensors of one type; inf where there is no k."""
    torch, triton = cuda_modules()
    from partwhole.criterion.cuda.kernels import min_plus_tile

    rows, columns = a.shape[0], b.shape[1]
    out = torch.empty((rows, columns), dtype=a.dtype, device=a.device)
    # a step of length inf changes nothing, so the inner size can be rounded up
    spare = -a.shape[1] % UNROLL
    a_transposed = torch.nn.functional.pad(a.T, (0, 0, 0, spare), value=float("inf")).contiguous()
    b = torch.nn.functional.pad(b, (0, 0, 0, spare), value=float("inf")).contiguous()
    tile = (128, 64) if a.dtype == torch.float32 else (64, 64)
    grid = (triton.cdiv(columns, tile[1]), triton.cdiv(rows, tile[0]))
    min_plus_tile[grid](
        a_transposed, b, out, rows, len(b), columns, ROWS=tile[0], COLUMNS=tile[1], UNROLL=UNROLL, num_warps=4
    )
    return out


def min_plus_arrays(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The same for NumPy arrays: there and back again."""
    torch, _ = cuda_modules()
    return min_plus_tensors(torch.tensor(a, device="cuda"), torch.tensor(b, device="cuda")).cpu().numpy()
