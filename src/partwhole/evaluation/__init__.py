"""Evaluation: errors of maps, by a stated protocol."""

from partwhole.evaluation.calibration import Calibration, calibration, calibration_plot
from partwhole.evaluation.curves import PckCurve, mean_curve, pck_curve, pck_plot
from partwhole.evaluation.errors import distance_rows, flip_share, geodesic_errors
from partwhole.evaluation.maps import coverage, roughness
from partwhole.evaluation.parts import PartsErrors, PartsScores, overlap_iou, parts_errors, parts_scores
from partwhole.evaluation.protocol import Protocol
from partwhole.evaluation.published import PUBLISHED, Published, published_rows
from partwhole.evaluation.results import Evaluation, PairResult, evaluate_map
from partwhole.evaluation.tables import Table, error_table

__all__ = [
    "PUBLISHED",
    "Calibration",
    "Evaluation",
    "PairResult",
    "PartsErrors",
    "PartsScores",
    "PckCurve",
    "Protocol",
    "Published",
    "Table",
    "calibration",
    "calibration_plot",
    "coverage",
    "distance_rows",
    "error_table",
    "evaluate_map",
    "flip_share",
    "geodesic_errors",
    "mean_curve",
    "overlap_iou",
    "parts_errors",
    "parts_scores",
    "pck_curve",
    "pck_plot",
    "published_rows",
    "roughness",
]
