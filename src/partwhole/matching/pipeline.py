"""`match`: from two surfaces as they come to a map of every vertex, with what is sure about it and what is not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from jaxtyping import Int
from threadpoolctl import threadpool_limits
from torch import Tensor

from partwhole.matching.cache.features import WholeFeatures, weights_of
from partwhole.matching.cache.results import cached_result, content_of, result_key, store_result
from partwhole.matching.confidence.cues import cues_of
from partwhole.matching.confidence.fit import FEW, evidence_for, fit_of, limited, warnings_about
from partwhole.matching.confidence.regions import doubtful_regions, swapped_question
from partwhole.matching.confidence.rule import confidence_of, remark_on, rule_for
from partwhole.matching.ensemble import Ensemble
from partwhole.matching.matcher import Matcher
from partwhole.matching.network.built_in import model_path
from partwhole.matching.readout.soft_map import ReadOut, functional_map_of
from partwhole.matching.result import DOUBTFUL, CoarseMatch, MatchResult
from partwhole.matching.scans.lift import Lift
from partwhole.matching.scans.prepare import MOST_VERTICES, Clock, PreparedScans, Progress, prepare_scans, read_scans
from partwhole.matching.scans.surfaces import PreparedSurface
from partwhole.matching.scans.units import Scaling, nearby_units
from partwhole.matching.search.pair import surface_pair
from partwhole.matching.search.search import SearchResult, candidate_axes, search
from partwhole.matching.training import refine as refinement
from partwhole.mesh import Mesh
from partwhole.mesh.formats.common import counted
from partwhole.store.arguments import check_device, check_function, check_whole_number
from partwhole.store.cache import Cache, CacheGiven
from partwhole.store.compute import free_cores


def match(
    part: Mesh | str | os.PathLike[str],
    whole: Mesh | str | os.PathLike[str],
    *,
    model: str | Path | Matcher = "default",
    refine: int = 0,
    read_out: ReadOut = "lateration",
    units: str | float = "auto",
    up: str | None = None,
    yaw_steps: int | None = None,
    repair: bool | None = None,
    max_vertices: int = MOST_VERTICES,
    device: str = "cpu",
    cache: CacheGiven = None,
    progress: Progress | None = None,
) -> MatchResult:
    """Match a part to its whole: for each vertex of the part its vertex of the whole, and how sure that is.

    Reads files, finds out about units, decimates what is large, matches, refines if asked, and lifts the map to every vertex
    that was given. Whatever had to be assumed or left out is in `notes`, what may be wrong with the map in `warnings`.

    Parameters
    ----------
    part, whole : meshes, or files; a file may hold points without faces, which are triangulated first
    model : a name in the box (see `model_names`), a file of weights, or a `Matcher`
    refine : steps of refinement on this pair, such as 15; 0: none
    read_out : "features", "spectral", "zoomout" or "lateration", see `Matcher.vertex_map`
    units : "auto", "same", "any", a factor, or those of part and whole such as "mm:m"; see `scaling_of`
    up : the axis that points up, such as "z", or "z:y" for part and whole; "auto" tries them all; None: as the model has it,
        and all of them if that fits badly
    yaw_steps : the part is tried at so many turns about the vertical; None: as many as the model asks for
    repair : True repairs both, False neither; None repairs a file that can't be read otherwise
    max_vertices : of the whole as it is matched; the part gets as many as its area is worth
    device : "cpu" or "cuda"
    cache : where eigenfunctions, features of the whole and answers are kept: a `Cache`, a folder, True for the default one,
        or None for nowhere. The same question, asked again, is answered from there
    progress : called with (what is done, steps done, steps in all)
    """
    check_device(device)
    cache = Cache.meant(cache)
    check_function("progress", progress, called_with="(what is done, steps done, steps in all)")
    check_whole_number("max_vertices", max_vertices)
    if max_vertices < FEW:
        raise ValueError(f"max_vertices={max_vertices} must be at least {FEW}")
    knobs: dict[str, Any] = {"refine": refine, "read_out": read_out, "up": up, "yaw_steps": yaw_steps}
    _check(**knobs)
    matcher = model if isinstance(model, Matcher) else Matcher.load(model, device=device)
    candidate_axes(up, matcher.config.vertical)
    given = read_scans(part, whole, repair=repair, progress=progress)
    sizes: dict[str, Any] = {"units": units, "max_vertices": max_vertices}
    if cache is not None:
        weights = weights_of(model) if isinstance(model, Matcher) else content_of(model_path(model))
        asked = result_key(given, weights, {**knobs, **sizes, "device": matcher.device.type})
        before = cached_result(cache, asked, given)
        if before is not None:
            return before
    inputs = prepare_scans(given, **sizes, progress=progress)
    found = match_scans(inputs, matcher, **knobs, cache=cache, progress=progress)
    if cache is not None:
        store_result(cache, asked, found, given)
    return found


@contextmanager
def _on_free_cores() -> Iterator[None]:
    """As many threads as there are cores that nothing else runs on: threads that wait for each other are slower than one."""
    before = torch.get_num_threads()
    torch.set_num_threads(min(before, free_cores()))
    try:
        # eigenfunctions gain nothing from a second thread
        with threadpool_limits(limits=1, user_api="blas"):
            yield
    finally:
        torch.set_num_threads(before)


@_on_free_cores()
def match_scans(
    inputs: PreparedScans,
    matcher: Matcher,
    *,
    refine: int = 0,
    read_out: ReadOut = "lateration",
    up: str | None = None,
    yaw_steps: int | None = None,
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> MatchResult:
    """Match surfaces that were read and made ready before; parameters are those of `match`."""
    _check(refine, read_out, up, yaw_steps)
    candidate_axes(up, matcher.config.vertical)
    scaling, of_part, of_whole = inputs.scaling, inputs.part, inputs.whole
    clock = Clock(progress, inputs.seconds)
    clock.begin("operators")
    distances = inputs.distances(matcher.config.distances) if matcher.device.type == "cpu" else None
    given = surface_pair(
        of_part.mesh,
        of_whole.mesh,
        scaling.middle,
        matcher,
        cache=cache,
        distances=distances,
        known=lambda compute: inputs.recall.of(inputs.whole_name, ("surface", matcher), compute),
    )
    clock.begin("matching")
    turns = matcher.config.yaw_steps if yaw_steps is None else yaw_steps
    whole_features = WholeFeatures(matcher, inputs.whole_name, inputs.recall, cache)
    position = search(
        matcher,
        given,
        factors=[factor / scaling.middle for factor in scaling.factors],
        others=[factor / scaling.middle for factor in scaling.others],
        up=up,
        yaw_steps=turns,
        whole_features=whole_features,
    )
    found = matcher.read(position.chosen.nearest, position.pair.part, position.pair.whole, read_out)
    before, losses = found, tuple[float, ...]()
    if refine:
        clock.begin("refinement")
        found, losses = _refined(matcher, position, refine, read_out)
    fit = fit_of(found, position)
    moved = before if read_out == "lateration" else None
    features = dict(whole_features(position.pair.whole, position.up[1], turns)).get(position.chosen.whole_angle)
    signs = cues_of(found, position, matcher, moved=moved, of_whole=features)
    sure = limited(confidence_of(signs, rule_for(matcher.card)), fit, position)
    clock.begin("every vertex")
    lift = Lift.between(of_part, of_whole)
    confidence = np.where(of_part.covered, np.clip(lift.values(sure), 0, 1), 0.0)
    area = of_part.given.vertex_areas
    doubtful_share = float(area[confidence < DOUBTFUL].sum() / area.sum())
    k = min(matcher.config.map_eigenpairs, given.part.values.shape[-1], given.whole.values.shape[-1])
    notes, grave = _remarks(of_part, of_whole, position, scaling, up, matcher.config.vertical)
    evidence = evidence_for(position)
    if evidence < FEW <= of_part.mesh.n_vertices:
        grave.append(
            f"a part that covers about {evidence:.0f} of the {of_whole.mesh.n_vertices} vertices of the whole says little "
            "about its place"
        )
    notes += remark_on(matcher.card)
    return MatchResult(
        part=of_part.given,
        whole=of_whole.given,
        vertex_map=lift.vertex_map(_numbers(found)),
        confidence=confidence,
        matched=of_part.covered,
        functional_map=functional_map_of(found, position.pair.part, position.pair.whole, k).cpu().numpy(),
        vertex_map_before=lift.vertex_map(_numbers(before)) if refine else None,
        losses=losses,
        fit=fit,
        regions=doubtful_regions(of_part.given, confidence < DOUBTFUL, confidence),
        scaling=scaling,
        factor=scaling.middle * position.factor,
        up=position.up,
        yaw=float(np.degrees(position.chosen.turn)),
        coarse=CoarseMatch(of_part.mesh, of_whole.mesh, _numbers(found), sure),
        read_out=read_out,
        model=str(matcher.card.get("name", "a model")),
        notes=(*inputs.notes, _units_note(scaling, position), *of_part.notes, *of_whole.notes, *given.notes, *notes),
        warnings=(*of_part.warnings, *of_whole.warnings, *grave, *warnings_about(fit, doubtful_share)),
        seconds=clock.end(),
    )


def _check(refine: int, read_out: str, up: str | None, yaw_steps: int | None) -> None:
    if read_out not in get_args(ReadOut):
        raise ValueError(f"read_out must be one of {', '.join(map(repr, get_args(ReadOut)))}, got {read_out!r}")
    for name, value, least in (("refine", refine, 0), ("yaw_steps", yaw_steps, 1)):
        check_whole_number(name, value, or_none=name == "yaw_steps")
        if value is not None and value < least:
            raise ValueError(f"{name}={value} must be at least {least}")


def _refined(
    matcher: Matcher, position: SearchResult, steps: int, read_out: ReadOut
) -> tuple[Int[Tensor, "p"], tuple[float, ...]]:
    """The map after refinement at the yaw_steps that were chosen, and the losses."""
    config = matcher.config.with_changes(yaw_steps=1, whole_yaw_steps=1, alignments=0)
    networks = matcher.matchers if isinstance(matcher, Ensemble) else (matcher,)
    at_one = [Matcher(one.network, config, one.card) for one in networks]
    for_loss = replace(position.chosen, whole=position.pair.for_loss(matcher))
    part, whole = for_loss.seen(matcher.config.vertical)
    refined = refinement.refine(at_one, part, whole, steps=steps, read_out=read_out)
    return refined.vertex_map, refined.losses


def _remarks(
    part: PreparedSurface,
    whole: PreparedSurface,
    position: SearchResult,
    scaling: Scaling,
    up: str | None,
    vertical: str,
) -> tuple[list[str], list[str]]:
    """What is unusual about the two surfaces: notes, and warnings."""
    notes, grave = [], []
    swapped = swapped_question(part.mesh, whole.mesh)
    if swapped:
        grave.append(swapped)
    elif part.mesh.is_closed:
        if _same(part.given, whole.given):
            notes.append("part and whole are the same surface")
        else:
            notes.append("the part has no border: nothing is missing from it, and two wholes are matched")
    if part.mesh.n_components > 1:
        notes.append(f"the part has {part.mesh.n_components} pieces; distances between them are not known")
    if not whole.mesh.is_closed:
        loops = counted(len(whole.mesh.boundary_loops), "hole")
        notes.append(f"the whole has {loops} of its own: distances on it go around them")
    if part.mesh.n_vertices < FEW:
        grave.append(f"a part of {part.mesh.n_vertices} vertices says little about its place")
    if len(scaling.factors) > 1 or position.factor != 1:
        factor = scaling.middle * position.factor
        grave.append(f"the scale was found by trying: lengths of the part times {factor:.4g}{nearby_units(factor)}")
    if position.up != (vertical, vertical):
        taken = f"{position.up[0]} of the part, {position.up[1]} of the whole"
        if up is None:
            grave.append(f"the map did not fit as they stand; which way is up was found by trying: {taken}")
        else:
            notes.append(f"taken to point up: {taken}")
    return notes, grave


def _units_note(scaling: Scaling, position: SearchResult) -> str:
    if len(scaling.factors) > 1 or position.factor == 1:
        return scaling.reason
    return f"{scaling.reason}; distances did not agree with that, so other sizes were tried"


def _same(part: Mesh, whole: Mesh) -> bool:
    return (
        part.vertices.shape == whole.vertices.shape
        and part.faces.shape == whole.faces.shape
        and bool((part.faces == whole.faces).all())
        and bool(np.allclose(part.vertices, whole.vertices))
    )


def _numbers(found: Int[Tensor, "p"]) -> Int[np.ndarray, "p"]:
    return found.cpu().numpy().astype(np.int64)
