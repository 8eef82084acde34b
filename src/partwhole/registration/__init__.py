"""Registration: fit a template to a scan, and compare fitted templates."""

from partwhole.deformation.register import FitOptions
from partwhole.registration.fit import fit, fit_in_session, fit_match
from partwhole.registration.merge import MergedParts, merge
from partwhole.registration.result import FittedTemplate
from partwhole.registration.statistics import ShapeStatistics, shape_statistics

__all__ = [
    "FitOptions",
    "FittedTemplate",
    "MergedParts",
    "ShapeStatistics",
    "fit",
    "fit_in_session",
    "fit_match",
    "merge",
    "shape_statistics",
]
