"""`PFM`, partial functional maps: which functions correspond, and which region of the whole the part is, in turn.

Written from the formulas of Rodolà, Cosmo, Bronstein, Torsello and Cremers (2017), in their direction: C takes coefficients
on the part (N) to coefficients on the whole (M). Lengths are those of a surface of area 1.93 · 10⁴, as the weights are made
for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import minimize

from partwhole.geodesics import geodesic_distances
from partwhole.matching.methods.axiomatic import TOSCA_AREA, AxiomaticMethod, rescaled, shot_descriptors
from partwhole.matching.network.surface import SurfacePair
from partwhole.mesh import Mesh, farthest_points
from partwhole.spectral import Eigenpairs, partial_rank
from partwhole.spectral.functional_maps import nearest_rows
from partwhole.store.arguments import check_whole_number

# weights of the slanted diagonal, orthogonality, area and boundary
SLANTED, ORTHOGONAL, AREA, BOUNDARY = 1.0, 1e3, 1.0, 1e2
# width of the band around ½ in which a vertex counts as boundary
_BAND = 0.2
# how fast the penalty off the slanted diagonal falls with frequency
_FADE = 0.03
_MAP_STEPS, _REGION_STEPS, _ALIGNMENTS = 10_000, 200, 30
_TOLERANCE = 1e-6
# variance of the bumps around matched points
_BUMP = 0.7
# so that norms have a gradient everywhere
_TINY = 1e-12


class PFM(AxiomaticMethod):
    """min over C, v of ‖C A − B(v)‖₂,₁ + μ₁ ‖C ∘ W‖² + μ₂ (off-diagonal of CᵀC, rank) + μ₃ (area) + μ₄ (boundary length).

    A = Φ_N†F and B(v) = Φ_M†(η(v) G) are the coefficients of SHOT descriptors, the latter within the region of the whole
    where η(v) = (1 + tanh 6 (v − ½)) / 2 is 1. C and v are found in turn, see `map_energy` and `region_energy`; after each C
    follow orthogonal alignments in the spectral domain. Then once more, from bumps around matched farthest points.

    Parameters
    ----------
    eigenpairs : of each surface
    alternations : of C and v, at most; it stops where the energy of C rises
    points : farthest points to start again from; 0: none
    radius, bins : of SHOT, the former in √area of the whole
    """

    def __init__(
        self, *, eigenpairs: int = 90, alternations: int = 6, points: int = 50, radius: float = 0.04, bins: int = 9
    ) -> None:
        for name, value in (("alternations", alternations), ("points", points)):
            check_whole_number(name, value)
        if alternations < 1:
            raise ValueError(f"alternations={alternations} must be at least 1")
        choices = {"alternations": alternations, "points": points, "radius": radius, "bins": bins}
        super().__init__("pfm", eigenpairs=eigenpairs, **choices)
        self.alternations, self.points, self.radius, self.bins = alternations, points, radius, bins

    def functional_map(self, pair: SurfacePair) -> Float[np.ndarray, "r k"]:
        part, whole = (rescaled(basis, pair.meshes[1].area, TOSCA_AREA) for basis in self.bases(pair))
        problem = Problem.of(part, whole, pair.meshes[1], *shot_descriptors(pair, radius=self.radius, bins=self.bins))
        C = alternated(problem, steps=self.alternations)
        if self.points:
            found = nearest_rows(part.functions @ C.T, whole.functions)
            bumps = matched_bumps(pair, found, min(self.points, pair.meshes[0].n_vertices))
            C = alternated(problem.with_descriptors(*bumps), steps=self.alternations)
        return C[:, : problem.rank].T


@dataclass(frozen=True, eq=False)
class Problem:
    """What the energies know of a pair.

    Attributes
    ----------
    part, whole : eigenpairs
    faces : of the whole, their vertices
    metrics : E, F and G of each face, the products of its two edges from the first vertex
    of_part, of_whole : descriptors
    rank : how many columns of C a part fills
    """

    part: Eigenpairs
    whole: Eigenpairs
    faces: Int[np.ndarray, "m 3"]
    metrics: Float[np.ndarray, "m 3"]
    of_part: Float[np.ndarray, "p d"]
    of_whole: Float[np.ndarray, "n d"]
    rank: int

    @classmethod
    def of(
        cls,
        part: Eigenpairs,
        whole: Eigenpairs,
        mesh: Mesh,
        of_part: Float[np.ndarray, "p d"],
        of_whole: Float[np.ndarray, "n d"],
    ) -> Problem:
        """The energies of a pair with these descriptors; the mesh is the whole, in any units."""
        corners = mesh.vertices[mesh.faces] * (whole.mass.sum() / mesh.area) ** 0.5
        first, second = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
        products = [(first * first).sum(axis=1), (first * second).sum(axis=1), (second * second).sum(axis=1)]
        rank = partial_rank(part.values, whole.values)
        return cls(part, whole, np.asarray(mesh.faces), np.stack(products, axis=1), of_part, of_whole, rank)

    def with_descriptors(self, of_part: Float[np.ndarray, "p d"], of_whole: Float[np.ndarray, "n d"]) -> Problem:
        """The same pair with other descriptors."""
        return replace(self, of_part=of_part, of_whole=of_whole)


def alternated(problem: Problem, *, steps: int) -> Float[np.ndarray, "k k"]:
    """C after so many turns of C, alignment and region; the one before where the energy of C rises."""
    part, whole = problem.part, problem.whole
    A = part.project(problem.of_part)
    W = slanted_weights(len(whole), len(part), problem.rank)
    C, B = (W.max() - W) / W.max(), whole.project(problem.of_whole)
    kept, least = C, np.inf
    for turn in range(steps):
        C, energy = minimised(partial(map_energy, A=A, B=B, W=W, rank=problem.rank), C, _MAP_STEPS)
        if turn and energy > least:
            break
        C = aligned(C, part, whole, problem.rank)
        kept, least = C, energy
        v = whole.reconstruct(C @ part.project(np.ones(len(part.mass))))
        v, _ = minimised(partial(region_energy, CA=C @ A, problem=problem), v, _REGION_STEPS)
        B = whole.project(membership(v)[0][:, None] * problem.of_whole)
    return kept


def slanted_weights(k_whole: int, k_part: int, rank: int) -> Float[np.ndarray, "k_whole k_part"]:
    """W_ij = exp(−0.03 √(i² + j²)) |n × (i − 1, j − 1)|, n = (1, r / k) over its norm: 0 on a diagonal of slope r / k."""
    i, j = np.meshgrid(np.arange(1.0, k_whole + 1), np.arange(1.0, k_part + 1), indexing="ij")
    slope = rank / k_part
    across = np.abs((j - 1) - slope * (i - 1)) / np.hypot(1, slope)
    return np.exp(-_FADE * np.hypot(i, j)) * across


def map_energy(
    C: Float[np.ndarray, "m n"],
    A: Float[np.ndarray, "n d"],
    B: Float[np.ndarray, "m d"],
    W: Float[np.ndarray, "m n"],
    rank: int,
) -> tuple[float, Float[np.ndarray, "m n"]]:
    """‖C A − B‖₂,₁ + μ₁ ‖C ∘ W‖² + μ₂ ‖CᵀC − J_r‖², and its gradient; the first is the sum of the norms of the columns.

    J_r is the identity up to row r: columns of C beyond the rank are to vanish.
    """
    R = C @ A - B
    norms = np.sqrt((R**2).sum(axis=0) + _TINY)
    gram = C.T @ C
    gram[np.arange(rank), np.arange(rank)] -= 1
    energy = norms.sum() + SLANTED * ((C * W) ** 2).sum() + ORTHOGONAL * (gram**2).sum()
    return float(energy), (R / norms) @ A.T + 2 * SLANTED * C * W * W + 4 * ORTHOGONAL * C @ gram


def aligned(
    C: Float[np.ndarray, "k k"], part: Eigenpairs, whole: Eigenpairs, rank: int, *, steps: int = _ALIGNMENTS
) -> Float[np.ndarray, "k k"]:
    """C ← U Vᵀ of Φ_M[T]ᵀ Φ_N, T the nearest rows of Φ_N Cᵀ and Φ_M, in turn, on the first r columns; the others become 0."""
    turned, before = C[:, :rank], None
    for _ in range(steps):
        found = nearest_rows(part.functions[:, :rank] @ turned.T, whole.functions)
        if before is not None and (found == before).all():
            break
        U, _, Vt = np.linalg.svd(whole.functions[found].T @ part.functions[:, :rank], full_matrices=False)
        turned, before = U @ Vt, found
    return np.pad(turned, ((0, 0), (0, C.shape[1] - rank)))


def region_energy(
    v: Float[np.ndarray, "n"], CA: Float[np.ndarray, "k d"], problem: Problem
) -> tuple[float, Float[np.ndarray, "n"]]:
    """‖C A − Φ_M†(η(v) G)‖₂,₁ + μ₃ (area of the part − ∫ η(v))² + μ₄ ∫ ξ(v) |∇v|, and its gradient.

    ξ(v) = exp(−(v − ½)² / 2σ²) is 1 where the region ends: the last integral is about the length of its boundary (Mumford and
    Shah).
    """
    whole, G = problem.whole, problem.of_whole
    eta, eta_slope = membership(v)
    R = CA - whole.project(eta[:, None] * G)
    norms = np.sqrt((R**2).sum(axis=0) + _TINY)
    missing = problem.part.mass.sum() - whole.mass @ eta
    length, of_length = boundary_length(v, problem)
    energy = norms.sum() + AREA * missing**2 + BOUNDARY * length
    of_eta = -((whole.functions @ (R / norms)) * G).sum(axis=1) - 2 * AREA * missing
    return float(energy), whole.mass * of_eta * eta_slope + BOUNDARY * of_length


def membership(v: Float[np.ndarray, "n"]) -> tuple[Float[np.ndarray, "n"], Float[np.ndarray, "n"]]:
    """η(v) = (1 + tanh 6 (v − ½)) / 2, from 0 to 1, and its derivative.

    >>> [round(float(eta), 3) for eta in membership(np.array([0.0, 0.5, 1.0]))[0]]
    [0.002, 0.5, 0.998]
    """
    t = np.tanh(6 * (v - 0.5))
    return (1 + t) / 2, 3 * (1 - t**2)


def boundary_length(v: Float[np.ndarray, "n"], problem: Problem) -> tuple[float, Float[np.ndarray, "n"]]:
    """Σ over faces of the mean of ξ(v) · |∇v| · area, and its gradient; |∇v| · 2 area = √(a²G − 2abF + b²E), a and b the
    differences of v along the two edges."""
    corners = problem.faces
    E, F, G = problem.metrics.T
    band = np.exp(-((v - 0.5) ** 2) / (2 * _BAND**2))
    band_slope = -(v - 0.5) / _BAND**2 * band
    a, b = v[corners[:, 1]] - v[corners[:, 0]], v[corners[:, 2]] - v[corners[:, 0]]
    size = np.sqrt(np.maximum(a * a * G - 2 * a * b * F + b * b * E, 0) + _TINY)
    mean = band[corners].mean(axis=1)
    gradient = np.zeros_like(v)
    np.add.at(gradient, corners, (size / 6)[:, None] * band_slope[corners])
    along_a, along_b = mean / 2 * (a * G - b * F) / size, mean / 2 * (b * E - a * F) / size
    np.add.at(gradient, corners[:, 1], along_a)
    np.add.at(gradient, corners[:, 2], along_b)
    np.add.at(gradient, corners[:, 0], -along_a - along_b)
    return float((mean * size).sum() / 2), gradient


def matched_bumps(
    pair: SurfacePair, vertex_map: Int[np.ndarray, "p"], count: int
) -> tuple[Float[np.ndarray, "p count"], Float[np.ndarray, "n count"]]:
    """exp(−d² / 2σ²) around farthest points of the part, and around their images on the whole."""
    part, whole = pair.meshes
    points = farthest_points(part, count)
    unit = (TOSCA_AREA / whole.area) ** 0.5
    away = [
        unit * np.asarray(geodesic_distances(mesh, sources=chosen, method="dijkstra"))
        for mesh, chosen in ((part, points), (whole, vertex_map[points]))
    ]
    bumps = [np.exp(-(distances**2) / (2 * _BUMP)).T for distances in away]
    return bumps[0], bumps[1]


def minimised(
    energy: Callable[[np.ndarray], tuple[float, np.ndarray]], start: np.ndarray, steps: int
) -> tuple[np.ndarray, float]:
    """Where L-BFGS ends, and the energy there."""

    def flat(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = energy(x.reshape(start.shape))
        return value, gradient.ravel()

    found = minimize(
        flat,
        start.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": steps, "maxfun": 2 * steps, "ftol": _TOLERANCE * 1e-3, "maxcor": 20},
    )
    return found.x.reshape(start.shape), float(found.fun)
