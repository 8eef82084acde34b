"""Non-rigid registration: a template deformed to fit a scan, starting from a map between them.

E = ℓ² · (elastic energy) + Σ weight · |place − target|². ℓ is the length over which the template follows its targets. It
falls step by step, while the targets pass from the vertices that the map names to the nearest points of the scan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse

from partwhole.mesh import Mesh, as_mesh
from partwhole.mesh.barycentric import NearestPoints, SurfaceTree
from partwhole.mesh.surface_like import SurfaceLike
from partwhole.store.arguments import Progress, check_number, check_whole_number
from partwhole.store.compute import nearest_rotation

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

    def __init__(self, mesh: SurfaceLike, *, bend: float = 0.0) -> None:
        mesh = as_mesh(mesh)
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


Hold = Literal["seen", "rest", "symmetric"]

# All lengths here are in √area of the template.
# from which stiffness falls: the map is right about the large, and the template still bends at its joints
_FIRST_LENGTHS = (0.1, 0.05)
_STEPS_AT_LAST = 4
# how far off a target may be and still count half or so, in the beginning and in the end
_FIRST_REACH, _LAST_REACH = 0.1, 0.03
# what the map's own targets count beside the nearest points, in the end: they alone know where things lie along the surface
_LAST_OF_MAP = 0.3
# of the way to a nearest point what is walked along the surface
_ALONG = 0.02
# over which length the map is averaged to find the rotations to begin with
_AVERAGED = 0.06
_ROUNDS = 2
# cosine of the largest angle between normals of points that are brought together
_LEAST_COSINE = 0.3
# where the map is believed, nearest points count only as far as this from where it says
_ASTRAY, _BELIEVED = 0.12, 0.3
_LEAST_CONFIDENCE = 1e-3
# a landmark counts as much as so much of the area, in units of the template's
_LANDMARK = 0.05
# weight of staying in place, for pieces that nothing else holds
_STAY = 1e-7
# with more vertices, conjugate gradients from places that are nearly right take less than a factorisation
_FACTORISED = 20_000
# rotations of what was not seen: how much they are pulled where they follow something else, per area over ℓ²
_HELD = 30.0
# of a vertex and its surroundings, the share that has targets, below which nothing was seen there
_HARDLY_SEEN = 0.2
# vertices of the template that a fit may begin with
_FEWEST = 100


@dataclass(frozen=True)
class FitOptions:
    """How a template is deformed to fit a scan.

    Attributes
    ----------
    hold : how the template continues where the scan saw nothing: "seen", it bends as little as possible from the nearest
        seen region; "rest", it keeps its directions in the template; "symmetric", those of its mirror image on the other
        side, where that was seen
    stiffness : the length over which the template finally follows the scan, in √area of the template; the smaller, the
        closer to the scan and to its noise
    steps : iterations for each of the lengths through which the stiffness falls
    max_vertices : a template with more vertices is deformed with this many first, then with all
    """

    hold: Hold = "seen"
    stiffness: float = 0.03
    steps: int = 6
    max_vertices: int = 5000

    def __post_init__(self) -> None:
        if self.hold not in get_args(Hold):
            raise ValueError(f"hold must be one of {', '.join(map(repr, get_args(Hold)))}, got {self.hold!r}")
        check_number("stiffness", self.stiffness)
        if not 0 < self.stiffness <= 1:
            raise ValueError(f"stiffness={self.stiffness} must lie between 0 and 1, in √area of the template")
        for name, least in (("steps", 1), ("max_vertices", _FEWEST)):
            check_whole_number(name, getattr(self, name))
            if getattr(self, name) < least:
                raise ValueError(f"{name}={getattr(self, name)} must be at least {least}")


@dataclass(frozen=True, eq=False)
class Registration:
    """A template deformed to fit a scan.

    Attributes
    ----------
    vertices : of the deformed template
    rotations : of the surroundings of each vertex
    reach : up to which distance, in the units of the surfaces, a nearest point counts as seen
    """

    vertices: Float[np.ndarray, "n 3"]
    rotations: Float[np.ndarray, "n 3 3"]
    reach: float


@dataclass(frozen=True, eq=False)
class Guide:
    """What guides a registration: a map from scan to template, landmarks, and a mirror symmetry for unseen regions.

    Attributes
    ----------
    vertex_map : for each vertex of the scan one of the template
    confidence : of the map, from 0 to 1
    landmarks : rows of (scan vertex, template vertex), which are held
    opposite : for each vertex of the template its mirror image; None without symmetry
    reflection : of directions, with `opposite`
    """

    vertex_map: Int[np.ndarray, "p"]
    confidence: Float[np.ndarray, "p"]
    landmarks: Int[np.ndarray, "k 2"]
    opposite: Int[np.ndarray, "n"] | None = None
    reflection: Float[np.ndarray, "3 3"] | None = None

    @classmethod
    def of(cls, vertex_map: Int[np.ndarray, "p"], confidence: Float[np.ndarray, "p"] | None = None) -> Guide:
        """A map and nothing else."""
        certain = np.ones(len(vertex_map)) if confidence is None else confidence
        return cls(vertex_map, certain, np.empty((0, 2), np.int64))


def register(
    template: SurfaceLike,
    scan: SurfaceLike,
    guide: Guide,
    *,
    options: FitOptions | None = None,
    start: Registration | None = None,
    lengths: Sequence[float] | None = None,
    progress: Progress | None = None,
) -> Registration:
    """Deform a template to fit a scan that is aligned to it.

    Parameters
    ----------
    template : at rest
    scan : in the units of the template, rigidly aligned to it
    guide : the map, and what else is known
    options : see `FitOptions`
    start : a registration to start from; then two iterations at the last stiffness suffice
    lengths : the stiffness of each round, instead of one that falls to `options.stiffness`; fewer suffice if the map is
        nearly correct
    progress : called with (what is done, steps done, steps in all)

    Examples
    --------
    >>> from partwhole.datasets import sphere
    >>> ball = sphere(500)
    >>> egg = Mesh(ball.vertices * [1.0, 1.0, 1.2], ball.faces)
    >>> found = register(ball, egg, Guide.of(np.arange(500)))
    >>> bool(np.abs(found.vertices - egg.vertices).max() < 0.03)
    True
    """
    chosen = options or FitOptions()
    fitting = _Fitting(as_mesh(template, name="template"), as_mesh(scan, name="scan"), guide, chosen)
    tell = progress or (lambda what, done, total: None)
    if start is None:
        falling = [length for length in _FIRST_LENGTHS if length > chosen.stiffness]
        every = list(lengths or [*falling, *[chosen.stiffness] * _STEPS_AT_LAST])
        y, R = fitting.begun(every[0])
        rounds = [(length, chosen.steps) for length in every]
    else:
        y, R = start.vertices, start.rotations
        rounds = [(chosen.stiffness, 2)]
    for k, (length, steps) in enumerate(rounds):
        tell("bending", k, len(rounds))
        done = k / (len(rounds) - 1) if len(rounds) > 1 else 1.0
        for _ in range(steps):
            y, R = fitting.step(y, R, length, done, nearest=k > 0 or start is not None)
    tell("bending", len(rounds), len(rounds))
    return Registration(y, R, 2 * _LAST_REACH * fitting.unit)


def robust(distances: Float[np.ndarray, "k"], reach: float) -> Float[np.ndarray, "k"]:
    """(1 + (d / reach)²)⁻²: the weight of a target at distance d (Geman and McClure)."""
    return np.asarray((1 + (distances / reach) ** 2) ** -2)


class _Pulls:
    """Σ weight · |place − target|², as a matrix and a right-hand side."""

    def __init__(self, n: int) -> None:
        self._diagonal, self._sides = np.zeros(n), np.zeros((n, 3))
        self._matrix = sparse.csr_array((n, n))

    def at_vertices(self, weights: Float[np.ndarray, "n"], sums: Float[np.ndarray, "n 3"]) -> None:
        """For each vertex the sum of its weights, and of weights times targets."""
        self._diagonal += weights
        self._sides += sums

    def in_triangles(
        self,
        corners: Int[np.ndarray, "k 3"],
        places: Float[np.ndarray, "k 3"],
        weights: Float[np.ndarray, "k"],
        targets: Float[np.ndarray, "k 3"],
    ) -> None:
        k, n = len(corners), len(self._diagonal)
        at = sparse.csr_array((places.reshape(-1), (np.repeat(np.arange(k), 3), corners.reshape(-1))), shape=(k, n))
        weighted = sparse.csr_array(at.multiply(weights[:, None]))
        self._matrix = self._matrix + at.T @ weighted
        self._sides += weighted.T @ targets

    def solved(
        self,
        stiffness: sparse.csc_array,
        forces: Float[np.ndarray, "n 3"],
        stay: Float[np.ndarray, "n 3"],
        weight: float,
    ) -> Float[np.ndarray, "n 3"]:
        """argmin over y of the sum, of the elastic energy, and of weight · |y − stay|²."""
        matrix = stiffness + self._matrix + sparse.diags_array(self._diagonal + weight)
        sides = forces + self._sides + weight * stay
        if len(sides) <= _FACTORISED:
            return np.asarray(factorised(matrix)(sides))
        return iterated(sparse.csr_array(matrix), sides, stay)


class _Fitting:
    """One template and one scan, and everything of them that does not change while the template bends."""

    def __init__(self, template: Mesh, scan: Mesh, guide: Guide, options: FitOptions) -> None:
        self.template, self.scan, self.guide, self.options = template, scan, guide, options
        self.unit = template.area**0.5
        self.elastic = ElasticSurface(template)
        self.tree = SurfaceTree(scan)
        self.of_map = scan.vertex_areas * np.maximum(guide.confidence, _LEAST_CONFIDENCE) ** 2
        self.scan_boundary = is_on_boundary(scan)
        self.template_boundary = is_on_boundary(template)
        n, p = template.n_vertices, scan.n_vertices
        self.images = sparse.csr_array((np.ones(p), (guide.vertex_map, np.arange(p))), shape=(n, p))
        self.wanted: Float[np.ndarray, "n 3 3"] | None = None
        self.held = np.zeros(n)

    def begun(self, length: float) -> tuple[Float[np.ndarray, "n 3"], Float[np.ndarray, "n 3 3"]]:
        """Places and rotations from the map alone.

        The rotation of a vertex is that of its surroundings onto their images, in the sense of least squares, weighted by
        the heat that reaches it from there; so what was not seen turns with what was seen nearest to it.
        """
        template, x = self.template, self.template.vertices
        areas = template.vertex_areas + 1e-12 * self.unit**2
        spread = factorised(sparse.diags_array(areas) + (_AVERAGED * self.unit) ** 2 * self.elastic.laplacian)
        sure = np.ones(len(self.of_map))
        for _ in range(_ROUNDS):
            pulls, total, sums = self._of_map_and_landmarks(sure)
            some = total > 0
            places = np.divide(sums, total[:, None], out=np.zeros_like(sums), where=some[:, None])
            squares = (places[:, :, None] * x[:, None, :]).reshape(-1, 9)
            moments = spread(np.concatenate([np.ones((len(x), 1)), x, places, squares], axis=1) * total[:, None])
            heat = np.maximum(moments[:, :1], 1e-300)
            mean, image, both = moments[:, 1:4] / heat, moments[:, 4:7] / heat, moments[:, 7:] / heat
            R = nearest_rotation(both.reshape(-1, 3, 3) - image[:, :, None] * mean[:, None, :])
            unseen = np.clip(1 - spread(areas * some) / _HARDLY_SEEN, 0, 1)
            R = self._hold(R, unseen)
            stiff = (length * self.unit) ** 2
            y = pulls.solved(stiff * self.elastic.laplacian, stiff * self.elastic.forces(R), x, _STAY * self.unit**2)
            sure = robust(_lengths(y[self.guide.vertex_map] - self.scan.vertices), _FIRST_REACH * self.unit)
        return y, R

    def _hold(self, R: Float[np.ndarray, "n 3 3"], unseen: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n 3 3"]:
        """Rotations with those that what was not seen shall have, and a note of it for later."""
        if self.options.hold == "seen":
            return R
        goal, share = np.tile(np.eye(3), (len(R), 1, 1)), unseen
        if self.guide.opposite is not None and self.guide.reflection is not None:
            M = self.guide.reflection
            goal = M @ R[self.guide.opposite] @ M
            share = unseen * (1 - unseen[self.guide.opposite])
        self.wanted, self.held = goal, share * self.template.vertex_areas * _HELD
        blend = share[:, None, None]
        return nearest_rotation((1 - blend) * R + blend * goal)

    def step(
        self, y: Float[np.ndarray, "n 3"], R: Float[np.ndarray, "n 3 3"], length: float, done: float, *, nearest: bool
    ) -> tuple[Float[np.ndarray, "n 3"], Float[np.ndarray, "n 3 3"]]:
        """Rotations for the places, then places for the rotations and the targets."""
        R = self.elastic.rotations(y, R, self.wanted, self.held)
        reach = _FIRST_REACH * (_LAST_REACH / _FIRST_REACH) ** done * self.unit
        off = _lengths(y[self.guide.vertex_map] - self.scan.vertices)
        pulls, _, _ = self._of_map_and_landmarks(robust(off, reach) * _LAST_OF_MAP**done)
        if nearest:
            now = Mesh(y, self.template.faces)
            self._onto_scan(pulls, now, reach)
            self._from_scan(pulls, now, reach)
        stiff = (length * self.unit) ** 2
        stay = _STAY * self.unit**2
        return pulls.solved(stiff * self.elastic.laplacian, stiff * self.elastic.forces(R), y, stay), R

    def _of_map_and_landmarks(
        self, sure: Float[np.ndarray, "p"]
    ) -> tuple[_Pulls, Float[np.ndarray, "n"], Float[np.ndarray, "n 3"]]:
        weights = self.of_map * sure
        total, sums = self.images @ weights, self.images @ (weights[:, None] * self.scan.vertices)
        if len(self.guide.landmarks):
            here, there = self.guide.landmarks.T
            weight = _LANDMARK * self.unit**2
            np.add.at(total, there, weight)
            np.add.at(sums, there, weight * self.scan.vertices[here])
        pulls = _Pulls(len(total))
        pulls.at_vertices(total, sums)
        return pulls, total, sums

    def _onto_scan(self, pulls: _Pulls, now: Mesh, reach: float) -> None:
        """Each vertex of the template is drawn to the tangent plane at the nearest point of the scan."""
        near = self.tree.nearest(now.vertices, now.vertex_normals, least_cosine=_LEAST_COSINE)
        counts = counting(near, self.template, self.scan, self.guide, self.scan_boundary, 2 * reach)
        corners = self.scan.faces[near.faces]
        normals = _unit(_inside(near, self.scan.vertex_normals[corners]))
        targets = _towards(now.vertices, _inside(near, self.scan.vertices[corners]), normals)
        weights = np.where(counts, self.template.vertex_areas * robust(near.distances, reach), 0.0)
        pulls.at_vertices(weights, weights[:, None] * targets)

    def _from_scan(self, pulls: _Pulls, now: Mesh, reach: float) -> None:
        """Each vertex of the scan draws the nearest point of the template to its own tangent plane."""
        near = SurfaceTree(now).nearest(self.scan.vertices, self.scan.vertex_normals, least_cosine=_LEAST_COSINE)
        corners = now.faces[near.faces]
        at_rest = _inside(near, self.template.vertices[corners])
        astray = _lengths(at_rest - self.template.vertices[self.guide.vertex_map]) > _ASTRAY * self.unit
        counts = near.found & (near.distances < 2 * reach)
        counts &= ~(astray & (self.guide.confidence >= _BELIEVED))
        counts &= ~wholly(near, corners, self.template_boundary)
        normals = _unit(_inside(near, now.vertex_normals[corners]))
        places = _inside(near, now.vertices[corners])
        targets = _towards(places, self.scan.vertices, normals)
        weights = np.where(counts, self.scan.vertex_areas * robust(near.distances, reach), 0.0)
        pulls.in_triangles(corners, near.weights, weights, targets)


def counting(
    near: NearestPoints,
    template: Mesh,
    scan: Mesh,
    guide: Guide,
    boundary: Bool[np.ndarray, "p"],
    reach: float,
) -> Bool[np.ndarray, "n"]:
    """For which vertices of the template the nearest point of the scan says where they are.

    Not where it is the scan's boundary, beyond which anything may lie; where it is far off; or where the map says, and may
    be believed, that it belongs to another place.
    """
    corners = scan.faces[near.faces]
    meant = _inside(near, template.vertices[guide.vertex_map[corners]])
    believed = np.einsum("nc,nc->n", near.weights, guide.confidence[corners]) >= _BELIEVED
    astray = _lengths(meant - template.vertices) > _ASTRAY * template.area**0.5
    return np.asarray(near.found & ~wholly(near, corners, boundary) & (near.distances < reach) & ~(astray & believed))


def is_on_boundary(mesh: Mesh) -> Bool[np.ndarray, "n"]:
    """True for vertices on the boundary."""
    found = np.zeros(mesh.n_vertices, bool)
    found[mesh.boundary_vertices] = True
    return found


def wholly(near: NearestPoints, corners: Int[np.ndarray, "k 3"], among: Bool[np.ndarray, "n"]) -> Bool[np.ndarray, "k"]:
    """Whether the corners that make up a point are all among these vertices."""
    return np.asarray(np.einsum("kc,kc->k", near.weights, among[corners].astype(float)) > 1 - 1e-6)


def _inside(near: NearestPoints, of_corners: Float[np.ndarray, "k 3 d"]) -> Float[np.ndarray, "k d"]:
    return np.einsum("kc,kcd->kd", near.weights, of_corners)


def _towards(
    places: Float[np.ndarray, "k 3"], points: Float[np.ndarray, "k 3"], normals: Float[np.ndarray, "k 3"]
) -> Float[np.ndarray, "k 3"]:
    """Across the tangent plane all the way, along it only a little: surfaces slide on each other."""
    way = points - places
    across = np.einsum("kd,kd->k", way, normals)[:, None] * normals
    return places + across + _ALONG * (way - across)


def _lengths(vectors: Float[np.ndarray, "k 3"]) -> Float[np.ndarray, "k"]:
    return np.sqrt(np.einsum("kd,kd->k", vectors, vectors))


def _unit(vectors: Float[np.ndarray, "k 3"]) -> Float[np.ndarray, "k 3"]:
    return vectors / np.maximum(_lengths(vectors), 1e-300)[:, None]
