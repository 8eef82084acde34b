"""Preparation: two files or meshes are read, repaired and brought to common units.

Nothing here needs torch.
"""

from __future__ import annotations

import math
import os
import re
import time
import warnings
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from partwhole.geodesics import geodesic_distances
from partwhole.geodesics.distances import DistanceMethod
from partwhole.matching.scans.point_clouds import WEAKER, checked_points, read_cloud, surface_of_points
from partwhole.matching.scans.surface import PreparedSurface, prepare_surface
from partwhole.mesh import Mesh, read_mesh
from partwhole.mesh.formats.common import MeshWarning, percent
from partwhole.mesh.surface_like import ScanLike, surface_arrays
from partwhole.store.arguments import Progress, in_short


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

# of units:
# metres to a unit
LENGTHS = {"um": 1e-6, "mm": 1e-3, "cm": 1e-2, "dm": 1e-1, "m": 1.0, "km": 1e3, "in": 0.0254, "ft": 0.3048}

# shares of the whole's area that a part may have: noise and pose change areas, and a finger has a hundredth of a body's
_LEAST, _MOST = 0.003, 1.3
# what is looked for where units differ, in the order of what people have
_METRIC = tuple(10.0**power for power in (-3, 3, -1, 1, -2, 2))
_OTHERS = tuple(length / other for length in (25.4, 1 / 25.4) for other in (1.0, 10.0, 1000.0))
# shares that a part in other units probably, and possibly, has at least: below them several units fit by chance
_LIKELY, _POSSIBLE = 0.1, 0.03
# how far, in logarithms, a factor that was found by trying may be from the truth
_NEARBY = 0.1
# shares of the area that are tried where nothing is known about the size
_SHARES = (1.0, 0.75, 0.55, 0.4, 0.28, 0.18, 0.1)


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
    names: tuple[str, str] = ("part", "whole"),
) -> Scans:
    """Read two surfaces; parameters are those of `partwhole.matching.match`, and what to call surfaces without a name."""
    if repair is not None and not isinstance(repair, bool | np.bool_):
        raise ValueError(f"repair must be True, False or None, got {in_short(repair)}")
    clock = Clock(progress)
    clock.begin("reading")
    (of_part, part_notes), (of_whole, whole_notes) = _read(part, names[0], repair), _read(whole, names[1], repair)
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


def _read(given: ScanLike, role: str, repair: bool | None) -> tuple[Mesh, list[str]]:
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


def _taken(given: ScanLike, role: str, repair: bool | None) -> tuple[Mesh, list[str]]:
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


@dataclass(frozen=True)
class Scaling:
    """Factors from lengths of the part to lengths of the whole.

    Attributes
    ----------
    factors : one, or several that are to be tried, because geometry alone does not tell
    reason : why these, in words
    others : to be tried if the map shows that the assumption was wrong; none if the factor was given
    """

    factors: tuple[float, ...]
    reason: str
    others: tuple[float, ...] = ()

    @property
    def middle(self) -> float:
        """One of the factors, to begin with."""
        return self.factors[len(self.factors) // 2]

    @property
    def relative(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """`factors` and `others`, for a part that was scaled by `middle` already."""
        return tuple(one / self.middle for one in self.factors), tuple(one / self.middle for one in self.others)


def scaling_of(units: str | float, part_area: float, whole_area: float) -> Scaling:
    """The factors that lengths of the part may have to be multiplied with.

    Parameters
    ----------
    units : "same"; "mm:m" and the like, the unit of the part and that of the whole; a factor; "any", not known, to be found
        by matching at several sizes; or "auto": the same unless the part would be larger than the whole or a speck on it,
        then the power of ten that makes it fit, and where there is none, or the map does not fit, as "any"
    part_area, whole_area : in the units of each

    Examples
    --------
    >>> scaling_of("auto", 0.4, 1.0).factors, scaling_of("auto", 900_000.0, 1.8).factors
    ((1.0,), (0.001,))
    >>> scaling_of("mm:m", 900_000.0, 1.8).reason
    'the part is in mm, the whole in m'
    """
    share = part_area / whole_area
    several = tuple(math.sqrt(wanted / share) for wanted in _SHARES)
    if units == "any":
        return Scaling(several, "the scale is unknown (units='any'); several are tried")
    if units == "same":
        return Scaling((1.0,), "the same units (units='same')")
    if units != "auto":
        factor, reason = _given(units)
        return Scaling((factor,), reason)
    if _LEAST <= share <= _MOST:
        reason = f"the same units are assumed: the part has {percent(share)} of the whole's area"
        return Scaling((1.0,), reason, several)
    for factors, least in ((_METRIC, _LIKELY), (_OTHERS, _LIKELY), (_METRIC, _POSSIBLE)):
        fitting = [factor for factor in factors if least <= share * factor**2 <= _MOST]
        if fitting:
            # of several the one that leaves the largest part
            factor = max(fitting)
            return Scaling(
                (factor,),
                f"the part has {share:.3g} times the area of the whole, so its lengths are multiplied by {factor:.6g}"
                f"{_as_units(factor)}: {percent(share * factor**2)} of the area",
                several,
            )
    return Scaling(
        several, f"the part has {share:.3g} times the area of the whole, no common unit fits; several are tried"
    )


def _given(units: str | float) -> tuple[float, str]:
    text = str(units).strip()
    named = re.fullmatch(r"([a-z]+):([a-z]+)", text)
    if named and named[1] in LENGTHS and named[2] in LENGTHS:
        return LENGTHS[named[1]] / LENGTHS[named[2]], f"the part is in {named[1]}, the whole in {named[2]}"
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    if not 0 < factor < math.inf:
        raise ValueError(
            f"units={text!r} must be 'auto', 'same', 'any', a positive factor such as 0.001, or the units of part and "
            f"whole such as 'mm:m' ({', '.join(LENGTHS)})"
        )
    return factor, f"lengths of the part are multiplied by {factor:.6g}, as given"


def _as_units(factor: float) -> str:
    """` (mm to m, for one)`, where it is the ratio of two common units."""
    for part in ("mm", "cm", "m", "in"):
        for whole in ("m", "cm", "mm", "in"):
            if math.isclose(LENGTHS[part] / LENGTHS[whole], factor, rel_tol=1e-6):
                return f" (as from {part} to {whole})"
    return ""


def nearby_units(factor: float) -> str:
    """`; units='mm:m' would be 0.001`, where a factor that was found by trying is nearly the ratio of two common units.

    >>> nearby_units(0.0242), nearby_units(0.5)
    ("; units='in:m' would be 0.0254", '')
    """
    for part in ("mm", "cm", "m", "in"):
        for whole in ("m", "cm", "mm", "in"):
            exact = LENGTHS[part] / LENGTHS[whole]
            if part != whole and abs(math.log(factor / exact)) < _NEARBY:
                return f"; units='{part}:{whole}' would be {exact:.4g}"
    return ""
