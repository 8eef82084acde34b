"""Eigenvalues and eigenfunctions of the Laplacian, and their gradients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy import sparse
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from partwhole._ties import with_fixed_signs
from partwhole.mesh.surface import Mesh
from partwhole.spectral.operators import Laplacian, laplacian

# below so many vertices all eigenpairs at once are quicker than some by iteration
_DENSE = 500
# above so many they need more memory and time than anyone expects
_LARGEST_DENSE = 10_000
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


def eigenpairs(surface: Mesh | Laplacian, k: int = 200) -> Eigenpairs:
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
    if m > _LARGEST_DENSE:
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
