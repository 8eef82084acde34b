"""What `match` gives: the map of every vertex of a part, and what is known about it. Nothing here needs torch."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from partwhole.matching.confidence.constants import (
    AS_LIKELY,
    DOUBTFUL,
    MIRRORED,
    NEARLY_SYMMETRIC,
    POOR_AGREEMENT,
    POOR_DISTORTION,
    WRONG_MAP,
)
from partwhole.matching.scans.prepare import Scaling
from partwhole.mesh import Mesh
from partwhole.mesh.barycentric import BarycentricMap
from partwhole.mesh.landmarks import LandmarkPair
from partwhole.mesh.shown import ShownByItself
from partwhole.store.arguments import as_array
from partwhole.store.compute import rotation_onto
from partwhole.transfer import Correspondence, transfer_by_kind
from partwhole.transfer.correspondence import Side
from partwhole.transfer.values import ValueKind

LandmarkUse = Literal["sure", "contradicts the others", "contradicts another", "left out"]

# doubtful vertices count a little in the alignment, so that there is one where all are
_LEAST_CONFIDENCE = 1e-3


@dataclass(frozen=True)
class DoubtfulRegion:
    """A connected piece of the part whose places are doubtful.

    Attributes
    ----------
    vertices : how many
    area_share : of the part's area
    confidence : mean over its vertices
    vertex : the one in it that is least sure
    centre : mean of its vertices, in the coordinates of the part
    """

    vertices: int
    area_share: float
    confidence: float
    vertex: int
    centre: tuple[float, float, float]


@dataclass(frozen=True)
class Fit:
    """How well a map fits, without ground truth.

    Attributes
    ----------
    guaranteed : share of the pairs of the part whose distances are guaranteed
    criterion : that guarantees them
    distortion : mean |D_whole − D_part| over guaranteed pairs, in √area of the whole
    stretch : ratio of distances on the whole to distances on the part, over guaranteed pairs
    curvature : correlation of the mean curvature of part and whole, through the map; 1 is best
    reversed : share of the area that is mapped with reversed orientation; above ½ the map is a mirror image
    rival_angle : yaw, in degrees, of the best map that differs from this one; None if all candidates agree
    rival_margin : how much worse its score is; None if there is none
    expected_error : mean error that the rule of confidence predicts, in √area of the whole; nan if unknown
    similarity : mean cosine between the features of vertices and of their images; nan if unknown
    torn : share of the part, by area, whose edges the nearest features tear apart
    alike_elsewhere : share of the part, by area, whose features are about as similar to places far apart; nan if unknown
    judged : whether the rule of confidence covers whole maps; if not, curvature and distortion have limits of their own
    """

    guaranteed: float
    criterion: str
    distortion: float
    stretch: float
    curvature: float
    reversed: float
    rival_angle: float | None
    rival_margin: float | None
    expected_error: float = float("nan")
    similarity: float = float("nan")
    torn: float = 0.0
    alike_elsewhere: float = float("nan")
    judged: bool = False

    @property
    def mirrored(self) -> bool:
        """Whether the map is probably a mirror image."""
        return self.reversed > MIRRORED

    @property
    def perhaps_turned(self) -> bool:
        """Whether a different map, with the part rotated about the vertical, fits about as well."""
        return self.rival_margin is not None and self.rival_margin < AS_LIKELY

    @property
    def nearly_symmetric(self) -> bool:
        """Whether the features fit several maps about as well, as on a nearly symmetric shape."""
        return self.judged and self.alike_elsewhere > NEARLY_SYMMETRIC

    @property
    def poor(self) -> bool:
        """Whether the map fits so badly that the part may not belong to this whole."""
        if self.judged:
            return self.expected_error > WRONG_MAP
        return self.curvature < POOR_AGREEMENT or self.distortion > POOR_DISTORTION

    @property
    def credit(self) -> float:
        """What the confidence of every vertex is multiplied by, for how the map fits as a whole.

        1, unless it fits badly or is a mirror image: then `DOUBTFUL`, so that all of it is doubtful, and the less the worse
        it fits. Cues at a vertex can look well where everything is wrong.
        """
        if not (self.poor or self.mirrored):
            return 1.0
        if self.judged:
            return DOUBTFUL * min(WRONG_MAP / self.expected_error, 1.0)
        agreement = min(max(self.curvature, 0.0) / POOR_AGREEMENT, 1.0)
        return DOUBTFUL * agreement * min(POOR_DISTORTION / max(self.distortion, POOR_DISTORTION), 1.0)


@dataclass(frozen=True)
class LandmarkResult(LandmarkPair):
    """A landmark, and how it was used.

    Attributes
    ----------
    part, whole, label : as they were given
    before : distance on the whole, in √area, from where features alone have it to where it belongs; None if it was left out
    use : "sure"; "contradicts the others", and was not used; "contradicts another", of which one must be wrong, and counts
        like the others but does not fix the map; or "left out", since it lies on a piece that was not matched
    off : the largest difference of distances to a landmark that it contradicts, in √area; 0 without one
    """

    before: float | None = None
    use: LandmarkUse = "sure"
    off: float = 0.0

    @property
    def sure(self) -> bool:
        """Whether the map has it where it was given."""
        return self.use == "sure"


@dataclass(frozen=True, eq=False, repr=False)
class CoarseMatch:
    """A map between two surfaces as they were matched: decimated, in pieces worth matching, faces outwards.

    Attributes
    ----------
    part, whole : in the units that they were given in
    vertex_map, confidence : as in `MatchResult`, for these surfaces
    """

    part: Mesh
    whole: Mesh
    vertex_map: Int[np.ndarray, "m"]
    confidence: Float[np.ndarray, "m"]

    @property
    def sizes(self) -> tuple[int, int]:
        """Vertices of part and whole."""
        return self.part.n_vertices, self.whole.n_vertices


@dataclass(frozen=True, eq=False, repr=False)
class MatchResult(ShownByItself):
    """The map of every vertex of a part, and what is known about it.

    Attributes
    ----------
    part, whole : as they were given, or read; vertices are numbered as there
    vertex_map : for each vertex of the part its vertex of the whole
    confidence : for each vertex of the part how probable it is that its place is right, from 0 to 1
    matched : False for vertices without faces or on pieces left out: they have the place of the nearest one, and confidence 0
    functional_map : takes functions on the whole to functions on the part, in eigenfunctions of the surfaces as they were
        matched
    vertex_map_before : before refinement; None if nothing was refined
    losses : of refinement, at the start and after each step
    fit : how well the map fits
    regions : connected pieces that are doubtful, largest first
    scaling : units that were given or assumed
    factor : from lengths of the part to those of the whole
    up : the axis taken for the vertical one, of the part and of the whole; None with a model that does not see how surfaces
        lie in space
    yaw : by which the part was turned about it, in degrees; None likewise
    coarse : the surfaces as they were matched, and the map between them
    read_out : how the map was read
    model : what the network is called
    notes : what was done and assumed on the way
    warnings : what to know before using the map
    seconds : that each step took
    from_cache : whether it was found in the cache, as it had been computed before
    landmarks : that were given, and what became of them
    places : for each vertex of the part its place inside a triangle of the whole, of which `vertex_map` names the
        corner with the largest weight; None if the map was read at vertices. See `barycentric`
    """

    part: Mesh
    whole: Mesh
    vertex_map: Int[np.ndarray, "p"]
    confidence: Float[np.ndarray, "p"]
    matched: Bool[np.ndarray, "p"]
    functional_map: Float[np.ndarray, "k k"]
    vertex_map_before: Int[np.ndarray, "p"] | None
    losses: tuple[float, ...]
    fit: Fit
    regions: tuple[DoubtfulRegion, ...]
    scaling: Scaling
    factor: float
    up: tuple[str, str] | None
    yaw: float | None
    coarse: CoarseMatch
    read_out: str
    model: str
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    seconds: dict[str, float]
    from_cache: bool = False
    landmarks: tuple[LandmarkResult, ...] = ()
    places: BarycentricMap | None = None

    def __repr__(self) -> str:
        doubt = f"{100 * self.doubtful_share:.0f} % doubtful"
        return f"MatchResult({self.part.name!r} → {self.whole.name!r}: {len(self.vertex_map)} vertices, {doubt})"

    @property
    def doubtful(self) -> Bool[np.ndarray, "p"]:
        """Vertices whose place is more probably wrong than right."""
        return self.confidence < DOUBTFUL

    @property
    def doubtful_share(self) -> float:
        """Of the part's area."""
        return float(self.part.vertex_areas[self.doubtful].sum() / self.part.area)

    @property
    def barycentric(self) -> BarycentricMap:
        """For each vertex of the part its place on the whole, in a triangle or at a vertex; covered where it was matched."""
        return BarycentricMap.at_vertices(self.vertex_map, self.matched) if self.places is None else self.places

    @property
    def alignment(self) -> Float[np.ndarray, "4 4"]:
        """The similarity that takes the part to the whole: x ↦ A[:3, :3] x + A[:3, 3], a rotation times `factor`.

        argmin over rotations of Σ area · confidence · |x − image|², over the surfaces as they were matched.
        """
        x, y = self.coarse.part.vertices * self.factor, self.coarse.whole.vertices[self.coarse.vertex_map]
        share = self.coarse.part.vertex_areas * (self.coarse.confidence + _LEAST_CONFIDENCE)
        share = share / share.sum()
        R = rotation_onto(x - share @ x, y - share @ y, share)
        found = np.eye(4)
        found[:3, :3] = self.factor * R
        found[:3, 3] = share @ y - R @ (share @ x)
        return found

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the result into a folder, surfaces included; `partwhole.load` reads it back, to the last bit."""
        from partwhole.saved import save

        save(self, folder)

    @cached_property
    def correspondence(self) -> Correspondence:
        """Part, whole and map, for the functions of `partwhole.transfer`; vertices that were not matched are not covered."""
        return Correspondence(self.part, self.whole, self.barycentric)

    def transfer(
        self,
        values: Shaped[np.ndarray, "n *rest"],
        *,
        kind: ValueKind = "auto",
        to: Side = "part",
        missing: Any = None,
    ) -> Shaped[np.ndarray, "m *rest"]:
        """Transfer values from the vertices of the whole to those of the part, or the other way.

        To the part, every vertex gets the value at its place on the whole, also one that was not matched, unless `kind` or
        `missing` is given; inside a triangle numbers are interpolated, and labels never. To the whole, vertices within half
        an edge of the mapped part are covered.

        Parameters
        ----------
        values : a row for each vertex of the whole, or of the part if to="whole"
        kind : "scalar", "vector" (turned with the surface), "color" or "label"; "auto" decides by the type of the values
        to : where the values are wanted
        missing : the value of vertices that are not covered; nan unless given. Labels need it if there are such vertices.
        """
        if kind == "auto" and to == "part" and missing is None:
            given = as_array("values must be an array with a row for each vertex", values)
            if given.ndim == 0 or len(given) != self.whole.n_vertices:
                raise ValueError(
                    f"values has shape {given.shape}; "
                    f"give one row for each of the whole's {self.whole.n_vertices} vertices"
                )
            if self.places is None:
                return given[self.vertex_map]
            return transfer_by_kind(values, Correspondence(self.part, self.whole, self.places.all_covered()))
        return transfer_by_kind(values, self.correspondence, kind=kind, to=to, missing=missing)
