"""Transfer of landmarks, points on a surface."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.mesh.barycentric import SurfaceTree
from partwhole.store.arguments import as_numbers
from partwhole.transfer.correspondence import Correspondence, Side, check_correspondence, check_side


@dataclass(frozen=True, eq=False)
class TransferredLandmarks:
    """Landmarks of one surface, on the other.

    Attributes
    ----------
    positions : in the coordinates of the target surface; nan where not covered
    vertices : nearest vertices of the target surface; undefined where not covered
    covered : whether the landmark has a place there
    off_surface : distances of the landmarks from their own surface, in its units
    """

    positions: Float[np.ndarray, "k 3"]
    vertices: Int[np.ndarray, "k"]
    covered: Bool[np.ndarray, "k"]
    off_surface: Float[np.ndarray, "k"]


def transfer_landmarks(
    points: Float[np.ndarray, "k 3"], correspondence: Correspondence, *, to: Side = "part"
) -> TransferredLandmarks:
    """Transfer points of one surface to the other.

    A landmark is first projected to the closest point of its own surface. Points inside triangles are not rounded to
    vertices.

    Parameters
    ----------
    points : in the coordinates of the whole, or, with to="whole", of the part; vertices i are mesh.vertices[i]
    correspondence : of the two surfaces
    to : the surface that gets the landmarks
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
