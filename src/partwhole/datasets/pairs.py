"""`Pair`, a part and the whole it is matched to, and `Pairs`, a sequence of them that reads each file when it is needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, overload

from partwhole.datasets.cutting.cuts import Cut
from partwhole.datasets.ground_truth import GroundTruth
from partwhole.mesh import Mesh
from partwhole.mesh.surface import check_mesh
from partwhole.store.arguments import in_short

# noise and pose change areas, but not by half
_LARGEST_PART = 1.5


@dataclass(frozen=True, eq=False, repr=False)
class Pair:
    """A part, the whole it is matched to, and where its vertices truly lie there.

    Units are those of a whole of area 1, so that distances are comparable and errors are already divided by √area;
    `Pair.of` brings any two surfaces into them.

    Attributes
    ----------
    part, whole : the surfaces
    ground_truth : None where it is not known
    name : what to call the pair in tables
    scale : the factor that brought the surfaces from the units of their files into these
    notes : what was left out or changed while reading
    """

    part: Mesh
    whole: Mesh
    ground_truth: GroundTruth | None = None
    name: str = field(default="pair", kw_only=True)
    scale: float = field(default=1.0, kw_only=True)
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __repr__(self) -> str:
        truth = "no" if self.ground_truth is None else f"{len(self.ground_truth)} rows of {self.ground_truth.kind}"
        return f"Pair({self.name!r}: {self.part.n_vertices} vertices of {self.whole.n_vertices}, ground truth: {truth})"

    def __post_init__(self) -> None:
        check_mesh(self.part, "part")
        check_mesh(self.whole, "whole")
        truth = self.ground_truth
        if truth is None or len(truth) == 0:
            return
        for mesh, numbers in ((self.part, truth.part_vertices), (self.whole, truth.corners)):
            if numbers.max() >= mesh.n_vertices:
                raise ValueError(
                    f"{self.name}: the ground truth speaks of vertex {numbers.max()}, "
                    f"{mesh.name} has vertices 0 to {mesh.n_vertices - 1}; do the files belong together?"
                )

    @classmethod
    def of(
        cls,
        part: Mesh,
        whole: Mesh,
        ground_truth: GroundTruth | None = None,
        *,
        name: str | None = None,
        centre: Literal["own", "whole"] = "own",
        notes: tuple[str, ...] = (),
    ) -> Pair:
        """The whole scaled to area 1 and centred on its vertex mean, the part scaled by the same factor.

        Parameters
        ----------
        part, whole : in the same units
        ground_truth : where the part's vertices lie on the whole
        name : default "part → whole"
        centre : "own", the part on its own vertex mean, as for a scan whose place means nothing; "whole", moved with the
            whole, for a part that lies where it was cut out

        Examples
        --------
        >>> from partwhole.datasets import cut_plane, sphere
        >>> cut = cut_plane(sphere(500, radius=3.0), (0, 0, 0), (0, 0, 1))
        >>> pair = Pair.of(cut.part, cut.whole)
        >>> round(pair.whole.area, 6), round(pair.part.area / cut.part.area, 6) == round(pair.scale**2, 6)
        (1.0, True)
        """
        check_mesh(part, "part")
        check_mesh(whole, "whole")
        if part.area > _LARGEST_PART * whole.area:
            raise ValueError(
                f"{part.name} has area {part.area:.4g}, {whole.name} {whole.area:.4g}: a part isn't larger than its "
                "whole; are they in different units? mesh.scaled(factor) converts"
            )
        if centre not in ("own", "whole"):
            raise ValueError(f"centre must be 'own' or 'whole', got {centre!r}")
        unit, factor = whole.to_unit_area()
        middle = (part if centre == "own" else whole).vertices.mean(axis=0)
        moved = Mesh((part.vertices - middle) * factor, part.faces, name=part.name)
        return cls(
            moved, unit, ground_truth, name=name or f"{part.name} → {whole.name}", scale=float(factor), notes=notes
        )

    @classmethod
    def of_cut(cls, cut: Cut, *, name: str | None = None, centre: Literal["own", "whole"] = "own") -> Pair:
        """A part cut out here and its whole; every vertex of the part is a vertex of the whole."""
        return cls.of(cut.part, cut.whole, GroundTruth.of_map(cut.vertex_map), name=name, centre=centre)

    def rounded(self) -> Pair:
        """The same pair with true vertices instead of points in triangles."""
        if self.ground_truth is None:
            raise ValueError(f"{self.name} has no ground truth to round")
        return replace(self, ground_truth=self.ground_truth.rounded(self.whole.vertices))


def given_pairs(pairs: Iterable[Any]) -> Iterator[Pair]:
    """The pairs of a data set, one after the other; what is none is refused in words."""
    if isinstance(pairs, str | os.PathLike):
        raise ValueError(
            f"pairs must be a data set, got {in_short(pairs)}; pw.datasets.FolderPairs(path) reads a folder"
        )
    if not isinstance(pairs, Iterable):
        raise ValueError(f"pairs must be a data set or a list of pw.datasets.Pair, got {in_short(pairs)}")
    for pair in pairs:
        if not isinstance(pair, Pair):
            kind = type(pair).__name__
            raise ValueError(f"pairs must be of pw.datasets.Pair, got {kind}; use pw.datasets.Pair.of(part, whole)")
        yield pair


# not Sequence[Pair]: who checks types at run time would read a pair to look at it
class Pairs(Sequence):
    """Pairs by number, read when they are asked for; surfaces that several pairs share are read once.

    Parameters
    ----------
    keys : (part, whole) of each pair, in the words of the data set
    load : makes the pair of two such keys
    name : what the pairs are, for tables

    Examples
    --------
    >>> from partwhole.datasets import random_cuts, sphere
    >>> pairs = Pairs.given([Pair.of_cut(random_cuts(sphere(300), seed=k)) for k in range(3)], name="caps")
    >>> pairs, len(pairs[1:])
    (Pairs('caps': 3), 2)
    """

    def __init__(
        self, keys: Iterable[tuple[Hashable, Hashable]], load: Callable[[Any, Any], Pair], *, name: str
    ) -> None:
        self.keys = tuple(keys)
        self.name = name
        self._load = load

    @classmethod
    def given(cls, pairs: Iterable[Pair], *, name: str) -> Pairs:
        """Pairs that are in memory already, numbered from 0."""
        held = tuple(pairs)
        return Pairs([(k, k) for k in range(len(held))], lambda k, _: held[k], name=name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}: {len(self)})"

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[Pair]:
        return (self._load(*key) for key in self.keys)

    @overload
    def __getitem__(self, index: int) -> Pair: ...
    @overload
    def __getitem__(self, index: slice) -> Pairs: ...
    def __getitem__(self, index: int | slice) -> Pair | Pairs:
        if isinstance(index, slice):
            return Pairs(self.keys[index], self._load, name=self.name)
        return self._load(*self.keys[index])

    def where(self, keep: Callable[[Any, Any], bool], *, name: str | None = None) -> Pairs:
        """The pairs whose keys (part, whole) are kept; to hold some out, for example."""
        return Pairs([key for key in self.keys if keep(*key)], self._load, name=name or self.name)

    def rounded(self) -> Pairs:
        """The same pairs with true vertices instead of points in triangles."""
        return Pairs(self.keys, lambda part, whole: self._load(part, whole).rounded(), name=self.name)
