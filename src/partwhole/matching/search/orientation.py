"""Orientation and scale of a surface as the network sees it: axes, rotations, rigid alignment, resizing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from partwhole.matching.config import UPS, Axis, check_up
from partwhole.matching.network.surface import Surface, signatures
from partwhole.spectral import Eigenpairs

_AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}
_WHOLE_UPS = ("y", "z", "x")


def candidate_axes(up: str | None, vertical: str, *, upright: bool = True) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Axes that may point up, of the part and of the whole.

    Parameters
    ----------
    up : None, they stand as the network knows them; an axis such as "z" or "-y"; "z:y", that of the part and that of the
        whole; "auto", unknown
    vertical : of the network
    upright : False if `up=None` says nothing about the part

    Examples
    --------
    >>> candidate_axes(None, "y"), candidate_axes("z", "y"), candidate_axes("-z:y", "y")
    ((('y',), ('y',)), (('z',), ('z',)), (('-z',), ('y',)))
    """
    check_up(up)
    if up is None:
        return ((vertical,) if upright else UPS), (vertical,)
    if up == "auto":
        return UPS, _WHOLE_UPS
    of_part, colon, of_whole = up.partition(":")
    return (of_part,), (of_whole if colon else of_part,)


def all_axes() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Every axis that may point up, of the part and of the whole: a whole is rarely upside down."""
    return UPS, _WHOLE_UPS


def rotation_to_vertical(up: str, vertical: str) -> Float[np.ndarray, "3 3"]:
    """The rotation that takes the axis `up` ("z", "-y", …) to the positive axis `vertical`, by the smallest angle.

    Examples
    --------
    >>> (rotation_to_vertical("z", "y") @ [0.0, 0.0, 1.0]).round(6).tolist()
    [0.0, 1.0, 0.0]
    >>> (rotation_to_vertical("-y", "y") @ [0.0, -1.0, 0.0]).round(6).tolist()
    [0.0, 1.0, 0.0]
    """
    if up not in UPS:
        raise ValueError(f"up must be one of {', '.join(map(repr, UPS))}, got {up!r}")
    sign = -1.0 if up.startswith("-") else 1.0
    start, end = sign * np.array(_AXES[up[-1]], float), np.array(_AXES[vertical], float)
    axis = np.cross(start, end)
    if not axis.any():
        # half a turn about a horizontal axis, or none
        across = np.array(_AXES["x" if vertical != "x" else "y"], float)
        return np.eye(3) if start @ end > 0 else 2 * np.outer(across, across) - np.eye(3)
    K = np.cross(np.eye(3), axis)
    return np.eye(3) + K + K @ K


def axis_rotations(angle: Float[Tensor, "*batch"], axis: Axis) -> Float[Tensor, "*batch 3 3"]:
    """Rotations by an angle about a coordinate axis.

    Examples
    --------
    >>> axis_rotations(torch.tensor(math.pi / 2), "z").round().int().tolist()
    [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    """
    zero, one = torch.zeros_like(angle), torch.ones_like(angle)
    c, s = angle.cos(), angle.sin()
    entries = {
        "x": (one, zero, zero, zero, c, -s, zero, s, c),
        "y": (c, zero, s, zero, one, zero, -s, zero, c),
        "z": (c, -s, zero, s, c, zero, zero, zero, one),
    }[axis]
    return torch.stack(entries, dim=-1).unflatten(-1, (3, 3))


def yaws(surface: Surface, steps: int, vertical: Axis) -> Iterator[tuple[float, Surface]]:
    """Yaw angles, a full circle in equal steps, and the surface rotated by each."""
    for number in range(steps):
        angle = 2 * math.pi * number / steps
        yield angle, turned(surface, angle, vertical)


def turned(surface: Surface, angle: float, axis: Axis) -> Surface:
    """The surface turned about an axis, as far as the network sees it."""
    return (
        rotated(surface, axis_rotations(torch.tensor(angle, device=surface.points.device), axis)) if angle else surface
    )


def rotated(surface: Surface, R: Float[Tensor, "3 3"] | Float[np.ndarray, "3 3"]) -> Surface:
    """The surface in another orientation, as far as the network sees it."""
    if isinstance(R, np.ndarray):
        if np.array_equal(R, np.eye(3)):
            return surface
        R = torch.as_tensor(R, dtype=surface.points.dtype, device=surface.points.device)
    return replace(surface, points=surface.points @ R.T, normals=surface.normals @ R.T)


def rigidly_aligned(part: Surface, whole: Surface, vertex_map: Int[Tensor, "p"]) -> Surface:
    """The part moved rigidly so that its vertices lie nearest to their images on the whole (Kabsch); for the network alone.

    argmin over rotations R and translations t of Σ area |R x + t − y|², y the images.

    Examples
    --------
    >>> from partwhole.datasets import sphere
    >>> from partwhole.matching import surface_of
    >>> ball = surface_of(sphere(200).scaled(0.28), eigenpairs=5)
    >>> away = turned(replace(ball, points=ball.points + 3), 1.0, "y")
    >>> rigidly_aligned(away, ball, torch.arange(200)).points.allclose(ball.points, atol=1e-5)
    True
    """
    share = (part.mass / part.mass.sum()).double()
    x, y = part.points.double(), whole.points[vertex_map].double()
    x_mean, y_mean = share @ x, share @ y
    R = rotation_for((share[:, None] * (x - x_mean)).T @ (y - y_mean))
    points = (x - x_mean) @ R.T + y_mean
    return replace(part, points=points.to(part.points), normals=part.normals @ R.T.to(part.normals))


def rotation_for(H: Float[Tensor, "3 3"]) -> Float[Tensor, "3 3"]:
    """argmax over rotations R of trace(R H): with H = Σ x yᵀ the one that takes all x nearest to their y (Kabsch)."""
    U, _, Vt = torch.linalg.svd(H)
    # a reflection is not a rotation: the axis of the smallest singular value is turned back
    flip = torch.ones(3, dtype=H.dtype, device=H.device)
    flip[2] = torch.linalg.det(U @ Vt).sign()
    return (Vt.T * flip) @ U.T


def resized(surface: Surface, factor: float) -> Surface:
    """The surface with all lengths times a factor: λ / s², φ / s, ∇φ / s², areas · s²; nothing is computed anew."""
    if factor == 1:
        return surface
    s = float(factor)
    basis = surface.basis / s
    basis[:, 1:] /= s
    values, functions, mass = surface.values / s**2, surface.functions / s, surface.mass * s**2
    known = Eigenpairs(*(tensor.cpu().double().numpy() for tensor in (values, functions, mass)))
    return replace(
        surface,
        points=surface.points * s,
        signatures=torch.from_numpy(signatures(known)).to(surface.signatures),
        mass=mass,
        values=values,
        functions=functions,
        basis=basis,
        distances=None if surface.distances is None else surface.distances * s,
        weights=None if surface.weights is None else surface.weights * s**4,
        curvature=None if surface.curvature is None else surface.curvature / s,
    )
