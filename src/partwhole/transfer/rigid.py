"""The rotation that fits best."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float


def nearest_rotation(matrix: Float[np.ndarray, "*k 3 3"]) -> Float[np.ndarray, "*k 3 3"]:
    """argmax over rotations R of tr(Rᵀ M), the rotation nearest to M, for one matrix or for many.

    >>> nearest_rotation(np.diag([3.0, 2.0, -1.0])).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    U, _, Vt = np.linalg.svd(matrix)
    # a reflection is not a rotation: the axis of the smallest singular value is turned back
    U[..., 2] *= np.sign(np.linalg.det(U @ Vt))[..., None]
    return U @ Vt


def rotation_onto(
    x: Float[np.ndarray, "p 3"], y: Float[np.ndarray, "p 3"], share: Float[np.ndarray, "p"]
) -> Float[np.ndarray, "3 3"]:
    """argmin over rotations R of Σ share |R x − y|² (Kabsch), for points about their means.

    Examples
    --------
    >>> x = np.array([[1.0, 0, 0], [0, 2, 0], [0, 0, 3], [-1, -2, -3]])
    >>> R = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    >>> bool(np.allclose(rotation_onto(x, x @ R.T, np.ones(4)), R))
    True
    """
    return nearest_rotation((share[:, None] * y).T @ x)
