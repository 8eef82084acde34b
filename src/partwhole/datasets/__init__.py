"""Surfaces to work with: shapes made here, parts cut from any surface with exact ground truth, and published data sets."""

from partwhole.datasets.bodies import Body, make_body
from partwhole.datasets.coarser import with_fewer_vertices
from partwhole.datasets.cutting import Cut, cut_balls, cut_plane, random_cuts
from partwhole.datasets.folder import FolderPairs
from partwhole.datasets.generated import BodyPoses, PartKey, WholeKey, body_pairs
from partwhole.datasets.ground_truth import GroundTruth
from partwhole.datasets.making import MadeSet, make_set
from partwhole.datasets.pairs import Pair, Pairs
from partwhole.datasets.people import People
from partwhole.datasets.pfaust import PFaust
from partwhole.datasets.primitives import annulus, cylinder, plane, slivers, sphere, sphere_cap, torus
from partwhole.datasets.retriangulated import people_pairs, retriangulated_body_pairs
from partwhole.datasets.shrec16 import Shrec16
from partwhole.datasets.swiss_roll import SwissRoll, swiss_roll
from partwhole.datasets.turning import with_parts_turned

__all__ = [
    "Body",
    "BodyPoses",
    "Cut",
    "FolderPairs",
    "GroundTruth",
    "MadeSet",
    "PFaust",
    "Pair",
    "Pairs",
    "PartKey",
    "People",
    "Shrec16",
    "SwissRoll",
    "WholeKey",
    "annulus",
    "body_pairs",
    "cut_balls",
    "cut_plane",
    "cylinder",
    "make_body",
    "make_set",
    "people_pairs",
    "plane",
    "random_cuts",
    "retriangulated_body_pairs",
    "slivers",
    "sphere",
    "sphere_cap",
    "swiss_roll",
    "torus",
    "with_fewer_vertices",
    "with_parts_turned",
]
