"""What the same-loop criterion needs from topology: that the part can be a piece of a sphere."""

from __future__ import annotations

import numpy as np
from jaxtyping import Int

from partwhole.mesh.surface import Mesh
from partwhole.mesh.topology import connected_labels, unique_edges


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
            f"{mesh.name} has {int(np.sum(mesh.faces_per_edge > 2))} edges with more than two faces, so it is no piece "
            "of a sphere: use pw.repair or wormhole_criterion"
        )
    if twice_genus(mesh):
        raise ValueError(
            f"{mesh.name} has handles or is one-sided (2 × genus = {twice_genus(mesh)}), so the whole is no sphere: "
            "use wormhole_criterion"
        )


def twice_genus(mesh: Mesh) -> int:
    """Σ over the pieces of 2 − loops − χ, after surfaces that touch at a vertex have been taken apart there.

    0 exactly if every piece is a sphere with holes.

    >>> twice_genus(Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0]], [[0, 1, 2], [0, 3, 4]]))
    0
    """
    faces = separate_fans(mesh.faces)
    _, first_corner = np.unique(faces, return_index=True)
    apart = Mesh(mesh.vertices[mesh.faces.reshape(-1)[first_corner]], faces)
    n_loops = len(np.unique(apart.boundary_labels))
    return 2 * apart.n_components - n_loops - apart.euler_characteristic


def separate_fans(faces: Int[np.ndarray, "m 3"]) -> Int[np.ndarray, "m 3"]:
    """The same faces with a vertex of its own for each fan: corners stay joined if their faces share an edge there.

    >>> separate_fans(np.array([[0, 1, 2], [0, 2, 3], [0, 4, 5]])).tolist()
    [[0, 1, 2], [0, 2, 3], [4, 5, 6]]
    """
    _, opposite, _ = unique_edges(faces)
    corner = np.arange(faces.size).reshape(-1, 3)
    ends = np.stack([np.roll(corner, -1, axis=1), np.roll(corner, -2, axis=1)], axis=2).reshape(-1, 2)
    # the corner at the smaller vertex first, so that the ends of a side match those of its neighbour
    flat = faces.reshape(-1)
    swap = flat[ends[:, 0]] > flat[ends[:, 1]]
    ends[swap] = ends[swap][:, ::-1]
    order = np.argsort(opposite.reshape(-1), kind="stable")
    side = opposite.reshape(-1)[order]
    shared = side[1:] == side[:-1]
    joined = np.stack([ends[order][:-1][shared], ends[order][1:][shared]], axis=1)
    pairs = np.concatenate([joined[:, :, 0], joined[:, :, 1]])
    return connected_labels(faces.size, pairs).reshape(-1, 3)
