"""Differential operators of a surface: the Laplacian, and gradients in a frame of the tangent plane at each vertex."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
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
    edges were flipped, within the surface, until no weight is negative, with Neumann boundary conditions. It is defined on
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


# edges in a tangent plane are taken to span one direction only if their second one is below this share of the first
_FLAT = 1e-4


@dataclass(frozen=True, eq=False, repr=False)
class Gradients:
    """∇f = (gx f) x + (gy f) y at each vertex, with (x, y, normal) a right-handed orthonormal frame.

    Attributes
    ----------
    gx, gy : sparse (n, n) operators: components of the gradient along x and y
    frames : x, y and the normal at each vertex; zero where a vertex has no normal
    """

    gx: sparse.csr_array
    gy: sparse.csr_array
    frames: Float[np.ndarray, "n 3 3"]

    def __post_init__(self) -> None:
        for array in (self.gx.data, self.gy.data, self.frames):
            array.setflags(write=False)

    def __repr__(self) -> str:
        return f"Gradients({len(self.frames)} vertices)"

    def in_space(self, values: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n 3"]:
        """The gradient of a function as vectors of the embedding space; turns with the surface, whatever the frames."""
        return (self.gx @ values)[:, None] * self.frames[:, 0] + (self.gy @ values)[:, None] * self.frames[:, 1]

    def as_complex(self) -> sparse.csr_array:
        """gx + i gy: one operator, whose results turn with the frame as complex numbers do."""
        return self.gx + 1j * self.gy


def gradients(mesh: Mesh) -> Gradients:
    """∇f(i) = argmin over g of Σ_j (⟨g, e_ij⟩ − (f_j − f_i))², j the neighbours of i, e_ij the edge in the tangent plane.

    The tangent plane is that of the vertex normal, and edges are projected onto it, as DiffusionNet (Sharp et al. 2022)
    has it. Linear functions on a flat surface have exact gradients. Where the edges span only one direction the gradient
    has no part along the other; where they span none, or a vertex has no normal, it is zero.

    The frame at a vertex is arbitrary, and the same each time: x is the coordinate axis farthest from the normal (the
    first of equal ones), projected onto the tangent plane.

    Examples
    --------
    >>> from partwhole.datasets import plane
    >>> square = plane(100)
    >>> height = 2 * square.vertices[:, 0] - 3 * square.vertices[:, 1]
    >>> gradients(square).in_space(height)[0].round(12).tolist()
    [2.0, -3.0, 0.0]
    """
    check_mesh(mesh)
    frames = tangent_frames(mesh.vertex_normals)
    start, end = np.concatenate([mesh.edges, mesh.edges[:, ::-1]]).T
    along = mesh.vertices[end] - mesh.vertices[start]
    x, y = gradient_matrices(start, end, np.einsum("eij,ej->ei", frames[start, :2], along), mesh.n_vertices)
    return Gradients(x, y, frames)


def tangent_frames(normals: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "n 3 3"]:
    """Rows x, y, normal of a right-handed orthonormal frame for each unit normal; zeros where the normal is zero."""
    # a little more for the later axes, so that rounding does not choose between equals
    axis = np.argmin(np.abs(normals) + np.array([0, 1e-6, 2e-6]), axis=1)
    x = np.eye(3)[axis] - normals * np.take_along_axis(normals, axis[:, None], axis=1)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    x[~normals.any(axis=1)] = 0
    return np.stack([x, np.cross(normals, x), normals], axis=1)


def gradient_matrices(
    start: Int[np.ndarray, "e"], end: Int[np.ndarray, "e"], tangent: Float[np.ndarray, "e 2"], n: int
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Least-squares gradients over the directed edges at each vertex, given in the frame of `start`.

    With N = Σ e eᵀ over the edges at i, the weight of f_j − f_i in the gradient at i is N⁺ e_ij.
    """
    normal = np.zeros((n, 2, 2))
    # relative to the longest edge at each vertex, so that the squares of short ones do not vanish
    longest = np.zeros(n)
    np.maximum.at(longest, start, np.abs(tangent).max(axis=1))
    scale = np.where(longest > 0, longest, 1)
    unit = tangent / scale[start, None]
    np.add.at(normal, start, unit[:, :, None] * unit[:, None, :])
    spread, directions = np.linalg.eigh(normal)
    keep = spread > _FLAT**2 * spread[:, 1:]
    inverse_spread = np.divide(1, spread, out=np.zeros_like(spread), where=keep)
    inverse = (directions * inverse_spread[:, None, :]) @ directions.transpose(0, 2, 1)
    weights = np.einsum("eij,ej->ei", inverse[start], unit) / scale[start, None]

    own = np.arange(n)
    operators = []
    for component in weights.T:
        total = np.bincount(start, weights=component, minlength=n)
        entries = np.concatenate([component, -total])
        rows, columns = np.concatenate([start, own]), np.concatenate([end, own])
        operators.append(sparse.csr_array((entries, (rows, columns)), shape=(n, n)))
    return operators[0], operators[1]
