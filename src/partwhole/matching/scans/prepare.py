"""Two surfaces as they come, read, in common units and made ready to be matched; nothing here needs torch."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np
from jaxtyping import Float

from partwhole.geodesics import geodesic_distances
from partwhole.geodesics.distances import Method
from partwhole.matching.cache.templates import Templates
from partwhole.matching.scans.point_clouds import WEAKER, read_cloud, surface_of_points
from partwhole.matching.scans.surfaces import PreparedSurface, prepare_surface
from partwhole.matching.scans.units import Scaling, scaling_of
from partwhole.mesh import Mesh, read_mesh
from partwhole.mesh.formats.common import MeshWarning

# as many vertices as the surfaces have that networks are trained on
MOST_VERTICES = 5000
_FEWEST = 4
# a part may come out a little larger than its whole: noise, pose
_LARGEST_PART = 1.5
# where units were guessed, the part keeps the vertices of one that has so much of the whole's area
_LEAST_SHARE = 0.3
_RENUMBERED = "vertices are numbered as after the repair, not as in the file"

# what is being done, how much of it is done, and how much there is
Progress = Callable[[str, int, int], None]
_STEPS = ("reading", "decimation", "operators", "matching", "refinement", "every vertex")


@dataclass(frozen=True, eq=False)
class Scans:
    """Two surfaces as they were read.

    Attributes
    ----------
    part, whole : the surfaces
    notes : how they came out of their files
    seconds : that reading took
    """

    part: Mesh
    whole: Mesh
    notes: tuple[str, ...]
    seconds: dict[str, float]


@dataclass(frozen=True, eq=False)
class PreparedScans:
    """Two surfaces, ready to be matched.

    Attributes
    ----------
    part, whole : as they are matched, and as they were given
    scaling : from lengths of the part to those of the whole
    notes : how they came out of their files
    seconds : that each step took
    whole_name : by which `recall` knows the whole as it is matched
    recall : what is known of it from parts before
    """

    part: PreparedSurface
    whole: PreparedSurface
    scaling: Scaling
    notes: tuple[str, ...]
    seconds: dict[str, float]
    whole_name: str
    recall: Templates
    _known: dict[str, np.ndarray] = field(default_factory=dict, repr=False)

    def distances(self, method: Method) -> tuple[Float[np.ndarray, "p p"], Float[np.ndarray, "n n"]]:
        """Geodesic distances on both, in the units of `placed`; computed once."""
        meshes = placed(self.part.mesh, self.whole.mesh, self.scaling.middle)
        if method not in self._known:
            self._known[method] = _distances(meshes[0], method)
        on_whole = self.recall.of(self.whole_name, ("distances", method), lambda: _distances(meshes[1], method))
        return self._known[method], on_whole


def inputs_of(
    part: Mesh | str | os.PathLike[str],
    whole: Mesh | str | os.PathLike[str],
    *,
    units: str | float = "auto",
    repair: bool | None = None,
    max_vertices: int = MOST_VERTICES,
    progress: Progress | None = None,
) -> PreparedScans:
    """Read two surfaces and make them ready; parameters are those of `partwhole.matching.match`."""
    given = read_scans(part, whole, repair=repair, progress=progress)
    return prepare_scans(given, units=units, max_vertices=max_vertices, progress=progress)


def read_scans(
    part: Mesh | str | os.PathLike[str],
    whole: Mesh | str | os.PathLike[str],
    *,
    repair: bool | None = None,
    progress: Progress | None = None,
) -> Scans:
    """Read two surfaces; parameters are those of `partwhole.matching.match`."""
    clock = Clock(progress)
    clock.begin("reading")
    (of_part, part_notes), (of_whole, whole_notes) = _read(part, "part", repair), _read(whole, "whole", repair)
    return Scans(of_part, of_whole, (*part_notes, *whole_notes), clock.end())


def prepare_scans(
    given: Scans,
    *,
    units: str | float = "auto",
    max_vertices: int = MOST_VERTICES,
    recall: Templates | None = None,
    progress: Progress | None = None,
) -> PreparedScans:
    """Surfaces in common units, with as many vertices as are matched.

    Parameters
    ----------
    given : the surfaces
    units, max_vertices, progress : as in `partwhole.matching.match`
    recall : what is known of the whole from parts before
    """
    recall = recall or Templates()
    clock = Clock(progress, given.seconds)
    clock.begin("decimation")
    for mesh in (given.part, given.whole):
        if mesh.area == 0:
            raise ValueError(f"{mesh.name}: all its faces have area 0; a surface is needed")
    scaling = scaling_of(units, given.part.area, given.whole.area)
    share = _checked_share(given.part, given.whole, scaling)
    name = f"{given.whole.content_hash}, at most {max_vertices} vertices"
    known = recall.of(
        name, "prepare_surface", lambda: prepare_surface(given.whole, "whole", most_vertices=max_vertices)
    )
    # the same surface may have come from another file
    of_whole = known if known.given is given.whole else replace(known, given=given.whole)
    # of a whole of which a piece was left out, the piece that is left has all the vertices
    to_area = min(of_whole.mesh.n_vertices, max_vertices) * given.whole.area / of_whole.mesh.area
    if scaling.others and scaling.middle != 1:
        # in case the units are others than was assumed
        share = max(share, _LEAST_SHARE)
    of_part = prepare_surface(given.part, "part", most_vertices=max(int(to_area * min(share, 1.0)), _FEWEST))
    return PreparedScans(of_part, of_whole, scaling, given.notes, clock.end(), name, recall)


def _distances(mesh: Mesh, method: Method) -> Float[np.ndarray, "n n"]:
    return np.asarray(geodesic_distances(mesh, method=method, dtype=np.float32))


def placed(part: Mesh, whole: Mesh, factor: float) -> tuple[Mesh, Mesh]:
    """Both in units in which the whole has area 1, each centred on its vertex mean.

    Parameters
    ----------
    part, whole : each in its own units
    factor : from lengths of the part to those of the whole
    """
    unit, scale = whole.to_unit_area()
    moved = (part.vertices - part.vertices.mean(axis=0)) * (scale * factor)
    return Mesh(moved, part.faces, name=part.name), unit


class Clock:
    """How long each step takes, told to whoever asked for progress.

    Parameters
    ----------
    progress : called with (what is done, steps done, steps in all)
    before : seconds of steps that were taken already
    """

    def __init__(self, progress: Progress | None, before: dict[str, float] | None = None) -> None:
        self._progress = progress or (lambda what, done, total: None)
        self._seconds = dict(before or {})
        self._name, self._start = "", time.perf_counter()

    def begin(self, name: str) -> None:
        self._stop()
        self._name, self._start = name, time.perf_counter()
        self._progress(name, _STEPS.index(name), len(_STEPS))

    def end(self) -> dict[str, float]:
        self._stop()
        self._progress(self._name, _STEPS.index(self._name) + 1, len(_STEPS))
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
    if not isinstance(given, str | os.PathLike):
        kind = type(given).__name__
        raise ValueError(f"{role} must be a Mesh or the path of a file, got {kind}; use pw.Mesh(vertices, faces)")
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


def _checked_share(part: Mesh, whole: Mesh, scaling: Scaling) -> float:
    """Which share of the whole's area the part has."""
    share = part.area * scaling.middle**2 / whole.area
    if share > _LARGEST_PART:
        raise ValueError(
            f"{part.name} has {share:.3g} times the area of {whole.name}, in the units that were given: a part isn't larger "
            "than its whole; units='auto' finds the factor, or exchange the two"
        )
    return share
