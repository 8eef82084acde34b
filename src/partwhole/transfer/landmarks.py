"""Landmarks, points on one surface, carried to the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.mesh.closest import SurfaceTree
from partwhole.store.arguments import as_numbers
from partwhole.transfer.correspondence import Correspondence, Side, check_correspondence, check_side


@dataclass(frozen=True, eq=False)
class TransferredLandmarks:
    """Where landmarks of one surface are on the other.

    Attributes
    ----------
    positions : in the coordinates of the surface that they were carried to; nan where not covered
    vertices : its nearest vertices; of no meaning where not covered
    covered : whether the landmark has a place there
    off_surface : how far the landmarks lay from the surface that they were on, in its units
    """

    positions: Float[np.ndarray, "k 3"]
    vertices: Int[np.ndarray, "k"]
    covered: Bool[np.ndarray, "k"]
    off_surface: Float[np.ndarray, "k"]


def transfer_landmarks(
    points: Float[np.ndarray, "k 3"], correspondence: Correspondence, *, to: Side = "part"
) -> TransferredLandmarks:
    """Carry points of one surface to the other.

    A landmark is first moved to the closest point of its own surface; what lies inside a triangle stays there, it is not
    rounded to a vertex.

    Parameters
    ----------
    points : in the coordinates of the whole, or, with to="whole", of the part; vertices i are mesh.vertices[i]
    correspondence : of the two surfaces
    to : where the landmarks are wanted
    """
    check_side(to)
    check_correspondence(correspondence)
    given = as_numbers("points", points)
    if given.ndim != 2 or given.shape[1] != 3 or not np.isfinite(given).all():
        raise ValueError(f"points must be rows of three finite numbers, got shape {given.shape}")
    origin, goal = correspondence.whole, correspondence.part
    if to == "whole":
        origin, goal = goal, origin
    own = SurfaceTree(origin).nearest(given)
    if to == "part":
        on_surface = np.einsum("kc,kcd->kd", own.weights, origin.vertices[origin.faces[own.faces]])
        places = correspondence.on_part(on_surface)[0]
    else:
        places = correspondence.on_whole(own.faces, own.weights)
    return TransferredLandmarks(places.positions(goal.vertices), places.nearest_vertex, places.covered, own.distances)
