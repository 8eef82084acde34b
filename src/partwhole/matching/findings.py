"""Findings: how well a map fits as a whole, and what has to be said about it in words."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from partwhole.matching.doubts import reversed_share
from partwhole.matching.headings import curvature_agreement
from partwhole.matching.matched import DOUBTFUL, Fit
from partwhole.matching.positions import STRETCHED, Position
from partwhole.matching.trials import best_stretch, rival
from partwhole.matching.units import percent
from partwhole.mesh import Mesh

# of a map that fits, less than this is doubtful; lateration makes distances agree even where all is wrong
_MOSTLY = 2 / 3
# what fewer vertices say of a place is little
FEW = 100


def fit_of(vertex_map: Int[Tensor, "p"], position: Position) -> Fit:
    """How well a map fits that was read in this position."""
    part, whole, (part_mesh, whole_mesh) = position.shown.part, position.shown.whole, position.shown.meshes
    assert part.distances is not None
    assert whole.distances is not None
    guaranteed = position.shown.guaranteed
    off = (whole.distances[vertex_map][:, vertex_map].float() - part.distances).abs_().mul_(guaranteed)
    pairs = int(guaranteed.sum())
    # a vertex with itself is always guaranteed, and says nothing
    others = max(pairs - len(part), 1)
    second = rival(position.chosen, position.trials)
    angle = None if second is None else math.degrees(second[0].turn - position.chosen.turn)
    return Fit(
        guaranteed=pairs / len(part) ** 2,
        criterion=position.shown.criterion,
        distortion=float(off.sum()) / others,
        stretch=best_stretch(vertex_map, part, whole),
        curvature=float(curvature_agreement(vertex_map, part, whole)),
        reversed=reversed_share(vertex_map.cpu().numpy().astype(np.int64), part_mesh, whole_mesh),
        rival_angle=None if angle is None else (angle + 180) % 360 - 180,
        rival_margin=None if second is None else second[1],
    )


def vertices_covered(position: Position) -> float:
    """About how many vertices of the whole lie under the part."""
    part, whole = position.shown.meshes
    return whole.n_vertices * part.area / whole.area


def doubtful_share(confidence: Float[np.ndarray, "p"], part: Mesh) -> float:
    """The share of the area of what was matched that is doubtful."""
    return float(part.vertex_areas[confidence < DOUBTFUL].sum() / part.area)


def credible(confidence: Float[np.ndarray, "p"], fit: Fit, position: Position) -> Float[np.ndarray, "p"]:
    """Confidence, as far as the map as a whole bears it: signs at a vertex can look well where everything is wrong.

    It falls with the number of vertices that speak for a place, those of the part or those of the whole that it covers,
    below `FEW`; and a map that fits badly is doubtful everywhere. On maps that fit it stays as it is.
    """
    part, _ = position.shown.meshes
    evidence = min(part.n_vertices, vertices_covered(position))
    held = confidence * fit.credit * min(evidence / FEW, 1.0)
    return DOUBTFUL * held if fit.credit == 1 and doubtful_share(held, part) > _MOSTLY else held


def warnings_about(fit: Fit, doubtful_share: float) -> tuple[str, ...]:
    """What a reader should know before using the map, the gravest first."""
    said = []
    if fit.poor or doubtful_share > _MOSTLY:
        said.append(
            f"the map fits badly (curvature agrees to {fit.curvature:.2f}, distances are off by {100 * fit.distortion:.1f} % "
            "of √area): the part may belong to something else, lie another way up (up='auto'), or have other units"
        )
    if fit.mirrored:
        said.append(
            f"probably a mirror image: {percent(fit.reversed)} of the area comes out with its orientation reversed, left for "
            "right; or the part is inside out"
        )
    if fit.perhaps_turned:
        assert fit.rival_angle is not None
        said.append(
            f"perhaps the wrong way round: with the part turned by {abs(fit.rival_angle):.0f}° another map fits about as "
            f"well (its score is worse by {fit.rival_margin:.2f})"
        )
    if not 1 / STRETCHED < fit.stretch < STRETCHED:
        said.append(
            f"distances on the whole are {fit.stretch:.2f} times those on the part: other units or another size; units='any' "
            "finds the scale"
        )
    if doubtful_share > 0.5:
        said.append(f"{percent(doubtful_share)} of the part's area is doubtful")
    return tuple(said)
