"""Topology for the same-loop criterion: whether the part can be a piece of a sphere."""

from __future__ import annotations

import numpy as np

from partwhole.mesh.surface import Mesh
from partwhole.mesh.topology import separate


def check_piece_of_sphere(mesh: Mesh) -> None:
    """Raise ValueError, with the remedy, unless the surface is connected and cutting it out of a sphere is possible.

    Surfaces that touch themselves at single vertices are allowed: a part of a sphere can do that, and the loops that
    meet there count as one (`Mesh.boundary_labels`).
    """
    if mesh.n_components != 1:
        raise ValueError(
            f"{mesh.name} has {mesh.n_components} components; the same-loop criterion is proved for a connected part: "
            "use mesh.largest_component() or wormhole_criterion"
        )
    if np.any(mesh.faces_per_edge > 2):
        raise ValueError(
            f"{mesh.name} has {int(np.sum(mesh.faces_per_edge > 2))} edges with more than two faces, so it is not a "
            "piece of a sphere: use pw.repair or wormhole_criterion"
        )
    if twice_genus(mesh):
        raise ValueError(
            f"{mesh.name} has handles or is one-sided (2 × genus = {twice_genus(mesh)}), so the whole is not a sphere: "
            "use wormhole_criterion"
        )


def twice_genus(mesh: Mesh) -> int:
    """Σ over the pieces of 2 − loops − χ, after surfaces that touch at a vertex have been taken apart there.

    0 exactly if every piece is a sphere with holes.

    >>> twice_genus(Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0]], [[0, 1, 2], [0, 3, 4]]))
    0
    """
    separated = separate(mesh.vertices, mesh.faces)
    apart = Mesh(mesh.vertices[separated.copy_of], separated.faces)
    n_loops = len(np.unique(apart.boundary_labels))
    return 2 * apart.n_components - n_loops - apart.euler_characteristic
