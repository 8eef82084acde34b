"""`FSP`, fully spectral partial matching: the eigenfunctions of the part as a rotated basis of those of the whole.

Written from the formulas of Litany, Rodolà, Bronstein and Bronstein (2017), the form for a part and its whole.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from partwhole.matching.methods.axiomatic import TOSCA_AREA, AxiomaticMethod, rescaled, shot_descriptors
from partwhole.matching.network.surface import SurfacePair
from partwhole.spectral import partial_rank
from partwhole.store.arguments import check_number

_STEPS, _TOLERANCE = 1000, 1e-6
# a step is taken if it lowers the energy by this share of what its slope promises
_ENOUGH, _SHRINK, _SHORTEST, _FARTHER = 1e-4, 0.1, 1e-14, 10.0

# a function of an orthonormal basis, and its gradient
Energy = Callable[[np.ndarray], tuple[float, np.ndarray]]


class FSP(AxiomaticMethod):
    """min over XᵀX = I of weight · ‖A − Xᵀ B‖² + Σ_{i≠j} (XᵀΛX)²_ij, and C = Xᵀ.

    Λ are the eigenvalues of the whole, A = Φ_part†F and B = Φ_whole†G the coefficients of SHOT descriptors, A with as many
    rows as the `partial_rank`. Φ_whole X is a basis on the whole that is nearly one of eigenfunctions, and in which
    descriptors are as in that of the part: the region of the part needs no other description.

    Parameters
    ----------
    eigenpairs : of each surface
    weight : of the descriptors
    radius, bins : of SHOT, the former in √area of the whole
    """

    def __init__(self, *, eigenpairs: int = 90, weight: float = 0.1, radius: float = 0.04, bins: int = 9) -> None:
        check_number("weight", weight)
        super().__init__("fsp", eigenpairs=eigenpairs, weight=weight, radius=radius, bins=bins)
        self.weight, self.radius, self.bins = weight, radius, bins

    def functional_map(self, pair: SurfacePair) -> Float[np.ndarray, "r k"]:
        part, whole = (rescaled(basis, pair.meshes[1].area, TOSCA_AREA) for basis in self.bases(pair))
        of_part, of_whole = shot_descriptors(pair, radius=self.radius, bins=self.bins)
        rank = partial_rank(part.values, whole.values)
        A, B = part.project(of_part)[:rank], whole.project(of_whole)
        start = np.eye(len(whole), rank)
        return minimised_on_stiefel(BasisEnergy(A, B, whole.values, self.weight), start)[0].T


class BasisEnergy:
    """X ↦ weight · ‖A − XᵀB‖² + Σ_{i≠j} (XᵀΛX)²_ij, and its gradient 2 weight · (BBᵀX − BAᵀ) + 4 ΛX off(XᵀΛX).

    The descriptors are seen through BBᵀ and BAᵀ alone, so their number does not matter.

    Parameters
    ----------
    A, B : coefficients of the descriptors of the part, as many rows as X has columns, and of the whole
    values : the diagonal of Λ
    weight : of the descriptors
    """

    def __init__(
        self,
        A: Float[np.ndarray, "r d"],
        B: Float[np.ndarray, "k d"],
        values: Float[np.ndarray, "k"],
        weight: float,
    ) -> None:
        self._of_whole, self._of_both, self._of_part = weight * B @ B.T, weight * B @ A.T, weight * (A**2).sum()
        self._values = values[:, None]

    def __call__(self, X: Float[np.ndarray, "k r"]) -> tuple[float, Float[np.ndarray, "k r"]]:
        seen, turned = self._of_whole @ X, self._values * X
        off = X.T @ turned
        np.fill_diagonal(off, 0)
        energy = (X * (seen - 2 * self._of_both)).sum() + self._of_part + (off**2).sum()
        return float(energy), 2 * (seen - self._of_both) + 4 * turned @ off


def minimised_on_stiefel(
    energy: Energy, start: Float[np.ndarray, "k r"], *, steps: int = _STEPS
) -> tuple[Float[np.ndarray, "k r"], float]:
    """argmin of an energy over XᵀX = I, and the minimum, by nonlinear conjugate gradients (Polak and Ribière).

    Gradients are projected to the tangent space, G − X sym(XᵀG), as are earlier directions; X + step is brought back by its
    QR decomposition. The energy never rises.

    Examples
    --------
    The trace of XᵀDX is least on the eigenvectors of the smallest eigenvalues:

    >>> D = np.diag([3.0, 1.0, 2.0])
    >>> trace = lambda X: (float(np.trace(X.T @ D @ X)), 2 * D @ X)
    >>> X, least = minimised_on_stiefel(trace, np.linalg.qr(np.ones((3, 2)) + np.eye(3, 2))[0])
    >>> round(least, 6)
    3.0
    """
    X = start
    value, ambient = energy(X)
    gradient = _tangent(X, ambient)
    direction, step = -gradient, 1.0
    first = np.linalg.norm(gradient)
    for _ in range(steps):
        square = (gradient**2).sum()
        if np.sqrt(square) <= _TOLERANCE * first:
            break
        slope = (direction * gradient).sum()
        if slope >= 0:
            direction, slope = -gradient, -square
        found = _along(energy, X, direction, value, slope, step)
        if found is None:
            if (direction == -gradient).all():
                break
            direction = -gradient
            continue
        step, X, value, ambient = found
        before, gradient = gradient, _tangent(X, ambient)
        beta = max(0.0, float((gradient * (gradient - _tangent(X, before))).sum() / square))
        direction = -gradient + beta * _tangent(X, direction)
    return X, value


def _along(
    energy: Energy,
    X: Float[np.ndarray, "k r"],
    direction: Float[np.ndarray, "k r"],
    value: float,
    slope: float,
    step: float,
) -> tuple[float, Float[np.ndarray, "k r"], float, Float[np.ndarray, "k r"]] | None:
    """A step that lowers the energy enough, where it leads, and energy and gradient there; None: there is none.

    Of a first step, and of the one to the lowest point of the parabola through what is known, the lower is taken.
    """
    while step * np.sqrt(-slope) > _SHORTEST:
        tried = [(step, *_at(energy, X, step * direction))]
        bend = tried[0][2] - value - slope * step
        if bend > 0:
            lowest = min(-slope * step**2 / (2 * bend), _FARTHER * step)
            tried.append((lowest, *_at(energy, X, lowest * direction)))
        else:
            tried.append((_FARTHER * step, *_at(energy, X, _FARTHER * step * direction)))
        best = min(tried, key=lambda one: one[2])
        if best[2] <= value + _ENOUGH * best[0] * slope:
            return best
        step *= _SHRINK
    return None


def _at(
    energy: Energy, X: Float[np.ndarray, "k r"], move: Float[np.ndarray, "k r"]
) -> tuple[Float[np.ndarray, "k r"], float, Float[np.ndarray, "k r"]]:
    there = _retracted(X + move)
    return there, *energy(there)


def _tangent(X: Float[np.ndarray, "k r"], G: Float[np.ndarray, "k r"]) -> Float[np.ndarray, "k r"]:
    """The projection of G to the tangent space at X."""
    inner = X.T @ G
    return G - X @ (inner + inner.T) / 2


def _retracted(Y: Float[np.ndarray, "k r"]) -> Float[np.ndarray, "k r"]:
    """The orthonormal factor of Y = Q R whose R has a positive diagonal."""
    Q, R = np.linalg.qr(Y)
    return Q * np.where(np.diag(R) < 0, -1.0, 1.0)
