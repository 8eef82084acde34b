"""Classical scaling: coordinates from distances by an eigenvalue problem."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import dijkstra
from scipy.sparse.linalg import LinearOperator, eigsh

from partwhole.criterion.distances import min_plus
from partwhole.embedding.solver.pairs import checked_distances, checked_n_components, row_blocks
from partwhole.embedding.solver.threads import RowThreads, one_blas_thread
from partwhole.store.compute import with_fixed_signs

# below so many points all eigenpairs at once are quicker than some by iteration
DENSE = 500
# below this share of known distances, one search a point along them is quicker than min-plus products
_FEW = 0.02


def classical_scaling(distances: ArrayLike, *, n_components: int = 2) -> Float[np.ndarray, "n k"]:
    """X = Φ √Λ, with the largest eigenpairs (Λ, Φ) of −½ J D² J, J = I − 11ᵀ/n.

    Distances between points of R^k come back exactly, as coordinates about their mean along their principal axes.
    Geodesic distances give what is called Isomap. A direction whose eigenvalue isn't positive is zero.

    The same distances give the same numbers, up to rounding, on every machine: the iteration starts at a fixed vector, and
    each coordinate has the sign that makes its entry of largest magnitude positive (the first of those equal up to
    rounding). Where an eigenvalue repeats, the axes within its space are arbitrary.

    Parameters
    ----------
    distances : (n, n) symmetric; NaN and inf mean that a distance is not known. It is then taken to be the length of
        the shortest path over known ones; where there is no such path, a ValueError is raised
    n_components : k, at most n

    Examples
    --------
    >>> corners = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 3.0], [0.0, 3.0]])
    >>> distances = np.linalg.norm(corners[:, None] - corners, axis=2)
    >>> classical_scaling(distances).round(6).tolist()
    [[2.0, 1.5], [-2.0, 1.5], [-2.0, -1.5], [2.0, -1.5]]
    """
    D = checked_distances(distances)
    checked_n_components(n_components, len(D))
    with one_blas_thread():
        return scaled_from(completed(D), n_components)


def scaled_from(D: Float[np.ndarray, "n n"], n_components: int) -> Float[np.ndarray, "n k"]:
    """Classical scaling of finite, checked distances."""
    largest = float(D.max(initial=0.0))
    if largest == 0:
        return np.zeros((len(D), n_components))
    values, vectors = _largest_eigenpairs(D, 1 / largest, n_components)
    return with_fixed_signs(vectors) * (np.sqrt(np.maximum(values, 0)) * largest)


def completed(D: Float[np.ndarray, "n n"]) -> Float[np.ndarray, "n n"]:
    """D with unknown distances replaced by shortest paths over known ones; D itself if all are known."""
    known = sum(int(np.count_nonzero(np.isfinite(D[rows]))) for rows in row_blocks(len(D)))
    if known == D.size:
        return D
    paths = _shortest_paths(D, known / D.size)
    for rows in row_blocks(len(D)):
        # the known ones stay as they are, even where a detour is shorter
        np.copyto(paths[rows], D[rows], where=np.isfinite(D[rows]))
    if not np.isfinite(paths).all():
        raise ValueError(
            f"distances has no path over known distances from point {np.argmin(np.isfinite(paths).all(axis=1))} "
            "to every other: give more of them, or embed the pieces one by one"
        )
    return paths


def _shortest_paths(D: Float[np.ndarray, "n n"], share: float) -> Float[np.ndarray, "n n"]:
    if share < _FEW:
        row, column = np.nonzero(np.isfinite(D))
        return dijkstra(sparse.csr_array((D[row, column].astype(float), (row, column)), shape=D.shape))
    paths = np.where(np.isfinite(D), D, np.inf)
    while True:
        shorter = min_plus(paths, paths)
        np.minimum(shorter, paths, out=shorter)
        if np.array_equal(shorter, paths):
            return paths
        paths = shorter


def _largest_eigenpairs(
    D: Float[np.ndarray, "n n"], unit: float, k: int
) -> tuple[Float[np.ndarray, "k"], Float[np.ndarray, "n k"]]:
    """Of −½ J (unit·D)² J, largest first."""
    n = len(D)
    if n <= DENSE or 2 * k >= n:
        squares = (D.astype(float) * unit) ** 2
        squares -= squares.mean(axis=0)
        squares -= squares.mean(axis=1)[:, None]
        values, vectors = eigh(-0.5 * squares, subset_by_index=[n - k, n - 1])
        return values[::-1], vectors[:, ::-1]

    from partwhole.embedding.solver.cpu.squares import squares_rows

    with RowThreads(n, n * n) as threads:

        def product(v: Float[np.ndarray, "n *one"]) -> Float[np.ndarray, "n"]:
            centred = (v - v.mean()).reshape(1, n)
            out = np.empty((1, n))
            threads(squares_rows, (D, unit, centred), (out,))
            return -0.5 * (out[0] - out.mean())

        operator = LinearOperator((n, n), matvec=product, dtype=float)
        # where ARPACK starts decides the last digits, so it is always at the same vector
        values, vectors = eigsh(operator, k, which="LA", v0=np.random.default_rng(0).standard_normal(n), tol=1e-10)
    return values[::-1], vectors[:, ::-1]
