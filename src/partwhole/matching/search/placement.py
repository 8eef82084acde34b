"""Maps in which features and place decide, for features that do not depend on how surfaces lie in space.

Such features may take left for right where few things tell the two apart. What most of the part says about its place then
decides.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from partwhole.matching.network.surface import Surface
from partwhole.matching.readout.maps import Comparison
from partwhole.matching.search.constants import PLACE_STEPS, PLACE_WEIGHT, PLACE_WIDTH
from partwhole.matching.search.orientation import rigidly_aligned

# rows of the part that are compared with the whole at a time
_ROWS = 1024
# so that a part without any similar features still has a place
_LEAST_MASS = 1e-12


class Alternatives(NamedTuple):
    """Vertices of the whole that some rows of the part may be mapped to, in the order of rows, then columns.

    Attributes
    ----------
    first : the first of the rows
    counts : how many there are in each row
    rows, columns : vertices of part and whole
    similar : how similar they are
    """

    first: int
    counts: Int[Tensor, "r"]
    rows: Int[Tensor, "c"]
    columns: Int[Tensor, "c"]
    similar: Float[Tensor, "c"]

    def best(self, values: Float[Tensor, "c"]) -> Int[Tensor, "r"]:
        """The column with the largest value in each row; the first of equal ones."""
        largest = torch.segment_reduce(values, "max", lengths=self.counts, unsafe=True)
        rows = self.rows - self.first
        reached = values == largest[rows]
        none = torch.full_like(self.counts, torch.iinfo(torch.int64).max)
        return none.scatter_reduce(0, rows[reached], self.columns[reached], "amin")


def alternatives(
    one: Float[Tensor, "p f"],
    other: Float[Tensor, "n f"],
    within: float,
    suits: Float[Tensor, "p n"] | None = None,
) -> list[Alternatives]:
    """All (i, j) with ⟨one_i, other_j⟩ ≥ max_k ⟨one_i, other_k⟩ − within, in blocks of rows.

    Parameters
    ----------
    one, other : rows of unit length
    within : how much less similar than the most similar one
    suits : is added to the products

    Examples
    --------
    >>> whole = normalize(torch.tensor([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]]), dim=1)
    >>> found = alternatives(torch.eye(2), whole, 0.25)[0]
    >>> found.rows.tolist(), found.columns.tolist()
    ([0, 0, 1], [0, 1, 2])
    """
    found = []
    for first in range(0, len(one), _ROWS):
        rows = slice(first, first + _ROWS)
        similar = one[rows] @ other.T
        if suits is not None:
            similar = similar + suits[rows]
        possible = similar >= similar.amax(dim=1, keepdim=True) - within
        i, j = possible.nonzero(as_tuple=True)
        found.append(Alternatives(first, possible.sum(dim=1), i + first, j, similar[possible]))
    return found


def placed_map(
    compared: Comparison, part: Surface, whole: Surface, suits: Float[Tensor, "p n"] | None = None
) -> Int[Tensor, "p"]:
    """argmax_j cos(f_i, g_j) + a exp(−|R x_i + t − y_j|² / 2 b²), where R and t align the part to the whole by its map.

    b is as large as limbs move from pose to pose. Place adds at most a, so that vertices whose features are less similar
    than the most similar ones by more than that need not be looked at again.

    Parameters
    ----------
    compared : the features f and g
    part, whole : with positions
    suits : is added to the cosines, where more than features is known
    """
    one, other = normalize(compared.part, dim=-1), normalize(compared.whole, dim=-1)
    blocks = alternatives(one, other, PLACE_WEIGHT, suits)
    nearest = torch.cat([block.best(block.similar) for block in blocks])
    for _ in range(PLACE_STEPS):
        sure = (one * other[nearest]).sum(dim=1).clamp(min=0) ** 4
        x = rigidly_aligned(replace(part, mass=part.mass * sure + _LEAST_MASS), whole, nearest).points
        nearest = torch.cat([block.best(block.similar + _bonus(block, x, whole.points)) for block in blocks])
    return nearest


def _bonus(block: Alternatives, x: Float[Tensor, "p 3"], y: Float[Tensor, "n 3"]) -> Float[Tensor, "c"]:
    """a exp(−|x_i − y_j|² / 2 b²)"""
    squares = (x[block.rows] - y[block.columns]).square().sum(dim=1)
    return PLACE_WEIGHT * torch.exp(squares / (-2 * PLACE_WIDTH**2))
