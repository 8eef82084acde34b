"""`PartPair`, two parts of one whole with the vertices that they share; made from any pairs whose whole is the same."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, overload

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from partwhole.datasets.cutting.cuts import Cut
from partwhole.datasets.pairs import GroundTruth, Pair, Pairs
from partwhole.mesh import Mesh
from partwhole.mesh.surface import check_mesh


@dataclass(frozen=True, eq=False)
class Partners:
    """Which vertices of one part are on another one too, and where.

    Attributes
    ----------
    vertex_map : for each vertex its partner; it means nothing where there is none
    shared : whether there is one
    known : whether that is known at all; where it is not, nothing is counted

    Examples
    --------
    >>> truth = Partners([3, 0, 0], [True, True, False])
    >>> truth.vertex_map[truth.shared].tolist(), truth.share
    ([3, 0], 0.6666666666666666)
    """

    vertex_map: Int[np.ndarray, "n"]
    shared: Bool[np.ndarray, "n"]
    known: Bool[np.ndarray, "n"]

    def __init__(self, vertex_map: ArrayLike, shared: ArrayLike, known: ArrayLike | None = None) -> None:
        ends, on_both = np.array(vertex_map), np.array(shared, bool)
        seen = np.ones(len(on_both), bool) if known is None else np.array(known, bool)
        if not np.issubdtype(ends.dtype, np.integer) or not ends.shape == on_both.shape == seen.shape or ends.ndim != 1:
            raise ValueError(
                f"vertex_map {ends.shape} of {ends.dtype}, shared {on_both.shape} and known {seen.shape} must be whole "
                "numbers and truth values, one for each vertex"
            )
        if on_both.any() and ends[on_both].min() < 0:
            raise ValueError(
                f"vertex_map holds {ends[on_both].min()} for a vertex that is shared; vertices are counted from 0"
            )
        on_both &= seen
        for name, array in (
            ("vertex_map", np.maximum(ends, 0).astype(np.int64)),
            ("shared", on_both),
            ("known", seen),
        ):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    def __len__(self) -> int:
        return len(self.shared)

    @property
    def share(self) -> float:
        """Of the vertices of which it is known, those that are shared."""
        return float(self.shared.sum() / max(int(self.known.sum()), 1))


@dataclass(frozen=True, eq=False, repr=False)
class PartPair:
    """Two parts of one whole, and which of their vertices are the same place on it.

    Attributes
    ----------
    a, b : the parts, in the same units
    a_to_b, b_to_a : the vertices that they share
    whole : the whole, where it is known
    on_whole : where the vertices of a, and of b, lie on it
    name : what to call the pair in tables
    """

    a: Mesh
    b: Mesh
    a_to_b: Partners
    b_to_a: Partners
    whole: Mesh | None = None
    on_whole: tuple[GroundTruth, GroundTruth] | None = None
    name: str = field(default="pair", kw_only=True)

    def __post_init__(self) -> None:
        for one, other, truth, named in (
            (self.a, self.b, self.a_to_b, "a_to_b"),
            (self.b, self.a, self.b_to_a, "b_to_a"),
        ):
            check_mesh(one, named[0])
            if len(truth) != one.n_vertices or truth.vertex_map.max(initial=0) >= other.n_vertices:
                raise ValueError(
                    f"{self.name}: {named} has {len(truth)} entries up to {truth.vertex_map.max(initial=0)}, the parts have "
                    f"{one.n_vertices} and {other.n_vertices} vertices; do the files belong together?"
                )

    def __repr__(self) -> str:
        shares = f"{100 * self.a_to_b.share:.0f} % and {100 * self.b_to_a.share:.0f} % shared"
        return f"PartPair({self.name!r}: {self.a.n_vertices} and {self.b.n_vertices} vertices, {shares})"

    @classmethod
    def through(cls, first: Pair, second: Pair, *, name: str | None = None) -> PartPair:
        """Two parts of the same whole, compared there.

        The partner of a vertex is the vertex of the other part that lies nearest to it on the whole, if it is no farther
        away there than the mean length of the edges at that vertex; if it is, the vertex has no partner. So the overlap
        reaches about half an edge beyond what both parts cover. Vertices whose place on the whole is not known have no
        truth.

        Parameters
        ----------
        first, second : with ground truth
        name : default that of both parts

        Examples
        --------
        >>> from partwhole.datasets import cut_plane, sphere
        >>> ball = sphere(400)
        >>> upper, lower = (Pair.of_cut(cut_plane(ball, (0, 0, -0.3 * s), (0, 0, s))) for s in (1.0, -1.0))
        >>> PartPair.through(upper, lower).a_to_b.share < 0.6
        True
        """
        if first.ground_truth is None or second.ground_truth is None:
            raise ValueError(f"{first.name} or {second.name} has no ground truth to compare the parts by")
        if first.whole.content_hash != second.whole.content_hash:
            raise ValueError(
                f"{first.name} and {second.name} have different wholes; parts of one whole can be compared"
            )
        whole, truths = first.whole, (first.ground_truth, second.ground_truth)
        at = [_places(pair.part, truth, whole) for pair, truth in zip((first, second), truths, strict=True)]
        there, back = _partners(at[0], at[1], second.part), _partners(at[1], at[0], first.part)
        named = name or f"{first.part.name} | {second.part.name}"
        return cls(first.part, second.part, there, back, whole, truths, name=named)

    @classmethod
    def of_cuts(cls, a: Cut, b: Cut, *, name: str | None = None) -> PartPair:
        """Two parts cut from one surface, or from two poses of it, whose vertices have the same numbers; of area 1.

        Examples
        --------
        >>> from partwhole.datasets import overlapping_cuts, sphere
        >>> pair = PartPair.of_cuts(*overlapping_cuts(sphere(400), 0.5))
        >>> 0.4 < pair.a_to_b.share < 0.7
        True
        """
        if not np.array_equal(a.whole.faces, b.whole.faces):
            raise ValueError(
                f"{a.whole.name} and {b.whole.name} have other faces; parts of one surface can be compared"
            )
        first = Pair.of_cut(a)
        second = replace(Pair.of_cut(b), whole=first.whole)
        return cls.through(first, second, name=name)

    def as_pair(self) -> Pair:
        """a as a part and the largest piece of b in the place of its whole, to train with: the truth is what they share.

        Lengths are in √area of the true whole where it is known, else in the units of the parts.

        Examples
        --------
        >>> from partwhole.datasets import overlapping_cuts, sphere
        >>> pair = PartPair.of_cuts(*overlapping_cuts(sphere(400), 0.5))
        >>> len(pair.as_pair().ground_truth) == int(pair.a_to_b.shared.sum())
        True
        """
        factor = 1.0 if self.whole is None else self.whole.area**-0.5
        piece, numbers = self.b.largest_component()
        place = np.full(self.b.n_vertices, -1)
        place[numbers] = np.arange(len(numbers))
        ends = place[self.a_to_b.vertex_map]
        shared = np.flatnonzero(self.a_to_b.shared & (ends >= 0))
        truth = GroundTruth.at_vertices(shared, ends[shared])
        return Pair(self.a.scaled(factor), piece.scaled(factor), truth, name=self.name, scale=factor)

    def swapped(self) -> PartPair:
        """The same with a and b exchanged."""
        on_whole = None if self.on_whole is None else self.on_whole[::-1]
        return replace(self, a=self.b, b=self.a, a_to_b=self.b_to_a, b_to_a=self.a_to_b, on_whole=on_whole)


class PartPairs(Sequence):
    """A sequence of `PartPair`, each made when it is asked for.

    Parameters
    ----------
    keys : of the two parts of each pair
    load : function from such keys to the pair
    name : of the data set, for tables
    """

    def __init__(
        self, keys: Iterable[tuple[Hashable, Hashable]], load: Callable[[Any, Any], PartPair], *, name: str
    ) -> None:
        self.keys: tuple[tuple[Any, Any], ...] = tuple(keys)
        self.name = name
        self._load = load

    def __repr__(self) -> str:
        return f"PartPairs({self.name!r}: {len(self)})"

    def __len__(self) -> int:
        return len(self.keys)

    @overload
    def __getitem__(self, index: int) -> PartPair: ...
    @overload
    def __getitem__(self, index: slice) -> PartPairs: ...
    def __getitem__(self, index: int | slice) -> PartPair | PartPairs:
        if isinstance(index, slice):
            return PartPairs(self.keys[index], self._load, name=self.name)
        return self._load(*self.keys[index])


def part_pairs(pairs: object) -> PartPairs:
    """Every two parts of a data set that have a whole in common, compared there; see `PartPair.through`.

    Parameters
    ----------
    pairs : of parts and wholes, with ground truth, such as `Shrec16(root, "cuts").test_pairs()`

    Examples
    --------
    >>> from partwhole.datasets import retriangulated_body_pairs
    >>> of_wholes = retriangulated_body_pairs(1, 2, plans="hand", n_vertices=500, recipe="cuts", triangulations=2)
    >>> len(of_wholes), len(part_pairs(of_wholes)) <= 1
    (2, True)
    """
    if not isinstance(pairs, Pairs):
        raise ValueError(
            f"pairs must be a data set of parts and wholes, got {type(pairs).__name__}; use Pairs.from_list"
        )
    parts: dict[Any, list[Any]] = {}
    for part, whole in pairs.keys:
        parts.setdefault(whole, []).append(part)
    found: dict[tuple[Any, Any], Any] = {}
    for whole, members in parts.items():
        for first, second in combinations(dict.fromkeys(members), 2):
            found.setdefault((first, second), whole)

    def load(first: Any, second: Any) -> PartPair:
        whole = found[first, second]
        return PartPair.through(*(pairs.subset([(part, whole)])[0] for part in (first, second)))

    return PartPairs(found, load, name=f"{pairs.name}, parts with parts")


def _places(part: Mesh, truth: GroundTruth, whole: Mesh) -> Float[np.ndarray, "n 3"]:
    """Where the vertices of a part lie on the whole; nan where that is not known."""
    found = np.full((part.n_vertices, 3), np.nan)
    found[truth.part_vertices] = truth.points(whole.vertices)
    return found


def _partners(here: Float[np.ndarray, "n 3"], there: Float[np.ndarray, "m 3"], other: Mesh) -> Partners:
    from scipy.spatial import cKDTree

    known, candidates = np.isfinite(here).all(axis=1), np.flatnonzero(np.isfinite(there).all(axis=1))
    nearest, away = np.zeros(len(here), np.int64), np.full(len(here), np.inf)
    if len(candidates) and known.any():
        away[known], chosen = cKDTree(there[candidates]).query(here[known])
        nearest[known] = candidates[chosen]
    return Partners(nearest, away <= mean_edges(other)[nearest], known)


def mean_edges(mesh: Mesh) -> Float[np.ndarray, "n"]:
    """The mean length of the edges at each vertex; 0 where there is none."""
    ends, lengths = mesh.edges.ravel(), np.repeat(mesh.edge_lengths, 2)
    count = np.bincount(ends, minlength=mesh.n_vertices)
    return np.bincount(ends, lengths, mesh.n_vertices) / np.maximum(count, 1)
