"""Triangle meshes: reading and writing, landmarks, repair, measures, sampling, decimation and remeshing."""

from partwhole.mesh.decimation import Decimation, decimate, farthest_points
from partwhole.mesh.io import read_mesh, write_mesh
from partwhole.mesh.landmarks import LandmarkPair, Landmarks, read_landmark_pairs, read_landmarks, write_landmarks
from partwhole.mesh.remeshing import refine_boundary, remesh
from partwhole.mesh.repair import Repair, repair
from partwhole.mesh.surface import Mesh, as_mesh
from partwhole.mesh.surface_like import SurfaceLike

__all__ = [
    "Decimation",
    "LandmarkPair",
    "Landmarks",
    "Mesh",
    "Repair",
    "SurfaceLike",
    "as_mesh",
    "decimate",
    "farthest_points",
    "read_landmark_pairs",
    "read_landmarks",
    "read_mesh",
    "refine_boundary",
    "remesh",
    "repair",
    "write_landmarks",
    "write_mesh",
]
