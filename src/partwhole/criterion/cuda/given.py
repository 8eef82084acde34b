"""Criteria on a CUDA device: the same little algebra on torch tensors, and the masks they give."""

from __future__ import annotations

from dataclasses import fields
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from partwhole.criterion.cuda.min_plus import min_plus_tensors
from partwhole.criterion.given import GivenDistances
from partwhole.criterion.result import Criterion
from partwhole.mesh.surface import Mesh
from partwhole.store.arguments import cuda_modules


class DeviceDistances(GivenDistances):
    """Distances as tensors on the device; what concerns the border alone is small and stays on the host."""

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
            raise ValueError(f"{name} contains {tensor.min()}; distances are at least 0, and inf where there is no way")
        return tensor

    @staticmethod
    def kept(distances: Any, given: Any) -> Any:
        # what came from the host, and chosen rows, are copies already
        return distances.clone() if distances is given else distances

    def largest(self) -> float:
        torch, _ = cuda_modules()
        finite = torch.where(self.from_boundary.isfinite(), self.from_boundary, 0)
        return float(finite.max()) if finite.numel() else 0.0

    def between_boundary(self, mesh: Mesh) -> Float[np.ndarray, "b b"]:
        return self.from_boundary[:, mesh.boundary_vertices].double().cpu().numpy()

    def to_boundary(self, slack: Float[np.ndarray, "b"]) -> Any:
        if not slack.any():
            return self.from_boundary
        return (self.from_boundary - self.like_distances(slack)[:, None]).clamp(min=0)

    def smallest(self, to_boundary: Any) -> Any:
        return to_boundary.amin(dim=0) if len(to_boundary) else self.distances[0] * 0 + float("inf")

    def outer_sum(self, left: Any, right: Any) -> Any:
        return left[:, None] + right[None, :]

    def like_distances(self, array: Float[np.ndarray, "..."]) -> Any:
        torch, _ = cuda_modules()
        return torch.tensor(array, dtype=self.distances.dtype, device=self.distances.device)

    def min_plus(self, a: Any, b: Any) -> Any:
        return min_plus_tensors(a, b)


class DeviceCriterion(Criterion):
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


DeviceDistances.made = DeviceCriterion
