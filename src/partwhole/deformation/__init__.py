"""Deformation: a template deformed to fit a scan, as rigidly as possible."""

from partwhole.deformation.checks import flipped_faces, intersecting_faces
from partwhole.deformation.levels import register_in_levels
from partwhole.deformation.mirror import mirror_map
from partwhole.deformation.register import ElasticSurface, FitOptions, Guide, Registration, register
from partwhole.deformation.sources import SOURCES, Sources, sources_of

__all__ = [
    "SOURCES",
    "ElasticSurface",
    "FitOptions",
    "Guide",
    "Registration",
    "Sources",
    "flipped_faces",
    "intersecting_faces",
    "mirror_map",
    "register",
    "register_in_levels",
    "sources_of",
]
