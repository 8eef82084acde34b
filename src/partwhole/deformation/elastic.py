"""As rigid as possible: the energy of a deformed surface, and the rotations and places that lower it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
from jaxtyping import Float
from scipy import sparse

from partwhole.mesh import Mesh

# of an edge; cotangents of obtuse angles are negative, and an energy with negative weights has no minimum
LEAST_WEIGHT = 1e-3
# angles of triangles without area have no cotangent
_LEAST_ANGLE = 1e-3

# of conjugate gradients: relative to the right-hand side, and at most
_PRECISE, _MOST_ITERATIONS = 1e-7, 500

Solver = Callable[[Float[np.ndarray, "n k"]], Float[np.ndarray, "n k"]]


class ElasticSurface:
    """E(y, R) = Σ_ij w_ij |(y_i − y_j) − R_i (x_i − x_j)|² over the edges of a surface with vertices x at rest.

    w are cotangent weights, R_i a rotation for each vertex (Sorkine and Alexa, 2007). With `bend`, neighbours also turn
    alike: bend · Σ_ij w_ij |R_i − R_j|² is added (Levi and Gotsman, 2015).

    Parameters
    ----------
    mesh : the surface at rest
    bend : in squares of its units of length

    Examples
    --------
    A turn costs nothing:

    >>> from partwhole.datasets import sphere
    >>> ball = ElasticSurface(sphere(100))
    >>> turn = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    >>> turned = ball.mesh.vertices @ turn.T
    >>> rotations = np.tile(np.eye(3), (100, 1, 1))
    >>> for _ in range(3):
    ...     rotations = ball.rotations(turned, rotations)
    >>> bool(np.allclose(rotations, turn))
    True
    >>> bool(np.allclose(ball.laplacian @ turned, ball.forces(rotations)))
    True
    """

    def __init__(self, mesh: Mesh, *, bend: float = 0.0) -> None:
        self.mesh, self.bend = mesh, bend
        cotangents = 1 / np.tan(np.clip(mesh.corner_angles, _LEAST_ANGLE, np.pi - _LEAST_ANGLE))
        halves = np.bincount(mesh.opposite_edges.reshape(-1), weights=cotangents.reshape(-1) / 2)
        weights = np.maximum(halves, LEAST_WEIGHT)
        i, j = mesh.edges.T
        n = mesh.n_vertices
        self._weights = sparse.csr_array(
            (np.concatenate([weights, weights]), (np.concatenate([i, j]), np.concatenate([j, i]))), shape=(n, n)
        )
        self._weights.sort_indices()
        self._starts, self._ends = (held.astype(np.int64) for held in (self._weights.indptr, self._weights.indices))
        rows = np.repeat(np.arange(n), np.diff(self._starts))
        self._rest = mesh.vertices[rows] - mesh.vertices[self._ends]

    @cached_property
    def laplacian(self) -> sparse.csc_array:
        """L with yᵀ L y = Σ w_ij |y_i − y_j|² over edges; of the energy it is half the second derivative by y, over two."""
        return sparse.csc_array(sparse.diags_array(self._weights.sum(axis=1)) - self._weights)

    def rotations(
        self,
        deformed: Float[np.ndarray, "n 3"],
        before: Float[np.ndarray, "n 3 3"],
        wanted: Float[np.ndarray, "n 3 3"] | None = None,
        pull: Float[np.ndarray, "n"] | None = None,
    ) -> Float[np.ndarray, "n 3 3"]:
        """argmin over R of E(y, R) + Σ_i pull_i |R_i − wanted_i|², for given places y.

        Parameters
        ----------
        deformed : places y
        before : rotations to begin with
        wanted, pull : rotations that are wanted, and how much
        """
        from partwhole.deformation.cpu.rotations import rotate_cells

        found = np.array(before)
        goal = found if wanted is None else wanted
        how_much = np.zeros(len(found)) if pull is None else pull
        rotate_cells(
            *(self._starts, self._ends, self._weights.data, self._rest, np.ascontiguousarray(deformed)),
            *(found, np.array(goal), how_much, self.bend),
        )
        return found

    def forces(self, rotations: Float[np.ndarray, "n 3 3"]) -> Float[np.ndarray, "n 3"]:
        """b_i = Σ_j w_ij ½ (R_i + R_j)(x_i − x_j): for given rotations, E is least where L y = b."""
        from partwhole.deformation.cpu.rotations import rotated_differences

        return rotated_differences(
            self._starts, self._ends, self._weights.data, self._rest, np.ascontiguousarray(rotations)
        )


def factorised(matrix: sparse.sparray) -> Solver:
    """Solves matrix · y = b, for a symmetric positive definite matrix."""
    from scipy.sparse.linalg import splu

    factors = splu(
        sparse.csc_matrix(matrix),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    return factors.solve


def iterated(
    matrix: sparse.csr_array, sides: Float[np.ndarray, "n 3"], start: Float[np.ndarray, "n 3"]
) -> Float[np.ndarray, "n 3"]:
    """The same for large matrices, by conjugate gradients with the diagonal as preconditioner."""
    from scipy.sparse.linalg import cg

    scale = sparse.diags_array(1 / matrix.diagonal())
    columns = [
        cg(matrix, sides[:, k], x0=start[:, k], rtol=_PRECISE, maxiter=_MOST_ITERATIONS, M=scale)[0] for k in range(3)
    ]
    return np.stack(columns, axis=1)


def nearest_rotations(matrices: Float[np.ndarray, "n 3 3"]) -> Float[np.ndarray, "n 3 3"]:
    """argmax over rotations R of tr(Rᵀ A), for each matrix A.

    >>> nearest_rotations(np.diag([2.0, 1.0, -0.5])[None])[0].round(6).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    U, _, Vt = np.linalg.svd(matrices)
    flip = np.ones((len(matrices), 3))
    flip[:, 2] = np.where(np.linalg.det(U @ Vt) < 0, -1.0, 1.0)
    return np.asarray((U * flip[:, None, :]) @ Vt)
