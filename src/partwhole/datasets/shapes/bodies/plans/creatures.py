"""Plans of birds, fish, snakes, insects and spiders, and of monsters, whose limbs are a random tree."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from partwhole.datasets.shapes.bodies.rig import (
    Bone,
    Flesh,
    Hinge,
    Skeleton,
    Style,
    Vector,
    X,
    Y,
    Z,
    chain,
    cross,
    factors,
    joined,
    mixed,
    pair,
    pair_of_points,
    plus,
    scaled,
    tilted,
    unit,
)

# Thinner than this, in units of a body of length 1, flesh costs too fine a grid.
_THIN = 0.018

# tilt and radius of the body; length, radius and angle of the neck; radius of the head; length and radius of the beak;
# length and radius of the legs; length and width of the tail; length and width of the wings
_BIRDS = {
    "sparrow": (30, 0.24, 0.14, 0.14, 55, 0.15, 0.12, 0.045, 0.32, 0.025, 0.42, 0.09, 0.85, 0.2),
    "hen": (18, 0.3, 0.34, 0.12, 62, 0.12, 0.12, 0.045, 0.45, 0.035, 0.35, 0.15, 0.7, 0.2),
    "duck": (8, 0.28, 0.45, 0.09, 68, 0.12, 0.2, 0.055, 0.26, 0.035, 0.22, 0.12, 0.9, 0.18),
    "heron": (32, 0.22, 0.9, 0.06, 62, 0.09, 0.35, 0.04, 0.95, 0.026, 0.22, 0.1, 1.2, 0.2),
    "ostrich": (5, 0.34, 1.1, 0.07, 75, 0.1, 0.17, 0.05, 1.1, 0.05, 0.3, 0.15, 0.6, 0.16),
    "eagle": (32, 0.27, 0.2, 0.15, 50, 0.14, 0.15, 0.055, 0.38, 0.045, 0.5, 0.14, 1.4, 0.24),
    "penguin": (78, 0.26, 0.12, 0.18, 82, 0.16, 0.17, 0.04, 0.3, 0.05, 0.14, 0.08, 0.6, 0.13),
}


def bird(rng: np.random.Generator) -> Skeleton:
    """A bird with its wings half spread: body, neck, head with beak, tail, two legs with toes, wings of three segments."""
    (tilt, girth, neck, neck_girth, rise, head, beak, beak_girth, leg, thin, tail, tail_width, wing, chord), _ = mixed(
        rng, _BIRDS, spread=0.08
    )
    along, upper = tilted(tilt), tilted(tilt + 90)
    middle = (0.0, leg + 0.9 * girth + 0.12, 0.0)
    rump, breast = plus(middle, along, -0.24), plus(middle, along, 0.22)
    bend = (Hinge(X, -15, 18), Hinge(Y, -15, 15), Hinge(Z, -8, 8))
    trunk = Skeleton(
        (
            Bone("pelvis", None, rump, (Hinge(X, -35, 45), Hinge(Y, -10, 10), Hinge(Z, -25, 25))),
            Bone("chest", "pelvis", middle, bend),
        ),
        (
            Flesh("pelvis", plus(rump, along, -0.1), middle, 0.55 * girth, girth, 0.03, X, 0.92),
            Flesh("chest", middle, breast, girth, 0.85 * girth, 0.012, X, 0.92),
        ),
        {},
    )
    throat = plus(plus(breast, along, 0.4 * girth), upper, 0.35 * girth)
    up = tilted(rise)
    points = [plus(throat, up, k / 4 * neck) for k in range(5)]
    radii = np.linspace(1.25, 0.9, 5) * neck_girth
    turns = (Hinge(X, -35, 42), Hinge(Y, -38, 38))
    stem = chain("neck", "chest", points, radii, turns, blend=0.008)
    root = Flesh("neck 1", plus(breast, upper, 0.15 * girth), throat, 0.75 * girth, 1.25 * neck_girth, 0.06)
    skull = plus(points[-1], up, 0.4 * head)
    bill = plus(skull, tilted(-8), head + beak)
    width = max(beak_girth, 1.3 * _THIN)
    top = Skeleton(
        (Bone("head", "neck 4", points[-1], (Hinge(X, -35, 35), Hinge(Y, -45, 45), Hinge(Z, -20, 20))),),
        (
            Flesh("head", skull, plus(skull, Z, 0.2 * head), head, 0.9 * head, 0.3 * head),
            Flesh("head", plus(skull, Z, 0.6 * head), bill, width, max(0.5 * width, _THIN), 0.02),
        ),
        {"beak": bill},
    )
    fan = plus(rump, along, -0.1 - 0.3 * girth)
    rear = tilted(180 + 0.4 * tilt)
    flat = unit((0.0, rear[2], -rear[1]))
    quill = [plus(fan, rear, share * tail) for share in (0.0, 0.5, 1.0)]
    widths = [share * tail_width for share in (0.8, 0.9, 1.0)]
    feathers = chain("tail", "pelvis", quill, widths, (Hinge(X, -30, 35), Hinge(Y, -20, 20)), blend=0.04)
    pressed = tuple(_flattened(piece, flat, 0.4) for piece in feathers.flesh)
    parts = [
        trunk,
        Skeleton(stem.bones, (root, *stem.flesh), {}),
        top,
        Skeleton(feathers.bones, pressed, {"tail": plus(fan, rear, tail + tail_width)}),
        _bird_legs(rump, middle, leg, girth, thin),
        _wings(plus(plus(breast, upper, 0.3 * girth), along, -0.05), 0.75 * girth, wing, chord),
    ]
    return scaled(joined(parts, BIRD_STYLES), float(rng.uniform(0.6, 1.4)))


def _flattened(piece: Flesh, axis: Vector, share: float) -> Flesh:
    """Pressed flat, though not thinner than flesh can be."""
    least = _THIN / min(piece.radius_start, piece.radius_end)
    ends = (piece.bone, piece.start, piece.end, piece.radius_start, piece.radius_end, piece.blend)
    return Flesh(*ends, axis, min(1.0, max(share, least)))


def _bird_legs(rump: Vector, middle: Vector, leg: float, girth: float, thin: float) -> Skeleton:
    r = max(thin, _THIN)
    toe = max(0.13, 4.2 * r)
    # the inner toes keep apart
    x = max(0.45 * girth, 0.65 * toe + 2.2 * r)
    z = 0.35 * rump[2] + 0.65 * middle[2]
    top = 0.5 * (rump[1] + middle[1]) - 0.35 * girth
    knee = (x, max(0.72 * leg, 0.62 * top), z + 0.12)
    ankle, foot = (x, max(0.42 * leg, 0.1), z - 0.06), (x, 0.03, z + 0.02)
    bones = [
        *pair(Bone("thigh", "pelvis", (x, top, z - 0.04), (Hinge(X, -50, 50), Hinge(Z, -5, 20)))),
        *pair(Bone("shank", "thigh", knee, (Hinge(X, -40, 45),))),
        *pair(Bone("cannon", "shank", ankle, (Hinge(X, -60, 45),))),
        *pair(Bone("foot", "cannon", foot, (Hinge(X, -35, 50),))),
    ]
    flesh = [
        *pair(Flesh("thigh", (x, top, z - 0.04), knee, 0.42 * girth, 2.1 * r, 0.06, X, 0.75)),
        *pair(Flesh("shank", knee, ankle, 2 * r, 1.1 * r, 0.02)),
        *pair(Flesh("cannon", ankle, foot, 1.1 * r, r, 0.01)),
    ]
    for direction, length in ((0.0, toe), (0.75, 0.9 * toe), (-0.75, 0.9 * toe), (np.pi, 0.6 * toe)):
        tip = plus(foot, (float(np.sin(direction)), -0.1, float(np.cos(direction))), length)
        flesh += pair(Flesh("foot", foot, tip, r, max(0.85 * r, _THIN), 0.008))
    return Skeleton(tuple(bones), tuple(flesh), pair_of_points("foot", plus(foot, Z, toe)))


def _wings(shoulder: Vector, out: float, length: float, chord: float) -> Skeleton:
    """Arm, forearm and tip, each with feathers behind it."""
    directions = [unit((1, 0.3, -0.25)), unit((1, 0.12, -0.1)), unit((1, 0.0, -0.5))]
    points: list[Vector] = [(out, shoulder[1], shoulder[2])]
    for direction, share in zip(directions, (0.3, 0.34, 0.36), strict=True):
        points.append(plus(points[-1], direction, share * length))
    names, above = ("wing", "forewing", "wing tip"), ("chest", "wing", "forewing")
    hinges = [
        (Hinge(Y, -20, 70), Hinge(Z, -55, 60), Hinge(directions[0], -35, 75)),
        (Hinge(Y, -70, 25), Hinge(Z, -25, 25)),
        (Hinge(Y, -15, 75), Hinge(Z, -25, 25)),
    ]
    bones: list[Bone] = []
    flesh: list[Flesh] = []
    widths = (0.5 * chord, 0.5 * chord, 0.42 * chord, 0.2 * chord)
    for k in range(3):
        normal = cross(directions[k], unit((0.0, 0.1, 1.0)))
        start, end = points[k], points[k + 1]
        inner = plus(start, X, -0.4 * out) if k == 0 else start
        bones += pair(Bone(names[k], above[k], start, hinges[k]))
        flesh += pair(Flesh(names[k], inner, end, 0.22 * chord, 0.17 * chord, 0.03))
        wide = Flesh(names[k], plus(start, Z, -0.35 * chord), plus(end, Z, -0.35 * chord * (k < 2)), widths[k],
                     widths[k + 1], 0.02)  # fmt: skip
        flesh += pair(_flattened(wide, normal, 0.22))
    landmarks = pair_of_points("wing tip", plus(points[-1], directions[-1], 0.2 * chord))
    return Skeleton(tuple(bones), tuple(flesh), landmarks)


_FOLDED = {"wing": (50.0, -30.0, 45.0), "forewing": (-10.0,), "wing tip": (30.0,)}
_PECKING = {"pelvis": (30.0,), "neck 1": (40.0,), "neck 2": (35.0,), "neck 3": (25.0,), "neck 4": (10.0,)}
_STRIDE = {"left thigh": (-30.0,), "left shank": (15.0,), "right thigh": (30.0,), "right cannon": (20.0,)}
BIRD_STYLES = (
    Style(noise=1.0, weight=2.0),
    Style(_FOLDED, noise=0.2, weight=2.0),
    Style({**_FOLDED, **_STRIDE}, weight=1.5),
    Style({**_FOLDED, **_PECKING}),
    Style({**_FOLDED, "neck 1": (0.0, 34.0), "neck 2": (0.0, 34.0), "neck 3": (0.0, 34.0), "head": (0.0, 30.0)}),
    Style({**_FOLDED, "neck 1": (-34.0,), "neck 2": (20.0,), "neck 3": (34.0,), "neck 4": (30.0,)}),
    # flying: wings up, level and down, legs behind
    Style({"wing": (0.0, 50.0), "forewing": (0.0, 15.0), "thigh": (45.0,), "cannon": (35.0,)}),
    Style({"wing": (-15.0, -10.0), "thigh": (45.0,), "cannon": (35.0,), "pelvis": (20.0,)}),
    Style({"wing": (0.0, -50.0), "forewing": (0.0, -20.0), "thigh": (45.0,), "shank": (-20.0,)}),
    Style({"wing": (25.0, 10.0), "forewing": (-45.0,), "wing tip": (60.0,)}),
)


# radius and height-to-width of the body; length, height and number of segments of the tail; sizes of the fins
_FISH = {
    "trout": (0.13, 0.6, 0.16, 0.09, 0.1, 0.1),
    "carp": (0.2, 0.55, 0.17, 0.12, 0.14, 0.12),
    "shark": (0.12, 0.85, 0.2, 0.14, 0.16, 0.22),
    "angelfish": (0.28, 0.3, 0.14, 0.12, 0.3, 0.1),
    "eel": (0.075, 0.75, 0.06, 0.05, 0.05, 0.06),
    "dolphin": (0.15, 0.9, 0.12, 0.05, 0.13, 0.18),
}


def fish(rng: np.random.Generator) -> Skeleton:
    """A fish: a body of seven segments, tail fin, back fin, belly fin and breast fins; it bends to the sides."""
    (girth, flat, fin, spread, back_fin, breast_fin), _ = mixed(rng, _FISH, spread=0.12)
    flat = float(np.clip(flat, 0.28, 0.95))
    shares = np.linspace(0, 1, 8)
    profile = np.interp(shares, [0, 0.15, 0.4, 0.7, 1], [0.45, 0.8, 1.0, 0.65, 0.22])
    radii = np.maximum(profile * girth, _THIN / flat)
    points: list[Vector] = [(0.0, 0.0, float(0.5 - share)) for share in shares]
    turns = (Hinge(Y, -34, 34), Hinge(X, -14, 14), Hinge(Z, -6, 6))
    names = ["head", *(f"trunk {k}" for k in range(1, 7))]
    bones = [Bone("head", None, points[1], (Hinge(X, -20, 20), Hinge(Z, -15, 15)))]
    bones += [Bone(names[k], names[k - 1], points[k], turns) for k in range(1, 7)]
    flesh = [
        Flesh(names[k], points[k], points[k + 1], float(radii[k]), float(radii[k + 1]), 0.012, X, flat)
        for k in range(7)
    ]
    thick = float(rng.uniform(0.022, 0.03))
    bones.append(Bone("tail", "trunk 6", points[7], (Hinge(Y, -35, 35), Hinge(X, -15, 15))))
    lean = float(rng.uniform(0.3, 1.2))
    for sign in (1.0, -1.0):
        lobe = plus(points[7], unit((0.0, sign * lean, -1.0)), fin + spread)
        flesh.append(_flattened(Flesh("tail", points[7], lobe, 1.6 * thick, 0.9 * thick, 0.02), X, 0.7))
    for sign, where, share in ((1.0, 2, 1.0), (-1.0, 4, 0.6)):
        if sign < 0 and rng.random() < 0.4:
            continue
        base = plus(points[where], Y, 0.8 * sign * float(radii[where]))
        tip = plus(plus(base, Y, sign * share * (back_fin + 0.25 * girth)), Z, -0.09)
        flesh.append(_flattened(Flesh(names[where], base, tip, 0.07, 0.03, 0.02), X, 0.3))
    side = plus((0.8 * flat * float(radii[2]), 0.0, points[2][2] + 0.05), Y, -0.35 * girth)
    out = unit((1.0, float(rng.uniform(-0.6, 0.0)), -0.6))
    bones += pair(Bone("fin", "trunk 1", side, (Hinge(Z, -35, 35), Hinge(Y, -25, 25))))
    tip = plus(side, out, breast_fin + 0.06)
    flesh += pair(_flattened(Flesh("fin", side, tip, 0.04, 0.05, 0.02), cross(out, unit((0.0, 0.2, 1.0))), 0.4))
    landmarks = {"nose": (0.0, 0.0, 0.5 + float(radii[0])), "tail": points[7], **pair_of_points("fin", tip)}
    styles = (Style(noise=1.0), *_waves(rng, [*names[1:], "tail"], 34.0, 8))
    return scaled(Skeleton(tuple(bones), tuple(flesh), landmarks, styles), float(rng.uniform(0.5, 2.0)))


def _waves(rng: np.random.Generator, names: list[str], most: float, count: int) -> tuple[Style, ...]:
    """Styles in which a chain of bones bends in a wave, from one curve to several, mostly about its first hinge."""
    styles = []
    places = np.linspace(0, 1, len(names))
    for _ in range(count):
        turns = most * rng.uniform(0.4, 1.0) * np.sin(2 * np.pi * (rng.uniform(0, 1.8) * places + rng.random()))
        lifts = 0.4 * most * rng.uniform(0, 1.0) * np.sin(2 * np.pi * (rng.uniform(0, 1.2) * places + rng.random()))
        angles = {name: (float(a), float(b)) for name, a, b in zip(names, turns, lifts, strict=True)}
        styles.append(Style(angles, noise=0.2))
    return tuple(styles)


def snake(rng: np.random.Generator) -> Skeleton:
    """A snake or worm: a chain of 20 segments that winds, coils and lifts its head."""
    girth, middle, tip, head = factors(rng, 0.22, 0.25, 0.2, 0.15)
    count = 20
    shares = np.linspace(0, 1, count + 1)
    profile = np.interp(shares, [0, 0.06, 0.4, 0.75, 1], [0.85, 0.75, 1.15 * middle, 0.9, 0.55 * tip])
    radii = np.maximum(0.04 * girth * profile, _THIN)
    points: list[Vector] = [(0.0, 0.1, float(0.9 - 1.8 * share)) for share in shares]
    names = [f"back {k + 1}" for k in range(count)]
    turns = (Hinge(Y, -45, 45), Hinge(X, -25, 25))
    root = Bone(names[0], None, points[0], (Hinge(X, -20, 20), Hinge(Z, -15, 15)))
    bones = [root, *(Bone(names[k], names[k - 1], points[k], turns) for k in range(1, count))]
    flesh = [
        Flesh(names[k], points[k], points[k + 1], float(radii[k]), float(radii[k + 1]), 0.006) for k in range(count)
    ]
    jaw = plus(points[0], Z, 0.05)
    flesh.append(Flesh(names[0], points[0], jaw, 0.05 * girth * head, 0.034 * girth * head, 0.02, Y, 0.8))
    landmarks = {"nose": plus(jaw, Z, 0.03), "tail": points[-1]}
    styles = [Style(noise=0.6), *_waves(rng, names[1:], 42.0, 10)]
    for _ in range(4):
        # a coil that rises as a screw does
        turn, lift = float(rng.uniform(18, 32)), float(rng.uniform(3, 8))
        styles.append(Style(dict.fromkeys(names[1:], (turn, lift)), noise=0.1))
    return scaled(Skeleton(tuple(bones), tuple(flesh), landmarks, tuple(styles)), float(rng.uniform(0.5, 2.0)))


def insect(rng: np.random.Generator) -> Skeleton:
    """An insect with six legs or a spider with eight: abdomen, thorax, head with feelers or jaws, perhaps a sting."""
    legs = 3 if rng.random() < 0.6 else 4
    body, waist, head, leg, thin, height = factors(rng, 0.25, 0.25, 0.2, 0.2, 0.18, 0.25)
    high = 0.3 * height
    thorax, belly = 0.13, min(0.17 * body, 0.22)
    front, back = 0.11 + 0.05 * legs / 3, -0.11 - 0.05 * legs / 3
    narrow = 0.07 * waist
    tail = plus(
        (0.0, high, back - 0.06),
        unit((0.0, float(rng.uniform(-0.3, 0.4)), -1.0)),
        0.2 + 0.9 * belly + float(rng.uniform(0.0, 0.4)),
    )
    middle = plus(
        (0.0, high, back - 0.06), unit(tuple(np.subtract(tail, (0.0, high, back - 0.06)))), 0.16 + 0.8 * belly
    )
    face = (0.0, high + float(rng.uniform(-0.05, 0.05)), front + 0.13)
    bones = [
        Bone("thorax", None, (0.0, high, 0.0), (Hinge(X, -15, 15), Hinge(Y, -10, 10), Hinge(Z, -15, 15))),
        Bone("abdomen", "thorax", (0.0, high, back), (Hinge(X, -35, 35), Hinge(Y, -30, 30), Hinge(Z, -10, 10))),
        Bone("head", "thorax", (0.0, high, front + 0.04), (Hinge(X, -25, 25), Hinge(Y, -30, 30), Hinge(Z, -15, 15))),
    ]
    flesh = [
        Flesh("thorax", (0.0, high, back), (0.0, high, front), 0.8 * thorax, 0.75 * thorax, 0.03, Y, 0.8),
        Flesh("abdomen", (0.0, high, back), middle, narrow, belly, 0.03),
        Flesh("abdomen", middle, tail, belly, 0.5 * belly, 0.03),
        Flesh("head", (0.0, high, front), face, 0.6 * thorax, 0.1 * head, 0.04),
    ]
    r = 0.024 * thin
    r = max(r, 1.1 * _THIN)
    if rng.random() < 0.7:
        aside = unit((float(rng.uniform(0.3, 0.7)), float(rng.uniform(-0.4, 0.8)), 1.0))
        start = (0.05 * head, face[1] + 0.02, face[2] + 0.05 * head)
        points = [plus(start, aside, k * float(rng.uniform(0.13, 0.22))) for k in range(3)]
        bones += [
            bone
            for k in range(2)
            for bone in pair(
                Bone(
                    f"feeler {k + 1}", f"feeler {k}" if k else "head", points[k], (Hinge(X, -30, 30), Hinge(Y, -15, 25))
                )
            )
        ]
        flesh += [
            piece
            for k in range(2)
            for piece in pair(Flesh(f"feeler {k + 1}", points[k], points[k + 1], 0.9 * r, max(0.8 * r, _THIN), 0.01))
        ]
    if rng.random() < 0.25:
        sting = [
            plus(tail, tilted(angle), reach) for angle, reach in ((170, 0.1 * body), (140, 0.25), (110, 0.4), (80, 0.5))
        ]
        scorpion = chain(
            "tail", "abdomen", sting, [0.06, 0.05, 0.04, 0.03], (Hinge(X, -35, 35), Hinge(Y, -20, 20)), blend=0.02
        )
        bones += scorpion.bones
        flesh += scorpion.flesh
    landmarks: dict[str, Vector] = {"nose": plus(face, Z, 0.1 * head), "tail": tail}
    for k in range(legs):
        share = k / (legs - 1)
        name = f"leg {k + 1}"
        yaw = np.radians(52 - 88 * share + float(rng.uniform(-6, 6)))
        out: Vector = unit((float(np.cos(yaw)), 0.0, float(np.sin(yaw))))
        root = (0.6 * thorax, high, front - 0.02 + share * (back - front + 0.04))
        across = cross(out, Y)
        knee = plus(plus(root, out, 0.26 * leg), Y, 0.14 * leg)
        ankle = plus((knee[0], 0.16 * high, knee[2]), out, 0.2 * leg)
        tip = plus((ankle[0], 0.02, ankle[2]), out, 0.16 * leg)
        ends = [root, knee, ankle, tip]
        hinges = [(Hinge(Y, -28, 28), Hinge(across, -28, 38)), (Hinge(across, -40, 40),), (Hinge(across, -30, 35),)]
        for j, part in enumerate(("upper", "lower", "foot")):
            above = "thorax" if j == 0 else f"{name} {('upper', 'lower')[j - 1]}"
            bones += pair(Bone(f"{name} {part}", above, ends[j], hinges[j]))
            thick = (1.35 * r, 1.1 * r, r, r)
            flesh += pair(Flesh(f"{name} {part}", ends[j], ends[j + 1], thick[j], thick[j + 1], 0.012))
        landmarks |= pair_of_points(name, tip)
    styles = (Style(noise=1.0), Style(noise=0.5), *_tripods(legs))
    return scaled(Skeleton(tuple(bones), tuple(flesh), landmarks, styles), float(rng.uniform(0.5, 1.5)))


def _tripods(legs: int) -> tuple[Style, ...]:
    """Walking, every other leg ahead; and all legs drawn up, or stretched."""
    walk: dict[str, tuple[float, ...]] = {}
    for k in range(legs):
        for side, parity in (("left", 0), ("right", 1)):
            ahead = (k + parity) % 2 == 0
            walk[f"{side} leg {k + 1} upper"] = (-20.0 if ahead else 15.0, 15.0 if ahead else 0.0)
    up = {
        f"leg {k + 1} {part}": turns
        for k in range(legs)
        for part, turns in (("upper", (0.0, 36.0)), ("lower", (-38.0,)))
    }
    low = {
        f"leg {k + 1} {part}": turns
        for k in range(legs)
        for part, turns in (("upper", (0.0, -25.0)), ("lower", (35.0,)))
    }
    return Style(walk), Style(up, weight=0.5), Style(low, weight=0.5)


def monster(rng: np.random.Generator) -> Skeleton:
    """No animal at all: a random trunk with two to eight random limbs and a head; most have a left and a right half alike."""
    mirrored = bool(rng.random() < 0.7)
    count = int(rng.integers(2, 7))
    tilt = float(rng.uniform(-15, 90))
    lean = 0.0 if mirrored else float(rng.uniform(-0.3, 0.3))
    along = unit(tuple(np.add(tilted(tilt), (lean, 0.0, 0.0))))
    points: list[Vector] = [(0.0, 0.0, 0.0)]
    radii = [float(rng.uniform(0.1, 0.26))]
    for _ in range(count):
        tilt += float(rng.uniform(-18, 18))
        along = unit(tuple(np.add(tilted(tilt), (lean, 0.0, 0.0))))
        points.append(plus(points[-1], along, float(rng.uniform(0.8, 1.3)) / count))
        radii.append(float(np.clip(radii[-1] * np.exp(0.35 * rng.normal()), 0.09, 0.3)))
    names = [f"trunk {k + 1}" for k in range(count)]
    bend = 70 / count**0.5
    turns = (Hinge(X, -0.7 * bend, 0.7 * bend), Hinge(Y, -0.7 * bend, 0.7 * bend), Hinge(Z, -0.3 * bend, 0.3 * bend))
    bones = [Bone(names[0], None, points[0], (Hinge(X, -20, 20), Hinge(Z, -15, 15)))]
    bones += [Bone(names[k], names[k - 1], points[k], turns) for k in range(1, count)]
    flat = float(rng.uniform(0.6, 1.0))
    flesh = [
        Flesh(names[k], points[k], points[k + 1], radii[k], radii[k + 1], 0.03, X, flat if mirrored else 1.0)
        for k in range(count)
    ]
    skull = float(rng.uniform(0.08, 0.22))
    neck = plus(points[-1], along, float(rng.uniform(0.0, 0.5)) + 0.6 * radii[-1])
    middle, facing = plus(neck, along, 0.7 * skull), unit((along[0], along[1] - 0.5, along[2] + 0.6))
    nose = plus(middle, facing, skull * float(rng.uniform(0.8, 2.5)))
    bones.append(Bone("neck", names[-1], points[-1], (Hinge(X, -35, 35), Hinge(Y, -40, 40))))
    bones.append(Bone("head", "neck", neck, (Hinge(X, -35, 35), Hinge(Y, -40, 40), Hinge(Z, -20, 20))))
    thin = min(0.7 * radii[-1], 0.8 * skull)
    flesh += [
        Flesh("neck", points[-1], neck, 0.9 * radii[-1], thin, 0.05),
        Flesh("head", neck, middle, thin, skull, 0.04),
        Flesh("head", middle, nose, 0.7 * skull, float(rng.uniform(0.3, 0.6)) * skull, 0.04),
    ]
    landmarks = {"nose": nose}
    wanted = int(rng.integers(1, 5)) if mirrored else int(rng.integers(2, 9))
    made = 0
    for _ in range(60):
        limb = _random_limb(rng, f"limb {made + 1}", names, points, radii, mirrored=mirrored)
        if not _is_clear(limb, flesh, mirrored=mirrored):
            continue
        for bone, piece in zip(limb.bones, limb.flesh, strict=True):
            bones += pair(bone) if mirrored else [bone]
            flesh += pair(piece) if mirrored else [piece]
        made += 1
        if made == wanted:
            break
    free = Skeleton(tuple(bones), tuple(flesh), landmarks)
    styles = (Style(noise=1.0), Style(noise=0.5), *(_random_style(rng, free) for _ in range(10)))
    return scaled(joined([free], styles), float(rng.uniform(0.6, 1.6)))


def _random_limb(
    rng: np.random.Generator, name: str, trunk: list[str], points: list[Vector], radii: list[float], *, mirrored: bool
) -> Skeleton:
    """Two to five segments from a random place of the trunk, in a random direction, bending at random on the way."""
    place = float(rng.uniform(0, len(trunk)))
    k = min(int(place), len(trunk) - 1)
    centre = np.array(points[k]) + (place - k) * (np.array(points[k + 1]) - points[k])
    direction = rng.normal(size=3)
    if mirrored:
        direction[0] = abs(direction[0]) + 0.6
    direction /= np.linalg.norm(direction)
    count = int(rng.integers(2, 6))
    length = float(rng.uniform(0.3, 1.1))
    radius = float(np.clip(rng.uniform(0.03, 0.1), 0.03, 0.55 * radii[k]))
    x, y, z = centre + 0.5 * radii[k] * direction
    ends: list[Vector] = [(float(x), float(y), float(z))]
    for _ in range(count):
        direction = direction + 0.35 * rng.normal(size=3)
        direction /= np.linalg.norm(direction)
        ends.append(
            plus(ends[-1], unit(tuple(direction)), length / count + (0.5 * radii[k] if len(ends) == 1 else 0.0))
        )
    taper = np.maximum(radius * np.linspace(1.2, float(rng.uniform(0.5, 1.2)), count + 1), 0.026)
    across = unit(tuple(np.cross(direction, rng.normal(size=3))))
    along = unit(tuple(direction))
    most = float(rng.uniform(25, 60))
    hinges = (Hinge(across, -most, most), Hinge(cross(across, along), -most, most))
    return chain(name, trunk[k], ends, taper, hinges, blend=0.3 * radius)


def _balls(flesh: list[Flesh] | tuple[Flesh, ...]) -> Float[np.ndarray, "k 4"]:
    """Middles and radii of balls along the flesh."""
    shares = np.linspace(0, 1, 7)[:, None]
    strings = [
        (1 - shares) * [*piece.start, piece.radius_start] + shares * [*piece.end, piece.radius_end] for piece in flesh
    ]
    return np.concatenate(strings)


def _is_clear(limb: Skeleton, flesh: list[Flesh], *, mirrored: bool) -> bool:
    """True if the limb, all but its root, keeps off other flesh and off its mirror image."""
    own, others = _balls(limb.flesh)[4:], _balls(flesh)
    root = _balls(limb.flesh)[0]
    gap = np.linalg.norm(own[:, None, :3] - others[:, :3], axis=2) - own[:, 3:] - others[:, 3]
    # near the root a limb leaves the trunk slowly: no closer than its way from there, in part
    way = np.linalg.norm(own[:, :3] - root[:3], axis=1) - root[3]
    free = gap.min(axis=1) > np.minimum(0.09, 0.6 * way - 0.1)
    aside = own[:, 0] - own[:, 3] > 0.05
    return bool(free.all() and (aside.all() or not mirrored))


def _random_style(rng: np.random.Generator, skeleton: Skeleton) -> Style:
    """Angles of the bones, with those of a pair alike half of the time."""
    alike = bool(rng.random() < 0.5)
    angles: dict[str, tuple[float, ...]] = {}
    for bone in skeleton.bones[1:]:
        side, _, rest = bone.name.partition(" ")
        name = rest if alike and side in ("left", "right") else bone.name
        angles[name] = tuple(float(rng.uniform(0.8 * hinge.low, 0.8 * hinge.high)) for hinge in bone.hinges)
    return Style(angles, noise=0.3)
