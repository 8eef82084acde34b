"""What a network needs of a mesh, as arrays: no torch, so that processes which only prepare surfaces start fast."""

from __future__ import annotations

import numpy as np

from partwhole.mesh import Mesh
from partwhole.spectral import Eigenpairs, gradients, spectral_gradients


def operator_arrays(mesh: Mesh, pairs: Eigenpairs, diffusion_eigenpairs: int) -> dict[str, np.ndarray]:
    """Positions, normals, vertex areas, eigenvalues, and `basis`: the first eigenfunctions and their gradients.

    See `Operators` for the last of them.

    Examples
    --------
    >>> from partwhole.datasets import sphere
    >>> from partwhole.spectral import eigenpairs
    >>> ball = sphere(100)
    >>> operator_arrays(ball, eigenpairs(ball, 20), 8)["basis"].shape
    (100, 3, 8)
    """
    few = pairs.first(diffusion_eigenpairs)
    frame = gradients(mesh)
    found = {
        "points": mesh.vertices,
        "normals": mesh.vertex_normals,
        "mass": pairs.mass,
        "values": pairs.values,
        "basis": np.stack([few.functions, *spectral_gradients(few, frame.gx, frame.gy)], axis=1),
    }
    return {name: np.ascontiguousarray(array, np.float32) for name, array in found.items()}
