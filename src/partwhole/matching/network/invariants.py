"""What a vertex sees of its surroundings that no rotation changes: the surface smoothed at several scales.

Positions and normals depend on how a scan lies in space, and a network has to learn that this does not matter. Their
smoothed versions are vectors at each vertex that turn with the surface; lengths and angles of these vectors do not turn,
and neither do the volumes they span, whose signs tell left from right.
"""

from __future__ import annotations

from functools import cache
from itertools import combinations

import torch
from jaxtyping import Float, Int
from torch import Tensor

# diffusion times of positions, for a whole of area 1: from details that 100 eigenfunctions can show to half of a body
_TIMES = tuple(0.0015 * 2.2**k for k in range(8))
# of which these for normals: at longer times their mean is that of the missing region
_NORMAL_TIMES = slice(0, 6, 2)
# about one over the usual length of each vector, on bodies of all kinds
_GAINS = (1.6, 4.0, 4.0, 4.0, 4.0, 4.0, 4.5, 7.0, 1.0, 1.7, 3.5, 10.0)
_VECTORS = len(_GAINS)


def rotation_invariants(
    points: Float[Tensor, "*batch n 3"],
    normals: Float[Tensor, "*batch n 3"],
    mass: Float[Tensor, "*batch n"],
    values: Float[Tensor, "*batch k"],
    functions: Float[Tensor, "*batch n k"],
) -> Float[Tensor, "*batch n c"]:
    """asinh of ⟨v_i, v_j⟩ for i ≤ j and of det(v_i, v_j, v_k) for i < j < k, of the vectors v of `smoothed_vectors`.

    Rotating and moving the surface changes none of them; its mirror image has the same products and the opposite volumes.

    Parameters
    ----------
    points, normals : of the vertices
    mass : vertex areas; 0 for vertices that only fill up a batch
    values, functions : eigenpairs

    Examples
    --------
    >>> from partwhole.datasets import sphere
    >>> from partwhole.matching import surface_of
    >>> ball = surface_of(sphere(200).scaled(0.28), eigenpairs=20)
    >>> given = ball.points, ball.normals, ball.mass, ball.values, ball.functions
    >>> rotation_invariants(*given).shape[1] == count_of_invariants()
    True
    """
    vectors = smoothed_vectors(points, normals, mass, values, functions)
    (i, j), (first, second), triples = _indices(str(points.device))
    columns = vectors.transpose(-1, -2)
    products = (vectors @ columns)[..., i, j]
    # (v_i × v_j) · v_k for all i < j and all k, of which those with j < k are kept
    areas = torch.linalg.cross(vectors[..., first, :], vectors[..., second, :])
    volumes = (areas @ columns).flatten(-2)[..., triples]
    return torch.asinh(torch.cat([products, volumes], dim=-1))


def count_of_invariants() -> int:
    """How many there are at each vertex."""
    m = _VECTORS
    return m * (m + 1) // 2 + m * (m - 1) * (m - 2) // 6


def smoothed_vectors(
    points: Float[Tensor, "*batch n 3"],
    normals: Float[Tensor, "*batch n 3"],
    mass: Float[Tensor, "*batch n"],
    values: Float[Tensor, "*batch k"],
    functions: Float[Tensor, "*batch n k"],
) -> Float[Tensor, "*batch n v 3"]:
    """Vectors that turn with the surface: (x_{t−} − x_t) / √t and n_t, with x_t = Φ exp(−λ t) Φᵀ A x the surface smoothed for
    a time t, x_{t−} for the time before (at first x itself), and n_t the normals likewise; each times a constant, so that
    all have lengths about 1.
    """
    times, gains = _constants(str(points.device))
    # about the middle: far from the origin, differences lose their digits
    centred = points - (mass[..., None] * points).sum(dim=-2, keepdim=True) / mass.sum(dim=-1)[..., None, None]
    both = torch.cat([centred, normals], dim=-1)
    coefficients = functions.transpose(-1, -2) @ (mass[..., None] * both)
    decay = torch.exp(-values[..., None] * times)
    # one product for all times: columns are (time, coordinate)
    decayed = (decay[..., :, None] * coefficients[..., None, :]).flatten(-2)
    smooth = (functions @ decayed).unflatten(-1, (len(_TIMES), 6))
    path = torch.cat([centred[..., None, :], smooth[..., :3]], dim=-2)
    steps = (path[..., :-1, :] - path[..., 1:, :]) / times.sqrt()[:, None]
    return gains * torch.cat([steps, normals[..., None, :], smooth[..., _NORMAL_TIMES, 3:]], dim=-2)


# kept, since a CUDA graph that is being recorded can't copy from main memory
@cache
def _constants(device: str) -> tuple[Float[Tensor, "t"], Float[Tensor, "v 1"]]:
    return torch.tensor(_TIMES, device=device), torch.tensor(_GAINS, device=device)[:, None]


@cache
def _indices(device: str) -> tuple[Int[Tensor, "2 p"], Int[Tensor, "2 q"], Int[Tensor, "t"]]:
    """Numbers (i, j) of the vectors with i ≤ j, those with i < j, and where i < j < k are among all ((i, j), k)."""
    pairs = list(combinations(range(_VECTORS), 2))
    triples = [row * _VECTORS + k for row, (_, j) in enumerate(pairs) for k in range(j + 1, _VECTORS)]
    found = torch.triu_indices(_VECTORS, _VECTORS), torch.tensor(pairs).T.contiguous(), torch.tensor(triples)
    return found[0].to(device), found[1].to(device), found[2].to(device)
