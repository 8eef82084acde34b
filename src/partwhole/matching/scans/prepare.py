"""Preparation: two files or meshes are read, repaired, decimated and brought to common units.

Nothing here needs torch.
"""

from __future__ import annotations

import os
import time
import warnings
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.geodesics import geodesic_distances
from partwhole.geodesics.distances import DistanceMethod
from partwhole.matching.scans.point_clouds import WEAKER, checked_points, read_cloud, surface_of_points
from partwhole.matching.scans.units import Scaling, percent, scaling_of
from partwhole.mesh import Mesh, decimate, read_mesh
from partwhole.mesh.formats.common import MeshWarning, counted
from partwhole.mesh.surface_like import ScanLike, surface_arrays
from partwhole.mesh.topology import consistent_orientation
from partwhole.store.arguments import Progress, in_short
from partwhole.store.compute import first_largest


class Templates:
    """Keeps what was computed for the last wholes in memory.

    Parameters
    ----------
    most : so many wholes are held; the one used longest ago is dropped

    Examples
    --------
    >>> templates = Templates()
    >>> templates.put("body", "area", 2.0)
    >>> templates.get("body", "area"), templates.get("body", "volume"), templates.get("another", "area")
    (2.0, None, None)
    >>> templates.put("another", "area", 5.0)
    >>> templates.get("body", "area")
    """

    def __init__(self, most: int = 1) -> None:
        self._most = most
        self._held: OrderedDict[str, dict[Hashable, Any]] = OrderedDict()

    def get(self, whole: str, what: Hashable) -> Any:
        """What was computed before, or None.

        Parameters
        ----------
        whole : names the surface by its content
        what : of it, with everything else that it depends on
        """
        if whole not in self._held:
            return None
        self._held.move_to_end(whole)
        return self._held[whole].get(what)

    def put(self, whole: str, what: Hashable, value: Any) -> None:
        """Keep what was computed."""
        self._held.setdefault(whole, {})[what] = value
        self._held.move_to_end(whole)
        while len(self._held) > self._most:
            self._held.popitem(last=False)


# as many vertices as the surfaces have that networks are trained on
MOST_VERTICES = 5000
_FEWEST = 4
# a part may come out a little larger than its whole: noise, pose
_LARGEST_PART = 1.5
# where units were guessed, the part keeps the vertices of one that has so much of the whole's area
_LEAST_SHARE = 0.3
# what differs by less is equal up to rounding
_EQUAL = 1e-9
_RENUMBERED = "vertices are numbered as after the repair, not as in the file"

_STEPS = ("reading", "decimation", "operators", "matching", "refinement", "every vertex")
# pieces with less of the area, or fewer vertices, say nothing about where they belong
_SMALL_SHARE, _SMALL_COUNT = 0.01, 20
# nothing is taken away for a few vertices less
_WORTHWHILE = 1.3
# with fewer vertices a part would lose its shape, however small it is
_LEAST = 400
# all distances between more vertices fill the memory; a surface that can be decimated never has so many
_MOST = 12_000
# of vertices or of area that was left out, what a reader should know before all else
_GRAVE = 0.1
# |Σ normal · area| / Σ area: 0 for closed surfaces, ½ for half a sphere
_NEARLY_CLOSED = 0.3


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
    whole_key : by which `templates` knows the whole as it is matched
    templates : what is known of it from parts before
    """

    part: PreparedSurface
    whole: PreparedSurface
    scaling: Scaling
    notes: tuple[str, ...]
    seconds: dict[str, float]
    whole_key: str
    templates: Templates
    _known: dict[str, np.ndarray] = field(default_factory=dict, repr=False)

    @cached_property
    def meshes(self) -> tuple[Mesh, Mesh]:
        """Part and whole as they are matched, in the units of `Pair`."""
        return common_units(self.part.mesh, self.whole.mesh, self.scaling.middle)

    def distances(self, method: DistanceMethod) -> tuple[Float[np.ndarray, "p p"], Float[np.ndarray, "n n"]]:
        """Geodesic distances on `meshes`, computed once."""
        part, whole = self.meshes
        if method not in self._known:
            self._known[method] = _distances(part, method)
        on_whole = self.templates.get(self.whole_key, ("distances", method))
        if on_whole is None:
            on_whole = _distances(whole, method)
            self.templates.put(self.whole_key, ("distances", method), on_whole)
        return self._known[method], on_whole


def read_scans(
    part: ScanLike,
    whole: ScanLike,
    *,
    repair: bool | None = None,
    progress: Progress | None = None,
) -> Scans:
    """Read two surfaces; parameters are those of `partwhole.matching.match`."""
    if repair is not None and not isinstance(repair, bool | np.bool_):
        raise ValueError(f"repair must be True, False or None, got {in_short(repair)}")
    clock = Clock(progress)
    clock.begin("reading")
    (of_part, part_notes), (of_whole, whole_notes) = _read(part, "part", repair), _read(whole, "whole", repair)
    return Scans(of_part, of_whole, (*part_notes, *whole_notes), clock.end())


def prepare_scans(
    given: Scans,
    *,
    units: str | float = "auto",
    max_vertices: int = MOST_VERTICES,
    templates: Templates | None = None,
    progress: Progress | None = None,
) -> PreparedScans:
    """Surfaces in common units, with as many vertices as are matched.

    Parameters
    ----------
    given : the surfaces
    units, max_vertices, progress : as in `partwhole.matching.match`
    templates : what is known of the whole from parts before
    """
    templates = templates or Templates()
    clock = Clock(progress, given.seconds)
    clock.begin("decimation")
    for mesh in (given.part, given.whole):
        if mesh.area == 0:
            raise ValueError(f"{mesh.name}: all its faces have area 0; a surface is needed")
    scaling = scaling_of(units, given.part.area, given.whole.area)
    share = _checked_share(given.part, given.whole, scaling)
    key = f"{given.whole.content_hash}, at most {max_vertices} vertices"
    known = templates.get(key, "prepared")
    if known is None:
        known = prepare_surface(given.whole, "whole", most_vertices=max_vertices)
        templates.put(key, "prepared", known)
    # the same surface may have come from another file
    of_whole = known if known.given is given.whole else replace(known, given=given.whole)
    # of a whole of which a piece was left out, the piece that is left has all the vertices
    to_area = min(of_whole.mesh.n_vertices, max_vertices) * given.whole.area / of_whole.mesh.area
    if scaling.others and scaling.middle != 1:
        # in case the units are others than was assumed
        share = max(share, _LEAST_SHARE)
    of_part = prepare_surface(given.part, "part", most_vertices=max(int(to_area * min(share, 1.0)), _FEWEST))
    return PreparedScans(of_part, of_whole, scaling, given.notes, clock.end(), key, templates)


def _distances(mesh: Mesh, method: DistanceMethod) -> Float[np.ndarray, "n n"]:
    return np.asarray(geodesic_distances(mesh, method=method, dtype=np.float32))


def common_units(part: Mesh, whole: Mesh, factor: float = 1.0) -> tuple[Mesh, Mesh]:
    """Both in units in which the whole has area 1, each centred on its vertex mean; unchanged if they are so already.

    Parameters
    ----------
    part, whole : each in its own units
    factor : from lengths of the part to those of the whole
    """
    scale = whole.area**-0.5
    scale = 1.0 if abs(scale - 1) < _EQUAL else scale
    return _moved(part, scale * factor), _moved(whole, scale)


def _moved(mesh: Mesh, scale: float) -> Mesh:
    """Centred on the vertex mean, then scaled; the same mesh if that changes nothing but rounding."""
    mean = mesh.vertices.mean(axis=0)
    if scale == 1 and np.abs(mean).max() < _EQUAL * np.abs(mesh.vertices).max():
        return mesh
    return Mesh((mesh.vertices - mean) * scale, mesh.faces, name=mesh.name)


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


def _read(given: ScanLike, role: Literal["part", "whole"], repair: bool | None) -> tuple[Mesh, list[str]]:
    """The surface, and what there is to say about how it came out of its file."""
    if isinstance(given, Mesh):
        if repair:
            from partwhole.mesh import repair as mended

            result = mended(given)
            note = [] if result.report.is_clean else [f"{given.name}, repaired: {result.summary()}; {_RENUMBERED}"]
            return (result.mesh, note) if note else (given, [])
        return given, []
    if not isinstance(given, str | os.PathLike):
        return _taken(given, role, repair)
    notes = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", MeshWarning)
        try:
            mesh = read_mesh(given, repair=bool(repair))
        except ValueError as fault:
            cloud = read_cloud(Path(given)) if Path(given).is_file() else None
            if cloud is not None:
                return surface_of_points(cloud, name=Path(given).name), [WEAKER.format(role=role)]
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


def _taken(given: ScanLike, role: Literal["part", "whole"], repair: bool | None) -> tuple[Mesh, list[str]]:
    """The surface in arrays, or in an object of another library; what holds for files holds for these."""
    from partwhole.mesh import repair as mended

    found = surface_arrays(given, role)
    notes, fault = list(found.notes), None
    if len(found.faces) == 0:
        return surface_of_points(checked_points(role, found.vertices), name=role), [WEAKER.format(role=role)]
    if not repair:
        try:
            return Mesh(found.vertices, found.faces, name=role), notes
        except ValueError as said:
            fault = said
    if fault is not None and repair is not None:
        raise fault
    try:
        result = mended(found.vertices, found.faces, name=role)
    except ValueError as unusable:
        raise fault or unusable from None
    if fault is not None:
        notes.append(f"the {role} could not be used as it is ({fault}), so it was repaired")
    if not result.report.is_clean:
        notes.append(f"{role}, repaired: {result.summary()}; vertices are numbered as after the repair, not as given")
    return result.mesh, notes


def _checked_share(part: Mesh, whole: Mesh, scaling: Scaling) -> float:
    """Which share of the whole's area the part has."""
    share = part.area * scaling.middle**2 / whole.area
    if share > _LARGEST_PART:
        raise ValueError(
            f"{part.name} has {share:.3g} times the area of {whole.name}, in the units that were given: a part isn't larger "
            "than its whole; units='auto' finds the factor, or exchange the two"
        )
    return share


# --- one surface


@dataclass(frozen=True, eq=False, repr=False)
class PreparedSurface:
    """A surface as it is matched.

    Attributes
    ----------
    given : as it was given
    mesh : as it is matched, in the units that it was given in
    to_given : for each vertex of `mesh` its vertex of `given`
    covered : which vertices of `given` lie on what is matched; the others belong to no face, or to pieces left out
    decimated : whether vertices were taken away
    notes : what was done
    warnings : what of it may matter for the result
    """

    given: Mesh
    mesh: Mesh
    to_given: Int[np.ndarray, "m"]
    covered: Bool[np.ndarray, "n"]
    decimated: bool
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        return f"PreparedSurface({self.given.name!r}: {self.mesh.n_vertices} of {self.given.n_vertices} vertices)"


def prepare_surface(mesh: Mesh, role: Literal["part", "whole"], *, most_vertices: int) -> PreparedSurface:
    """The surface that is matched in the place of the one that was given.

    Vertices without faces are left out; of a whole all but the largest piece, of a part the specks. Faces are turned so
    that neighbours agree and face outwards. Where there are many more vertices than asked for, it is decimated.

    Parameters
    ----------
    mesh : as given
    role : a whole is one piece; a part may be several
    most_vertices : about how many to match
    """
    if mesh.area == 0:
        raise ValueError(f"{mesh.name}: all its faces have area 0; a surface is needed")
    kept, kept_notes, warnings = _pieces(mesh, role)
    pieces, to_given = (mesh, np.arange(mesh.n_vertices)) if kept.all() else mesh.submesh(kept)
    covered = np.zeros(mesh.n_vertices, bool)
    covered[to_given] = True
    notes = list(kept_notes)
    wanted = max(most_vertices, min(_LEAST, pieces.n_vertices))
    decimated = pieces.n_vertices > _WORTHWHILE * wanted
    if decimated:
        fewer = decimate(pieces, wanted, keep_boundary=False)
        pieces, to_given = fewer.mesh, to_given[fewer.to_fine]
        if pieces.n_vertices > max(_MOST, _WORTHWHILE * most_vertices):
            raise ValueError(
                f"{mesh.name}: its {mesh.n_vertices} vertices can't be made fewer than {pieces.n_vertices}, which are too "
                "many to match, since they lie on boundaries or where the surface is not a manifold; fix it with pw.repair, "
                "or remesh it"
            )
        notes.append(f"the {role} is matched with {pieces.n_vertices} of its {mesh.n_vertices} vertices")
    turned, flipped = _outwards(pieces)
    if flipped:
        notes.append(f"{counted(flipped, 'face')} of the {role} were flipped, so that all point outwards")
    if flipped > pieces.n_faces / 2:
        warnings.append(
            f"the {role} was inside out; if that is because its coordinates are mirrored (x for −x, say), left and right are "
            "exchanged in the map"
        )
    return PreparedSurface(mesh, turned, to_given, covered, decimated, tuple(notes), tuple(warnings))


def _pieces(mesh: Mesh, role: str) -> tuple[Bool[np.ndarray, "n"], list[str], list[str]]:
    """The vertices to keep, and what to say about the others."""
    notes: list[str] = []
    warnings: list[str] = []
    used = np.zeros(mesh.n_vertices, bool)
    used[mesh.faces] = True
    if not used.all():
        notes.append(f"{counted(int((~used).sum()), 'vertex', 'vertices')} of the {role} without faces left out")
    label = mesh.component_labels
    areas = np.bincount(label, weights=mesh.vertex_areas)
    sizes = np.bincount(label)
    real = np.flatnonzero(areas > 0)
    shares = areas / areas.sum()
    if role == "whole":
        chosen = [first_largest(areas)]
    else:
        chosen = [int(c) for c in real if shares[c] >= _SMALL_SHARE and sizes[c] >= _SMALL_COUNT] or [
            first_largest(areas)
        ]
    lost = len(real) - len(chosen)
    if lost:
        share = 1 - shares[chosen].sum()
        text = f"{counted(lost, 'piece')} of the {role} left out, {percent(float(share))} of its area"
        if role == "whole":
            text += ": a whole is one piece, and the largest is taken"
        (warnings if share > _GRAVE else notes).append(text)
    return used & np.isin(label, chosen), notes, warnings


def _outwards(mesh: Mesh) -> tuple[Mesh, int]:
    """Faces turned so that neighbours agree and pieces face outwards, and how many were turned."""
    flip = consistent_orientation(mesh.vertices, mesh.faces).flip.copy()
    label = mesh.component_labels[mesh.faces[:, 0]]
    flip ^= _inside_out(mesh, flip, label)[label]
    if not flip.any():
        return mesh, 0
    faces = np.where(flip[:, None], mesh.faces[:, [0, 2, 1]], mesh.faces)
    return Mesh(mesh.vertices, faces, name=mesh.name), int(flip.sum())


def _inside_out(mesh: Mesh, flip: Bool[np.ndarray, "m"], label: Int[np.ndarray, "m"]) -> Bool[np.ndarray, "c"]:
    """Pieces that are nearly closed and face inwards; a patch has no inside, and stays as it was given."""

    def total(values: Float[np.ndarray, "m"]) -> Float[np.ndarray, "c"]:
        return np.bincount(label, values, minlength=mesh.n_components)

    towards = np.where(flip, -1.0, 1.0)[:, None] * mesh.face_normals * mesh.face_areas[:, None]
    corners = mesh.vertices[mesh.faces].mean(axis=1)
    area = np.maximum(total(mesh.face_areas), np.finfo(float).tiny)
    middle = np.stack([total(corners[:, axis] * mesh.face_areas) for axis in range(3)], axis=1) / area[:, None]
    # the normals of a closed surface cancel; a hole is closed by a cone from the middle
    open_by = np.linalg.norm(np.stack([total(towards[:, axis]) for axis in range(3)], axis=1), axis=1) / area
    cones = np.einsum("ij,ij->i", towards, corners - middle[label])
    return (open_by < _NEARLY_CLOSED) & (total(cones) < -0.3 * total(np.abs(cones)))
