"""Maps from a part to a whole, read from features: soft, hard, and through eigenfunctions."""

from __future__ import annotations

from typing import Literal

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from partwhole.matching.network.surface import Surface

ReadOut = Literal["features", "spectral", "zoomout", "lateration"]
# read-outs that compare distances, which both surfaces must have
BY_DISTANCES: tuple[ReadOut, ...] = ("zoomout", "lateration")

_BLOCK_ENTRIES = 1 << 25


def soft_map(
    part: Float[Tensor, "p f"],
    whole: Float[Tensor, "n f"],
    temperature: float,
    *,
    absent: Float[Tensor, "n"] | None = None,
) -> Float[Tensor, "p n"]:
    """P = row softmax of cos(part feature, whole feature) / τ; each row sums to one.

    Parameters
    ----------
    part, whole : features of the vertices
    temperature : τ; the smaller, the sharper
    absent : −inf for vertices of the whole that are not there, 0 for the others

    Examples
    --------
    >>> P = soft_map(torch.eye(2), torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), 0.1)
    >>> P.argmax(dim=1).tolist(), P.sum(dim=1).tolist()
    ([0, 1], [1.0, 1.0])
    """
    # the temperature goes with the smaller matrix
    sharp, other = normalize(part, dim=-1) / temperature, normalize(whole, dim=-1).T
    return torch.softmax(sharp @ other if absent is None else torch.addmm(absent, sharp, other), dim=-1)


def hard_map(part: Float[Tensor, "p f"], whole: Float[Tensor, "n f"]) -> Int[Tensor, "p"]:
    """argmax_j cos(part feature i, whole feature j): where each row of the soft map is largest.

    Examples
    --------
    >>> hard_map(torch.tensor([[0.0, 2.0]]), torch.tensor([[1.0, 0.0], [0.0, 0.5]])).tolist()
    [1]
    """
    return nearest_rows(normalize(part, dim=-1), normalize(whole, dim=-1))


def functional_map_of(
    map_to_whole: Float[Tensor, "p n"] | Int[Tensor, "p"], part: Surface, whole: Surface, k: int
) -> Float[Tensor, "k k"]:
    """C = Φ_partᵀ A_part P Φ_whole, of a soft map P or of a vertex map."""
    chosen = whole.functions[:, :k]
    pulled = chosen[map_to_whole] if map_to_whole.ndim == 1 else map_to_whole @ chosen
    return (part.functions[:, :k] * part.mass[:, None]).T @ pulled


def spectral_map(vertex_map: Int[Tensor, "p"], part: Surface, whole: Surface, k: int) -> Int[Tensor, "p"]:
    """The vertex map of the functional map of a vertex map: what is smooth about it.

    For each row of Φ_part the nearest row of Φ_whole Cᵀ, with k eigenpairs of each.
    """
    C = functional_map_of(vertex_map, part, whole, k)
    return nearest_rows(part.functions[:, :k], whole.functions[:, :k] @ C.T)


def nearest_rows(queries: Float[Tensor, "q d"], points: Float[Tensor, "p d"]) -> Int[Tensor, "q"]:
    """argmin_j |q_i − p_j|, by matrix products, block by block."""
    half_squares = points.square().sum(dim=1) / 2
    rows = max(1, _BLOCK_ENTRIES // len(points))
    return torch.cat([(block @ points.T - half_squares).argmax(dim=1) for block in queries.split(rows)])
