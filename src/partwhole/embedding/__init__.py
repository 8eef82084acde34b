"""Embedding: low-dimensional maps of surfaces and points that keep the distances a criterion guarantees.

scikit-learn, SciPy and numba are imported when a name is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from partwhole.embedding.estimators.mds import WeightedMDS
    from partwhole.embedding.estimators.whcie import TCIE, WHCIE
    from partwhole.embedding.graph.boundary import BoundaryDetection, boundary_figure, boundary_points
    from partwhole.embedding.graph.point_clouds import graph_distances, neighbour_graph, neighbour_spacing
    from partwhole.embedding.solver.classical import classical_scaling
    from partwhole.embedding.solver.result import EmbeddingWarning, MDSResult
    from partwhole.embedding.solver.smacof import weighted_smacof

__all__ = [
    "TCIE",
    "WHCIE",
    "BoundaryDetection",
    "EmbeddingWarning",
    "MDSResult",
    "WeightedMDS",
    "boundary_figure",
    "boundary_points",
    "classical_scaling",
    "graph_distances",
    "neighbour_graph",
    "neighbour_spacing",
    "weighted_smacof",
]

_HOMES = {
    "graph.boundary": ("BoundaryDetection", "boundary_figure", "boundary_points"),
    "solver.classical": ("classical_scaling",),
    "estimators.whcie": ("TCIE", "WHCIE"),
    "estimators.mds": ("WeightedMDS",),
    "graph.point_clouds": ("graph_distances", "neighbour_graph", "neighbour_spacing"),
    "solver.result": ("EmbeddingWarning", "MDSResult"),
    "solver.smacof": ("weighted_smacof",),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"partwhole.embedding.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
