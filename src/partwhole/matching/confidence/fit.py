"""The fit of a map as a whole, how it limits confidence, and the warnings that follow from it."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from partwhole.matching.confidence.constants import (
    ALIKE,
    COLLAPSED,
    DOUBTFUL,
    ELSEWHERE,
    FEW_VERTICES,
    HALF_DOUBTFUL,
    MOSTLY_DOUBTFUL,
    NEITHER_WHOLE,
    TORN_LENGTHS,
    TORN_SLACK,
    UNSURE_MAP,
    WRONG_MAP,
)
from partwhole.matching.readout.maps import best_stretch, curvature_agreement, feature_similarity
from partwhole.matching.result import DoubtfulRegion, Fit, LandmarkResult
from partwhole.matching.search.constants import STRETCHED
from partwhole.matching.search.placement import likely_places
from partwhole.matching.search.search import SearchResult, rival
from partwhole.mesh import Mesh
from partwhole.mesh.formats.common import percent
from partwhole.mesh.topology import connected_labels

# rows of distances that are compared at a time
_ROWS = 512


def doubtful_regions(
    mesh: Mesh, doubtful: Bool[np.ndarray, "n"], confidence: Float[np.ndarray, "n"], *, least_share: float = 0.001
) -> tuple[DoubtfulRegion, ...]:
    """The connected doubtful regions, largest area first, without those below a share of the area.

    Examples
    --------
    >>> from partwhole.datasets import sphere
    >>> ball = sphere(500)
    >>> low = np.abs(ball.vertices[:, 2]) > 0.8
    >>> [round(region.area_share, 1) for region in doubtful_regions(ball, low, 1.0 - low)]
    [0.1, 0.1]
    """
    inside = doubtful[mesh.edges].all(axis=1)
    labels = connected_labels(mesh.n_vertices, mesh.edges[inside])
    areas = np.bincount(labels, weights=mesh.vertex_areas)
    found = []
    for label in np.unique(labels[doubtful]):
        if areas[label] < least_share * mesh.area:
            continue
        members = np.flatnonzero(labels == label)
        x, y, z = mesh.vertices[members].mean(axis=0).tolist()
        least = int(members[confidence[members].argmin()])
        sure = float(confidence[members].mean())
        found.append(DoubtfulRegion(len(members), float(areas[label] / mesh.area), sure, least, (x, y, z)))
    return tuple(sorted(found, key=lambda region: -region.area_share))


def swapped_question(part: Mesh, whole: Mesh) -> str | None:
    """A question for the user if the part has no boundary and the whole has one, as if they were swapped; else None.

    Examples
    --------
    >>> from partwhole.datasets import cut_plane, sphere
    >>> ball = sphere(200)
    >>> half = cut_plane(ball, (0, 0, 0), (0, 0, 1)).part
    >>> swapped_question(ball, half)
    'the part has no boundary and the whole has holes; are they swapped?'
    >>> swapped_question(half, ball) is None
    True
    """
    if part.is_closed and not whole.is_closed:
        return "the part has no boundary and the whole has holes; are they swapped?"
    return None


def perhaps_both_partial(part: Mesh, whole: Mesh, doubtful_share: float) -> tuple[str, ...]:
    """A warning where both have boundaries and much of the part has no certain place, as if the whole were a part, too.

    Examples
    --------
    >>> from partwhole.datasets import cut_plane, sphere
    >>> ball = sphere(200)
    >>> half = cut_plane(ball, (0, 0, 0), (0, 0, 1)).part
    >>> perhaps_both_partial(half, ball, 0.9), perhaps_both_partial(half, half, 0.1)
    ((), ())
    >>> perhaps_both_partial(half, half, 0.9)[0][:60]
    'both surfaces have boundaries, and 90 % of the part has no c'
    """
    if part.is_closed or whole.is_closed or doubtful_share <= NEITHER_WHOLE:
        return ()
    return (
        f"both surfaces have boundaries, and {percent(doubtful_share)} of the part has no certain place: if the whole is "
        "only a part as well, pw.match_parts, or --both-partial, finds what they share",
    )


def reversed_share(vertex_map: Int[np.ndarray, "p"], part: Mesh, whole: Mesh) -> float:
    """The share of the part's area whose triangles come out with the other orientation: near 1 in a mirror image.

    Both in the same units, faces outwards. Triangles that collapse to an edge or a point are not counted; nan if all do.

    Examples
    --------
    >>> from partwhole.datasets import sphere
    >>> ball = sphere(400)
    >>> reversed_share(np.arange(400), ball, ball)
    0.0
    >>> from scipy.spatial import cKDTree
    >>> mirrored = cKDTree(ball.vertices).query(ball.vertices * [-1, 1, 1])[1]
    >>> reversed_share(mirrored, ball, ball) > 0.8
    True
    """
    images = vertex_map[part.faces]
    a, b, c = (whole.vertices[images[:, corner]] for corner in range(3))
    normal = np.cross(b - a, c - a)
    along = np.einsum("ij,ij->i", normal, whole.vertex_normals[images].sum(axis=1)) / 6
    area = part.face_areas
    counted = np.abs(along) > COLLAPSED * area
    if not counted.any():
        return float("nan")
    return float(area[counted & (along < 0)].sum() / area[counted].sum())


def fit_of(vertex_map: Int[Tensor, "p"], found: SearchResult) -> Fit:
    """How well a map fits that a search found."""
    part, whole, (part_mesh, whole_mesh) = found.pair.part, found.pair.whole, found.pair.meshes
    assert part.distances is not None
    assert whole.distances is not None
    guaranteed = found.pair.guaranteed
    off = 0.0
    for rows in torch.arange(len(part), device=vertex_map.device).split(_ROWS):
        apart = whole.distances[vertex_map[rows]][:, vertex_map].float() - part.distances[rows]
        off += float((apart.abs_() * guaranteed[rows]).sum())
    pairs = int(guaranteed.sum())
    # a vertex with itself is always guaranteed, and says nothing
    others = max(pairs - len(part), 1)
    second = rival(found.chosen, found.candidates)
    angle = None if second is None else math.degrees(second[0].yaw - found.chosen.yaw)
    return Fit(
        guaranteed=pairs / len(part) ** 2,
        criterion=found.pair.criterion,
        distortion=off / others,
        stretch=best_stretch(vertex_map, part, whole),
        curvature=float(curvature_agreement(vertex_map, part, whole)),
        reversed=reversed_share(vertex_map.cpu().numpy().astype(np.int64), part_mesh, whole_mesh),
        rival_angle=None if angle is None else (angle + 180) % 360 - 180,
        rival_margin=None if second is None else second[1],
        similarity=_similarity(vertex_map, found),
        torn=torn_share(found.chosen.nearest, part_mesh, whole.distances),
        alike_elsewhere=_alike_elsewhere(found),
    )


def _alike_elsewhere(found: SearchResult) -> float:
    """The share of the part, by area, for which a place far from the most similar one is about as similar."""
    compared, part, D = found.chosen.compared, found.pair.part, found.pair.whole.distances
    assert D is not None
    if compared is None:
        return math.nan
    likely = likely_places(compared, found.pair.whole)
    best, at = likely.similar.max(dim=1, keepdim=True)
    away = D[likely.vertices.gather(1, at), likely.vertices] > ELSEWHERE
    elsewhere = (away & (likely.similar >= best - ALIKE)).any(dim=1)
    return float(part.mass[elsewhere].sum() / part.mass.sum())


def _similarity(vertex_map: Int[Tensor, "p"], found: SearchResult) -> float:
    compared = found.chosen.compared
    if compared is None:
        return math.nan
    return float(feature_similarity(vertex_map, compared.part, compared.whole, found.pair.part))


def torn_share(vertex_map: Int[Tensor, "p"], part: Mesh, distances: Float[Tensor, "n n"]) -> float:
    """The share of a part, by area, whose edges a map tears: their ends are much farther apart on the whole.

    Parameters
    ----------
    vertex_map : to the whole
    part : in the units of the whole
    distances : on the whole

    Examples
    --------
    >>> from partwhole.datasets import sphere
    >>> from partwhole.geodesics import geodesic_distances
    >>> ball = sphere(400).scaled(0.28)
    >>> D = torch.from_numpy(geodesic_distances(ball))
    >>> torn_share(torch.arange(400), ball, D), torn_share(3 * torch.arange(400) % 400, ball, D) > 0.1
    (0.0, True)
    """
    ends = torch.from_numpy(part.edges).to(vertex_map.device)
    apart = distances[vertex_map[ends[:, 0]], vertex_map[ends[:, 1]]].cpu().numpy()
    area = part.vertex_areas[part.edges].sum(axis=1)
    torn = apart > TORN_LENGTHS * part.edge_lengths + TORN_SLACK
    return float(area[torn].sum() / area.sum())


def evidence_for(found: SearchResult) -> float:
    """The number of vertices that determine the map: those of the part, or those of the whole that it covers, if fewer."""
    part, whole = found.pair.meshes
    return min(part.n_vertices, whole.n_vertices * part.area / whole.area)


def limited_confidence(sure: Float[np.ndarray, "p"], fit: Fit, found: SearchResult) -> Float[np.ndarray, "p"]:
    """Confidence that does not exceed how the map fits as a whole, nor what few vertices can say.

    Cues at a vertex can look good where everything is wrong: a map that fits badly is doubtful everywhere.
    """
    limited = sure * fit.credit * min(evidence_for(found) / FEW_VERTICES, 1.0)
    area = found.pair.meshes[0].vertex_areas
    mostly_doubtful = area[limited < DOUBTFUL].sum() > MOSTLY_DOUBTFUL * area.sum()
    if not fit.judged and fit.credit == 1 and (mostly_doubtful or fit.expected_error > WRONG_MAP):
        return DOUBTFUL * limited
    return limited


def warnings_about_landmarks(landmarks: Sequence[LandmarkResult]) -> tuple[str, ...]:
    """What a reader should know of landmarks that were not used, or that can't all be right.

    Examples
    --------
    >>> warnings_about_landmarks([LandmarkResult(12, 99, "nose", 0.1, "contradicts the others", 0.41)])[0]
    "landmark 'nose' (scan vertex 12 → template vertex 99) contradicts the others: distances differ by 0.41 √area; not used"
    """
    said = []
    for one in landmarks:
        if one.use == "contradicts the others":
            said.append(f"{one} contradicts the others: distances differ by {one.off:.2f} √area; not used")
        elif one.use == "left out":
            said.append(f"{one} lies on a piece that was left out; not used")
    unclear = [one for one in landmarks if one.use == "contradicts another"]
    if unclear:
        off = max(one.off for one in unclear)
        said.append(f"{' and '.join(map(str, unclear))} contradict each other: distances differ by {off:.2f} √area")
    return tuple(said)


def notes_about(fit: Fit) -> tuple[str, ...]:
    """What a reader may want to know of a map that is not warned of."""
    if fit.poor or not fit.nearly_symmetric:
        return ()
    return (
        f"to {percent(fit.alike_elsewhere)} of the part's area other places are about as similar: the shape is nearly "
        "symmetric, and the map is one of several that fit",
    )


def warnings_about(fit: Fit, doubtful_share: float) -> tuple[str, ...]:
    """What a reader should know before using the map, the gravest first."""
    said = []
    reasons = [f"{percent(doubtful_share)} of the part's area is doubtful"]
    # a small error would speak for a map that something else speaks against
    if fit.expected_error > UNSURE_MAP:
        reasons.insert(0, f"the expected error is {percent(fit.expected_error)} of √area")
    doubtful = 0.0 if fit.judged else doubtful_share
    if fit.poor or fit.expected_error > WRONG_MAP or doubtful > MOSTLY_DOUBTFUL:
        said.append(
            f"the map is probably wrong: {reasons[0]}, the curvature correlation {fit.curvature:.2f}, the distance error "
            f"{100 * fit.distortion:.1f} % of √area; the part may belong to another surface, or be in other units"
        )
    elif fit.expected_error > UNSURE_MAP or doubtful > HALF_DOUBTFUL:
        said.append(f"parts of the map are probably wrong: {', and '.join(reasons)}")
    if fit.mirrored:
        said.append(
            f"probably a mirror image: {percent(fit.reversed)} of the area comes out with its orientation reversed, left for "
            "right; or the part is inside out"
        )
    if fit.perhaps_turned:
        assert fit.rival_angle is not None
        said.append(
            f"possibly the wrong way round: with the part rotated by {abs(fit.rival_angle):.0f}° another map fits about as "
            f"well (its score is worse by {fit.rival_margin:.2f})"
        )
    if not 1 / STRETCHED < fit.stretch < STRETCHED:
        said.append(
            f"distances on the whole are {fit.stretch:.2f} times those on the part: other units or another size; units='any' "
            "finds the scale"
        )
    return tuple(said)
