"""Maps from a part to a whole, read from features: soft, hard, and through eigenfunctions."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from partwhole.matching.network.surface import Surface

_BLOCK_ENTRIES = 1 << 25


@dataclass(frozen=True, eq=False)
class Comparison:
    """Features of a part and of a whole that can be compared: the cosine of two rows says how alike two vertices are.

    Attributes
    ----------
    part, whole : features
    no_match : similarity below which a vertex of the part has no match on the whole; None: every vertex has one
    """

    part: Float[Tensor, "p f"]
    whole: Float[Tensor, "n f"]
    no_match: float | None = None

    def nearest(self) -> Int[Tensor, "p"]:
        """For each vertex of the part the most similar vertex of the whole."""
        return hard_map(self.part, self.whole)

    def soft_map(self, temperature: float, *, absent: Float[Tensor, "n"] | None = None) -> Float[Tensor, "p n"]:
        """Row softmax of the similarities; see `soft_map`."""
        return soft_map(self.part, self.whole, temperature, absent=absent, no_match=self.no_match)


def soft_map(
    part: Float[Tensor, "p f"],
    whole: Float[Tensor, "n f"],
    temperature: float,
    *,
    absent: Float[Tensor, "n"] | None = None,
    no_match: float | None = None,
) -> Float[Tensor, "p n"]:
    """P = row softmax of cos(part feature, whole feature) / τ; rows sum to one, or to less where there may be no match.

    Parameters
    ----------
    part, whole : features of the vertices
    temperature : τ; the smaller, the sharper
    absent : −inf for vertices of the whole that are not there, 0 for the others
    no_match : the cosine of "no match", a further column that is left out of the result; None: there is none

    Examples
    --------
    >>> P = soft_map(torch.eye(2), torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), 0.1)
    >>> P.argmax(dim=1).tolist(), P.sum(dim=1).tolist()
    ([0, 1], [1.0, 1.0])
    >>> soft_map(torch.eye(2), torch.tensor([[1.0, 0.0]]), 0.1, no_match=0.5)[:, 0] > 0.5
    tensor([ True, False])
    """
    # the temperature goes with the smaller matrix
    sharp, other = normalize(part, dim=-1) / temperature, normalize(whole, dim=-1).T
    similar = sharp @ other if absent is None else torch.addmm(absent, sharp, other)
    if no_match is None:
        return torch.softmax(similar, dim=-1)
    nothing = torch.full_like(similar[:, :1], no_match / temperature)
    return torch.softmax(torch.cat([similar, nothing], dim=-1), dim=-1)[:, :-1]


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
