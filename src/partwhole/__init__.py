"""Match a part of a surface to the whole it came from, and know which distances on the part can be trusted."""

from typing import TYPE_CHECKING, Any

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
from partwhole.matching import TrainingConfig
from partwhole.mesh import Mesh, decimate, farthest_points, read_mesh, refine_border, remesh, repair, write_mesh

if TYPE_CHECKING:
    from partwhole.embedding import TCIE, WHCIE, WeightedMDS
    from partwhole.matching import Matcher, WormholeLoss, evaluate, match, train

__all__ = [
    "TCIE",
    "WHCIE",
    "Criterion",
    "Matcher",
    "Mesh",
    "Metric",
    "TrainingConfig",
    "WeightedMDS",
    "WormholeLoss",
    "__version__",
    "boundary_criterion",
    "datasets",
    "decimate",
    "evaluate",
    "farthest_points",
    "geodesic_distances",
    "match",
    "metric_at_vertices",
    "metric_on_faces",
    "read_mesh",
    "refine_border",
    "remesh",
    "repair",
    "same_loop_criterion",
    "scale_invariant_metric",
    "train",
    "uniform_metric",
    "wormhole_criterion",
    "write_mesh",
]


def __getattr__(name: str) -> Any:
    # names that need torch or scikit-learn, which are imported only when one of them is used
    if name in ("Matcher", "WormholeLoss", "evaluate", "match", "train"):
        from partwhole import matching

        return getattr(matching, name)
    if name in ("TCIE", "WHCIE", "WeightedMDS"):
        from partwhole import embedding

        return getattr(embedding, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
