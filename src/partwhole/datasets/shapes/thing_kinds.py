"""What things are made of: for each kind a function that draws the pieces of one thing, about one unit large, y up."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from partwhole.datasets.shapes.bodies.rig import Vector, rotation_about
from partwhole.datasets.shapes.solids import Box, Cone, Ellipsoid, Piece, Turned

Draw = np.random.Generator


def furniture(rng: Draw) -> list[Piece]:
    """A chair, a stool, a table or a lamp."""
    return [_chair, _stool, _table, _lamp][int(rng.integers(4))](rng)


def vessel(rng: Draw) -> list[Piece]:
    """A vase, bottle, cup or jug, some of them hollow; a handle is a hook that does not close."""
    height, steps = rng.uniform(0.6, 1.2), int(rng.integers(3, 7))
    radii = rng.uniform(0.1, 0.34, size=steps + 1)
    if rng.random() < 0.4:
        # a bottle has a neck
        radii[: steps // 2 + 1] = rng.uniform(0.2, 0.32)
        radii[-2:] = rng.uniform(0.07, 0.11)
    pieces: list[Piece] = [Turned(height=height, radii=_numbers(radii), rounding=rng.uniform(0.03, 0.1))]
    top, at = height / 2, rng.uniform(0, 2 * np.pi)
    if rng.random() < 0.6:
        aside, up = _at(np.cos(at), 0.0, np.sin(at)), rng.uniform(0.1, 0.4) * height
        foot = 0.7 * float(np.interp(up, np.linspace(-top, top, steps + 1), radii))
        out = max(radii) + rng.uniform(0.12, 0.22)
        drop = rng.uniform(0.15, 0.45) * height
        path = [
            foot * aside + _at(0, up, 0),
            out * aside + _at(0, up + 0.04, 0),
            (out + 0.02) * aside + _at(0, up - drop, 0),
        ]
        pieces += _chain(rng, path, rng.uniform(0.03, 0.05))
    if rng.random() < 0.5:
        turn = at + np.pi * rng.uniform(0.6, 1.3)
        aside, up = _at(np.cos(turn), 0.0, np.sin(turn)), rng.uniform(-0.2, 0.2) * height
        end = (max(radii) + rng.uniform(0.15, 0.3)) * aside + _at(0, up + rng.uniform(0.1, 0.4), 0)
        pieces += _chain(rng, [0.05 * aside + _at(0, up, 0), end], rng.uniform(0.06, 0.09), taper=rng.uniform(0.4, 0.9))
    if rng.random() < 0.35 and radii[-1] > 0.14:
        deep, wall = rng.uniform(0.4, 0.85) * height, 0.05
        inside = np.maximum(np.interp(np.linspace(top - deep, top, 6), np.linspace(-top, top, steps + 1), radii), 0.12)
        inside = np.minimum(inside, radii.min() if steps > 4 else inside.max()) - wall
        hole = Turned(
            centre=(0, top + 0.15 - deep / 2, 0), height=deep + 0.3, radii=_numbers(inside), hollow=True, blend=0.03
        )
        pieces.append(hole)
    return pieces


def profile(rng: Draw) -> list[Piece]:
    """An L, T, U or cross of rounded bars, with ribs and studs."""
    thick, wide = rng.uniform(0.04, 0.09), rng.uniform(0.08, 0.22)
    long, rounding = rng.uniform(0.35, 0.5), rng.uniform(0.01, 0.04)
    pieces: list[Piece] = [Box(size=(long, thick, wide), rounding=rounding)]
    kind = rng.choice(["L", "T", "U", "+"])
    for x in {"L": [-1.0], "T": [rng.uniform(-0.3, 0.3)], "U": [-1.0, 1.0], "+": [rng.uniform(-0.3, 0.3)]}[str(kind)]:
        height = rng.uniform(0.2, 0.45)
        low = -height if kind == "+" else -thick
        middle = (x * (long - thick), (height + low) / 2, 0.0)
        pieces.append(
            Box(
                centre=middle,
                size=(thick, (height - low) / 2, wide * rng.uniform(0.7, 1.0)),
                rounding=rounding,
                blend=0.04,
            )
        )
    for _ in range(int(rng.integers(0, 4))):
        at = (rng.uniform(-0.8, 0.8) * long, 0.0, rng.uniform(-0.6, 0.6) * wide)
        up = rng.choice([-1, 1]) * (thick + rng.uniform(0.08, 0.2))
        radius = rng.uniform(0.03, 0.06)
        pieces.append(Cone(centre=at, start=(0, 0, 0), end=(0, up, 0), r_start=radius, r_end=0.8 * radius, blend=0.03))
    if rng.random() < 0.5:
        side = (rng.uniform(-0.5, 0.5) * long, 0.0, rng.choice([-1, 1]) * wide)
        pieces.append(
            Box(centre=side, size=(rng.uniform(0.05, 0.15), thick, rng.uniform(0.1, 0.25)), rounding=rounding)
        )
    return pieces


def bone(rng: Draw) -> list[Piece]:
    """A long bone, a vertebra, half a pelvis or a jaw."""
    return [_long_bone, _vertebra, _pelvis, _jaw][int(rng.integers(4))](rng)


def tooth(rng: Draw) -> list[Piece]:
    """A crown with one to five cusps on one to three roots."""
    wide, deep, tall = rng.uniform(0.14, 0.28), rng.uniform(0.12, 0.24), rng.uniform(0.12, 0.22)
    pieces: list[Piece] = [Box(size=(wide, tall, deep), rounding=rng.uniform(0.6, 0.95) * min(wide, tall, deep))]
    n_cusps, n_roots = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    for k in range(n_cusps):
        angle = 2 * np.pi * (k + rng.uniform(-0.2, 0.2)) / n_cusps
        out = 0.0 if n_cusps == 1 else 0.55
        at = (out * wide * np.cos(angle), 0.85 * tall, out * deep * np.sin(angle))
        pieces.append(Cone(centre=at, start=(0, 0, 0), end=(0, rng.uniform(0.03, 0.09), 0), r_start=0.08, r_end=0.04))
    turn = rng.uniform(0, 2 * np.pi)
    for k in range(n_roots):
        angle = turn + 2 * np.pi * k / n_roots
        aside = _at(np.cos(angle) * wide, 0.0, np.sin(angle) * deep) * (n_roots > 1)
        length, bent = rng.uniform(0.35, 0.65), rng.normal(size=3) * [0.06, 0, 0.06]
        path = [0.45 * aside + _at(0, -0.5 * tall, 0), 0.75 * aside + _at(0, -tall - length / 2, 0), 0.8 * aside + bent]
        path[2] = path[2] + _at(0, -tall - length, 0)
        pieces += _chain(rng, path, rng.uniform(0.075, 0.11), taper=rng.uniform(0.3, 0.6))
    return pieces


def blob(rng: Draw) -> list[Piece]:
    """Some ellipsoids, and bent or flat protrusions in random directions."""
    pieces: list[Piece] = [Ellipsoid(size=_vector(rng.uniform(0.15, 0.36, size=3)), turn=_turned(rng))]
    for _ in range(int(rng.integers(0, 3))):
        centre = _direction(rng) * rng.uniform(0.1, 0.25)
        size = _vector(rng.uniform(0.1, 0.25, size=3))
        pieces.append(Ellipsoid(centre=_vector(centre), size=size, turn=_turned(rng), blend=0.12))
    for _ in range(int(rng.integers(1, 8))):
        along, root = _direction(rng), rng.uniform(0.05, 0.12)
        if rng.random() < 0.3:
            size = (rng.uniform(0.15, 0.35), rng.uniform(0.035, 0.06), rng.uniform(0.1, 0.25))
            pieces.append(Box(centre=_vector(0.3 * along), size=size, rounding=0.035, turn=_turned(rng), blend=0.08))
            continue
        path = [0.1 * along]
        for _ in range(int(rng.integers(1, 4))):
            along = along + 0.5 * rng.normal(size=3)
            along /= np.linalg.norm(along)
            path.append(path[-1] + rng.uniform(0.15, 0.32) * along)
        pieces += _chain(rng, path, root, taper=rng.uniform(0.5, 1.2), blend=0.08)
    return pieces


KINDS: dict[str, Callable[[Draw], list[Piece]]] = {
    "furniture": furniture,
    "vessel": vessel,
    "profile": profile,
    "bone": bone,
    "tooth": tooth,
    "blob": blob,
}


def _chair(rng: Draw) -> list[Piece]:
    wide, deep, thick = rng.uniform(0.2, 0.3), rng.uniform(0.2, 0.28), rng.uniform(0.03, 0.055)
    pieces: list[Piece] = [Box(size=(wide, thick, deep), rounding=rng.uniform(0.015, 0.03))]
    pieces += _legs(rng, wide, deep, rng.uniform(0.3, 0.45), 4)
    high, lean = rng.uniform(0.2, 0.38), rng.uniform(0.0, 0.3)
    tilt = rotation_about((1.0, 0.0, 0.0), -lean)
    back_at = _at(0, high, -deep + thick)
    pieces.append(
        Box(
            centre=_vector(back_at + _at(0, -0.02, -lean * high)),
            size=(wide * rng.uniform(0.5, 1.0), high, thick * 0.9),
            rounding=0.025,
            turn=tilt,
            blend=0.03,
        )
    )
    for side in (-1, 1):
        if rng.random() < 0.4:
            up = rng.uniform(0.15, 0.25)
            post = _at(side * wide, up, -deep - lean * up)
            hand = _at(side * (wide + 0.02), up + 0.02, rng.uniform(0.3, 0.9) * deep)
            pieces += _chain(rng, [post * _at(0.4, 1, 1), post, hand], 0.035)
    return pieces


def _stool(rng: Draw) -> list[Piece]:
    radius = rng.uniform(0.2, 0.32)
    seat = Turned(height=rng.uniform(0.08, 0.16), radii=(0.9 * radius, radius, 0.95 * radius), rounding=0.05)
    return [seat, *_legs(rng, 0.75 * radius, 0.75 * radius, rng.uniform(0.35, 0.6), int(rng.integers(3, 5)))]


def _table(rng: Draw) -> list[Piece]:
    wide, deep, tall = rng.uniform(0.35, 0.5), rng.uniform(0.2, 0.35), rng.uniform(0.3, 0.5)
    pieces: list[Piece] = [Box(size=(wide, rng.uniform(0.03, 0.05), deep), rounding=0.025)]
    if rng.random() < 0.6:
        return pieces + _legs(rng, wide, deep, tall, 4)
    pieces += _chain(rng, [np.zeros(3), _at(0, -tall, 0)], rng.uniform(0.045, 0.08))
    n_feet, turn = int(rng.integers(3, 6)), rng.uniform(0, 2 * np.pi)
    for k in range(n_feet):
        angle = turn + 2 * np.pi * k / n_feet
        foot = rng.uniform(0.2, 0.32) * _at(np.cos(angle), 0, np.sin(angle))
        pieces += _chain(rng, [_at(0, -tall, 0), foot + _at(0, -tall - 0.06, 0)], 0.045)
    return pieces


def _lamp(rng: Draw) -> list[Piece]:
    foot, tall = rng.uniform(0.14, 0.25), rng.uniform(0.35, 0.6)
    pieces: list[Piece] = [Turned(height=0.09, radii=(foot, 0.9 * foot), rounding=0.04)]
    path, bend = [np.zeros(3)], rng.uniform(0, 2 * np.pi)
    for lean in (rng.uniform(-0.2, 0.2), rng.uniform(0.0, 1.0)):
        step = _at(np.sin(lean) * np.cos(bend), np.cos(lean), np.sin(lean) * np.sin(bend))
        path.append(path[-1] + tall * step)
    pieces += _chain(rng, path, rng.uniform(0.03, 0.045))
    shade = rng.uniform(0.12, 0.3)
    turn = rotation_about(_vector(_direction(rng)), rng.uniform(0, 0.8))
    radii = (shade, rng.uniform(0.5, 0.9) * shade, rng.uniform(0.2, 0.6) * shade)
    pieces.append(Turned(centre=_vector(path[-1]), height=rng.uniform(0.2, 0.35), radii=radii, turn=turn))
    return pieces


def _long_bone(rng: Draw) -> list[Piece]:
    half, radius = rng.uniform(0.4, 0.55), rng.uniform(0.05, 0.08)
    bow = rng.normal(size=3) * [0.06, 0, 0.06]
    path = [
        _at(0, -half, 0),
        _at(0, -half / 3, 0) + bow,
        _at(0, half / 3, 0) + bow,
        _at(0, half, 0),
    ]
    pieces = _chain(rng, path, radius)
    apart = rng.uniform(0.08, 0.12)
    for side in (-1, 1):
        size = _vector(rng.uniform(0.07, 0.13, size=3))
        pieces.append(Ellipsoid(centre=(side * apart, -half, rng.uniform(-0.03, 0.03)), size=size, blend=0.06))
    head = _at(rng.uniform(0.1, 0.22), half + rng.uniform(0.02, 0.1), rng.uniform(-0.05, 0.05))
    pieces += _chain(rng, [_at(0, half, 0), head], 0.9 * radius)
    pieces.append(Ellipsoid(centre=_vector(head), size=_vector(rng.uniform(0.08, 0.13, size=3)), blend=0.03))
    pieces.append(Ellipsoid(centre=(-0.05, half, 0.02), size=_vector(rng.uniform(0.07, 0.11, size=3)), blend=0.06))
    return pieces


def _vertebra(rng: Draw) -> list[Piece]:
    radius = rng.uniform(0.18, 0.28)
    body = Turned(height=rng.uniform(0.2, 0.34), radii=(radius, 0.88 * radius, radius), rounding=0.05)
    pieces: list[Piece] = [body]
    back = _at(0, 0.02, -radius - 0.12)
    pieces += _chain(rng, [_at(0, 0, -radius / 2), back], rng.uniform(0.1, 0.15))
    spine = back + _at(0, -rng.uniform(0.05, 0.3), -rng.uniform(0.25, 0.4))
    pieces += _chain(rng, [back, spine], rng.uniform(0.05, 0.07))
    for side in (-1, 1):
        out = back + _at(side * rng.uniform(0.3, 0.42), rng.uniform(-0.03, 0.12), -rng.uniform(0.0, 0.15))
        pieces += _chain(rng, [back, out], rng.uniform(0.045, 0.065))
        for up in (-1, 1):
            facet = back + _at(side * 0.12, up * rng.uniform(0.18, 0.26), -0.02)
            pieces += _chain(rng, [back + _at(side * 0.06, 0, 0), facet], 0.055)
    return pieces


def _pelvis(rng: Draw) -> list[Piece]:
    pieces: list[Piece] = _chain(rng, [_at(0, 0.15, -0.1), _at(0, -0.25, -0.16)], 0.12, taper=0.4)
    for side in (-1, 1):
        turn = rotation_about((0.0, 1.0, 0.0), side * rng.uniform(0.4, 0.9)) @ rotation_about((1.0, 0.0, 0.0), -0.3)
        wing = (rng.uniform(0.18, 0.26), rng.uniform(0.18, 0.26), rng.uniform(0.04, 0.06))
        pieces.append(Ellipsoid(centre=(side * 0.26, 0.12, -0.02), size=wing, turn=turn, blend=0.08))
        socket = _at(side * rng.uniform(0.26, 0.32), -0.14, 0.06)
        pieces += _chain(rng, [_at(side * 0.26, 0.0, 0.0), socket], 0.08)
        pieces += _chain(rng, [socket, _at(side * rng.uniform(0.09, 0.12), -0.2, rng.uniform(0.2, 0.28))], 0.05)
        pieces += _chain(rng, [socket, _at(side * rng.uniform(0.16, 0.24), -0.4, rng.uniform(-0.05, 0.08))], 0.055)
    return pieces


def _jaw(rng: Draw) -> list[Piece]:
    wide, deep, radius = rng.uniform(0.26, 0.38), rng.uniform(0.35, 0.5), rng.uniform(0.05, 0.07)
    angles = np.linspace(0, np.pi, 9)
    arc = [_at(wide * np.cos(a), 0, deep * np.sin(a)) for a in angles]
    pieces = _chain(rng, arc, radius)
    for side, end in ((1, arc[0]), (-1, arc[-1])):
        up = end + _at(side * 0.03, rng.uniform(0.25, 0.4), -rng.uniform(0.05, 0.15))
        pieces += _chain(rng, [end, up], 0.06)
        pieces.append(Ellipsoid(centre=_vector(up), size=(0.085, 0.05, 0.055), blend=0.03))
        pieces += _chain(rng, [end + _at(0, 0.1, 0), end + _at(side * 0.02, rng.uniform(0.2, 0.3), 0.12)], 0.04)
    for k, a in enumerate(np.linspace(0.12 * np.pi, 0.88 * np.pi, int(rng.integers(6, 11)))):
        if rng.random() < 0.85:
            foot = _at(wide * np.cos(a), 0.02, deep * np.sin(a))
            top = foot + _at(0, rng.uniform(0.07, 0.12), 0)
            pieces += _chain(rng, [foot, top], rng.uniform(0.03, 0.045) + 0.004 * (k % 2), blend=0.015)
    return pieces


def _legs(rng: Draw, wide: float, deep: float, tall: float, count: int) -> list[Piece]:
    radius, taper, splay = rng.uniform(0.035, 0.055), rng.uniform(0.6, 1.1), rng.uniform(0.85, 1.25)
    pieces: list[Piece] = []
    for k in range(count):
        angle = 2 * np.pi * (k + 0.5) / count
        corner = _at(np.cos(angle), 0, np.sin(angle))
        corner *= 0.8 / (np.abs(corner).max() if count == 4 else 1)
        top = corner * [wide, 0, deep]
        pieces += _chain(rng, [top, top * splay + _at(0, -tall, 0)], radius, taper=taper)
    return pieces


def _chain(
    rng: Draw, path: Sequence[np.ndarray], radius: float, *, taper: float = 1.0, blend: float = 0.04
) -> list[Piece]:
    """Round cones from point to point; the radius goes to `taper` times itself, with a little chance."""
    radii = radius * np.linspace(1, taper, len(path)) * rng.uniform(0.92, 1.08, size=len(path))
    radii = np.maximum(radii, 0.026)
    return [
        Cone(start=_vector(a), end=_vector(b), r_start=float(p), r_end=float(q), blend=blend)
        for a, b, p, q in zip(path[:-1], path[1:], radii[:-1], radii[1:], strict=True)
    ]


def _at(x: float, y: float, z: float) -> Float[np.ndarray, "3"]:
    return np.array([x, y, z], dtype=float)


def _direction(rng: Draw) -> Float[np.ndarray, "3"]:
    vector = rng.normal(size=3)
    return vector / np.linalg.norm(vector)


def _turned(rng: Draw) -> Float[np.ndarray, "3 3"]:
    return rotation_about(_vector(_direction(rng)), rng.uniform(0, np.pi))


def _vector(values: np.ndarray) -> Vector:
    x, y, z = (float(value) for value in values)
    return x, y, z


def _numbers(values: np.ndarray) -> tuple[float, ...]:
    return tuple(float(value) for value in values)
