"""`Pair`, a part and the whole it is matched to; its `GroundTruth`; `Pairs`, a sequence that reads pairs when needed."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import starmap
from typing import Any, Literal, overload

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from partwhole.datasets.cutting.cuts import Cut
from partwhole.mesh import Mesh, SurfaceLike, as_mesh
from partwhole.mesh.surface import check_mesh
from partwhole.store.arguments import as_array, check_instance, in_short

TruthKind = Literal["vertices", "barycentric"]

# files hold weights with six digits or more
_WEIGHT_SLACK = 1e-4
# noise and pose change areas, but not by half
_LARGEST_PART = 1.5


@dataclass(frozen=True, eq=False)
class GroundTruth:
    """Row i: vertex `part_vertices[i]` of the part lies at Σ_c weights[i, c] · x(corners[i, c]) on the whole.

    One corner a row where the truth is a vertex, three where it is a point of a triangle. A vertex of the part may
    occur in several rows, or in none: some data sets compare through a template that has only some of the vertices, or
    two places for one. Errors are counted by row.

    Attributes
    ----------
    part_vertices : vertex of the part, for each row
    corners : vertices of the whole, one or three a row
    weights : of the corners, not negative; each row sums to one

    Examples
    --------
    >>> GroundTruth.of_map([4, 2, 7]).whole_vertices.tolist()
    [4, 2, 7]
    >>> halfway = GroundTruth.in_triangles([0], [[0.5, 0.5, 0.0]], faces=[[8, 9, 3]])
    >>> halfway.kind, halfway.corners.tolist()
    ('barycentric', [[8, 9, 3]])
    """

    part_vertices: Int[np.ndarray, "g"]
    corners: Int[np.ndarray, "g c"]
    weights: Float[np.ndarray, "g c"]

    def __init__(self, part_vertices: ArrayLike, corners: ArrayLike, weights: ArrayLike) -> None:
        rows = _checked_numbers(part_vertices, "part_vertices", 1)
        ends = _checked_numbers(corners, "corners", 2)
        shares = np.array(weights, dtype=np.float64)
        if ends.shape[1] not in (1, 3):
            raise ValueError(f"corners must have 1 or 3 columns, got {ends.shape[1]}")
        if shares.shape != ends.shape or len(rows) != len(ends):
            raise ValueError(
                f"part_vertices {rows.shape}, corners {ends.shape} and weights {shares.shape} must have one row each "
                "for every point"
            )
        sums = shares.sum(axis=1)
        bad = np.flatnonzero(~((shares.min(axis=1) >= -_WEIGHT_SLACK) & (np.abs(sums - 1) <= _WEIGHT_SLACK)))
        if len(bad):
            raise ValueError(
                f"weights of row {bad[0]} are {shares[bad[0]].tolist()} ({len(bad)} such rows); "
                "barycentric weights are not negative and sum to one"
            )
        # what rounding in a file left over or below zero is put right, so that the points lie in their triangles
        shares = np.maximum(shares, 0)
        shares /= shares.sum(axis=1, keepdims=True)
        for name, array in (("part_vertices", rows), ("corners", ends), ("weights", shares)):
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @classmethod
    def at_vertices(cls, part_vertices: ArrayLike, whole_vertices: ArrayLike) -> GroundTruth:
        """Vertex of the part ↔ vertex of the whole, row by row."""
        ends = _checked_numbers(whole_vertices, "whole_vertices", 1)[:, None]
        return cls(part_vertices, ends, np.ones(ends.shape))

    @classmethod
    def of_map(cls, vertex_map: ArrayLike) -> GroundTruth:
        """A vertex of the whole for every vertex of the part."""
        ends = _checked_numbers(vertex_map, "vertex_map", 1)
        return cls.at_vertices(np.arange(len(ends)), ends)

    @classmethod
    def in_triangles(
        cls, triangles: ArrayLike, weights: ArrayLike, *, faces: ArrayLike, part_vertices: ArrayLike | None = None
    ) -> GroundTruth:
        """A point in a triangle of the whole for every vertex of the part, or for `part_vertices`.

        Parameters
        ----------
        triangles : rows of `faces`, counted from 0
        weights : (g, 3), of the corners in the order of `faces`
        faces : the triangles that the numbers refer to: those of the file, where a mesh made from it has fewer
        part_vertices : default 0, 1, 2, ...
        """
        rows = _checked_numbers(triangles, "triangles", 1)
        table = _checked_numbers(faces, "faces", 2)
        if rows.size and rows.max() >= len(table):
            raise ValueError(f"triangles reach to {rows.max()}, faces are numbered 0 to {len(table) - 1}")
        return cls(np.arange(len(rows)) if part_vertices is None else part_vertices, table[rows], weights)

    def __len__(self) -> int:
        return len(self.part_vertices)

    @property
    def kind(self) -> TruthKind:
        return "vertices" if self.corners.shape[1] == 1 else "barycentric"

    @property
    def whole_vertices(self) -> Int[np.ndarray, "g"]:
        """The true vertex of the whole, for each row."""
        if self.kind == "barycentric":
            raise ValueError(
                "barycentric ground truth lies between vertices; ground_truth.rounded(whole.vertices) picks them"
            )
        return self.corners[:, 0]

    def points(self, vertices: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "g 3"]:
        """The true places, given the coordinates of the whole."""
        return np.einsum("gc,gcd->gd", self.weights, vertices[self.corners])

    def rounded(self, vertices: Float[np.ndarray, "n 3"]) -> GroundTruth:
        """The corner nearest to each point instead of the point, given the coordinates of the whole."""
        if self.kind == "vertices":
            return self
        away = np.linalg.norm(vertices[self.corners] - self.points(vertices)[:, None], axis=2)
        nearest = np.take_along_axis(self.corners, away.argmin(axis=1)[:, None], axis=1)[:, 0]
        return GroundTruth.at_vertices(self.part_vertices, nearest)


@dataclass(frozen=True, eq=False, repr=False)
class Pair:
    """A part, the whole it is matched to, and where its vertices truly lie there.

    Units are those of a whole of area 1, so that distances are comparable and errors are already divided by √area;
    `Pair.of` converts any two surfaces.

    Attributes
    ----------
    part, whole : the surfaces
    ground_truth : None where it is not known
    name : what to call the pair in tables
    scale : the factor from the units of the files to these
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
        if truth is not None:
            check_instance("ground_truth", truth, GroundTruth, "make one with GroundTruth.of_map(vertex_map)")
        if truth is None or len(truth) == 0:
            return
        for mesh, numbers in ((self.part, truth.part_vertices), (self.whole, truth.corners)):
            if numbers.max() >= mesh.n_vertices:
                raise ValueError(
                    f"{self.name}: the ground truth refers to vertex {numbers.max()}, "
                    f"{mesh.name} has vertices 0 to {mesh.n_vertices - 1}; do the files belong together?"
                )

    @classmethod
    def of(
        cls,
        part: SurfaceLike,
        whole: SurfaceLike,
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
        centre : "own", the part on its own vertex mean, as for a scan whose position is arbitrary; "whole", moved with the
            whole, for a part that lies where it was cut out

        Examples
        --------
        >>> from partwhole.datasets import cut_plane, sphere
        >>> cut = cut_plane(sphere(500, radius=3.0), (0, 0, 0), (0, 0, 1))
        >>> pair = Pair.of(cut.part, cut.whole)
        >>> round(pair.whole.area, 6), round(pair.part.area / cut.part.area, 6) == round(pair.scale**2, 6)
        (1.0, True)
        """
        part, whole = as_mesh(part, name="part"), as_mesh(whole, name="whole")
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
        """A part cut from a whole, and the whole; every vertex of the part is a vertex of the whole."""
        return cls.of(cut.part, cut.whole, GroundTruth.of_map(cut.vertex_map), name=name, centre=centre)

    def rounded(self) -> Pair:
        """The same pair with true vertices instead of points in triangles."""
        if self.ground_truth is None:
            raise ValueError(f"{self.name} has no ground truth to round")
        return replace(self, ground_truth=self.ground_truth.rounded(self.whole.vertices))


def given_pairs(pairs: Iterable[Any]) -> Iterator[Pair]:
    """The pairs of a data set, one after the other; raises a ValueError at what is not a pair."""
    if isinstance(pairs, str | os.PathLike):
        raise ValueError(
            f"pairs must be a data set, got {in_short(pairs)}; pw.datasets.FolderPairs(path) reads a folder"
        )
    if not isinstance(pairs, Iterable):
        raise ValueError(f"pairs must be a data set or a list of pw.datasets.Pair, got {in_short(pairs)}")
    return map(_checked_pair, pairs)


def _checked_pair(pair: Any) -> Pair:
    if not isinstance(pair, Pair):
        kind = type(pair).__name__
        raise ValueError(f"pairs must be of pw.datasets.Pair, got {kind}; use pw.datasets.Pair.of(part, whole)")
    return pair


# not Sequence[Pair]: a type checker at run time would read a pair to look at it
class Pairs(Sequence):
    """A sequence of pairs, each read when it is asked for; surfaces that several pairs share are read once.

    Parameters
    ----------
    keys : (part, whole) of each pair, as the data set names them
    load : function from such a key, part and whole, to the pair
    name : of the data set, for tables

    Examples
    --------
    >>> from partwhole.datasets import random_cuts, sphere
    >>> pairs = Pairs.from_list([Pair.of_cut(random_cuts(sphere(300), seed=k)) for k in range(3)], name="caps")
    >>> pairs, len(pairs[1:])
    (Pairs('caps': 3), 2)
    """

    def __init__(
        self, keys: Iterable[tuple[Hashable, Hashable]], load: Callable[[Any, Any], Pair], *, name: str
    ) -> None:
        self.keys: tuple[tuple[Any, Any], ...] = tuple(keys)
        self.name = name
        self._load = load

    @classmethod
    def from_list(cls, pairs: Iterable[Pair], *, name: str) -> Pairs:
        """Pairs that are in memory already, numbered from 0."""
        held = tuple(pairs)
        return Pairs([(k, k) for k in range(len(held))], lambda k, _: held[k], name=name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}: {len(self)})"

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[Pair]:
        # reads each pair when the loop over them asks for it
        return starmap(self._load, self.keys)

    @overload
    def __getitem__(self, index: int) -> Pair: ...
    @overload
    def __getitem__(self, index: slice) -> Pairs: ...
    def __getitem__(self, index: int | slice) -> Pair | Pairs:
        if isinstance(index, slice):
            return self.subset(self.keys[index])
        return self._load(*self.keys[index])

    def subset(self, keys: Iterable[tuple[Hashable, Hashable]], *, name: str | None = None) -> Pairs:
        """The pairs of these keys, a choice of `self.keys`."""
        return Pairs(keys, self._load, name=name or self.name)

    def where(self, keep: Callable[[Any, Any], bool], *, name: str | None = None) -> Pairs:
        """The pairs for which `keep(part, whole)`, called with their keys, is true; to hold some out, for example."""
        return self.subset([key for key in self.keys if keep(*key)], name=name)

    def rounded(self) -> Pairs:
        """The same pairs with true vertices instead of points in triangles."""
        return Pairs(self.keys, lambda part, whole: self._load(part, whole).rounded(), name=self.name)


def _checked_numbers(values: ArrayLike, name: str, ndim: int) -> Int[np.ndarray, "..."]:
    given = as_array(f"{name} must be whole numbers in {ndim} dimension(s)", values)
    if given.ndim != ndim or not np.issubdtype(given.dtype, np.integer):
        raise ValueError(
            f"{name} must be whole numbers in {ndim} dimension(s), got shape {given.shape} of {given.dtype}"
        )
    if given.size and given.min() < 0:
        raise ValueError(f"{name} holds {given.min()}; vertices and triangles are counted from 0")
    return np.array(given, dtype=np.int64)
