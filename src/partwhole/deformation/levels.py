"""Large templates: a coarse version is deformed first, the fine one follows it and is then refined."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from jaxtyping import Int

from partwhole.deformation.register import FitOptions, Guide, Registration, register
from partwhole.mesh import Decimation, Mesh, as_mesh, decimate
from partwhole.mesh.surface_like import SurfaceLike
from partwhole.store.arguments import Progress
from partwhole.store.compute import nearest_rotation

# coarse vertices that move a fine one
_CARRIERS = 4
# a scan needs more vertices than the template, since its own are where things are known
_SCAN = 2


def register_in_levels(
    template: SurfaceLike,
    scan: SurfaceLike,
    guide: Guide,
    *,
    options: FitOptions | None = None,
    progress: Progress | None = None,
) -> Registration:
    """`register`, for templates and scans of any size: with at most `options.max_vertices` vertices first, then with all.

    Parameters are those of `register`.
    """
    template, scan, chosen = as_mesh(template, name="template"), as_mesh(scan, name="scan"), options or FitOptions()
    coarse = decimate(template, chosen.max_vertices) if template.n_vertices > chosen.max_vertices else None
    most = _SCAN * chosen.max_vertices
    thinned = decimate(scan, most) if scan.n_vertices > most else None
    if coarse is None and thinned is None:
        return register(template, scan, guide, options=chosen, progress=progress)
    small = _thinned(_coarsened(guide, coarse), thinned)
    found = register(
        template if coarse is None else coarse.mesh,
        scan if thinned is None else thinned.mesh,
        small,
        options=chosen,
        progress=progress,
    )
    start = found if coarse is None else carried(template, coarse, found)
    return register(template, scan, guide, options=chosen, start=start, progress=progress)


def _coarsened(guide: Guide, coarse: Decimation | None) -> Guide:
    if coarse is None:
        return guide
    landmarks = guide.landmarks.copy()
    landmarks[:, 1] = coarse.to_coarse[landmarks[:, 1]]
    opposite = None if guide.opposite is None else coarse.to_coarse[guide.opposite[coarse.to_fine]]
    return replace(guide, vertex_map=coarse.to_coarse[guide.vertex_map], landmarks=landmarks, opposite=opposite)


def _thinned(guide: Guide, thinned: Decimation | None) -> Guide:
    if thinned is None:
        return guide
    landmarks = guide.landmarks.copy()
    landmarks[:, 0] = thinned.to_coarse[landmarks[:, 0]]
    rows = thinned.to_fine
    return replace(guide, vertex_map=guide.vertex_map[rows], confidence=guide.confidence[rows], landmarks=landmarks)


def carried(template: Mesh, coarse: Decimation, found: Registration) -> Registration:
    """The fine template as the coarse one moves it: y = Σ_k w_k (y_k + R_k (x − x_k)) over the coarse vertices near x.

    Near are the coarse vertices around the one that is nearest along the surface, and w falls with the distance.
    """
    near = _around(coarse, template)
    x, knots = template.vertices, coarse.mesh.vertices
    offsets = x[:, None, :] - knots[near]
    away = np.linalg.norm(offsets, axis=2)
    width = np.maximum(away.max(axis=1, keepdims=True), 1e-300)
    weights = np.maximum(1 - away / width, 1e-9) ** 2
    weights = weights / weights.sum(axis=1, keepdims=True)
    places = found.vertices[near] + np.einsum("nkab,nkb->nka", found.rotations[near], offsets)
    rotations = nearest_rotation(np.einsum("nk,nkab->nab", weights, found.rotations[near]))
    return Registration(np.einsum("nk,nka->na", weights, places), rotations, found.reach)


def _around(coarse: Decimation, template: Mesh) -> Int[np.ndarray, "n k"]:
    """For each fine vertex its coarse vertex, and the nearest of those joined to it."""
    mesh = coarse.mesh
    i, j = np.concatenate([mesh.edges, mesh.edges[:, ::-1]]).T
    order = np.lexsort((j, i))
    degrees = np.bincount(i, minlength=mesh.n_vertices)
    starts = np.cumsum(degrees) - degrees
    most = int(degrees.max())
    place = np.minimum(np.arange(most), np.maximum(degrees[:, None] - 1, 0))
    ring = j[order][np.minimum(starts[:, None] + place, len(j) - 1)]
    ring = np.where(degrees[:, None] > 0, ring, np.arange(mesh.n_vertices)[:, None])
    candidates = np.concatenate([coarse.to_coarse[:, None], ring[coarse.to_coarse]], axis=1)
    away = np.linalg.norm(template.vertices[:, None, :] - mesh.vertices[candidates], axis=2)
    nearest = np.argsort(away, axis=1, kind="stable")[:, : min(_CARRIERS + 1, candidates.shape[1])]
    return np.take_along_axis(candidates, nearest, axis=1)
