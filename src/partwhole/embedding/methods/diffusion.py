"""Diffusion maps: coordinates from a random walk on the sample."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.sparse.linalg import eigsh

from partwhole.store.compute import with_fixed_signs

# The kernel has fallen to 1/e at the typical distance to this neighbour, unless the caller says otherwise.
_NEIGHBOUR = 15


def diffusion_map(
    distances: Float[np.ndarray, "n n"],
    *,
    n_components: int = 2,
    bandwidth: float | None = None,
    alpha: float = 1.0,
    time: float = 1.0,
) -> Float[np.ndarray, "n k"]:
    """x_i = (λ₁ᵗ ψ₁(i), …, λₖᵗ ψₖ(i)), ψ eigenvectors of the random walk with steps by exp(−d²/ε).

    Coifman and Lafon (2006): the kernel is divided by its row sums to the power α on both sides, which takes out how
    dense the sample is where α = 1, and its rows are then made to sum to one. ψ₀ is constant and left out.

    Parameters
    ----------
    distances : (n, n) symmetric, Euclidean or along a surface; pairs at an infinite distance have no steps
    n_components : how many eigenvectors
    bandwidth : √ε; the median distance to the 15th neighbour if not given
    alpha : 0 keeps the density of the sample, 1 takes it out
    time : t, the number of steps
    """
    n = len(distances)
    if not 1 <= n_components < n - 1:
        raise ValueError(f"n_components must be at least 1 and less than n - 1 = {n - 1}, got {n_components}")
    if bandwidth is None:
        near = min(_NEIGHBOUR, n - 1)
        bandwidth = float(np.median(np.partition(distances, near, axis=1)[:, near]))
    if not 0 < bandwidth < np.inf:
        raise ValueError(f"bandwidth must be positive and finite, got {bandwidth}")
    K = np.exp(-((distances.astype(np.float64) / bandwidth) ** 2))
    density = K.sum(axis=1) ** alpha
    K /= density[:, None]
    K /= density
    # the walk K/rows is similar to K/√(rows rowsᵀ), which is symmetric
    root = np.sqrt(K.sum(axis=1))
    K /= root[:, None]
    K /= root
    values, vectors = eigsh(K, k=n_components + 1, which="LA", v0=np.ones(n))
    order = np.argsort(values)[::-1][1:]
    psi = vectors[:, order] / root[:, None] * np.sqrt((root**2).sum())
    return with_fixed_signs(psi) * np.clip(values[order], 0, None) ** time
