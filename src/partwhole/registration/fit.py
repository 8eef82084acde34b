"""`fit`: match a scan to its template, then deform the template to fit the scan."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from partwhole.deformation.checks import flipped_faces, intersecting_faces
from partwhole.deformation.levels import register_in_levels
from partwhole.deformation.mirror import mirror_map
from partwhole.deformation.register import FitOptions, Guide, Registration
from partwhole.deformation.sources import UNSEEN, sources_of
from partwhole.matching.config import MatchOptions
from partwhole.matching.result import MatchResult
from partwhole.matching.session import MatchSession
from partwhole.mesh import Mesh
from partwhole.mesh.barycentric import BarycentricMap, SurfaceTree
from partwhole.mesh.formats.common import counted, percent
from partwhole.mesh.landmarks import LandmarkPair, LandmarksGiven, given_landmarks
from partwhole.mesh.surface_like import ScanLike
from partwhole.registration.result import FittedTemplate
from partwhole.store.arguments import Progress, check_instance
from partwhole.store.cache import CacheGiven

if TYPE_CHECKING:
    from partwhole.matching.search.method import Method

# of the template's area, what a reader should know before all else if it was not seen, or if it was the scan's
_MOSTLY_UNSEEN, _LARGER = 0.5, 1.1
# of the scan's vertices that lie apart from the fitted template
_APART = 0.1
_OPTIONS = "use pw.FitOptions(...)"


def fit(
    scan: ScanLike,
    template: ScanLike,
    *,
    model: str | Path | Method = "default",
    options: FitOptions | None = None,
    match_options: MatchOptions | None = None,
    landmarks: LandmarksGiven | None = None,
    units: str | float = "auto",
    repair: bool | None = None,
    device: str = "cpu",
    cache: CacheGiven = None,
    progress: Progress | None = None,
) -> FittedTemplate:
    """Fit a template to a scan: the template's triangulation, in the pose and shape of the scan, with the holes filled.

    The scan is matched to the template first, so that position, orientation and units may differ; see `match`. Then the
    template is deformed to fit the scan, as rigidly as possible where the scan saw nothing.

    Parameters
    ----------
    scan, template : surfaces in any form that `match` takes; the scan may be points without faces
    model, units, repair, device, cache, progress : as in `match`
    options : see `FitOptions`
    match_options : see `MatchOptions`
    landmarks : as in `match`; they guide the map, and the fitted template is held at those that do not contradict each other
    """
    if match_options is not None:
        check_instance("match_options", match_options, MatchOptions, "use partwhole.matching.MatchOptions(...)")
    session = MatchSession(model, match_options, units=units, device=device, cache=cache)
    return fit_in_session(
        session, scan, template, options=options, landmarks=landmarks, repair=repair, progress=progress
    )


def fit_in_session(
    session: MatchSession,
    scan: ScanLike,
    template: ScanLike,
    *,
    options: FitOptions | None = None,
    landmarks: LandmarksGiven | None = None,
    repair: bool | None = None,
    progress: Progress | None = None,
) -> FittedTemplate:
    """Fit a template to one of many scans; the session reuses what it computed for the template.

    Parameters
    ----------
    session : matches each scan
    scan, template, options, landmarks, repair, progress : as in `fit`
    """
    if options is not None:  # before the match, which takes long
        check_instance("options", options, FitOptions, _OPTIONS)
    start = time.perf_counter()
    found = session.match(scan, template, repair=repair, progress=progress, landmarks=landmarks)
    matching = time.perf_counter() - start
    fitted = fit_match(found, options=options, progress=progress)
    fitted.seconds["matching"] = matching
    return fitted


def fit_match(
    found: MatchResult,
    *,
    options: FitOptions | None = None,
    landmarks: LandmarksGiven | None = None,
    progress: Progress | None = None,
) -> FittedTemplate:
    """Fit a template to a scan, given the match between them.

    Parameters
    ----------
    found : the map from the scan to the template
    options, progress : as in `fit`
    landmarks : as in `match`; by default those of the match
    """
    check_instance("found", found, MatchResult, "use pw.match(scan, template)")
    chosen = FitOptions() if options is None else options
    check_instance("options", chosen, FitOptions, _OPTIONS)
    start = time.perf_counter()
    marks, said = _held_landmarks(landmarks, found)
    template, (shift, scale) = _at_unit_area(found.whole)
    A = found.alignment
    placed = Mesh(
        ((found.part.vertices @ A[:3, :3].T + A[:3, 3]) - shift) * scale, found.part.faces, name=found.part.name
    )
    scan, guide, numbers = _what_was_matched(placed, template, found, marks, chosen)
    bent = register_in_levels(template, scan, guide, options=chosen, progress=progress)
    seconds = {"bending": time.perf_counter() - start}

    start = time.perf_counter()
    sources = sources_of(template, scan, guide, bent)
    fitted = Mesh(bent.vertices, template.faces, name=template.name)
    inverse = np.linalg.inv(A)
    mesh = Mesh(
        (bent.vertices / scale + shift) @ inverse[:3, :3].T + inverse[:3, 3], template.faces, name=found.whole.name
    )
    # from the units here to those of the scan
    back = 1 / (scale * found.factor)
    flipped, crossing = flipped_faces(template, bent.vertices, bent.rotations), intersecting_faces(fitted)
    seconds["checks"] = time.perf_counter() - start
    places = _places(placed, fitted, bent)
    result = FittedTemplate(
        mesh,
        sources.source,
        sources.distance * back,
        sources.confidence,
        sources.expected_error * back,
        places,
        found,
        flipped,
        crossing,
        (),
        (),
        seconds,
    )
    notes = _notes(result, template, len(numbers), _landmarks_told(landmarks, found, len(marks)), chosen)
    crossed_before = _crossed_before(crossing, template)
    if crossed_before:
        notes.append(f"{counted(crossed_before, 'pair')} of triangles intersect as in the template")
    object.__setattr__(result, "notes", (*found.notes, *notes))
    object.__setattr__(
        result, "warnings", (*found.warnings, *said, *_warnings(result, guide, template, crossed_before))
    )
    return result


def _held_landmarks(
    landmarks: LandmarksGiven | None, found: MatchResult
) -> tuple[Int[np.ndarray, "k 2"], tuple[str, ...]]:
    """Rows of (scan vertex, template vertex) that the fit holds, and notes about them.

    By default those of the match. Landmarks that contradict each other, or lie on a piece that was left out, were reported
    by the match and are not held.
    """
    pairs: Sequence[LandmarkPair]
    said: tuple[str, ...] = ()
    if landmarks is None:
        pairs = [one for one in found.landmarks if one.sure]
    else:
        pairs, said = given_landmarks(landmarks, found.part, found.whole)
    return np.array([(one.part, one.whole) for one in pairs], np.int64).reshape(-1, 2), said


def _landmarks_told(given: LandmarksGiven | None, found: MatchResult, held: int) -> str:
    k = len(found.landmarks) if given is None else held
    return "" if k == 0 else f"{counted(held, 'landmark')} held" if held == k else f"{held} of {k} landmarks held"


def _at_unit_area(template: Mesh) -> tuple[Mesh, tuple[Float[np.ndarray, "3"], float]]:
    shift, scale = template.vertices.mean(axis=0), template.area**-0.5
    return Mesh((template.vertices - shift) * scale, template.faces, name=template.name), (shift, scale)


def _what_was_matched(
    placed: Mesh, template: Mesh, found: MatchResult, marks: Int[np.ndarray, "k 2"], options: FitOptions
) -> tuple[Mesh, Guide, Int[np.ndarray, "m"]]:
    """The matched pieces of the scan, the guide for the registration, and the numbers of their vertices."""
    keep = found.matched.copy()
    keep[marks[:, 0]] = True
    scan, numbers = placed.submesh(keep)
    number = np.full(placed.n_vertices, -1)
    number[numbers] = np.arange(len(numbers))
    lost = np.flatnonzero(number[marks[:, 0]] < 0)
    if len(lost):
        raise ValueError(
            f"landmarks: vertex {marks[lost[0], 0]} of the scan has no faces; give one on the surface that was scanned"
        )
    opposite = reflection = None
    if options.hold == "symmetric":
        opposite, reflection = mirror_map(template)
    here = np.stack([number[marks[:, 0]], marks[:, 1]], axis=1)
    confidence = found.confidence[numbers].astype(np.float64)
    return scan, Guide(found.vertex_map[numbers], confidence, here, opposite, reflection), numbers


def _places(placed: Mesh, fitted: Mesh, bent: Registration) -> BarycentricMap:
    near = SurfaceTree(fitted).nearest(placed.vertices, placed.vertex_normals)
    covered = near.found & (near.distances < bent.reach)
    weights = np.where(near.found[:, None], near.weights, [1.0, 0.0, 0.0])
    return BarycentricMap(fitted.faces[near.faces], weights, covered)


def _notes(result: FittedTemplate, template: Mesh, kept: int, landmarks: str, options: FitOptions) -> list[str]:
    scan = result.match.part
    notes = [
        ", ".join(f"{percent(share)} {name}" for name, share in result.shares.items())
        + " of the fitted template's area"
    ]
    if options.hold != "seen":
        what = "the template" if options.hold == "rest" else "its mirror image on the other side, where that was seen"
        notes.append(f"unseen regions follow {what} (hold={options.hold!r})")
    if kept < scan.n_vertices:
        notes.append(
            f"{counted(scan.n_vertices - kept, 'vertex', 'vertices')} of the scan were left out, as in the match"
        )
    if landmarks:
        notes.append(landmarks)
    if template.n_vertices > options.max_vertices:
        notes.append(f"deformed with {options.max_vertices} vertices first, then with all {template.n_vertices}")
    if not template.is_closed:
        notes.append("the template has a boundary; parts of the scan beyond it are not fitted")
    return notes


def _crossed_before(crossing: Int[np.ndarray, "k 2"], template: Mesh) -> int:
    """Of the pairs of triangles that intersect, the number that did so in the template."""
    before = intersecting_faces(template) if len(crossing) else crossing
    numbers = [pairs[:, 0] * template.n_faces + pairs[:, 1] for pairs in (crossing, before)]
    return int(np.isin(*numbers).sum())


def _warnings(result: FittedTemplate, guide: Guide, template: Mesh, crossed_before: int) -> list[str]:
    found, warnings = result.match, []
    if found.fit.mirrored:
        warnings.append("the map is a mirror image, so the fitted template is inside out in places")
    if found.part.area * found.factor**2 > _LARGER * found.whole.area:
        warnings.append("the scan is larger than the template; check that the template is the whole, and the units")
    if result.shares["unseen"] > _MOSTLY_UNSEEN:
        warnings.append(
            f"{percent(result.shares['unseen'])} of the fitted template is made up: the scan saw nothing there"
        )
    apart = 1 - float(result.barycentric.covered.mean())
    if apart > _APART:
        warnings.append(f"{percent(apart)} of the scan's vertices lie apart from the fitted template")
    labels = template.component_labels
    held = np.isin(labels, labels[np.concatenate([guide.vertex_map, guide.landmarks[:, 1]])])
    if not held.all():
        pieces = len(np.unique(labels[~held]))
        warnings.append(f"{counted(pieces, 'piece')} of the template without matching vertices moved with the rest")
    if len(result.flipped):
        warnings.append(f"{counted(len(result.flipped), 'triangle')} of the fitted template turned over; see flipped")
    new = len(result.intersections) - crossed_before
    if new:
        told = "intersect, which did not in the template" if crossed_before else "intersect"
        warnings.append(f"{counted(new, 'pair')} of triangles of the fitted template {told}; see intersections")
    if (result.source == UNSEEN).all():
        warnings.append("no vertex of the fitted template is near the scan")
    return warnings
