"""The path from two prepared surfaces to a map of every vertex, with its confidence and what was assumed.

There is one: `match`, the command line, the page, folders, lists and calibration call `match_scans`; evaluation, which needs
no confidence, calls what finds the map, `surfaces_of`, `searched` and `map_from`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Int
from threadpoolctl import threadpool_limits
from torch import Tensor

from partwhole.matching.cache.results import surroundings
from partwhole.matching.confidence.constants import DOUBTFUL, FEW_VERTICES
from partwhole.matching.confidence.fit import (
    doubtful_regions,
    evidence_for,
    fit_of,
    limited_confidence,
    notes_about,
    perhaps_both_partial,
    swapped_question,
    warnings_about,
    warnings_about_landmarks,
)
from partwhole.matching.confidence.rule import cues_of, judged, remark_on, rule_for
from partwhole.matching.config import MatchOptions
from partwhole.matching.matcher import Ensemble, Matcher, surface_for
from partwhole.matching.network.surface import Surface, SurfacePair, distances_of, surface_pair
from partwhole.matching.readout.maps import functional_map_of, read_map, registered_places
from partwhole.matching.result import CoarseMatch, LandmarkResult, LandmarkUse, MatchResult
from partwhole.matching.scans.prepare import Clock, PreparedScans, nearby_units
from partwhole.matching.scans.surface import Lift, matched_vertices
from partwhole.matching.search.method import Method
from partwhole.matching.search.search import SearchResult, WholeEncodings, search
from partwhole.mesh import Mesh
from partwhole.mesh.barycentric import BarycentricMap
from partwhole.mesh.formats.common import counted
from partwhole.mesh.landmarks import LandmarkPair
from partwhole.store.arguments import Progress
from partwhole.store.cache import Cache
from partwhole.store.compute import free_cores


@contextmanager
def on_free_cores(cores: int | None = None) -> Iterator[None]:
    """As many threads as there are cores that nothing else runs on: threads that wait for each other are slower than one.

    Parameters
    ----------
    cores : how many there are, if that is known; to find out takes 20 ms
    """
    before = torch.get_num_threads()
    torch.set_num_threads(min(before, cores or free_cores()))
    try:
        # eigenfunctions gain nothing from a second thread
        with threadpool_limits(limits=1, user_api="blas"):
            yield
    finally:
        torch.set_num_threads(before)


def match_scans(
    scans: PreparedScans,
    method: Method,
    options: MatchOptions | None = None,
    *,
    cache: Cache | None = None,
    cores: int | None = None,
    progress: Progress | None = None,
) -> MatchResult:
    """Match surfaces that were read and prepared before.

    Parameters
    ----------
    scans : see `prepare_scans`
    method : that matches
    options : see `MatchOptions`
    cache : where eigenpairs and encodings of the whole are kept
    cores : see `on_free_cores`
    progress : called with (what is done, steps done, steps in all)
    """
    options = options or MatchOptions()
    clock = Clock(progress, scans.seconds)
    with on_free_cores(cores):
        clock.begin("operators")
        pair = surfaces_of(scans, method, cache=cache)
        clock.begin("matching")
        made_by = None if cache is None else surroundings()
        encodings = WholeEncodings(method, scans.whole_key, scans.templates, cache, made_by=made_by)
        found = found_map(method, pair, options, scans=scans, encodings=encodings, clock=clock)
        clock.begin("every vertex")
        return _result(scans, method, options, found, clock)


def surfaces_of(scans: PreparedScans, method: Method, *, cache: Cache | None = None) -> SurfacePair:
    """Operators, distances and weights of two prepared surfaces, on the device of the method."""
    part, whole = scans.meshes
    what = "surface", method.config.eigenpairs, method.config.network.diffusion_eigenpairs, method.device
    of_whole: Surface | None = scans.templates.get(scans.whole_key, what)
    if of_whole is None:
        of_whole = surface_for(method, whole, cache=cache)
        scans.templates.put(scans.whole_key, what, of_whole)
    loss, device = method.config.loss, method.device.type
    if device == "cpu":
        on_part, on_whole = (torch.from_numpy(known) for known in scans.distances(loss.distances))
    else:
        on_part = distances_of(part, method=loss.distances, device=device)
        on_whole = scans.templates.get(scans.whole_key, ("distances", loss.distances, device))
        if on_whole is None:
            on_whole = distances_of(whole, method=loss.distances, device=device)
            scans.templates.put(scans.whole_key, ("distances", loss.distances, device), on_whole)
    return surface_pair((part, whole), (surface_for(method, part, cache=cache), of_whole), (on_part, on_whole), loss)


@dataclass(frozen=True, eq=False, repr=False)
class FoundMap:
    """A map between two surfaces, and the search that found it.

    Attributes
    ----------
    search : the orientation and scale
    vertex_map : the map, refined if that was asked for
    before : the map before refinement
    losses : of refinement
    places : of the map inside triangles, by registration; None: they are the vertices that it names
    laterated : the map before refinement by lateration, if it was computed
    """

    search: SearchResult
    vertex_map: Int[Tensor, "p"]
    before: Int[Tensor, "p"]
    losses: tuple[float, ...]
    places: BarycentricMap | None = None
    laterated: Int[Tensor, "p"] | None = None


def found_map(
    method: Method,
    pair: SurfacePair,
    options: MatchOptions,
    *,
    scans: PreparedScans | None = None,
    encodings: WholeEncodings | None = None,
    clock: Clock | None = None,
) -> FoundMap:
    """Search, read-out and refinement.

    Parameters
    ----------
    method : that matches
    pair : the surfaces
    options : see `MatchOptions`
    scans : which scales are to be tried; None: that of the pair
    encodings : gives those of the whole if they are known
    clock : told when refinement begins
    """
    found = searched(method, pair, options, scans=scans, encodings=encodings)
    return map_from(method, found, options, clock=clock)


def searched(
    method: Method,
    pair: SurfacePair,
    options: MatchOptions,
    *,
    scans: PreparedScans | None = None,
    encodings: WholeEncodings | None = None,
) -> SearchResult:
    """The orientation and scale of a pair; they depend neither on the read-out nor on refinement. See `found_map`."""
    factors, others = ((1.0,), ()) if scans is None else scans.scaling.relative
    return search(
        method,
        pair,
        factors=factors,
        others=others,
        up=options.up,
        yaw_steps=options.yaw_steps,
        encodings=encodings,
        landmarks=[place for place in _matched_landmarks(options.landmarks, scans) if place is not None],
    )


def _matched_landmarks(landmarks: Sequence[LandmarkPair], scans: PreparedScans | None) -> list[tuple[int, int] | None]:
    """Landmarks on the surfaces as they are matched; None for those on pieces left out."""
    if scans is None:
        return [(one.part, one.whole) for one in landmarks]
    of_part = matched_vertices(scans.part, np.array([one.part for one in landmarks], np.int64))
    of_whole = matched_vertices(scans.whole, np.array([one.whole for one in landmarks], np.int64))
    places = zip(of_part.tolist(), of_whole.tolist(), strict=True)
    return [place if min(place) >= 0 else None for place in places]


def map_from(method: Method, found: SearchResult, options: MatchOptions, *, clock: Clock | None = None) -> FoundMap:
    """The map in the orientation and at the scale that were found: read-out and refinement. See `found_map`."""
    nearest, k = found.chosen.nearest, method.config.loss.map_eigenpairs
    surfaces = found.pair.part, found.pair.whole
    read = read_map(nearest, *surfaces, options.read_out, eigenpairs=k, landmarks=found.landmarks)
    laterated = read if options.read_out in ("lateration", "registration") else None
    before, places = _bent(read, found, options)
    if not options.refine:
        return FoundMap(found, before, before, (), places, laterated)
    if clock is not None:
        clock.begin("refinement")
    refined, losses = _refined(method, found, options)
    refined, places = _bent(refined, found, options)
    return FoundMap(found, refined, before, losses, places, laterated)


def _bent(
    vertex_map: Int[Tensor, "p"], found: SearchResult, options: MatchOptions
) -> tuple[Int[Tensor, "p"], BarycentricMap | None]:
    """The map after registration, if that is the read-out and makes it better, and its places inside triangles."""
    if options.read_out != "registration":
        return vertex_map, None
    certain = None if found.landmarks is None else _numbers(found.landmarks.sure_pairs)
    places = registered_places(*found.pair.meshes, _numbers(vertex_map), landmarks=certain)
    if places is None:
        return vertex_map, None
    return torch.from_numpy(places.nearest_vertex).to(vertex_map.device), places


def _refined(method: Method, found: SearchResult, options: MatchOptions) -> tuple[Int[Tensor, "p"], tuple[float, ...]]:
    """The map after refinement in the orientation that was chosen, and the losses."""
    from partwhole.matching.training.refine import refine

    networks = method.matchers if isinstance(method, Ensemble) else (method,)
    matchers = [one for one in networks if isinstance(one, Matcher)]
    if not matchers:
        raise ValueError(f"{type(method).__name__} has no network to refine; use refine=0")
    as_seen = replace(found.chosen, whole=found.pair.whole_in_loss(method.config.loss))
    part, whole = as_seen.seen(method.config.search.vertical)
    refined = refine(matchers, part, whole, steps=options.refine, read_out=options.read_out, landmarks=found.landmarks)
    return refined.vertex_map, refined.losses


def _result(
    scans: PreparedScans,
    method: Method,
    options: MatchOptions,
    found: FoundMap,
    clock: Clock,
) -> MatchResult:
    """The map on every vertex, with its confidence, and what is to be said about it."""
    part, chosen, pair = scans.part, found.search.chosen, found.search.pair
    fit = fit_of(found.vertex_map, found.search)
    cues = cues_of(found.vertex_map, found.search, method, moved=found.laterated)
    sure, fit = judged(cues, fit, pair.meshes[0].vertex_areas, rule_for(method.card))
    sure = limited_confidence(sure, fit, found.search)
    lift = Lift.between(part, scans.whole)
    landmarks = _landmark_results(scans, options, found.search)
    vertex_map, places = lifted(lift, found)
    before = lift.vertex_map(_numbers(found.before)) if options.refine else None
    confidence = np.where(part.covered, np.clip(lift.values(sure), 0, 1), 0.0)
    for one in landmarks:
        if one.sure:
            # somebody who knows has said so
            vertex_map[one.part] = one.whole
            confidence[one.part] = 1.0
            if before is not None:
                before[one.part] = one.whole
            if places is not None:
                places = places.with_vertices(np.array([one.part]), np.array([one.whole]))
    area = part.given.vertex_areas
    doubtful_share = float(area[confidence < DOUBTFUL].sum() / area.sum())
    k = min(method.config.loss.map_eigenpairs, pair.part.values.shape[-1], pair.whole.values.shape[-1])
    notes, warnings = _remarks(scans, found.search, options, method)
    both_partial = perhaps_both_partial(part.given, scans.whole.given, doubtful_share)
    if options.read_out == "registration" and found.places is None:
        notes.append("registration did not improve the map, so this is the map of lateration")
    return MatchResult(
        part=part.given,
        whole=scans.whole.given,
        vertex_map=vertex_map,
        confidence=confidence,
        matched=part.covered,
        functional_map=functional_map_of(found.vertex_map, pair.part, pair.whole, k).cpu().numpy(),
        vertex_map_before=before,
        losses=found.losses,
        fit=fit,
        regions=doubtful_regions(part.given, confidence < DOUBTFUL, confidence),
        scaling=scans.scaling,
        factor=scans.scaling.middle * found.search.factor,
        up=found.search.up if method.sees_orientation else None,
        yaw=float(np.degrees(chosen.yaw)) if method.sees_orientation else None,
        coarse=CoarseMatch(part.mesh, scans.whole.mesh, _numbers(found.vertex_map), sure),
        read_out=options.read_out,
        model=str(method.card.get("name", "a model")),
        notes=(*notes, *notes_about(fit), *remark_on(method.card)),
        warnings=(*warnings, *warnings_about_landmarks(landmarks), *warnings_about(fit, doubtful_share), *both_partial),
        seconds=clock.end(),
        landmarks=landmarks,
        places=places,
    )


def lifted(lift: Lift, found: FoundMap) -> tuple[Int[np.ndarray, "n"], BarycentricMap | None]:
    """The map on every vertex of the part, and its places inside triangles if it has some."""
    if found.places is None:
        return lift.vertex_map(_numbers(found.vertex_map)), None
    places = lift.places(found.places)
    return places.nearest_vertex, places


def _landmark_results(scans: PreparedScans, options: MatchOptions, found: SearchResult) -> tuple[LandmarkResult, ...]:
    """What became of the landmarks."""
    held, plain = found.landmarks, found.without_landmarks
    results, at = [], 0
    for given, place in zip(options.landmarks, _matched_landmarks(options.landmarks, scans), strict=True):
        named = given.part, given.whole, given.label
        if place is None or held is None or plain is None:
            results.append(LandmarkResult(*named, use="left out"))
            continue
        use: LandmarkUse = "contradicts the others" if held.alone[at] else "contradicts another"
        before, off = float(held.residuals(plain)[at]), float(held.contradictions[at])
        results.append(LandmarkResult(*named, before, "sure" if held.sure[at] else use, off))
        at += 1
    return tuple(results)


def _remarks(
    scans: PreparedScans, found: SearchResult, options: MatchOptions, method: Method
) -> tuple[list[str], list[str]]:
    """What was done and assumed, and what is unusual about the two surfaces: notes, and warnings."""
    part, whole, scaling = scans.part, scans.whole, scans.scaling
    guessed_scale = len(scaling.factors) > 1 or found.factor != 1
    units = scaling.reason
    if len(scaling.factors) == 1 and found.factor != 1:
        units += "; distances did not agree with that, so other scales were tried"
    notes = [*scans.notes, units, *part.notes, *whole.notes, *found.pair.notes]
    warnings = [*part.warnings, *whole.warnings]
    swapped = swapped_question(part.mesh, whole.mesh)
    if swapped:
        warnings.append(swapped)
    elif part.mesh.is_closed:
        same = _same(part.given, whole.given)
        notes.append(
            "part and whole are the same surface"
            if same
            else "the part has no boundary: nothing is missing from it, and two wholes are matched"
        )
    if part.mesh.n_components > 1:
        notes.append(f"the part has {part.mesh.n_components} pieces; distances between them are not known")
    if not whole.mesh.is_closed:
        loops = counted(len(whole.mesh.boundary_loops), "hole")
        notes.append(f"the whole has {loops} of its own: distances on it go around them")
    if part.mesh.n_vertices < FEW_VERTICES:
        warnings.append(f"a part of {part.mesh.n_vertices} vertices is too small for a reliable match")
    if guessed_scale:
        factor = scaling.middle * found.factor
        notes.append(
            f"the scale was found by search: lengths of the part are multiplied by {factor:.4g}{nearby_units(factor)}"
        )
    vertical = method.config.search.vertical
    if not method.sees_orientation:
        if options.up is not None or options.yaw_steps is not None:
            notes.append("the model does not depend on the orientation: up and yaw_steps have no effect")
    elif found.up != (vertical, vertical):
        tried = "the map did not fit in the given orientation; the vertical was found by search"
        how = tried if options.up is None else "taken to point up"
        notes.append(f"{how}: {found.up[0]} of the part, {found.up[1]} of the whole")
    evidence = evidence_for(found)
    if evidence < FEW_VERTICES <= part.mesh.n_vertices:
        warnings.append(
            f"a part that covers about {evidence:.0f} of the {whole.mesh.n_vertices} vertices of the whole is too small "
            "for a reliable match"
        )
    return notes, warnings


def _same(part: Mesh, whole: Mesh) -> bool:
    return (
        part.vertices.shape == whole.vertices.shape
        and part.faces.shape == whole.faces.shape
        and bool((part.faces == whole.faces).all())
        and bool(np.allclose(part.vertices, whole.vertices))
    )


def _numbers(found: Int[Tensor, "*any"]) -> Int[np.ndarray, "*any"]:
    return found.cpu().numpy().astype(np.int64)
