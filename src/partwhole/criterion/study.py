"""The consistency study: how many distances on a part are those on the whole, how many of them a criterion guarantees,
and how many it guarantees falsely.

A pair (i, j), i ≠ j, is *consistent* at the tolerance t if |D_part − D_whole| ≤ t · D_whole. Pairs are counted in both
orders. Vertices at an infinite distance on both surfaces do not count as a pair; if only one of the two
distances is infinite, they are not consistent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from numpy.typing import ArrayLike

from partwhole.criterion.distances import Device, PartDistances, checked_distances
from partwhole.criterion.result import Criterion, CriterionKind
from partwhole.criterion.thresholds import boundary_criterion, same_loop_criterion, wormhole_criterion
from partwhole.geodesics.metrics import Metric
from partwhole.mesh import Mesh, SurfaceLike, as_mesh
from partwhole.store.arguments import as_numbers, in_short

KINDS: tuple[CriterionKind, ...] = ("boundary", "wormhole", "same-loop")

# entries of a temporary block of rows, so that it stays small beside the matrices
BLOCK_ENTRIES = 1 << 20


@dataclass(frozen=True)
class Guaranteed:
    """The pairs that one criterion guarantees on one part, at one tolerance."""

    kind: CriterionKind
    n_guaranteed: int
    n_consistent: int
    """Pairs that are guaranteed and consistent."""

    @property
    def n_false(self) -> int:
        """Pairs that are guaranteed, and not consistent."""
        return self.n_guaranteed - self.n_consistent


@dataclass(frozen=True)
class ConsistencyRow:
    """One part at one tolerance."""

    tolerance: float
    n_pairs: int
    n_consistent: int
    criteria: tuple[Guaranteed, ...]

    @property
    def consistent(self) -> float:
        """Consistent pairs among all pairs."""
        return _ratio(self.n_consistent, self.n_pairs)

    def found(self, kind: CriterionKind) -> float:
        """Guaranteed pairs among the consistent ones."""
        return _ratio(self.of(kind).n_consistent, self.n_consistent)

    def of(self, kind: CriterionKind) -> Guaranteed:
        return next(g for g in self.criteria if g.kind == kind)


@dataclass(frozen=True)
class Consistency:
    """The study of one part: a row for each tolerance."""

    name: str
    sound: bool
    rows: tuple[ConsistencyRow, ...]


@dataclass(frozen=True)
class Share:
    """Mean and standard deviation (over shapes, not pairs; divided by their number)."""

    mean: float
    std: float


@dataclass(frozen=True)
class SummaryRow:
    """All parts at one tolerance. `found` and `n_false` follow the order of the summary's `kinds`."""

    tolerance: float
    consistent: Share
    found: tuple[Share, ...]
    n_false: tuple[int, ...]


@dataclass(frozen=True)
class Summary:
    """The study of many parts."""

    n_shapes: int
    kinds: tuple[CriterionKind, ...]
    rows: tuple[SummaryRow, ...]

    def table(self) -> str:
        """As Markdown, in per cent: mean ± standard deviation, and guaranteed pairs that are not consistent."""
        head = ["tolerance", "consistent", *(f"{kind}, of these" for kind in self.kinds)]
        head += [f"{kind}, false" for kind in self.kinds]
        lines = [head, ["---"] * len(head)]
        for row in self.rows:
            shares = [f"{100 * s.mean:.1f} ± {100 * s.std:.1f} %" for s in (row.consistent, *row.found)]
            lines.append([f"{row.tolerance:g}", *shares, *map(str, row.n_false)])
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def consistency(
    part: SurfaceLike,
    D_part: ArrayLike,
    D_whole: ArrayLike,
    *,
    tolerances: Sequence[float] = (1e-4, 1e-3, 1e-2),
    criteria: Sequence[CriterionKind] = KINDS,
    sound: bool = False,
    metric_bound: float | Metric = 1.0,
    rtol: float | None = None,
    device: Device = "cpu",
) -> Consistency:
    """Share of pairs with |D_part − D_whole| ≤ t · D_whole, the share of those each criterion guarantees, its errors.

    Parameters
    ----------
    part : the part
    D_part : (n, n), distances on it
    D_whole : (n, n), distances on the whole between the same vertices
    tolerances : the values of t; below the criterion's `rtol`, rounding is counted as an error
    criteria : which to study; "same-loop" assumes that the whole is a topological sphere
    sound, metric_bound, rtol, device : as in `wormhole_criterion`

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> D = np.array([[0, 1, 2**0.5, 1], [1, 0, 1, 2], [2**0.5, 1, 0, 1], [1, 2, 1, 0]])
    >>> row = consistency(square, D, D, tolerances=[0.01]).rows[0]  # nothing was missing
    >>> row.consistent, round(row.found("wormhole"), 3), row.of("wormhole").n_false
    (1.0, 0.833, 0)
    """
    part = as_mesh(part, name="part")
    distances = PartDistances.check(part, D_part, None, None).distances
    whole = checked_distances("D_whole", D_whole)
    if whole.shape != distances.shape:
        raise ValueError(
            f"D_whole has shape {whole.shape}, D_part {distances.shape}: take the rows and columns of the part's "
            "vertices, D_whole[np.ix_(vertex_map, vertex_map)]"
        )
    if as_numbers("tolerances", tolerances).ndim != 1:
        raise ValueError(f"tolerances must be a list of relative errors, such as [0.01], got {in_short(tolerances)}")
    if not isinstance(criteria, Sequence) or len(set(criteria) - set(KINDS)) or len(set(criteria)) < len(criteria):
        raise ValueError(f"criteria must be distinct and among {KINDS}, got {in_short(criteria)}")
    n_pairs = sum(int(np.count_nonzero(pair)) for _, pair, _ in _blocks(distances, whole))
    n_consistent = _count(distances, whole, tolerances, None)
    found: list[list[Guaranteed]] = [[] for _ in tolerances]
    for kind in criteria:
        # one after the other, so that only one threshold is in memory
        criterion = _criterion(kind, part, distances, sound=sound, metric_bound=metric_bound, rtol=rtol, device=device)
        both = _count(distances, whole, tolerances, criterion.mask)
        for row, n_both in zip(found, both, strict=True):
            row.append(Guaranteed(kind, criterion.n_guaranteed, n_both))
    rows = tuple(
        ConsistencyRow(float(t), n_pairs, n, tuple(row))
        for t, n, row in zip(tolerances, n_consistent, found, strict=True)
    )
    return Consistency(part.name, sound, rows)


def summarise(studies: Sequence[Consistency]) -> Summary:
    """Mean and standard deviation over shapes of every share, and the sum of the errors.

    Raises ValueError unless all studies have the same tolerances, criteria and `sound`.
    """
    layouts = {(s.sound, *((r.tolerance, *(g.kind for g in r.criteria)) for r in s.rows)) for s in studies}
    if len(layouts) != 1:
        raise ValueError(
            f"summarise needs studies with the same tolerances, criteria and sound, got {len(layouts)} kinds"
        )
    kinds = tuple(g.kind for g in studies[0].rows[0].criteria) if studies[0].rows else ()
    rows = []
    for same in zip(*(s.rows for s in studies), strict=True):
        rows.append(
            SummaryRow(
                tolerance=same[0].tolerance,
                consistent=_share([r.consistent for r in same]),
                found=tuple(_share([r.found(kind) for r in same]) for kind in kinds),
                n_false=tuple(sum(r.of(kind).n_false for r in same) for kind in kinds),
            )
        )
    return Summary(len(studies), kinds, tuple(rows))


def _criterion(
    kind: CriterionKind,
    part: Mesh,
    D: Float[np.ndarray, "n n"],
    *,
    sound: bool,
    metric_bound: float | Metric,
    rtol: float | None,
    device: Device,
) -> Criterion:
    makers = {"boundary": boundary_criterion, "wormhole": wormhole_criterion, "same-loop": same_loop_criterion}
    return makers[kind](part, D, sound=sound, metric_bound=metric_bound, rtol=rtol, device=device)


def _count(
    D_part: Float[np.ndarray, "n n"],
    D_whole: Float[np.ndarray, "n n"],
    tolerances: Sequence[float],
    mask: Bool[np.ndarray, "n n"] | None,
) -> list[int]:
    """For each tolerance the number of consistent pairs, of those in the mask if there is one."""
    counts = [0] * len(tolerances)
    for block, pair, error in _blocks(D_part, D_whole):
        counted = pair if mask is None else pair & mask[block]
        for k, t in enumerate(tolerances):
            counts[k] += int(np.count_nonzero(counted & (error <= t)))
    return counts


def _blocks(
    D_part: Float[np.ndarray, "n n"], D_whole: Float[np.ndarray, "n n"]
) -> Iterator[tuple[slice, Bool[np.ndarray, "_ n"], Float[np.ndarray, "_ n"]]]:
    """Blocks of rows: which entries are pairs, and their relative error, inf where only one distance is finite."""
    n = len(D_part)
    height = max(1, BLOCK_ENTRIES // n)
    for start in range(0, n, height):
        block = slice(start, start + height)
        on_part, on_whole = D_part[block].astype(np.float64), D_whole[block].astype(np.float64)
        pair = np.isfinite(on_part) | np.isfinite(on_whole)
        np.fill_diagonal(pair[:, start:], False)
        with np.errstate(divide="ignore", invalid="ignore"):
            error = np.abs(on_part - on_whole) / on_whole
        # 0 / 0: two vertices in one place, on both surfaces; inf / inf: torn apart
        error[on_part == on_whole] = 0
        error[np.isinf(on_part) != np.isinf(on_whole)] = np.inf
        yield block, pair, error


def _share(values: list[float]) -> Share:
    return Share(float(np.mean(values)), float(np.std(values)))


def _ratio(count: int, total: int) -> float:
    return count / total if total else float("nan")
