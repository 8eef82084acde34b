"""ZoomOut on tensors, where the map is: `partwhole.spectral.zoomed_out` without the way to NumPy and back."""

from __future__ import annotations

import torch
from jaxtyping import Int
from torch import Tensor

from partwhole.matching.network.surface import Surface, distance_distortion
from partwhole.matching.readout.soft_map import nearest_rows

# the map to begin with is known better than 20 eigenpairs can hold, where ZoomOut usually begins
_START, _STEP = 60, 10


def zoomed_out(
    vertex_map: Int[Tensor, "p"], part: Surface, whole: Surface, *, start: int = _START, step: int = _STEP
) -> Int[Tensor, "p"]:
    """C ← Φ_partᵀ A_part P Φ_whole, P ← nearest rows of Φ_part and Φ_whole Cᵀ, in turn, with ever more eigenpairs.

    Parameters
    ----------
    vertex_map : to begin with
    part, whole : surfaces
    start, step : eigenpairs of the whole to begin with, all of them if there are fewer, and to add each time
    """
    last = whole.values.shape[-1]
    weighted = part.functions * part.mass[:, None]
    for k in [*range(start, last, step), last]:
        # of a part as many as lie below the highest of the whole, since it has fewer
        rank = int((part.values < whole.values[:k].max()).sum().clamp(min=1))
        C = weighted[:, :rank].T @ whole.functions[vertex_map, :k]
        vertex_map = nearest_rows(part.functions[:, :rank], whole.functions[:, :k] @ C.T)
    return vertex_map


def less_distorted(vertex_map: Int[Tensor, "p"], part: Surface, whole: Surface) -> Int[Tensor, "p"]:
    """The map after ZoomOut if it distorts distances less, see `distance_distortion`; else the map as it was."""
    zoomed = zoomed_out(vertex_map, part, whole)
    before, after = (distance_distortion(found, part, whole) for found in (vertex_map, zoomed))
    return torch.where(after < before, zoomed, vertex_map)
