"""Match a part of a surface to the whole it came from, and know which distances on the part can be trusted."""

from partwhole import datasets
from partwhole._version import __version__
from partwhole.criterion import Criterion, boundary_criterion, same_loop_criterion, wormhole_criterion
from partwhole.geodesics import (
    Metric,
    geodesic_distances,
    metric_at_vertices,
    metric_on_faces,
    scale_invariant_metric,
    uniform_metric,
)
from partwhole.mesh import Mesh, decimate, farthest_points, read_mesh, refine_border, remesh, repair, write_mesh

__all__ = [
    "Criterion",
    "Mesh",
    "Metric",
    "__version__",
    "boundary_criterion",
    "datasets",
    "decimate",
    "farthest_points",
    "geodesic_distances",
    "metric_at_vertices",
    "metric_on_faces",
    "read_mesh",
    "refine_border",
    "remesh",
    "repair",
    "same_loop_criterion",
    "scale_invariant_metric",
    "uniform_metric",
    "wormhole_criterion",
    "write_mesh",
]
