"""Plan of a person."""

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
    pair,
    pair_of_points,
    plus,
    scaled,
    unit,
)


def biped(rng: np.random.Generator) -> Skeleton:
    """A person: pelvis, spine, chest, neck, head, arms with mitten hands, legs with feet."""
    tall, leg, arm, girth, limb, width, head, hip, belly, bust, foot = factors(
        rng, 0.06, 0.05, 0.04, 0.1, 0.05, 0.07, 0.05, 0.07, 0.12, 0.14, 0.07
    )
    ankle, knee, crotch = 0.085, 0.085 + 0.41 * leg, 0.085 + 0.82 * leg
    hips = 0.09 * hip

    def up(height: float) -> float:
        """Heights above the hips, written for a hip joint at 0.90."""
        return crotch + (height - 0.90)

    shoulder = (0.172 * width, up(1.40), -0.015)
    down_out = unit((1.0, -0.95, 0.02))
    elbow = plus(shoulder, down_out, 0.285 * arm)
    wrist = plus(elbow, down_out, 0.25 * arm)
    knuckles = plus(wrist, down_out, 0.085 * arm)
    fingertip = plus(knuckles, down_out, 0.085 * arm)
    curl = cross(down_out, Z)
    bones = [
        Bone("pelvis", None, (0, up(0.95), 0), (Hinge(Y, -20, 20), Hinge(X, -8, 18), Hinge(Z, -6, 6))),
        Bone("spine", "pelvis", (0, up(1.03), 0), (Hinge(Y, -18, 18), Hinge(X, -10, 25), Hinge(Z, -12, 12))),
        Bone("chest", "spine", (0, up(1.19), -0.01), (Hinge(Y, -20, 20), Hinge(X, -10, 20), Hinge(Z, -10, 10))),
        Bone("neck", "chest", (0, up(1.45), -0.02), (Hinge(Y, -30, 30), Hinge(X, -15, 20), Hinge(Z, -10, 10))),
        Bone("head", "neck", (0, up(1.54), -0.005), (Hinge(Y, -30, 30), Hinge(X, -15, 20), Hinge(Z, -12, 12))),
        *pair(Bone("upper arm", "chest", shoulder, (Hinge(Z, -28, 80), Hinge(Y, -75, 20), Hinge(down_out, -30, 30)))),
        *pair(Bone("forearm", "upper arm", elbow, (Hinge(curl, 0, 115), Hinge(down_out, -35, 35)))),
        *pair(Bone("hand", "forearm", wrist, (Hinge(curl, -20, 20), Hinge(Z, -35, 35)))),
        *pair(Bone("thigh", "pelvis", (hips, crotch, 0), (Hinge(Z, -3, 35), Hinge(X, -80, 25), Hinge(Y, -15, 20)))),
        *pair(Bone("shin", "thigh", (hips + 0.012, knee, 0.005), (Hinge(X, 0, 95),))),
        *pair(Bone("foot", "shin", (hips + 0.018, ankle, -0.02), (Hinge(X, -18, 25), Hinge(Y, -10, 10)))),
    ]
    g, r = girth, limb * girth**0.7
    waist, ribs = (0.044, up(1.07), -0.004), (0.062 * width, up(1.2), -0.012)
    top = up(1.64)
    flesh = [
        *pair(Flesh("pelvis", (0.058 * hip, up(0.925), -0.005), waist, 0.09 * g, 0.086 * g, 0.05)),
        *pair(Flesh("pelvis", (hips, crotch + 0.02, -0.004), (0.058, up(1.04), 0), 0.08 * r, 0.07 * g, 0.05)),
        *pair(Flesh("spine", waist, ribs, 0.086 * g, 0.09, 0.05)),
        Flesh("spine", (0, up(1.04), 0.03), (0, up(1.14), 0.028), 0.078 * g * belly, 0.06 * g * belly, 0.06),
        *pair(Flesh("chest", ribs, (0.088 * width, up(1.34), -0.022), 0.09, 0.08, 0.05)),
        Flesh("chest", (0, up(1.19), 0.012), (0, up(1.35), -0.004), 0.084, 0.068, 0.05),
        *pair(Flesh("chest", (0.03, up(1.37), -0.03), (0.14 * width, up(1.395), -0.02), 0.062, 0.05, 0.05)),
        Flesh("chest", (0, up(1.38), -0.03), (0, up(1.46), -0.02), 0.066, 0.054, 0.05),
        Flesh("neck", (0, up(1.43), -0.02), (0, up(1.54), 0.0), 0.054, 0.05, 0.03),
        Flesh("head", (0, top - 0.01, -0.02), (0, top + 0.01, 0.005), 0.094 * head, 0.09 * head, 0.03, X, 0.84),
        Flesh("head", (0, top - 0.035, 0.03), (0, top - 0.082 * head, 0.062 * head), 0.062 * head, 0.032, 0.03),
        Flesh("head", (0, top, 0.084 * head), (0, top - 0.032, 0.108 * head), 0.011, 0.016, 0.018),
        *pair(Flesh("head", (0.072 * head, top - 0.01, -0.012), (0.077 * head, top - 0.04, -0.006),
                    0.021, 0.015, 0.008)),
        *pair(Flesh("pelvis", (0.068 * hip, up(0.9), -0.055), (0.068 * hip, up(0.93), -0.05),
                    0.078 * g, 0.07 * g, 0.05)),
        *pair(Flesh("chest", (0.07, up(1.305), 0.036), (0.07, up(1.28), 0.046), 0.05 * bust, 0.046 * bust, 0.06)),
        *pair(Flesh("upper arm", plus(shoulder, down_out, -0.01), plus(shoulder, down_out, 0.06),
                    0.058 * r, 0.052 * r, 0.05)),
        *pair(Flesh("upper arm", shoulder, elbow, 0.05 * r, 0.04 * r, 0.03)),
        *pair(Flesh("forearm", elbow, wrist, 0.039 * r, 0.027 * r, 0.02)),
        *pair(Flesh("forearm", plus(elbow, down_out, 0.04), plus(elbow, down_out, 0.1), 0.043 * r, 0.038 * r, 0.03)),
        *pair(Flesh("hand", plus(wrist, down_out, 0.02), knuckles, 0.032, 0.042, 0.02, curl, 0.5)),
        *pair(Flesh("hand", knuckles, fingertip, 0.04, 0.026, 0.02, curl, 0.42)),
        *pair(Flesh("hand", plus(wrist, down_out, 0.03), plus(plus(wrist, down_out, 0.085), Z, 0.062),
                    0.019, 0.0145, 0.012)),
        *pair(Flesh("thigh", (hips, crotch, 0), (hips + 0.012, knee, 0.005), 0.083 * r, 0.052 * r, 0.05)),
        *pair(Flesh("shin", (hips + 0.012, knee, 0.008), (hips + 0.018, ankle, -0.02), 0.05 * r, 0.034 * r, 0.025)),
        *pair(Flesh("shin", (hips + 0.016, knee - 0.09, -0.022), (hips + 0.016, knee - 0.2, -0.024),
                    0.047 * r, 0.036 * r, 0.04)),
        *pair(Flesh("foot", (hips + 0.018, 0.045, -0.04), (hips + 0.018, 0.07, -0.02), 0.04, 0.036, 0.02)),
        *pair(Flesh("foot", (hips + 0.018, 0.05, -0.01), (hips + 0.03, 0.032, 0.12 * foot),
                    0.041, 0.034, 0.025, Y, 0.85)),
        *pair(Flesh("foot", (hips + 0.01, 0.026, 0.125 * foot), (hips + 0.045, 0.024, 0.125 * foot),
                    0.03, 0.028, 0.02, Y, 0.8)),
        *pair(Flesh("foot", (hips + 0.01, 0.024, 0.155 * foot), (hips + 0.038, 0.021, 0.165 * foot),
                    0.03, 0.022, 0.015, Y, 0.75)),
    ]  # fmt: skip
    landmarks: dict[str, Vector] = {"nose": (0, top - 0.032, 0.13 * head), "crown": (0, top + 0.1, -0.01)}
    for name, point in {
        "hand": plus(fingertip, down_out, 0.03),
        "elbow": plus(elbow, curl, -0.04),
        "knee": (hips + 0.012, knee, 0.06),
        "toe": (hips + 0.03, 0.02, 0.19 * foot),
        "heel": (hips + 0.018, 0.03, -0.08),
    }.items():
        landmarks |= pair_of_points(name, point)
    return scaled(Skeleton(tuple(bones), tuple(flesh), landmarks), tall)
