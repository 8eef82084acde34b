"""Where the vertices of a fitted template come from: seen by the scan, between what was seen, or not seen."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from jaxtyping import Float, Int

from partwhole.deformation.register import Guide, Registration, counting, is_on_boundary
from partwhole.mesh import Mesh, as_mesh
from partwhole.mesh.barycentric import SurfaceTree
from partwhole.mesh.surface import edge_graph
from partwhole.mesh.surface_like import SurfaceLike

SEEN, BETWEEN, UNSEEN = 0, 1, 2
SOURCES = MappingProxyType({SEEN: "seen", BETWEEN: "between", UNSEEN: "unseen"})

# along the template, in √area, as far as which what was not seen is still held by what was
_BETWEEN = 0.05
# of error expected where the map is sure, and more where it is not
_SURE, _UNSURE = 0.006, 0.03
# error expected at a distance d from what was seen, measured on generated people and animals: _NEAR d + _FAR d²
_NEAR, _FAR = 0.2, 0.6
# where nothing was seen, confidence falls to 1/e over this distance
_FORGOTTEN = 0.1


@dataclass(frozen=True, eq=False)
class Sources:
    """The source of each vertex of a fitted template.

    Attributes
    ----------
    source : 0 seen, 1 between, 2 unseen; see `SOURCES`
    distance : to the nearest point of the scan
    away : along the template at rest, to the nearest vertex that was seen, in √area of the template; inf if there is none
    confidence : that of the map where it was seen, falling with the distance from there
    expected_error : expected distance from the true position, in √area of the template
    """

    source: Int[np.ndarray, "n"]
    distance: Float[np.ndarray, "n"]
    away: Float[np.ndarray, "n"]
    confidence: Float[np.ndarray, "n"]
    expected_error: Float[np.ndarray, "n"]


def sources_of(template: SurfaceLike, scan: SurfaceLike, guide: Guide, found: Registration) -> Sources:
    """Which vertices were seen, and the error to expect of the others.

    Parameters
    ----------
    template, scan, guide : as they were registered
    found : the registration
    """
    from scipy.sparse import csgraph

    template, scan = as_mesh(template, name="template"), as_mesh(scan, name="scan")
    unit = template.area**0.5
    fitted = Mesh(found.vertices, template.faces, name=template.name)
    tree = SurfaceTree(scan)
    near = tree.nearest(fitted.vertices, fitted.vertex_normals)
    seen = counting(near, template, scan, guide, is_on_boundary(scan), found.reach)
    away, origin = np.full(template.n_vertices, np.inf), np.arange(template.n_vertices)
    if seen.any():
        away, _, origin = csgraph.dijkstra(
            edge_graph(template), indices=np.flatnonzero(seen), min_only=True, return_predecessors=True
        )
        away = away / unit
    source = np.where(seen, SEEN, np.where(away <= _BETWEEN, BETWEEN, UNSEEN))
    of_scan = np.einsum("nc,nc->n", near.weights, guide.confidence[scan.faces[near.faces]])
    there = np.where(np.isfinite(away), of_scan[np.maximum(origin, 0)], 0.0)
    distance = tree.nearest(fitted.vertices).distances
    known = np.where(np.isfinite(away), away, 1.0)
    expected = _SURE + _UNSURE * (1 - there) + _NEAR * known + _FAR * known**2
    expected = np.where(seen, np.maximum(expected, distance / unit), expected)
    return Sources(source, distance, away, there * np.exp(-known / _FORGOTTEN), expected)
