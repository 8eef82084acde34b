"""The mirror symmetry of a surface: which vertex lies across from which."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from partwhole.mesh import as_mesh
from partwhole.mesh.surface_like import SurfaceLike
from partwhole.store.compute import first_smallest

# mean distance between a vertex and the mirror image of its opposite one, in √area, for a surface to be symmetric
_SYMMETRIC = 0.02
_TURNS = 10


def mirror_map(mesh: SurfaceLike) -> tuple[Int[np.ndarray, "n"], Float[np.ndarray, "3 3"]]:
    """For each vertex the one nearest to its mirror image, and the reflection of directions.

    The plane is the best of those across the axes and across the principal axes, after some steps of nearest points.

    Examples
    --------
    >>> from partwhole.mesh import Mesh
    >>> box = Mesh([[1, 0, 0], [-1, 0, 0], [0, 0, 2], [0, 3, 0.5]], [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]])
    >>> mirror_map(box)[0].tolist()
    [1, 0, 2, 3]
    """
    from scipy.spatial import cKDTree

    mesh = as_mesh(mesh)
    share = mesh.vertex_areas / mesh.area
    centred = mesh.vertices - share @ mesh.vertices
    tree = cKDTree(centred)
    principal = np.linalg.eigh((share[:, None] * centred).T @ centred)[1].T
    found = []
    for axis in (*np.eye(3), *principal):
        normal, offset = axis, 0.0
        for _ in range(_TURNS):
            across = tree.query(centred - 2 * np.outer(centred @ normal - offset, normal))[1]
            # the plane that halves the ways from vertices to their opposites
            way, middle = centred - centred[across], 0.5 * (centred + centred[across])
            ways = (share[:, None] * way).T @ way - (share[:, None] * (middle - share @ middle)).T @ (
                middle - share @ middle
            )
            normal = np.linalg.eigh(ways)[1][:, -1]
            offset = float(share @ middle @ normal)
        off, across = tree.query(centred - 2 * np.outer(centred @ normal - offset, normal))
        found.append((float(share @ off), across, normal))
    off, across, normal = found[first_smallest([one[0] for one in found])]
    if off > _SYMMETRIC * mesh.area**0.5:
        raise ValueError(
            f"{mesh.name} is not mirror symmetric (off by {100 * off / mesh.area**0.5:.1f} % of √area), so hold='symmetric' "
            "has nothing to follow; use hold='seen' or hold='rest'"
        )
    return across.astype(np.int64), np.eye(3) - 2 * np.outer(normal, normal)
