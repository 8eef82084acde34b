"""Surfaces: reading, repairing, measuring, sampling and simplifying triangle meshes."""

from partwhole.mesh.decimation import Decimation, decimate
from partwhole.mesh.io import read_mesh, write_mesh
from partwhole.mesh.remeshing import refine_border, remesh
from partwhole.mesh.repair import Repair, repair
from partwhole.mesh.sampling import farthest_points
from partwhole.mesh.surface import Mesh

__all__ = [
    "Decimation",
    "Mesh",
    "Repair",
    "decimate",
    "farthest_points",
    "read_mesh",
    "refine_border",
    "remesh",
    "repair",
    "write_mesh",
]
