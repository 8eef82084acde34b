"""The functional map that takes the descriptors of the whole to those of the part, with a penalty off its diagonal.

One implementation for arrays and tensors: with tensors it is differentiable, and runs where they are.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from partwhole.store.arguments import check_number

# NumPy arrays, or torch tensors: all of one kind
Array = Any
Penalty = Literal["resolvent", "difference"]


def regularised_map(
    of_part: Array,
    of_whole: Array,
    part_values: Array,
    whole_values: Array,
    *,
    weight: float = 100.0,
    penalty: Penalty = "resolvent",
) -> Array:
    """C = argmin ‖C F − G‖² + weight Σ_ij D_ij C_ij², F = `of_whole`, G = `of_part`, D the penalty of `penalties`.

    Row by row, c_i = (F Fᵀ + weight diag(D_i))⁻¹ F g_iᵀ: all rows are solved at once, as one batch of symmetric systems.
    It holds k_part · k_whole² numbers of double precision, 64 MB for 200 of both; the result has that of the coefficients.

    Parameters
    ----------
    of_part, of_whole : coefficients of the same descriptors, (k_part, d) and (k_whole, d); see `Eigenpairs.project`
    part_values, whole_values : eigenvalues, (k_part,) and (k_whole,), in the same units
    weight : of the penalty
    penalty : "resolvent" (DPFM, RobustFMNet), "difference" (GeomFMaps)

    Returns
    -------
    C (k_part, k_whole) : takes coefficients on the whole to coefficients on the part

    Examples
    --------
    Descriptors that are the eigenfunctions themselves belong to the identity:

    >>> values = np.array([0.0, 1.0, 2.0])
    >>> C = regularised_map(np.eye(3), np.eye(3), values, values, weight=1.0)
    >>> bool(np.allclose(C, np.eye(3)))
    True
    """
    check_number("weight", weight)
    if not weight > 0:
        raise ValueError(f"weight={weight} must be positive: without a penalty the map is not determined")
    if of_part.ndim != 2 or of_whole.ndim != 2 or of_part.shape[1] != of_whole.shape[1]:
        raise ValueError(
            f"the coefficients have shapes {tuple(of_part.shape)} and {tuple(of_whole.shape)}; give a row an eigenfunction "
            "and a column a descriptor, as many of the part as of the whole"
        )
    kind = of_whole.dtype
    if not isinstance(of_whole, np.ndarray):
        # features are smooth, so there is little of high frequencies in them: single precision would lose the map there
        given = of_part, of_whole, part_values, whole_values
        of_part, of_whole, part_values, whole_values = (tensor.double() for tensor in given)
    D = penalties(part_values, whole_values, penalty=penalty)
    if tuple(D.shape) != (of_part.shape[0], of_whole.shape[0]):
        raise ValueError(
            f"there are {tuple(D.shape)} eigenvalues of part and whole, and coefficients of "
            f"{(of_part.shape[0], of_whole.shape[0])} eigenfunctions; give as many"
        )
    gram, right = of_whole @ of_whole.T, of_part @ of_whole.T
    if isinstance(gram, np.ndarray):
        systems = gram[None] + weight * D[:, None, :] * np.eye(D.shape[1])
        return np.linalg.solve(systems, right[:, :, None])[:, :, 0]
    from partwhole.spectral.systems import solve_rows

    return solve_rows(gram, weight * D, right).to(kind)


def penalties(part_values: Array, whole_values: Array, *, penalty: Penalty = "resolvent") -> Array:
    """D_ij, how unlikely it is that eigenfunction j of the whole has a share in eigenfunction i of the part.

    "resolvent": (s(μ_i) − s(λ_j))² + (t(μ_i) − t(λ_j))², with s(x) = √x / (x + 1) and t(x) = 1 / (x + 1) real and imaginary
    part of the resolvent at ±i of √Δ, and μ, λ the eigenvalues of part and whole over the largest of both (Ren et al. 2019).
    "difference": (μ_i − λ_j)², which depends on the units; made for surfaces of area 1.

    Examples
    --------
    >>> penalties(np.array([0.0, 4.0]), np.array([0.0, 4.0]), penalty="difference").tolist()
    [[0.0, 16.0], [16.0, 0.0]]
    """
    if penalty not in get_args(Penalty):
        raise ValueError(f"penalty must be one of {', '.join(map(repr, get_args(Penalty)))}, got {penalty!r}")
    if penalty == "difference":
        return (part_values[:, None] - whole_values[None, :]) ** 2
    # a number of the arrays' own kind, which a GPU need not be asked for; where all eigenvalues are 0 they are all alike
    most, other = part_values.max(), whole_values.max()
    largest = most * (most >= other) + other * (most < other)
    largest = largest + (largest <= 0) * 1.0
    mu, lam = (values / largest for values in (part_values, whole_values))
    real = (mu**0.5 / (mu + 1))[:, None] - (lam**0.5 / (lam + 1))[None, :]
    imaginary = (1 / (mu + 1))[:, None] - (1 / (lam + 1))[None, :]
    return real**2 + imaginary**2
