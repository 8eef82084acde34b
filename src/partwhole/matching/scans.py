"""`match`: from two surfaces as they come to a map of every vertex, with what is sure about it and what is not."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from partwhole.matching import refinement
from partwhole.matching.clouds import WEAKER, read_cloud, surface_of_points
from partwhole.matching.confidence import DOUBTFUL, confidence_of, signs_of
from partwhole.matching.doubts import DoubtfulRegion, doubtful_regions
from partwhole.matching.ensemble import Ensemble
from partwhole.matching.findings import Fit, fit_of, warnings_about
from partwhole.matching.headings import turned
from partwhole.matching.lifting import Lift
from partwhole.matching.matcher import Matcher
from partwhole.matching.positions import Position, axes_up, best_position
from partwhole.matching.readying import Readied, readied
from partwhole.matching.shown import shown
from partwhole.matching.soft_maps import ReadOut, functional_map_of
from partwhole.matching.units import Scaling, scaling_of
from partwhole.mesh import Mesh, read_mesh
from partwhole.mesh.formats.common import MeshWarning, counted
from partwhole.store.cache import Cache

# as many vertices as the surfaces have that networks are trained on
MOST_VERTICES = 5000
_FEW = 100
_FEWEST = 4
# a part may come out a little larger than its whole: noise, pose
_LARGEST_PART = 1.5
# where units were guessed, the part keeps the vertices of one that has so much of the whole's area
_LEAST_SHARE = 0.3

# what is being done, how much of it is done, and how much there is
Progress = Callable[[str, int, int], None]
_STEPS = ("reading", "decimation", "operators", "matching", "refinement", "every vertex")


@dataclass(frozen=True, eq=False, repr=False)
class AsMatched:
    """A map between two surfaces as they were matched: decimated, in pieces worth matching, faces outwards.

    Attributes
    ----------
    part, whole : in the units that they were given in
    vertex_map, confidence : as in `MatchedScan`, for these surfaces
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
class MatchedScan:
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
    up : the axis taken for the vertical one, of the part and of the whole
    heading : by which the part was turned about it, in degrees
    as_matched : the surfaces as they were matched, and the map between them
    read_out : how the map was read
    model : what the network is called
    notes : what was done and assumed on the way
    warnings : what to know before using the map
    seconds : that each step took
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
    up: tuple[str, str]
    heading: float
    as_matched: AsMatched
    read_out: ReadOut
    model: str
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    seconds: dict[str, float]

    def __repr__(self) -> str:
        doubt = f"{100 * self.doubtful_share:.0f} % doubtful"
        return f"MatchedScan({self.part.name!r} → {self.whole.name!r}: {len(self.vertex_map)} vertices, {doubt})"

    @property
    def doubtful(self) -> Bool[np.ndarray, "p"]:
        """Vertices whose place is more probably wrong than right."""
        return self.confidence < DOUBTFUL

    @property
    def doubtful_share(self) -> float:
        """Of the part's area."""
        return float(self.part.vertex_areas[self.doubtful].sum() / self.part.area)

    def transfer(self, values: Shaped[np.ndarray, "n *rest"]) -> Shaped[np.ndarray, "p *rest"]:
        """What is known at the vertices of the whole, at those of the part: labels, colours, coordinates."""
        if len(values) != self.whole.n_vertices:
            raise ValueError(
                f"values has shape {np.shape(values)}; give one row for each of the whole's {self.whole.n_vertices} vertices"
            )
        return values[self.vertex_map]


def match(
    part: Mesh | str | os.PathLike[str],
    whole: Mesh | str | os.PathLike[str],
    *,
    model: str | Path | Matcher = "default",
    refine: int = 0,
    read_out: ReadOut = "spectral",
    units: str | float = "auto",
    up: str | None = None,
    headings: int | None = None,
    repair: bool | None = None,
    max_vertices: int = MOST_VERTICES,
    device: str = "cpu",
    cache: Cache | None = None,
    progress: Progress | None = None,
) -> MatchedScan:
    """Match a part to its whole: for each vertex of the part its vertex of the whole, and how sure that is.

    Reads files, finds out about units, decimates what is large, matches, refines if asked, and lifts the map to every vertex
    that was given. Whatever had to be assumed or left out is in `notes`, what may be wrong with the map in `warnings`.

    Parameters
    ----------
    part, whole : meshes, or files; a file may hold points without faces, which are triangulated first
    model : a name in the box (see `model_names`), a file of weights, or a `Matcher`
    refine : steps of refinement on this pair, such as 15; 0: none
    read_out : "features", "spectral" or "zoomout", see `Matcher.vertex_map`
    units : "auto", "same", "any", a factor, or those of part and whole such as "mm:m"; see `scaling_of`
    up : the axis that points up, such as "z", or "z:y" for part and whole; "auto" tries them all; None: as the model has it
    headings : the part is tried at so many turns about the vertical; None: as many as the model asks for
    repair : True repairs both, False neither; None repairs a file that can't be read otherwise
    max_vertices : of the whole as it is matched; the part gets as many as its area is worth
    device : "cpu" or "cuda"
    cache : where eigenfunctions are kept; None: nowhere
    progress : called with (what is done, steps done, steps in all)
    """
    if read_out not in get_args(ReadOut):
        raise ValueError(f"read_out must be one of {', '.join(map(repr, get_args(ReadOut)))}, got {read_out!r}")
    for name, value, least in (("refine", refine, 0), ("max_vertices", max_vertices, 100), ("headings", headings, 1)):
        if value is not None and value < least:
            raise ValueError(f"{name}={value} must be at least {least}")
    matcher = model if isinstance(model, Matcher) else Matcher.load(model, device=device)
    axes_up(up, matcher.config.vertical)
    clock = _Clock(progress)
    clock.begin("reading")
    inputs = _Inputs(*_read(part, "part", repair), *_read(whole, "whole", repair))
    clock.begin("decimation")
    for mesh in (inputs.part, inputs.whole):
        if mesh.area == 0:
            raise ValueError(f"{mesh.name}: all its faces have area 0; a surface is needed")
    scaling = scaling_of(units, inputs.part.area, inputs.whole.area)
    of_part, of_whole = _readied(inputs, scaling, max_vertices)
    clock.begin("operators")
    given = shown(of_part.mesh, of_whole.mesh, scaling.middle, matcher, cache=cache)
    clock.begin("matching")
    position = best_position(
        matcher,
        given,
        factors=[factor / scaling.middle for factor in scaling.factors],
        others=[factor / scaling.middle for factor in scaling.others],
        up=up,
        headings=matcher.config.headings if headings is None else headings,
    )
    found = matcher.read(position.chosen.nearest, position.shown.part, position.shown.whole, read_out)
    before, losses = found, tuple[float, ...]()
    if refine:
        clock.begin("refinement")
        found, losses = _refined(matcher, position, refine, read_out)
    fit = fit_of(found, position)
    sure = confidence_of(signs_of(found, position.chosen, position.trials))
    clock.begin("every vertex")
    lift = Lift.between(of_part, of_whole)
    confidence = np.where(of_part.covered, np.clip(lift.values(sure), 0, 1), 0.0)
    doubtful_area = inputs.part.vertex_areas[confidence < DOUBTFUL].sum() / inputs.part.area
    k = min(matcher.config.map_eigenpairs, given.part.values.shape[-1], given.whole.values.shape[-1])
    notes, grave = _remarks(of_part, of_whole, position, scaling)
    return MatchedScan(
        part=inputs.part,
        whole=inputs.whole,
        vertex_map=lift.vertex_map(_numbers(found)),
        confidence=confidence,
        matched=of_part.covered,
        functional_map=functional_map_of(found, position.shown.part, position.shown.whole, k).cpu().numpy(),
        vertex_map_before=lift.vertex_map(_numbers(before)) if refine else None,
        losses=losses,
        fit=fit,
        regions=doubtful_regions(inputs.part, confidence < DOUBTFUL, confidence),
        scaling=scaling,
        factor=scaling.middle * position.factor,
        up=position.up,
        heading=float(np.degrees(position.chosen.angle)),
        as_matched=AsMatched(of_part.mesh, of_whole.mesh, _numbers(found), sure),
        read_out=read_out,
        model=str(matcher.card.get("name", "a model" if isinstance(model, Matcher) else Path(model).stem)),
        notes=(*inputs.notes, scaling.reason, *of_part.notes, *of_whole.notes, *given.notes, *notes),
        warnings=(*of_part.warnings, *of_whole.warnings, *grave, *warnings_about(fit, float(doubtful_area))),
        seconds=clock.end(),
    )


@dataclass(frozen=True, eq=False)
class _Inputs:
    part: Mesh
    part_notes: list[str]
    whole: Mesh
    whole_notes: list[str]

    @property
    def notes(self) -> list[str]:
        return [*self.part_notes, *self.whole_notes]


def _readied(inputs: _Inputs, scaling: Scaling, max_vertices: int) -> tuple[Readied, Readied]:
    """Both as they are matched, the part with as many vertices to its area as the whole."""
    share = _checked_share(inputs.part, inputs.whole, scaling)
    whole = readied(inputs.whole, "whole", most_vertices=max_vertices)
    # of a whole of which a piece was left out, the piece that is left has all the vertices
    to_area = min(whole.mesh.n_vertices, max_vertices) * inputs.whole.area / whole.mesh.area
    if scaling.others and scaling.middle != 1:
        # in case the units are others than was assumed
        share = max(share, _LEAST_SHARE)
    return readied(inputs.part, "part", most_vertices=max(int(to_area * min(share, 1.0)), _FEWEST)), whole


class _Clock:
    """How long each step takes, told to whoever asked for progress."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress or (lambda what, done, total: None)
        self._seconds: dict[str, float] = {}
        self._name, self._start = "", time.perf_counter()

    def begin(self, name: str) -> None:
        self._stop()
        self._name, self._start = name, time.perf_counter()
        self._progress(name, _STEPS.index(name), len(_STEPS))

    def end(self) -> dict[str, float]:
        self._stop()
        self._progress(self._name, len(_STEPS), len(_STEPS))
        return self._seconds

    def _stop(self) -> None:
        if self._name:
            self._seconds[self._name] = time.perf_counter() - self._start


def _read(
    given: Mesh | str | os.PathLike[str], role: Literal["part", "whole"], repair: bool | None
) -> tuple[Mesh, list[str]]:
    """The surface, and what there is to say about how it came out of its file."""
    if isinstance(given, Mesh):
        if repair:
            from partwhole.mesh import repair as mended

            result = mended(given)
            note = [] if result.report.is_clean else [f"{given.name}, repaired: {result.summary()}; {_RENUMBERED}"]
            return (result.mesh, note) if note else (given, [])
        return given, []
    cloud = read_cloud(Path(given)) if Path(given).is_file() else None
    if cloud is not None:
        return surface_of_points(cloud, name=Path(given).name), [WEAKER.format(role=role)]
    notes = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MeshWarning)
        try:
            mesh = read_mesh(given, repair=bool(repair))
        except ValueError as fault:
            if repair is not None:
                raise
            try:
                mesh = read_mesh(given, repair=True)
            except ValueError:
                # what it was that could not be read says more than that it can't be repaired
                raise fault from None
            notes.append(f"{mesh.name} could not be read as it is ({fault}), so it was repaired")
    for warning in caught:
        notes.append(str(warning.message))
        if "repaired" in notes[-1]:
            notes.append(f"{mesh.name}: {_RENUMBERED}")
    return mesh, notes


_RENUMBERED = "vertices are numbered as after the repair, not as in the file"


def _checked_share(part: Mesh, whole: Mesh, scaling: Scaling) -> float:
    """Which share of the whole's area the part has."""
    share = part.area * scaling.middle**2 / whole.area
    if share > _LARGEST_PART:
        raise ValueError(
            f"{part.name} has {share:.3g} times the area of {whole.name}, in the units that were given: a part isn't larger "
            "than its whole; units='auto' finds the factor, or exchange the two"
        )
    return share


def _refined(
    matcher: Matcher, position: Position, steps: int, read_out: ReadOut
) -> tuple[Int[Tensor, "p"], tuple[float, ...]]:
    """The map after refinement at the heading that was chosen, and the losses."""
    config = matcher.config.with_changes(headings=1)
    networks = matcher.matchers if isinstance(matcher, Ensemble) else (matcher,)
    at_one = [Matcher(one.network, config, one.card) for one in networks]
    angle = position.chosen.angle
    part = turned(position.shown.part, angle, matcher.config.vertical) if angle else position.shown.part
    whole = position.shown.for_loss(matcher)
    refined = refinement.refine(at_one, part, whole, steps=steps, read_out=read_out)
    return refined.vertex_map, refined.losses


def _remarks(part: Readied, whole: Readied, position: Position, scaling: Scaling) -> tuple[list[str], list[str]]:
    """What is unusual about the two surfaces: notes, and warnings."""
    notes, grave = [], []
    if part.mesh.is_closed:
        if _same(part.given, whole.given):
            notes.append("part and whole are the same surface")
        else:
            notes.append("the part has no border: nothing is missing from it, and two wholes are matched")
    if part.mesh.n_components > 1:
        notes.append(f"the part has {part.mesh.n_components} pieces; distances between them are not known")
    if not whole.mesh.is_closed:
        loops = counted(len(whole.mesh.boundary_loops), "hole")
        notes.append(f"the whole has {loops} of its own: distances on it go around them")
    if part.mesh.n_vertices < _FEW:
        grave.append(f"a part of {part.mesh.n_vertices} vertices says little about its place")
    if len(scaling.factors) > 1 or position.factor != 1:
        grave.append(f"the scale was found by trying: lengths of the part times {scaling.middle * position.factor:.4g}")
    if position.up != (position.up[1], position.up[1]) or len(position.up[0]) > 1:
        notes.append(f"taken to point up: {position.up[0]} of the part, {position.up[1]} of the whole")
    return notes, grave


def _same(part: Mesh, whole: Mesh) -> bool:
    return (
        part.vertices.shape == whole.vertices.shape
        and part.faces.shape == whole.faces.shape
        and bool((part.faces == whole.faces).all())
        and bool(np.allclose(part.vertices, whole.vertices))
    )


def _numbers(found: Int[Tensor, "p"]) -> Int[np.ndarray, "p"]:
    return found.cpu().numpy().astype(np.int64)


__all__ = ["MatchedScan", "match"]
