"""Findings: how well a map fits as a whole, and what has to be said about it in words."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int
from torch import Tensor

from partwhole.matching.doubts import reversed_share
from partwhole.matching.headings import curvature_agreement
from partwhole.matching.positions import STRETCHED, Position
from partwhole.matching.trials import best_stretch, rival
from partwhole.matching.units import percent

# a map that is another one and whose score is so little worse is as likely; fixed on training pairs
_AS_GOOD = 0.3
_MIRRORED = 0.5
# below so much agreement of curvature, or above so much distortion (√area), few maps are right
_POOR_AGREEMENT, _POOR_DISTORTION = 0.5, 0.12


@dataclass(frozen=True)
class Fit:
    """How well a map fits, without the truth.

    Attributes
    ----------
    guaranteed : share of the pairs of the part whose distances are guaranteed
    criterion : by which they are
    distortion : mean |D_whole − D_part| over guaranteed pairs, in √area of the whole
    stretch : by how much distances on the whole are longer than on the part, over guaranteed pairs
    curvature : correlation of the mean curvature of part and whole, through the map; 1 is best
    reversed : share of the area whose orientation comes out reversed; above ½ it is a mirror image
    rival_angle : the turn, in degrees, of the best map that is another one; None if all trials agree
    rival_margin : by how much its score is worse; None likewise
    """

    guaranteed: float
    criterion: str
    distortion: float
    stretch: float
    curvature: float
    reversed: float
    rival_angle: float | None
    rival_margin: float | None

    @property
    def mirrored(self) -> bool:
        """Whether the map is probably a mirror image."""
        return self.reversed > _MIRRORED

    @property
    def perhaps_turned(self) -> bool:
        """Whether the part turned about the vertical fits about as well elsewhere."""
        return self.rival_margin is not None and self.rival_margin < _AS_GOOD

    @property
    def poor(self) -> bool:
        """Whether the map fits so badly that the part may not belong to this whole."""
        return self.curvature < _POOR_AGREEMENT or self.distortion > _POOR_DISTORTION


def fit_of(vertex_map: Int[Tensor, "p"], position: Position) -> Fit:
    """How well a map fits that was read in this position."""
    part, whole, (part_mesh, whole_mesh) = position.shown.part, position.shown.whole, position.shown.meshes
    assert part.distances is not None
    assert whole.distances is not None
    guaranteed = position.shown.guaranteed
    off = (whole.distances[vertex_map][:, vertex_map].float() - part.distances).abs()
    pairs = int(guaranteed.sum())
    # a vertex with itself is always guaranteed, and says nothing
    others = max(pairs - len(part), 1)
    second = rival(position.chosen, position.trials)
    angle = None if second is None else math.degrees(second[0].turn - position.chosen.turn)
    return Fit(
        guaranteed=pairs / len(part) ** 2,
        criterion=position.shown.criterion,
        distortion=float(off[guaranteed].sum()) / others,
        stretch=best_stretch(vertex_map, part, whole),
        curvature=float(curvature_agreement(vertex_map, part, whole)),
        reversed=reversed_share(vertex_map.cpu().numpy().astype(np.int64), part_mesh, whole_mesh),
        rival_angle=None if angle is None else (angle + 180) % 360 - 180,
        rival_margin=None if second is None else second[1],
    )


def warnings_about(fit: Fit, doubtful_share: float) -> tuple[str, ...]:
    """What a reader should know before using the map, the gravest first."""
    said = []
    if fit.poor:
        said.append(
            f"the map fits badly (curvature agrees to {fit.curvature:.2f}, distances are off by {100 * fit.distortion:.1f} % "
            "of √area): the part may belong to something else, lie another way up (up='auto'), or have other units"
        )
    if fit.mirrored:
        said.append(
            f"probably a mirror image: {percent(fit.reversed)} of the area comes out with its orientation reversed, left for "
            "right"
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
