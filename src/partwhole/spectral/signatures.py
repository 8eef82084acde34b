"""Descriptors of vertices that do not change when a surface is bent: heat and wave kernel signatures."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from partwhole.spectral.eigen import Eigenpairs

# an eigenvalue below this share of the largest is a zero that rounding has moved
_ZERO = 1e-9
# the width of a band of the wave kernel signature, in steps between energies
_WIDTH = 7.0


def heat_kernel_signature(
    basis: Eigenpairs, times: Float[np.ndarray, "t"] | None = None, *, count: int = 16
) -> Float[np.ndarray, "n t"]:
    """HKS(x, t) = Σ_k exp(−λ_k t) φ_k(x)²: the heat left at x after time t, of a unit that started there (Sun et al. 2009).

    Isometric surfaces have equal signatures. A surface scaled by s has, at times scaled by s², signatures divided by s²;
    the default times scale accordingly. Multiply by the area for a signature that does not depend on scale.

    Parameters
    ----------
    basis : eigenpairs of the surface
    times : in squared units of length; `heat_times(basis.values, count)` if None
    count : number of default times

    Examples
    --------
    >>> from partwhole.datasets import sphere
    >>> from partwhole.spectral import eigenpairs
    >>> basis = eigenpairs(sphere(1000), k=100)
    >>> heat_kernel_signature(basis, count=3).shape
    (1000, 3)
    """
    if times is None:
        times = heat_times(basis.values, count)
    return basis.functions**2 @ np.exp(-np.outer(basis.values, times))


def wave_kernel_signature(
    basis: Eigenpairs,
    energies: Float[np.ndarray, "e"] | None = None,
    *,
    width: float | None = None,
    count: int = 16,
) -> Float[np.ndarray, "n e"]:
    """WKS(x, e) = Σ_k w_k(e) φ_k(x)² / Σ_k w_k(e), w_k(e) = exp(−(e − log λ_k)² / 2σ²), over λ_k > 0 (Aubry et al. 2011).

    The mean of φ(x)² over a band of frequencies. Isometric surfaces have equal signatures. A surface scaled by s has, at
    energies lowered by 2 log s, signatures divided by s²; the default energies shift accordingly. Multiply by the
    area for a signature that does not depend on scale.

    Parameters
    ----------
    basis : eigenpairs of the surface
    energies : logarithms of frequencies; `wave_energies(basis.values, count)` if None
    width : σ; if None, seven times the step between default energies
    count : number of default energies

    Examples
    --------
    >>> from partwhole.datasets import sphere
    >>> from partwhole.spectral import eigenpairs
    >>> basis = eigenpairs(sphere(1000), k=100)
    >>> wave_kernel_signature(basis, count=3).shape
    (1000, 3)
    """
    if energies is None:
        energies = wave_energies(basis.values, count)
    if width is None:
        width = _WIDTH * _step(basis.values, count)
    if not width > 0:
        raise ValueError(f"width={width} must be positive")
    positive = basis.values > _ZERO * basis.values[-1]
    exponents = -((energies[None, :] - np.log(basis.values[positive])[:, None]) ** 2) / (2 * width**2)
    # far from every frequency all weights would vanish together; the ratio does not
    weights = np.exp(exponents - exponents.max(axis=0))
    return basis.functions[:, positive] ** 2 @ (weights / weights.sum(axis=0))


def heat_times(values: Float[np.ndarray, "k"], count: int = 16) -> Float[np.ndarray, "t"]:
    """From 4 ln 10 / λ_max to 4 ln 10 / λ_min, evenly in their logarithms, λ_min the smallest positive eigenvalue.

    At the first, the last eigenfunction has faded to 10⁻⁴; at the last, all but the constants have.
    """
    lowest, highest = _range(values, count)
    return np.geomspace(4 * np.log(10) / highest, 4 * np.log(10) / lowest, count)


def wave_energies(values: Float[np.ndarray, "k"], count: int = 16) -> Float[np.ndarray, "e"]:
    """Evenly from log λ_min + 2σ to log λ_max − 2σ, with σ seven times their step, λ_min the smallest positive eigenvalue.

    With M steps of length δ in a range of length R this needs δ = R / (M + 28). Narrower than the range, so that every band
    is full of frequencies.
    """
    lowest, highest = _range(values, count)
    margin = 2 * _WIDTH * _step(values, count)
    return np.linspace(np.log(lowest) + margin, np.log(highest) - margin, count)


def _step(values: Float[np.ndarray, "k"], count: int) -> float:
    lowest, highest = _range(values, count)
    return float(np.log(highest / lowest) / (max(count - 1, 1) + 4 * _WIDTH))


def _range(values: Float[np.ndarray, "k"], count: int) -> tuple[float, float]:
    if count < 1:
        raise ValueError(f"count={count} must be at least 1")
    positive = values[values > _ZERO * values[-1]]
    if len(positive) < 2 or positive[0] == positive[-1]:
        raise ValueError(
            f"{len(positive)} of {len(values)} eigenvalues are positive; signatures need two that differ: "
            "compute more eigenpairs"
        )
    return float(positive[0]), float(positive[-1])
