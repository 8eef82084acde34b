"""Eigenvalues and eigenfunctions of the Laplacian, and their gradients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from partwhole.mesh import Mesh, SurfaceLike, as_mesh
from partwhole.store.arguments import check_whole_number
from partwhole.store.compute import with_fixed_signs


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


def laplacian(mesh: SurfaceLike) -> Laplacian:
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
    mesh = as_mesh(mesh)
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


def gradients(mesh: SurfaceLike) -> Gradients:
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
    mesh = as_mesh(mesh)
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


# below so many vertices all eigenpairs at once are quicker than some by iteration
_DENSE = 500
# above so many they need more memory and time than anyone expects
LARGEST_DENSE = 10_000
# a residual |Sy − λy| above this share of 1 + λ, with areas that sum to 1, is more than rounding
_TOLERANCE = 1e-6
# on a surface of area 1; the matrix that is factored is positive definite, and 0 is the eigenvalue nearest to it
_SHIFTS = (-0.01, -1.0)


@dataclass(frozen=True, eq=False, repr=False)
class Eigenpairs:
    """L φ = λ A φ, with Φᵀ A Φ = I and 0 ≤ λ₁ ≤ λ₂ ≤ …

    Functions on the surface are vectors with a value for each vertex; their coefficients are those of the φ.

    Attributes
    ----------
    values : λ, ascending; as many are 0 as the surface has components
    functions : Φ, a column for each eigenvalue
    mass : the diagonal of A, vertex areas
    """

    values: Float[np.ndarray, "k"]
    functions: Float[np.ndarray, "n k"]
    mass: Float[np.ndarray, "n"]

    def __post_init__(self) -> None:
        for array in (self.values, self.functions, self.mass):
            array.setflags(write=False)

    def __repr__(self) -> str:
        return f"Eigenpairs({len(self)} on {len(self.mass)} vertices, up to {self.values[-1]:.4g})"

    def __len__(self) -> int:
        return len(self.values)

    def first(self, k: int) -> Eigenpairs:
        """The k pairs of lowest eigenvalue."""
        if not 1 <= k <= len(self):
            raise ValueError(
                f"k={k} must lie between 1 and {len(self)}, the number of eigenpairs; compute more of them"
            )
        return Eigenpairs(self.values[:k], self.functions[:, :k], self.mass)

    def project(self, values: Float[np.ndarray, "n *rest"]) -> Float[np.ndarray, "k *rest"]:
        """Φᵀ A f: the coefficients of functions on the vertices, one function a column."""
        if len(values) != len(self.mass):
            raise ValueError(f"values has shape {values.shape}; give one row for each of the {len(self.mass)} vertices")
        return (self.functions * self.mass[:, None]).T @ values

    def reconstruct(self, coefficients: Float[np.ndarray, "k *rest"]) -> Float[np.ndarray, "n *rest"]:
        """Φ c: the functions with these coefficients. Projecting first leaves out what is above the last frequency."""
        if len(coefficients) != len(self):
            raise ValueError(
                f"coefficients has shape {coefficients.shape}; give one row for each of {len(self)} eigenpairs"
            )
        return self.functions @ coefficients


def eigenpairs(surface: SurfaceLike | Laplacian, k: int = 200) -> Eigenpairs:
    """The k smallest λ, and their φ, with L φ = λ A φ and Φᵀ A Φ = I.

    The same surface gives the same numbers: the iteration starts at a fixed vector, and each function has the sign that
    makes its entry of largest magnitude positive (the first of equal ones). Within a repeated eigenvalue the basis is
    arbitrary. Components are solved one by one, so that what repeats because components are alike is never missed; a
    function lives on one component, and is zero on the others.

    Parameters
    ----------
    surface : a mesh, or its Laplacian
    k : how many, at most as many as there are vertices

    Notes
    -----
    Where several processes compute at the same time, give each of them one thread (OPENBLAS_NUM_THREADS=1 and the like
    in their environment): threads that compete for cores make this several times slower.

    Examples
    --------
    On the unit sphere λ = l (l + 1), each 2 l + 1 times:

    >>> from partwhole.datasets import sphere
    >>> found = eigenpairs(sphere(2000), k=9)
    >>> found.values.round(1).tolist()
    [0.0, 2.0, 2.0, 2.0, 6.0, 6.0, 6.0, 6.0, 6.0]
    >>> gram = found.project(found.functions)
    >>> bool(np.allclose(gram, np.eye(9)))
    True
    """
    operator = surface if isinstance(surface, Laplacian) else laplacian(surface)
    n = len(operator.mass)
    check_whole_number("k", k)
    k = int(k)
    if not 1 <= k <= n:
        raise ValueError(f"k={k} must lie between 1 and {n}, the number of vertices")
    # with areas that sum to 1 the shifts and tolerances mean the same for every surface; rescaled at the end
    area = float(operator.mass.sum())
    root = np.sqrt(operator.mass / area)
    inverse_root = sparse.diags_array(1 / root)
    symmetric = sparse.csr_array(inverse_root @ operator.stiffness @ inverse_root)

    _, labels = connected_components(operator.stiffness, directed=False)
    component_areas = np.bincount(labels, weights=operator.mass)
    all_values: list[np.ndarray] = []
    members: list[np.ndarray] = []
    parts: list[np.ndarray] = []
    for label in np.argsort(-component_areas, kind="stable"):
        inside = np.flatnonzero(labels == label)
        values, vectors = _lowest(symmetric[inside][:, inside], min(k, len(inside)))
        values = np.maximum(values, 0)
        values[0] = 0  # the constant function: rows of L sum to 0
        all_values.append(values)
        parts.append(vectors / root[inside, None])
        members.append(inside)

    component = np.repeat(np.arange(len(parts)), [len(values) for values in all_values])
    column = np.concatenate([np.arange(len(values)) for values in all_values])
    joined = np.concatenate(all_values)
    chosen = np.argsort(joined, kind="stable")[:k]
    functions = np.zeros((n, k))
    for position, index in enumerate(chosen):
        functions[members[component[index]], position] = parts[component[index]][:, column[index]]
    return Eigenpairs(joined[chosen] / area, with_fixed_signs(functions) / np.sqrt(area), operator.mass)


def spectral_gradients(
    basis: Eigenpairs, gx: sparse.csr_array, gy: sparse.csr_array
) -> tuple[Float[np.ndarray, "n k"], Float[np.ndarray, "n k"]]:
    """gx Φ and gy Φ: gradients of all eigenfunctions, so that those of Φ c are dense products, (gx Φ) c and (gy Φ) c."""
    return gx @ basis.functions, gy @ basis.functions


def operator_arrays(mesh: Mesh, pairs: Eigenpairs, diffusion_eigenpairs: int) -> dict[str, np.ndarray]:
    """What a network needs of a mesh, float32: positions, normals, vertex areas, eigenvalues, and `basis`, the first
    eigenfunctions and their gradients.

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


def _lowest(S: sparse.csr_array, k: int) -> tuple[Float[np.ndarray, "k"], Float[np.ndarray, "m k"]]:
    """The k smallest eigenvalues of a symmetric matrix that is positive semi-definite, and orthonormal vectors."""
    m = S.shape[0]
    if m <= _DENSE or 3 * k > m:
        return eigh(S.toarray(), subset_by_index=(0, k - 1))
    rounding = 100 * np.finfo(float).eps * float(abs(S).sum(axis=1).max())
    for attempt, shift in enumerate(_SHIFTS):
        try:
            values, vectors = _by_iteration(S, k, shift, seed=attempt)
        except (RuntimeError, ValueError):  # no convergence, a failed factorisation, numbers that are not finite
            continue
        residual = np.linalg.norm(S @ vectors - vectors * values, axis=0)
        if np.all(residual <= _TOLERANCE * (1 + values) + rounding):
            return values, vectors
    if m > LARGEST_DENSE:
        raise ValueError(
            f"the {k} lowest eigenpairs of {m} vertices could not be found to a residual of {_TOLERANCE}; "
            "ask for fewer, or use pw.repair or pw.decimate first"
        )
    return eigh(S.toarray(), subset_by_index=(0, k - 1))


def _by_iteration(
    S: sparse.csr_array, k: int, shift: float, *, seed: int
) -> tuple[Float[np.ndarray, "k"], Float[np.ndarray, "m k"]]:
    """Lanczos iteration on (S − shift I)⁻¹, whose largest eigenvalues belong to the smallest of S."""
    m = S.shape[0]
    factored = splu(
        sparse.csc_array(S - shift * sparse.eye_array(m)),
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    inverse = LinearOperator((m, m), matvec=factored.solve, dtype=np.float64)
    start = np.random.default_rng(seed).standard_normal(m)
    _, vectors = eigsh(S, k, sigma=shift, OPinv=inverse, v0=start, ncv=min(m, 3 * k // 2 + 20))
    # orthonormal, and sorted, to the last digits: the best eigenpairs within the space that was found
    basis, _ = np.linalg.qr(vectors)
    values, rotation = eigh(basis.T @ (S @ basis))
    return values, basis @ rotation
