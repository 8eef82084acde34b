"""SHOT: a descriptor of the shape around each vertex, that does not change when a surface is turned or moved."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial import cKDTree

from partwhole.mesh import SurfaceLike, as_mesh
from partwhole.store.arguments import check_number, check_whole_number

SECTORS = 32


def shot(mesh: SurfaceLike, *, radius: float, bins: int = 9, least: int = 3) -> Float[np.ndarray, "n d"]:
    """Histograms of z_i · n_j over the vertices j within `radius` of vertex i, in 32 sectors, over their norm.

    Signatures of histograms of orientations (Salti, Tombari, Di Stefano 2014). The ball around a vertex is cut into 8
    azimuths × 2 heights × 2 distances in its `local_frames`, and each sector has a histogram of `bins` + 1 cosines. Turning
    and moving the surface changes nothing; scaling it, and the radius with it, neither. Bending changes little as long as
    the radius is small.

    Parameters
    ----------
    mesh : the surface
    radius : in its units; 4 % of √area of the whole is usual, for part and whole alike
    bins : 9 gives 320 numbers a vertex, 10 gives 352
    least : a vertex with fewer neighbours has the descriptor 0

    Examples
    --------
    >>> from partwhole.datasets import sphere
    >>> shot(sphere(500), radius=0.5).shape
    (500, 320)
    """
    mesh = as_mesh(mesh)
    check_number("radius", radius)
    check_whole_number("bins", bins)
    check_whole_number("least", least)
    if not radius > 0:
        raise ValueError(f"radius={radius} must be positive; 0.04 of √area of the whole is usual")
    if bins < 1:
        raise ValueError(f"bins={bins} must be at least 1")
    from partwhole.spectral.cpu.shot import shot_histograms

    starts, neighbours = neighbours_within(mesh.vertices, radius)
    normals = mesh.vertex_normals
    frames = _frames(mesh.vertices, normals, starts, neighbours, radius)
    found = shot_histograms(
        np.ascontiguousarray(mesh.vertices), np.ascontiguousarray(normals), frames, starts, neighbours, radius, bins
    )
    found[np.diff(starts) < least] = 0
    norms = np.linalg.norm(found, axis=1, keepdims=True)
    return np.divide(found, norms, out=np.zeros_like(found), where=norms > 0)


def local_frames(mesh: SurfaceLike, *, radius: float) -> Float[np.ndarray, "n 3 3"]:
    """Rows x, y, z at each vertex i: the axes of Σ_j (r − d_ij) (p_j − p_i) (p_j − p_i)ᵀ, widest first, z nearest the normal.

    j are the vertices within r of i. x points to where Σ_j (r − d_ij) x · (p_j − p_i) is positive, z to the side of the
    vertex normal, and y = z × x, so the frames turn with the surface.

    Examples
    --------
    >>> from partwhole.datasets import sphere
    >>> ball = sphere(500)
    >>> z = local_frames(ball, radius=0.5)[:, 2]
    >>> bool(((z * ball.vertices).sum(axis=1) > 0.95).all())
    True
    """
    mesh = as_mesh(mesh)
    starts, neighbours = neighbours_within(mesh.vertices, radius)
    return _frames(mesh.vertices, mesh.vertex_normals, starts, neighbours, radius)


def neighbours_within(
    points: Float[np.ndarray, "n 3"], radius: float
) -> tuple[Int[np.ndarray, "m"], Int[np.ndarray, "e"]]:
    """The vertices within the radius of each, itself left out, one after the other, and where those of each start."""
    pairs = cKDTree(points).query_pairs(radius, output_type="ndarray")
    start, end = np.concatenate([pairs, pairs[:, ::-1]]).T
    order = np.lexsort((end, start))
    starts = np.searchsorted(start[order], np.arange(len(points) + 1))
    return starts.astype(np.int64), end[order].astype(np.int64)


def _frames(
    points: Float[np.ndarray, "n 3"],
    normals: Float[np.ndarray, "n 3"],
    starts: Int[np.ndarray, "m"],
    neighbours: Int[np.ndarray, "e"],
    radius: float,
) -> Float[np.ndarray, "n 3 3"]:
    own = np.repeat(np.arange(len(points)), np.diff(starts))
    away = points[neighbours] - points[own]
    weights = radius - np.linalg.norm(away, axis=1)
    weighted = weights[:, None] * away
    spread, toward = np.zeros((len(points), 3, 3)), np.zeros((len(points), 3))
    np.add.at(spread, own, weighted[:, :, None] * away[:, None, :])
    np.add.at(toward, own, weighted)
    axes = np.linalg.eigh(spread)[1]
    x, z = axes[:, :, 2], axes[:, :, 0]
    x = x * np.where((x * toward).sum(axis=1) < 0, -1.0, 1.0)[:, None]
    z = z * np.where((z * normals).sum(axis=1) < 0, -1.0, 1.0)[:, None]
    return np.stack([x, np.cross(z, x), z], axis=1)
