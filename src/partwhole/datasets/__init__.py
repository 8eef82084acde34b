"""Surfaces to work with: shapes made here, and parts cut from any surface with exact ground truth."""

from partwhole.datasets.bodies import Body, make_body
from partwhole.datasets.cutting import Cut, cut_balls, cut_plane, random_cuts
from partwhole.datasets.primitives import annulus, cylinder, plane, slivers, sphere, sphere_cap, torus

__all__ = [
    "Body",
    "Cut",
    "annulus",
    "cut_balls",
    "cut_plane",
    "cylinder",
    "make_body",
    "plane",
    "random_cuts",
    "slivers",
    "sphere",
    "sphere_cap",
    "torus",
]
