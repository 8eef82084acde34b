"""Geodesic distances on surfaces, and Riemannian metrics to measure them with."""

from partwhole.geodesics.distances import geodesic_distances
from partwhole.geodesics.metrics import (
    Metric,
    metric_at_vertices,
    metric_on_faces,
    scale_invariant_metric,
    uniform_metric,
)

__all__ = [
    "Metric",
    "geodesic_distances",
    "metric_at_vertices",
    "metric_on_faces",
    "scale_invariant_metric",
    "uniform_metric",
]
