"""Plan of a hand."""

from __future__ import annotations

import numpy as np

from partwhole.datasets.shapes.bodies.rig import (
    Bone,
    Flesh,
    Hinge,
    Skeleton,
    Vector,
    X,
    Y,
    Z,
    cross,
    factors,
    plus,
    scaled,
    unit,
)


def hand(rng: np.random.Generator) -> Skeleton:
    """A right hand with a piece of forearm, fingers up, palm forward, the thumb towards +x; it has no mirror symmetry."""
    size, width, length, girth, thumb = factors(rng, 0.1, 0.06, 0.07, 0.08, 0.07)
    r = girth
    bones = [
        Bone("forearm", None, (0, -0.06, 0), (Hinge(Y, -15, 15),)),
        Bone("palm", "forearm", (0, 0, 0), (Hinge(X, -35, 35), Hinge(Z, -15, 15))),
    ]
    flesh = [
        Flesh("forearm", (0, -0.06, 0), (0, -0.005, 0), 0.029 * r, 0.027 * r, 0.01, Z, 0.78),
        Flesh("palm", (-0.008 * width, 0.014, 0), (-0.026 * width, 0.078, 0), 0.02 * r, 0.018 * r, 0.02, Z, 0.72),
        Flesh("palm", (0.008 * width, 0.014, 0), (0.027 * width, 0.084, 0), 0.02 * r, 0.018 * r, 0.025, Z, 0.72),
        Flesh("palm", (0.0, 0.014, 0), (0.002, 0.084, 0), 0.021 * r, 0.017 * r, 0.025, Z, 0.72),
        Flesh("palm", (-0.016 * width, 0.016, 0.006), (-0.026 * width, 0.05, 0.005), 0.015 * r, 0.012 * r, 0.02),
    ]
    landmarks: dict[str, Vector] = {"wrist": (0, 0, -0.03)}
    for name, x, y, z, lean, reach, thick in [
        ("little finger", -0.0335, 0.082, 0.0, -0.17, 0.76, 0.85),
        ("ring finger", -0.0125, 0.09, -0.001, -0.06, 0.95, 0.95),
        ("middle finger", 0.0095, 0.0935, -0.002, 0.03, 1.03, 1.0),
        ("index finger", 0.0315, 0.09, -0.001, 0.13, 0.94, 1.0),
    ]:
        direction = unit((lean, 1.0, 0.08))
        across = cross(direction, Z)
        joint: Vector = (x * width, y, z)
        above, radius = "palm", 0.0104 * r * thick
        for part, (share, low, high) in enumerate([(0.04, -10, 62), (0.026, 0, 70), (0.021, 0, 45)]):
            end = plus(joint, direction, share * reach * length)
            bone = f"{name} {part + 1}"
            spread = (Hinge(Z, -5, 5),) if part == 0 else ()
            bones.append(Bone(bone, above, joint, (Hinge(across, low, high), *spread)))
            flesh.append(Flesh(bone, joint, end, radius, 0.93 * radius, 0.003 if part else 0.008))
            above, joint, radius = bone, end, 0.93 * radius
        landmarks[name] = plus(joint, direction, radius)
    direction = unit((0.78, 0.62, 0.3))
    across = unit((-0.35, 0.1, 0.8))
    joint, above = (0.018 * width, 0.014, 0.007), "palm"
    for part, (share, low, high, thick) in enumerate(
        [(0.04, -12, 18, 0.0155), (0.034, -8, 35, 0.0118), (0.026, -5, 45, 0.0108)]
    ):
        end = plus(joint, direction, share * thumb)
        bones.append(Bone(f"thumb {part + 1}", above, joint, (Hinge(across, low, high),)))
        flesh.append(Flesh(f"thumb {part + 1}", joint, end, thick * r, 0.9 * thick * r, 0.003 if part else 0.02))
        above, joint = f"thumb {part + 1}", end
        direction = unit(tuple(0.75 * np.array(direction) + np.array([0.0, 0.22, 0.0])))
    landmarks["thumb"] = plus(joint, direction, 0.01)
    return scaled(Skeleton(tuple(bones), tuple(flesh), landmarks), size)
