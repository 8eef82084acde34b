"""Turning faces over until neighbours agree, and closed pieces until they face outwards."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.mesh.separation import half_ends, paired_halves
from partwhole.mesh.topology import connected_labels, unique_edges


@dataclass(frozen=True, eq=False)
class Orientation:
    """Which faces to turn over, and how many components have no orientation at all."""

    flip: Bool[np.ndarray, "m"]
    non_orientable_components: int


def consistent_orientation(vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"]) -> Orientation:
    """Which faces to turn over so that neighbours run along their common edge in opposite directions.

    The oriented double cover has two nodes for each face, as it is and turned over; nodes are joined where they agree.
    A component is orientable exactly if its double cover falls into two sheets: the one that turns fewer faces over is
    taken, and for a closed component the one that encloses a positive volume. Non-orientable components stay as they
    are. The faces must form a manifold.
    """
    m = len(faces)
    _, edge_of_half, count = unique_edges(faces)
    pairs = paired_halves(edge_of_half.reshape(-1), count == 2)
    start, _ = half_ends(faces, pairs[:, 0])
    other_start, _ = half_ends(faces, pairs[:, 1])
    flat = faces.reshape(-1)
    agree = flat[start] != flat[other_start]
    f, g = pairs[:, 0] // 3, pairs[:, 1] // 3
    opposite = np.where(agree, g, g + m)
    sheet = connected_labels(2 * m, np.stack([np.r_[f, f + m], np.r_[opposite, (opposite + m) % (2 * m)]], axis=1))
    component = connected_labels(m, np.stack([f, g], axis=1))
    _, first_face = np.unique(component, return_index=True)
    as_is, turned = sheet[first_face], sheet[first_face + m]
    orientable = as_is != turned
    size = np.bincount(sheet[:m], minlength=int(sheet.max()) + 1)
    chosen = np.where(size[as_is] >= size[turned], as_is, turned)
    flip = sheet[:m] != chosen[component]
    is_open = np.zeros(len(first_face), bool)
    is_open[component[(count[edge_of_half] == 1).any(axis=1)]] = True
    inside_out = ~is_open & (_volumes(vertices, faces, flip, component, first_face) < 0)
    flip = (flip ^ inside_out[component]) & orientable[component]
    return Orientation(flip, int((~orientable).sum()))


def _volumes(
    vertices: Float[np.ndarray, "n 3"],
    faces: Int[np.ndarray, "m 3"],
    flip: Bool[np.ndarray, "m"],
    component: Int[np.ndarray, "m"],
    first_face: Int[np.ndarray, "c"],
) -> Float[np.ndarray, "c"]:
    """Signed volume under the faces of each component, seen from one of its vertices; up to a common factor."""
    scale = np.abs(vertices[faces]).max()
    corners = vertices[faces] / (scale if scale > 0 else 1.0)
    corners = corners - corners[first_face, 0][component][:, None, :]
    signed = np.einsum("mk,mk->m", corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))
    return np.bincount(component, weights=np.where(flip, -signed, signed))
