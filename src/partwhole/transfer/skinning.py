"""Transfer of a skeleton: the skinning weights of the target's vertices, and the joints in the target's pose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse

from partwhole.mesh import Mesh, as_mesh
from partwhole.mesh.barycentric import BarycentricMap
from partwhole.mesh.surface_like import SurfaceLike
from partwhole.mesh.textured import Skin
from partwhole.store.arguments import check_instance
from partwhole.store.compute import rotation_onto

# a joint is seen if at least this share of what follows it is covered
_SEEN = 0.05
_FEWEST_VERTICES = 6
# weights below this do not help to find a joint
_LEAST_WEIGHT = 1e-4
# rounds in which each joint is fitted to what the others leave
_ROUNDS = 30
# μ: how much it counts that joints stay together, beside what follows them
_ATTACHED = 0.05


@dataclass(frozen=True, eq=False, repr=False)
class TransferredSkin:
    """A skeleton on the target surface.

    Attributes
    ----------
    skin : the joints in the pose of the target surface, and the weights of its vertices
    filled : vertices that are not covered; they have the weights of the covered vertex nearest along edges
    seen : joints whose motion was estimated; the others move rigidly with their parents
    error : mean distance between the target and the posed original surface, over the covered vertices
    """

    skin: Skin
    filled: Bool[np.ndarray, "n"]
    seen: Bool[np.ndarray, "b"]
    error: float

    def __repr__(self) -> str:
        return f"TransferredSkin({self.skin}: {int(self.seen.sum())} joints seen, {int(self.filled.sum())} vertices filled)"


def transfer_skinning(
    skin: Skin, origin: SurfaceLike, target: SurfaceLike, places: BarycentricMap, *, scale: float | None = None
) -> TransferredSkin:
    """Transfer a skeleton to another surface, in any pose.

    Weights are interpolated; rows sum to one. The motions M of the joints minimise Σ_i area_i |y_i − Σ_b w_ib M_b x_i|² over
    rotations and translations, after one common scale, with a penalty that keeps joints attached to their parents; y are the
    vertices of the target and x their places on the origin.

    Parameters
    ----------
    skin : the skeleton and the weights of the origin's vertices
    origin : the surface that the skeleton belongs to, in its rest pose
    target : the surface that gets the skeleton
    places : for each vertex of the target its place on the origin
    scale : from lengths of the origin to those of the target; by default the median ratio of edges
    """
    check_instance("skin", skin, Skin, "take that of a TexturedMesh")
    origin, target = as_mesh(origin, name="origin"), as_mesh(target, name="target")
    check_instance("places", places, BarycentricMap, "use BarycentricMap.closest or a map")
    for name, mesh, n in (("skin", origin, skin.weights.shape[0]), ("places", target, len(places))):
        if mesh.n_vertices != n:
            raise ValueError(f"{name} has {n} vertices, {mesh.name} {mesh.n_vertices}; do they belong together?")
    places.check_rows(origin.vertices, origin.name)
    if not places.covered.any():
        raise ValueError(f"no vertex of {target.name} is covered; a skeleton can't be transferred to it")
    nearest = nearest_covered(target, places.covered)
    weights = sparse.csr_matrix(_matrix(places, origin.n_vertices)[nearest] @ skin.weights)
    weights = sparse.csr_matrix(sparse.diags(1 / np.asarray(weights.sum(axis=1)).reshape(-1)) @ weights)
    own = places.covered
    x = places.positions(origin.vertices)
    factor = _edge_ratio(target, x) if scale is None else scale
    if not 0 < factor < np.inf:
        raise ValueError(f"scale={factor} must be a positive number")
    fit = _Fit(skin, origin, x[own], target.vertices[own], target.vertex_areas[own], weights[own], factor)
    fit.run()
    off = np.linalg.norm(fit.residual, axis=1)
    error = float(np.average(off, weights=fit.areas)) if fit.areas.any() else float(off.mean())
    return TransferredSkin(Skin(skin.names, skin.parents, fit.frames(), weights), ~own, fit.seen, error)


def nearest_covered(mesh: Mesh, covered: Bool[np.ndarray, "n"]) -> Int[np.ndarray, "n"]:
    """For each vertex the covered one nearest along edges; on pieces without one, the nearest through space."""
    from scipy.sparse.csgraph import dijkstra
    from scipy.spatial import cKDTree

    found = np.arange(mesh.n_vertices)
    if covered.all():
        return found
    n = mesh.n_vertices
    graph = sparse.coo_matrix((np.maximum(mesh.edge_lengths, 1e-300), tuple(mesh.edges.T)), (n, n)).tocsr()
    known = np.flatnonzero(covered)
    _, _, source = dijkstra(graph, directed=False, indices=known, min_only=True, return_predecessors=True)
    alone = source < 0
    found = np.where(alone, 0, source)
    if alone.any():
        found[alone] = known[cKDTree(mesh.vertices[known]).query(mesh.vertices[alone])[1]]
    return found.astype(np.int64)


def _matrix(places: BarycentricMap, n: int) -> sparse.csr_matrix:
    rows = np.repeat(np.arange(len(places)), 3)
    cells = np.where(places.covered[:, None], places.triangles, 0)
    return sparse.coo_matrix((places.weights.reshape(-1), (rows, cells.reshape(-1))), (len(places), n)).tocsr()


def _edge_ratio(mesh: Mesh, images: Float[np.ndarray, "n 3"]) -> float:
    """The median ratio of edges to their images; 1 if no edge has one."""
    image = np.linalg.norm(images[mesh.edges[:, 1]] - images[mesh.edges[:, 0]], axis=1)
    known = np.isfinite(image) & (image > 0) & (mesh.edge_lengths > 0)
    return float(np.median(mesh.edge_lengths[known] / image[known])) if known.any() else 1.0


class _Fit:
    """The motions of the joints that take x to y: descent from joint to joint on

    Σ_i a_i |y_i − Σ_b w_ib M_b x_i|² + μ Σ_b s_b |M_b c_b − M_parent c_b|².

    Here a_i are areas, c_b is the place of joint b, and s_b = Σ_i a_i w_ib². No step makes the sum larger. A joint that is
    not seen moves with the one that it hangs on.
    """

    def __init__(
        self,
        skin: Skin,
        origin: Mesh,
        x: Float[np.ndarray, "k 3"],
        y: Float[np.ndarray, "k 3"],
        areas: Float[np.ndarray, "k"],
        weights: sparse.csr_matrix,
        scale: float,
    ) -> None:
        self.skin, self.x, self.scale = skin, x, scale
        self.areas = areas if areas.any() else np.ones(len(x))
        self.seen = _seen(skin, weights, self.areas, origin.vertex_areas * scale**2)
        self.leader = np.arange(len(skin.names))
        for joint in skin.order():
            parent = skin.parents[joint]
            if parent is not None and not self.seen[joint]:
                self.leader[joint] = self.leader[parent]
        n = len(skin.names)
        merged = weights @ sparse.coo_matrix((np.ones(n), (np.arange(n), self.leader)), (n, n)).tocsr()
        self.columns = sparse.csc_matrix(merged)
        self.columns.eliminate_zeros()
        self.leaders = [joint for joint in skin.order() if self.leader[joint] == joint]
        self.ties = self._ties()
        everywhere = self._best(x, y, self.areas)
        self.motions = np.tile(everywhere, (n, 1, 1))
        for joint in self.leaders:
            rows, w = self._own(joint)
            if len(rows) >= _FEWEST_VERTICES:
                self.motions[joint] = self._best(x[rows], y[rows], self.areas[rows] * w**2)
        self.residual = y.copy()
        for joint in self.leaders:
            rows, w = self._own(joint)
            self.residual[rows] -= w[:, None] * _moved(self.motions[joint], x[rows])

    def run(self) -> None:
        for _ in range(_ROUNDS):
            for joint in self.leaders:
                self._improve(joint)
        self.motions = self.motions[self.leader]

    def frames(self) -> Float[np.ndarray, "b 4 4"]:
        """The frames of the joints in the new pose."""
        found = np.tile(np.eye(4), (len(self.motions), 1, 1))
        found[:, :3, :3] = self.motions[:, :, :3] / self.scale @ self.skin.rest[:, :3, :3]
        found[:, :3, 3] = np.einsum("bij,bj->bi", self.motions[:, :, :3], self.skin.joints) + self.motions[:, :, 3]
        return found

    def _ties(self) -> dict[int, list[tuple[int, Float[np.ndarray, "3"], float]]]:
        """For each leader those that it is joined to, where, and how much that counts."""
        found: dict[int, list[tuple[int, Float[np.ndarray, "3"], float]]] = {joint: [] for joint in self.leaders}
        for joint in self.leaders:
            parent = self.skin.parents[joint]
            # where the one above is not seen, nobody knows how it turned
            if parent is None or self.leader[parent] != parent:
                continue
            rows, w = self._own(joint)
            weight = _ATTACHED * float(self.areas[rows] @ w**2)
            found[joint].append((parent, self.skin.joints[joint], weight))
            found[parent].append((joint, self.skin.joints[joint], weight))
        return found

    def _improve(self, joint: int) -> None:
        """The motion of one joint that is best while the others stay."""
        rows, w = self._own(joint)
        before = self.motions[joint]
        at = _moved(before, self.x[rows])
        joined = np.array([place for _, place, _ in self.ties[joint]]).reshape(-1, 3)
        goals = np.array([_moved(self.motions[k], place[None])[0] for k, place, _ in self.ties[joint]]).reshape(-1, 3)
        x = np.concatenate([self.x[rows], joined])
        y = np.concatenate([self.residual[rows] / w[:, None] + at, goals])
        share = np.append(self.areas[rows] * w**2, [weight for _, _, weight in self.ties[joint]])
        if len(rows) < _FEWEST_VERTICES or not share.any():
            return
        motion = self._best(x, y, share)
        self.residual[rows] += w[:, None] * (at - _moved(motion, self.x[rows]))
        self.motions[joint] = motion

    def _best(
        self, x: Float[np.ndarray, "r 3"], y: Float[np.ndarray, "r 3"], share: Float[np.ndarray, "r"]
    ) -> Float[np.ndarray, "3 4"]:
        share = share / share.sum()
        middle_x, middle_y = share @ x, share @ y
        turn = self.scale * rotation_onto(x - middle_x, y - middle_y, share)
        return np.column_stack([turn, middle_y - turn @ middle_x])

    def _own(self, joint: int) -> tuple[Int[np.ndarray, "r"], Float[np.ndarray, "r"]]:
        """The vertices that follow a joint, and how much."""
        own = slice(self.columns.indptr[joint], self.columns.indptr[joint + 1])
        enough = self.columns.data[own] > _LEAST_WEIGHT
        return self.columns.indices[own][enough], self.columns.data[own][enough]


def _seen(
    skin: Skin, weights: sparse.csr_matrix, areas: Float[np.ndarray, "k"], origin_areas: Float[np.ndarray, "n"]
) -> Bool[np.ndarray, "b"]:
    """Joints whose followers are covered, enough of them."""

    def support(table: sparse.csr_matrix, area: Float[np.ndarray, "n"]) -> Float[np.ndarray, "b"]:
        return np.asarray(sparse.csr_matrix(table.multiply(table)).T @ area).reshape(-1)

    followers = np.asarray((weights > _LEAST_WEIGHT).sum(axis=0)).reshape(-1)
    whole = support(sparse.csr_matrix(skin.weights), origin_areas)
    return (followers >= _FEWEST_VERTICES) & (whole > 0) & (support(weights, areas) > _SEEN * whole)


def _moved(motion: Float[np.ndarray, "3 4"], points: Float[np.ndarray, "k 3"]) -> Float[np.ndarray, "k 3"]:
    return points @ motion[:, :3].T + motion[:, 3]
