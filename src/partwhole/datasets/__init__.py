"""Surfaces to work with: generated shapes, parts cut from any surface with exact ground truth, and published data sets."""

from partwhole.datasets.cutting.cuts import Cut, cut_balls, cut_plane, cut_views, random_cuts
from partwhole.datasets.cutting.damage import Damaged, damaged
from partwhole.datasets.cutting.overlapping import overlapping_cuts
from partwhole.datasets.pairs import GroundTruth, Pair, Pairs
from partwhole.datasets.part_pairs import Partners, PartPair, PartPairs, part_pairs
from partwhole.datasets.published.pfaust import PFaust
from partwhole.datasets.published.shrec16 import Shrec16
from partwhole.datasets.shapes.bodies import Body, make_body
from partwhole.datasets.shapes.faces import Faces
from partwhole.datasets.shapes.people import People
from partwhole.datasets.shapes.primitives import annulus, cylinder, plane, slivers, sphere, sphere_cap, torus
from partwhole.datasets.shapes.swiss_roll import SwissRoll, swiss_roll
from partwhole.datasets.shapes.things import Thing, make_thing
from partwhole.datasets.synthetic.folder import FolderPairs
from partwhole.datasets.synthetic.generated import BodyPoses, PartKey, WholeKey, body_pairs
from partwhole.datasets.synthetic.making import MadeSet, make_set
from partwhole.datasets.synthetic.part_folder import FolderPartPairs, MadePartSet, make_part_set
from partwhole.datasets.synthetic.posed import PairOptions
from partwhole.datasets.synthetic.recipe import BodiesRecipe, DefaultRecipe, PairRecipe, PartsRecipe
from partwhole.datasets.synthetic.retriangulated import (
    face_pairs,
    people_pairs,
    retriangulated_body_pairs,
    thing_pairs,
)
from partwhole.datasets.transforms import with_fewer_vertices, with_parts_turned

__all__ = [
    "BodiesRecipe",
    "Body",
    "BodyPoses",
    "Cut",
    "Damaged",
    "DefaultRecipe",
    "Faces",
    "FolderPairs",
    "FolderPartPairs",
    "GroundTruth",
    "MadePartSet",
    "MadeSet",
    "PFaust",
    "Pair",
    "PairOptions",
    "PairRecipe",
    "Pairs",
    "PartKey",
    "PartPair",
    "PartPairs",
    "Partners",
    "PartsRecipe",
    "People",
    "Shrec16",
    "SwissRoll",
    "Thing",
    "WholeKey",
    "annulus",
    "body_pairs",
    "cut_balls",
    "cut_plane",
    "cut_views",
    "cylinder",
    "damaged",
    "face_pairs",
    "make_body",
    "make_part_set",
    "make_set",
    "make_thing",
    "overlapping_cuts",
    "part_pairs",
    "people_pairs",
    "plane",
    "random_cuts",
    "retriangulated_body_pairs",
    "slivers",
    "sphere",
    "sphere_cap",
    "swiss_roll",
    "thing_pairs",
    "torus",
    "with_fewer_vertices",
    "with_parts_turned",
]
