"""How the skin follows the bones: smooth weights, and dual-quaternion blending of the bones' motions."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse
from scipy.sparse.linalg import splu

from partwhole.datasets.shapes.bodies.implicit import distance_to
from partwhole.datasets.shapes.bodies.skeleton import Pose, Skeleton
from partwhole.mesh import Mesh

# Width of the region around a joint that bends, in local radii of the limb.
_SOFTNESS = 0.5


def skinning_weights(mesh: Mesh, skeleton: Skeleton) -> Float[np.ndarray, "n b"]:
    """How much each vertex follows each bone: not negative, rows sum to one, smooth along the skin.

    Each vertex starts with the bone of the flesh it lies nearest to; this is then diffused over the surface, as far as
    the limb is thick there: (A + L) W = A W₀ with L the cotangent Laplacian of conductivity (softness · radius)², twice.
    """
    distances = np.stack([distance_to(piece, mesh.vertices) for piece in skeleton.flesh], axis=1)
    nearest = distances.argmin(axis=1)
    weights = np.zeros((mesh.n_vertices, len(skeleton.bones)))
    weights[np.arange(mesh.n_vertices), skeleton.owners[nearest]] = 1.0
    thickness = np.array([(piece.radius_start + piece.radius_end) / 2 for piece in skeleton.flesh])[nearest]
    areas = sparse.diags(mesh.vertex_areas)
    # first even out the thickness itself, which jumps between pieces of flesh
    plain = splu((areas + _laplacian(mesh, np.full(mesh.n_vertices, thickness.mean() ** 2))).tocsc())
    thickness = plain.solve(areas @ thickness)
    diffusion = splu((areas + _laplacian(mesh, (_SOFTNESS * thickness) ** 2)).tocsc())
    for _ in range(2):
        weights = diffusion.solve(areas @ weights)
    weights = np.maximum(weights, 0)
    return weights / weights.sum(axis=1, keepdims=True)


def _laplacian(mesh: Mesh, conductivity: Float[np.ndarray, "n"]) -> sparse.csr_matrix:
    """Cotangent Laplacian, positive semidefinite, with a conductivity on the vertices; weights below 0 are left out."""
    cotangents = 1 / np.tan(np.clip(mesh.corner_angles, 1e-3, np.pi - 1e-3))
    weights = np.bincount(mesh.opposite_edges.reshape(-1), weights=cotangents.reshape(-1) / 2)
    u, v = mesh.edges.T
    weights = np.maximum(weights, 1e-6) * (conductivity[u] + conductivity[v]) / 2
    n = mesh.n_vertices
    adjacency = sparse.coo_matrix((weights, (u, v)), shape=(n, n))
    adjacency = adjacency + adjacency.T
    return (sparse.diags(np.asarray(adjacency.sum(axis=1)).reshape(-1)) - adjacency).tocsr()


def skin(
    vertices: Float[np.ndarray, "n 3"],
    weights: Float[np.ndarray, "n b"],
    pose: Pose,
    parents: Int[np.ndarray, "b"],
) -> Float[np.ndarray, "n 3"]:
    """Move each vertex by the blend Σ w_b q_b / |Σ w_b q_b| of its bones' motions, as unit dual quaternions.

    Unlike a mean of matrices, the blend is a rigid motion, so that limbs keep their girth when they are twisted.
    """
    turn = _quaternions(pose.rotations)
    # q and −q are the same motion; the blend needs those of neighbouring bones on one side
    for bone, parent in enumerate(parents[1:], start=1):
        if turn[bone] @ turn[parent] < 0:
            turn[bone] *= -1
    move = 0.5 * _product(np.concatenate([np.zeros((len(turn), 1)), pose.shifts], axis=1), turn)
    real, dual = weights @ turn, weights @ move
    length = np.linalg.norm(real, axis=1, keepdims=True)
    real, dual = real / length, dual / length
    w, axis = real[:, :1], real[:, 1:]
    rotated = vertices + 2 * np.cross(axis, np.cross(axis, vertices) + w * vertices)
    shift = 2 * (w * dual[:, 1:] - dual[:, :1] * axis + np.cross(axis, dual[:, 1:]))
    return rotated + shift


def _quaternions(rotations: Float[np.ndarray, "b 3 3"]) -> Float[np.ndarray, "b 4"]:
    from scipy.spatial.transform import Rotation

    return Rotation.from_matrix(rotations).as_quat()[:, [3, 0, 1, 2]]


def _product(p: Float[np.ndarray, "b 4"], q: Float[np.ndarray, "b 4"]) -> Float[np.ndarray, "b 4"]:
    scalar = p[:, :1] * q[:, :1] - np.einsum("bi,bi->b", p[:, 1:], q[:, 1:])[:, None]
    vector = p[:, :1] * q[:, 1:] + q[:, :1] * p[:, 1:] + np.cross(p[:, 1:], q[:, 1:])
    return np.concatenate([scalar, vector], axis=1)
