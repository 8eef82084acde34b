"""The Laplacian of a surface, as a stiffness matrix and vertex areas."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import sparse

from partwhole.mesh.surface import Mesh, check_mesh


@dataclass(frozen=True, eq=False, repr=False)
class Laplacian:
    """−Δ ≈ A⁻¹ L, with L the stiffness and A the mass. L is symmetric, **positive semi-definite**, and its rows sum to 0.

    fᵀ L f is the integral of |∇f|² over the surface, fᵀ A f that of f².

    Attributes
    ----------
    stiffness : L, sparse (n, n); zero or negative off the diagonal, so that diffusion obeys the maximum principle
    mass : the diagonal of A: an area for each vertex, positive
    """

    stiffness: sparse.csr_array
    mass: Float[np.ndarray, "n"]

    def __post_init__(self) -> None:
        self.mass.setflags(write=False)
        self.stiffness.data.setflags(write=False)

    def __repr__(self) -> str:
        return f"Laplacian({len(self.mass)} vertices, area {self.mass.sum():.4g})"


def laplacian(mesh: Mesh) -> Laplacian:
    """L_ij = −(cot α_ij + cot β_ij)/2 on the edges of an intrinsic Delaunay triangulation of the surface; rows sum to 0.

    The tufted Laplacian of Sharp and Crane (2020): where each edge has two faces it is the cotangent Laplacian after
    edges were flipped, within the surface, until no weight is negative; borders have free ends (Neumann). It is defined on
    slivers, on coincident vertices, on edges with three faces or more, on surfaces that can't be oriented and on several
    components. Where triangles are (nearly) degenerate all edges are lengthened by up to 10⁻⁵ of their mean, and the areas
    are those of the surface so changed; otherwise the masses sum to the area of the mesh.

    Examples
    --------
    >>> from partwhole.datasets import sphere
    >>> found = laplacian(sphere(1000))
    >>> found
    Laplacian(1000 vertices, area 12.53)
    >>> bool(abs(found.stiffness.sum(axis=0)).max() < 1e-12)
    True
    """
    check_mesh(mesh)
    unused = mesh.n_vertices - len(np.unique(mesh.faces))
    if unused:
        raise ValueError(
            f"{mesh.name} has {unused} vertices without faces, which have no area; use pw.repair(mesh).mesh"
        )
    if mesh.area == 0:
        raise ValueError(f"{mesh.name} has area 0: all its faces are degenerate, and it has no Laplacian")
    import robust_laplacian

    # coordinates near 1, so that no square of a length is lost in the native code
    size = float(np.ptp(mesh.vertices, axis=0).max())
    centred = (mesh.vertices - mesh.vertices.mean(axis=0)) / size
    stiffness, mass = robust_laplacian.mesh_laplacian(np.ascontiguousarray(centred), np.array(mesh.faces))
    areas = mass.diagonal()
    if not (np.isfinite(stiffness.data).all() and np.isfinite(areas).all() and areas.min() > 0):
        raise ValueError(f"{mesh.name} has faces too degenerate for a Laplacian; use pw.repair(mesh).mesh")
    matrix = sparse.csr_array(stiffness)
    matrix.sort_indices()
    return Laplacian(matrix, areas * size**2)
