"""A skeleton carried to another surface: how much its vertices follow the joints, and where the joints are in its pose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse

from partwhole.mesh import Mesh
from partwhole.mesh.asset import Skin
from partwhole.mesh.barycentric import BarycentricMap
from partwhole.transfer.rigid import rotation_onto

# a joint is seen if at least this share of what follows it is covered
_SEEN = 0.15
_FEWEST_VERTICES = 6
# rounds in which each joint is fitted to what the others leave
_ROUNDS = 12
# how much a joint's place on its parent counts, beside what follows it
_ATTACHED = 1.0


@dataclass(frozen=True, eq=False, repr=False)
class TransferredSkin:
    """A skeleton on the surface that it was carried to.

    Attributes
    ----------
    skin : the joints where they are in the pose of that surface, and the weights of its vertices
    filled : vertices that are not covered, whose weights are those of the covered vertex nearest along edges
    seen : joints that were found by what follows them; the others keep their place on the joint that they hang on
    error : mean distance between the surface and the skeleton's own surface, bent to it, over what is covered
    """

    skin: Skin
    filled: Bool[np.ndarray, "n"]
    seen: Bool[np.ndarray, "b"]
    error: float

    def __repr__(self) -> str:
        return f"TransferredSkin({self.skin}: {int(self.seen.sum())} joints seen, {int(self.filled.sum())} vertices filled)"


def transfer_skinning(
    skin: Skin, origin: Mesh, target: Mesh, places: BarycentricMap, *, scale: float | None = None
) -> TransferredSkin:
    """Carry a skeleton to another surface, in whatever pose that is.

    Weights are interpolated; rows sum to one. The joints' motions M from the one pose to the other minimise
    Σ_i area_i |y_i − Σ_b w_ib M_b x_i|² over rotations and translations, after one scale for all, joint by joint, each kept
    near its place on the joint that it hangs on; y are the vertices of the target and x their places.

    Parameters
    ----------
    skin : the skeleton and the weights of the origin's vertices
    origin : the surface that the skeleton belongs to, as the skeleton's rest pose has it
    target : the surface to carry it to
    places : for each vertex of the target its place on the origin
    scale : from lengths of the origin to those of the target; the median ratio of edges unless given
    """
    for name, mesh, n in (("skin", origin, skin.weights.shape[0]), ("places", target, len(places))):
        if mesh.n_vertices != n:
            raise ValueError(f"{name} has {n} vertices, {mesh.name} {mesh.n_vertices}; do they belong together?")
    places.check_rows(origin.vertices, origin.name)
    if not places.covered.any():
        raise ValueError(f"no vertex of {target.name} is covered; a skeleton can't be carried to it")
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
    """The motions of the joints that take x to y, found joint by joint."""

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
        self.columns = sparse.csc_matrix(weights)
        share = self.areas / self.areas.sum()
        middle_x, middle_y = share @ x, share @ y
        turn = rotation_onto(x - middle_x, y - middle_y, share)
        rigid = np.column_stack([self.scale * turn, middle_y - self.scale * turn @ middle_x])
        self.motions = np.tile(rigid, (len(skin.names), 1, 1))
        squares = weights.multiply(weights)
        self.support = np.asarray(sparse.csr_matrix(squares).T @ self.areas).reshape(-1)
        there = sparse.csr_matrix(skin.weights)
        whole = np.asarray(there.multiply(there).tocsr().T @ origin.vertex_areas).reshape(-1) * self.scale**2
        many = np.diff(self.columns.indptr) >= _FEWEST_VERTICES
        self.seen = many & (self.support > _SEEN * whole) & (whole > 0)
        self.residual = y - _moved(rigid, x)

    def run(self) -> None:
        order = self.skin.order()
        for _ in range(_ROUNDS):
            for joint in order:
                self._improve(joint)
        for joint in order:
            parent = self.skin.parents[joint]
            if not self.seen[joint] and parent is not None:
                self._set(joint, self.motions[parent])

    def frames(self) -> Float[np.ndarray, "b 4 4"]:
        """The frames of the joints in the new pose."""
        found = np.tile(np.eye(4), (len(self.motions), 1, 1))
        turns = self.motions[:, :, :3] / self.scale
        found[:, :3, :3] = turns @ self.skin.rest[:, :3, :3]
        found[:, :3, 3] = np.einsum("bij,bj->bi", self.motions[:, :, :3], self.skin.joints) + self.motions[:, :, 3]
        return found

    def _improve(self, joint: int) -> None:
        """The motion that fits best what the other joints leave of y, and the place on the parent."""
        parent = self.skin.parents[joint]
        if not self.seen[joint]:
            if parent is not None:
                self._set(joint, self.motions[parent])
            return
        rows, w = self._own(joint)
        x = self.x[rows]
        goal = self.residual[rows] / w[:, None] + _moved(self.motions[joint], x)
        share = self.areas[rows] * w**2
        if parent is not None:
            attached = self.skin.joints[joint]
            x = np.concatenate([x, attached[None]])
            goal = np.concatenate([goal, _moved(self.motions[parent], attached[None])])
            share = np.append(share, _ATTACHED * self.support[joint])
        share = share / share.sum()
        middle_x, middle_goal = share @ x, share @ goal
        turn = self.scale * rotation_onto(x - middle_x, goal - middle_goal, share)
        self._set(joint, np.column_stack([turn, middle_goal - turn @ middle_x]))

    def _set(self, joint: int, motion: Float[np.ndarray, "3 4"]) -> None:
        rows, w = self._own(joint)
        step = _moved(self.motions[joint], self.x[rows]) - _moved(motion, self.x[rows])
        self.residual[rows] += w[:, None] * step
        self.motions[joint] = motion

    def _own(self, joint: int) -> tuple[Int[np.ndarray, "r"], Float[np.ndarray, "r"]]:
        """The vertices that follow a joint, and how much."""
        own = slice(self.columns.indptr[joint], self.columns.indptr[joint + 1])
        w = self.columns.data[own]
        return self.columns.indices[own][w > 0], w[w > 0]


def _moved(motion: Float[np.ndarray, "3 4"], points: Float[np.ndarray, "k 3"]) -> Float[np.ndarray, "k 3"]:
    return points @ motion[:, :3].T + motion[:, 3]
