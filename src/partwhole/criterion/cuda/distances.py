"""Criteria on a CUDA device: the min-plus product, distances and masks as torch tensors."""

from __future__ import annotations

from dataclasses import fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from partwhole.criterion.distances import PartDistances
from partwhole.criterion.result import Criterion
from partwhole.mesh.surface import Mesh
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
    """The same for NumPy arrays, copied to the device and back."""
    torch, _ = cuda_modules()
    return min_plus_tensors(torch.tensor(a, device="cuda"), torch.tensor(b, device="cuda")).cpu().numpy()


class CudaDistances(PartDistances):
    """Distances as tensors on the device; what concerns the boundary alone is small and stays on the host."""

    @staticmethod
    def checked(name: str, given: Any) -> Any:
        torch, _ = cuda_modules()
        tensor = given if torch.is_tensor(given) else torch.tensor(np.asarray(given))
        if tensor.dtype not in (torch.float32, torch.float64) or tensor.ndim != 2:
            raise ValueError(
                f"{name} must be a matrix of float32 or float64, got {tensor.dtype} of shape {tuple(tensor.shape)}"
            )
        tensor = tensor.cuda()
        if tensor.numel() and not tensor.min() >= 0:
            raise ValueError(
                f"{name} contains {tensor.min()}; distances are at least 0, and inf where there is no path"
            )
        return tensor

    @staticmethod
    def kept(distances: Any, given: Any) -> Any:
        # what came from the host, and chosen rows, are copies already
        return distances.clone() if distances is given else distances

    def longest(self) -> float:
        torch, _ = cuda_modules()
        finite = torch.where(self.from_boundary.isfinite(), self.from_boundary, 0)
        return float(finite.max()) if finite.numel() else 0.0

    def between_boundary(self, mesh: Mesh) -> Float[np.ndarray, "b b"]:
        return self.from_boundary[:, mesh.boundary_vertices].double().cpu().numpy()

    def to_boundary(self, slack: Float[np.ndarray, "b"]) -> Any:
        if not slack.any():
            return self.from_boundary
        return (self.from_boundary - self.like_distances(slack)[:, None]).clamp(min=0)

    def threshold(self, to_boundary: Any, across: Float[np.ndarray, "b b"] | None = None) -> Any:
        if across is not None:
            to_return = min_plus_tensors(self.of_rows(to_boundary).T, self.like_distances(across))
            return min_plus_tensors(to_return, to_boundary)
        nearest = to_boundary.amin(dim=0) if len(to_boundary) else self.distances[0] * 0 + float("inf")
        return self.of_rows(nearest)[:, None] + nearest[None, :]

    def like_distances(self, array: Float[np.ndarray, "..."]) -> Any:
        torch, _ = cuda_modules()
        return torch.tensor(array, dtype=self.distances.dtype, device=self.distances.device)


class CudaCriterion(Criterion):
    """A `Criterion` whose arrays are tensors on a CUDA device."""

    @cached_property
    def mask(self) -> Any:
        mask = self.distances.isfinite() & (self.threshold * (1 + self.rtol) >= self.distances)
        mask[self._diagonal] = True
        return mask

    @cached_property
    def soft_mask(self) -> Any:
        soft = (self.threshold / self.distances).clamp(max=1)
        soft[self.distances == 0] = 1
        soft[self.distances.isinf()] = 0
        soft[self._diagonal] = 1
        return soft

    @cached_property
    def n_guaranteed(self) -> int:
        return int(self.mask.sum()) - len(self.threshold)

    @cached_property
    def fraction(self) -> float:
        finite = int(self.distances.isfinite().sum())
        pairs = finite - int(self.distances[self._diagonal].isfinite().sum())
        return self.n_guaranteed / pairs if pairs else float("nan")

    def on_host(self) -> Criterion:
        known = {field.name: getattr(self, field.name) for field in fields(self)}
        arrays = {name: known[name].cpu().numpy() for name in ("distances", "threshold")}
        return Criterion(**{**known, **arrays})


CudaDistances.result_type = CudaCriterion
