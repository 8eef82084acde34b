"""Surfaces: reading, repairing, measuring, sampling and simplifying triangle meshes."""

from partwhole.mesh.surface import Mesh

__all__ = ["Mesh"]
