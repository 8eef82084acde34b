"""`match_parts`: from two parts as they come to the vertices that they share."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from partwhole.matching.confidence.constants import FEW_VERTICES
from partwhole.matching.parts.constants import (
    CYCLE,
    MISFIT,
    PARTS_MODEL,
    PROBABLY_NOTHING,
    SHARED,
    SIZES_TRIED,
    WHOLE_AREAS,
)
from partwhole.matching.parts.result import PartnerMap, PartsMatch
from partwhole.matching.scans.prepare import read_scans
from partwhole.matching.scans.surface import PreparedSurface, prepare_surface
from partwhole.mesh import Mesh
from partwhole.mesh.surface_like import ScanLike
from partwhole.store.arguments import check_number, check_whole_number
from partwhole.store.cache import Cache, CacheGiven
from partwhole.store.compute import rotation_onto

if TYPE_CHECKING:
    from torch import Tensor

    from partwhole.matching.network.surface import Surface
    from partwhole.matching.parts.sides import OneWay, Side
    from partwhole.matching.search.method import Method

# vertices of the larger part; more show nothing more of where an overlap ends
MOST_VERTICES = 2000
# noise and decimation change areas a little
_SLACK = 1.1
_FEWEST = 4


def match_parts(
    a: ScanLike,
    b: ScanLike,
    *,
    model: str | Path | Method = PARTS_MODEL,
    whole_area: float | None = None,
    repair: bool | None = None,
    max_vertices: int = MOST_VERTICES,
    cache: CacheGiven = None,
) -> PartsMatch:
    """Match two parts of one whole, neither of which is complete: which vertices they share, and which have no partner.

    Features of both are compared both ways, and distances decide where they are bounded on both sides: two distances that
    are guaranteed on both are equal, see docs/theory.md. A rule that was fitted to generated pairs says how probable it is
    that a vertex is on both. Nothing is assumed of pose and position; the parts are in the same units.

    `match_parts(b, a)` gives the same with a and b exchanged.

    Parameters
    ----------
    a, b : files, meshes, or what else `match` takes, in the same units
    model : the name of a built-in model, a file of weights, or a `Method`; its features must not depend on how a surface
        lies in space
    whole_area : area of the whole, in the units of the parts, if it is known; None: several are tried
    repair : as in `match`
    max_vertices : of the larger part as it is matched; the other gets as many as its area is worth
    cache : where eigenfunctions are kept: a `Cache`, a folder, True for the default one, or None for nowhere

    Examples
    --------
    >>> from partwhole.datasets import cut_plane, make_body
    >>> hand = make_body("hand", n_vertices=700, seed=1).rest
    >>> middle = hand.vertices.mean(axis=0)
    >>> a, b = (cut_plane(hand, middle - 0.05 * s * np.eye(3)[1], s * np.eye(3)[1]).part for s in (1, -1))
    >>> found = match_parts(a, b)
    >>> len(found.a_to_b) == a.n_vertices, found.partners.shape[1]
    (True, 2)
    """
    from partwhole.matching.pipeline import on_free_cores

    start = time.perf_counter()
    check_whole_number("max_vertices", max_vertices)
    if max_vertices < FEW_VERTICES:
        raise ValueError(f"max_vertices={max_vertices} must be at least {FEW_VERTICES}")
    if whole_area is not None:
        check_number("whole_area", whole_area)
        if not 0 < whole_area < np.inf:
            raise ValueError(f"whole_area={whole_area} must be positive; None tries several")
    method = _method(model)
    scans = read_scans(a, b, repair=repair, names=("a", "b"))
    given = scans.part, scans.whole
    for one in given:
        if one.area == 0:
            raise ValueError(f"{one.name}: all its faces have area 0; a surface is needed")
    if whole_area is not None and max(one.area for one in given) > _SLACK * whole_area:
        raise ValueError(
            f"whole_area={whole_area} is less than the area of a part, {max(one.area for one in given):.4g}; is it in the "
            "units of the parts?"
        )
    # in an order that does not depend on which comes first, so that the answer does not either
    exchanged = given[1].content_hash < given[0].content_hash
    with on_free_cores():
        maps = found_parts(
            *(given[::-1] if exchanged else given),
            method,
            whole_area=whole_area,
            max_vertices=max_vertices,
            cache=Cache.meant(cache),
        )
        found = _result(maps, method, guessed=whole_area is None)
    found = found.swapped() if exchanged else found
    return replace(found, notes=(*scans.notes, *found.notes), seconds=time.perf_counter() - start)


def _method(model: str | Path | Method) -> Method:
    from partwhole.matching.matcher import Matcher
    from partwhole.matching.search.method import Method, PairMethod

    method = model if isinstance(model, Method) else Matcher.load(model)
    if isinstance(method, PairMethod) or method.sees_orientation:
        name = method.card.get("name", type(method).__name__)
        raise ValueError(
            f"model={name!r} can't compare two parts: its features depend on how a surface lies in space, or on a whole; use "
            "'any-pose', or a model trained with inputs='invariants'"
        )
    return method


@dataclass(frozen=True, eq=False)
class FoundParts:
    """The maps each way at the size of the whole on which they agree most.

    Attributes
    ----------
    prepared : the parts as they are matched
    sides : in units in which the whole has area 1
    ways : from the first to the second, and back
    agreed : share of both areas that the maps agree on
    factor : from the units of the parts to those of `sides`
    """

    prepared: tuple[PreparedSurface, PreparedSurface]
    sides: tuple[Side, Side]
    ways: tuple[OneWay, OneWay]
    agreed: float
    factor: float

    def cues(self) -> tuple[Float[Tensor, "a c"], Float[Tensor, "b c"]]:
        """The cues of the vertices of both parts; see `cues_of`."""
        import torch

        from partwhole.matching.parts.cues import cues_of

        on_a, on_b = (torch.from_numpy(np.array(one.mesh.boundary_vertices, np.int64)) for one in self.prepared)
        (one, other), (there, back) = self.sides, self.ways
        return cues_of(one, other, there, back, (on_a, on_b)), cues_of(other, one, back, there, (on_b, on_a))


def found_parts(
    a: Mesh,
    b: Mesh,
    method: Method,
    *,
    whole_area: float | None = None,
    max_vertices: int = MOST_VERTICES,
    cache: Cache | None = None,
) -> FoundParts:
    """Maps each way between two parts, before it is said what they share; parameters are those of `match_parts`."""
    largest = max(mesh.area for mesh in (a, b))
    first, second = (
        prepare_surface(mesh, "part", most_vertices=max(int(max_vertices * mesh.area / largest), _FEWEST))
        for mesh in (a, b)
    )
    areas = [whole_area] if whole_area is not None else [ratio * largest for ratio in WHOLE_AREAS]
    # a power of two, so that nothing is rounded: the squares of very small or large lengths do not fit float32
    unit = 2.0 ** np.round(np.log2(largest) / 2)
    surfaces = _surface(first.mesh, method, cache, unit), _surface(second.mesh, method, cache, unit)
    found = _best_size((first, second), surfaces, method, [unit * area**-0.5 for area in areas])
    return replace(found, factor=found.factor / unit)


def _surface(mesh: Mesh, method: Method, cache: Cache | None, unit: float) -> Surface:
    """A part with distances and weights, centred, in units of this length."""
    import torch

    from partwhole.matching.matcher import surface_for
    from partwhole.matching.network.surface import distances_of, pair_weights

    centred = Mesh((mesh.vertices - mesh.vertices.mean(axis=0)) / unit, mesh.faces, name=mesh.name)
    surface = surface_for(method, centred, cache=cache).to("cpu")
    D = distances_of(centred, method=method.config.loss.distances, device="cpu")
    # the same-loop criterion needs to know the whole
    weights = pair_weights(centred, D, surface.mass, criterion="wormhole", mask="soft")
    return surface.with_loss(torch.where(D.isfinite(), D, 0), weights)


def _best_size(
    prepared: tuple[PreparedSurface, PreparedSurface],
    surfaces: tuple[Surface, Surface],
    method: Method,
    factors: list[float],
) -> FoundParts:
    """The maps at each of several sizes of the whole, as far as similar features promise anything, and the best of them."""
    from partwhole.matching.parts.sides import agreed_share, maps_of, promise, sides_of

    tried: list[tuple[float, float, float, tuple[Side, Side]]] = []
    for factor in factors:
        sides = sides_of(*surfaces, method, factor)
        # the same length on the parts at every size
        reach = CYCLE * factor / factors[len(factors) // 2]
        # each has four matrices as large as the distances
        tried = sorted([*tried, (promise(*sides, reach), reach, factor, sides)], key=lambda entry: -entry[0])[
            :SIZES_TRIED
        ]
    found = []
    for _, reach, factor, (one, other) in tried:
        ways = maps_of(one, other)
        masses = [float(side.surface.mass.sum()) for side in (one, other)]
        shares = agreed_share(ways[0], one, reach), agreed_share(ways[1], other, reach)
        found.append(FoundParts(prepared, (one, other), ways, float(np.average(shares, weights=masses)), factor))
    return max(found, key=lambda entry: entry.agreed)


def _result(found: FoundParts, method: Method, *, guessed: bool) -> PartsMatch:
    import torch

    from partwhole.matching.parts.rule import overlap_rule
    from partwhole.matching.parts.sides import agreement_of_guaranteed
    from partwhole.matching.scans.surface import Lift

    rule, maps, prepared, seen = overlap_rule(), [], found.prepared, found.cues()
    for k, cues in enumerate(seen):
        side, way = found.sides[k], found.ways[k]
        overlap = rule.overlap(cues, side)
        sure = overlap * rule.correctness(cues, side)
        lift, covered = Lift.between(prepared[k], prepared[1 - k]), prepared[k].covered
        overlaps, sures = (np.where(covered, lift.values(each.double().numpy()), 0.0) for each in (overlap, sure))
        least = rule.threshold(overlap, side.surface.mass)
        maps.append(PartnerMap(lift.vertex_map(way.vertex_map.numpy()), overlaps, sures, covered, least))
    one, other = found.sides
    belongs = rule.shares_something(rule.seen_of(seen, (one.surface.mass, other.surface.mass)))
    shared = torch.from_numpy(maps[0].shared[prepared[0].to_given])
    guaranteed, distortion = agreement_of_guaranteed(found.ways[0].vertex_map, *found.sides, shared)
    alignment, misfit = _alignment(prepared[0].given, prepared[1].given, maps[0], maps[1])
    area = found.factor**-2
    made = PartsMatch(
        a=prepared[0].given,
        b=prepared[1].given,
        a_to_b=maps[0],
        b_to_a=maps[1],
        belongs=belongs,
        whole_area=area,
        guaranteed=guaranteed,
        distortion=distortion,
        alignment=alignment,
        misfit=misfit * found.factor,
        model=str(method.card.get("name", "a model")),
        notes=tuple(_notes(prepared, area, guessed=guessed)),
        warnings=(),
        seconds=0.0,
    )
    said = [f"{one.given.name}: {text}" for one in prepared for text in one.warnings]
    return replace(made, warnings=(*said, *_warnings(made)))


def _alignment(a: Mesh, b: Mesh, there: PartnerMap, back: PartnerMap) -> tuple[np.ndarray, float]:
    """The rigid motion of what is shared that brings partners nearest, both ways counted, and what is left."""
    x = np.concatenate([a.vertices, a.vertices[back.vertex_map]])
    y = np.concatenate([b.vertices[there.vertex_map], b.vertices])
    weights = [mesh.vertex_areas * one.confidence * one.shared for mesh, one in ((a, there), (b, back))]
    share = np.concatenate(weights)
    found = np.eye(4)
    if share.sum() <= 0:
        return found, float("nan")
    share = share / share.sum()
    R = rotation_onto(x - share @ x, y - share @ y, share)
    found[:3, :3], found[:3, 3] = R, share @ y - R @ (share @ x)
    off = x @ R.T + found[:3, 3] - y
    return found, float(np.sqrt(share @ (off**2).sum(axis=1)))


def _notes(prepared: tuple[PreparedSurface, PreparedSurface], area: float, *, guessed: bool) -> list[str]:
    notes = [f"{one.given.name}: {text}" for one in prepared for text in one.notes]
    how = "the maps agree most if" if guessed else "as given,"
    return [*notes, f"{how} the whole has area {area:.4g}, in the units of the parts"]


def _warnings(found: PartsMatch) -> list[str]:
    said = []
    if found.belongs < SHARED:
        said.append(
            f"the parts probably share nothing (probability that they do: {100 * found.belongs:.0f} %); do they belong to "
            "one whole, in the same units?"
        )
    for mesh in (found.a, found.b):
        if mesh.is_closed:
            said.append(f"{mesh.name} has no boundary, so it may be the whole: pw.match matches a part to it")
    if found.belongs >= SHARED and max(found.shares) < PROBABLY_NOTHING:
        said.append("hardly anything is shared, so little is known about how the parts lie to each other")
    if found.misfit > MISFIT and found.belongs >= SHARED:
        said.append(
            f"the parts are in different poses: after the rigid alignment partners are {100 * found.misfit:.0f} % of the "
            "size of the whole apart on average"
        )
    return said
