"""What a loss sees of a large surface: some of its vertices, spread evenly, each with the area around it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float, Int
from scipy.sparse import csgraph
from torch import Tensor

from partwhole.criterion.chosen import ChosenDistances, distances_among
from partwhole.matching.config import LossConfig
from partwhole.matching.network.surface import Surface, pair_mask, whole_with_loss
from partwhole.mesh import Mesh, farthest_points
from partwhole.mesh.surface import edge_graph


def spread_vertices(mesh: Mesh, count: int) -> tuple[Int[np.ndarray, "m"], Float[np.ndarray, "m"]]:
    """Vertices as far from each other as can be, and for each the area of the vertices that it is the nearest of.

    The areas add up to that of the surface, so sums over the chosen vertices stand for integrals over all of it.

    Parameters
    ----------
    mesh : the surface
    count : how many vertices

    Examples
    --------
    >>> from partwhole.datasets import sphere
    >>> vertices, areas = spread_vertices(sphere(500), 60)
    >>> len(vertices), bool(np.isclose(areas.sum(), sphere(500).area)), bool(areas.max() < 6 * areas.min())
    (60, True, True)
    """
    vertices = np.sort(farthest_points(mesh, count))
    _, _, nearest = csgraph.dijkstra(edge_graph(mesh), indices=vertices, min_only=True, return_predecessors=True)
    # vertices without a way to any of them have no faces, and so no area
    reached = nearest >= 0
    of_vertex = np.searchsorted(vertices, nearest[reached])
    return vertices, np.bincount(of_vertex, mesh.vertex_areas[reached], minlength=count)


def keep_vertices(part: Surface, mesh: Mesh, loss: LossConfig, device: str) -> Surface:
    """The part with what a loss sees of it: `distance_vertices` vertices, their distances, and weights W_ij = M_ij A_i A_j.

    A_i is the area around vertex i. The loss is the one of these vertices: Σ over them in the place of Σ over all.

    Parameters
    ----------
    part, mesh : the surface with more vertices than that, and the mesh it is of
    loss : how many vertices, which distances, which criterion
    device : where distances are computed
    """
    vertices, seen, among = _at_kept(part, mesh, loss, device)
    D = torch.tensor(among.distances)
    M = pair_mask(mesh, D, criterion=loss.criterion, mask=loss.mask, among=among).to(seen.mass.device)
    finite = torch.where(D.isfinite(), D, 0).to(seen.mass.device)
    return replace(part, kept=(vertices, seen.with_loss(finite, M * (seen.mass[:, None] * seen.mass))))


def keep_whole_vertices(whole: Surface, mesh: Mesh, loss: LossConfig, device: str) -> Surface:
    """The whole with what a loss sees of it: soft maps lead to `distance_vertices` vertices, and distances are between these.

    Parameters
    ----------
    whole, mesh, loss, device : see `keep_vertices`
    """
    vertices, seen, among = _at_kept(whole, mesh, loss, device)
    D = torch.tensor(among.distances)
    found = whole_with_loss(seen.to("cpu"), mesh, D, loss, criterion=loss.criterion, among=among)
    return replace(whole, kept=(vertices, found.to(seen.mass.device)))


def _at_kept(
    surface: Surface, mesh: Mesh, loss: LossConfig, device: str
) -> tuple[Int[Tensor, "m"], Surface, ChosenDistances]:
    """Which vertices are kept, the surface at these, and distances among them."""
    assert loss.distance_vertices is not None
    chosen, areas = spread_vertices(mesh, loss.distance_vertices)
    at = torch.from_numpy(chosen).to(surface.mass.device)
    names = ("points", "normals", "signatures", "functions", "basis")
    of_vertices = {name: getattr(surface, name)[at] for name in names}
    curvature = None if surface.curvature is None else surface.curvature[at]
    mass = torch.tensor(areas, dtype=surface.mass.dtype, device=surface.mass.device)
    seen = Surface(**of_vertices, mass=mass, values=surface.values, curvature=curvature)
    computed_on = "cpu" if loss.distances == "exact" else device
    return at, seen, distances_among(mesh, chosen, method=loss.distances, device=computed_on)
