"""`Criterion`, the answer of a criterion: threshold, masks, shares, and what exactly is proved."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from jaxtyping import Bool, Float, Int

Kind = Literal["boundary", "wormhole", "same-loop"]

_BLOCK_ENTRIES = 1 << 20

# relative error of distances that are right to rounding, by bytes of a number: half a unit in the last place of float32, and
# what is lost to sums along paths of a million edges in float64; doubled
ROUNDING = {4: 2.0**-22, 8: 1e-10}


@dataclass(frozen=True, eq=False, repr=False)
class Criterion:
    """Which pairs of vertices are guaranteed to be as far apart on the whole as they are on the part.

    Row k belongs to vertex `rows[k]`, or to vertex k if `rows` is None; columns are all vertices. Arrays are NumPy's, or
    torch tensors if the criterion was computed with device="cuda".

    Attributes
    ----------
    kind : "boundary", "wormhole" or "same-loop"
    distances, threshold : D and K
    rows : the vertices that rows belong to, or None
    sound : whether ways out inside boundary edges are allowed for
    rtol : the tolerance of `mask`
    metric_bound : c, the number that straight lines count with
    in_space : whether distances are said to be those of the metric of space
    closed : whether the part has no boundary
    assumes : what the proof takes for granted of the whole
    unproved : the reason why nothing is proved, or None
    """

    kind: Kind
    distances: Any
    threshold: Any
    rows: Int[np.ndarray, "r"] | None
    sound: bool
    rtol: float
    metric_bound: float = 1.0
    in_space: bool = True
    closed: bool = False
    assumes: str = "the whole is a manifold and the part consists of some of its faces"
    unproved: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.threshold, np.ndarray):
            self.threshold.setflags(write=False)

    def __repr__(self) -> str:
        shape = "×".join(map(str, self.threshold.shape))
        return f"Criterion({self.kind}, {shape}, {100 * self.fraction:.1f} % guaranteed, sound={self.sound})"

    @cached_property
    def mask(self) -> Bool[np.ndarray, "r n"]:
        """D ≤ K (1 + rtol): True for guaranteed pairs and on the diagonal, False where D is infinite."""
        mask = np.empty(self.threshold.shape, bool)
        for block, D, K in self._blocks():
            with np.errstate(over="ignore"):  # beyond the largest float, K is above every finite D
                raised = K * K.dtype.type(1 + self.rtol)
            mask[block] = np.isfinite(D) & (raised >= D)
        mask[self._diagonal] = True
        mask.setflags(write=False)
        return mask

    @cached_property
    def soft_mask(self) -> Float[np.ndarray, "r n"]:
        """min(K / D, 1): 1 where D ≤ K and on the diagonal, less the farther D is above K, 0 where D is infinite."""
        soft = np.empty(self.threshold.shape, self.threshold.dtype)
        for block, D, K in self._blocks():
            # K / D is undefined only where both are 0 or both are infinite; these are set below
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                soft[block] = np.minimum(K / D, 1)
            soft[block][D == 0] = 1
            soft[block][np.isinf(D)] = 0
        soft[self._diagonal] = 1
        soft.setflags(write=False)
        return soft

    @cached_property
    def n_guaranteed(self) -> int:
        """Number of guaranteed pairs (i, j), i ≠ j; with all pairs, (j, i) counts as well."""
        return int(np.count_nonzero(self.mask)) - len(self.threshold)

    @cached_property
    def fraction(self) -> float:
        """Guaranteed pairs among all pairs i ≠ j at a finite distance; NaN if there is no such pair."""
        finite = sum(int(np.count_nonzero(np.isfinite(D))) for _, D, _ in self._blocks())
        pairs = finite - int(np.count_nonzero(np.isfinite(self.distances[self._diagonal])))
        return self.n_guaranteed / pairs if pairs else float("nan")

    def on_host(self) -> Criterion:
        """The same with NumPy arrays, wherever it was computed."""
        return self

    @property
    def rounding(self) -> float:
        """What rounding adds to `rtol`: in D, in K and in their comparison, if D is right to rounding itself."""
        return 2 * ROUNDING[self.threshold.dtype.itemsize]

    @property
    def statement(self) -> str:
        """What is proved, and on which conditions, in words; "not proved" first where the part itself forbids a proof."""
        if self.unproved is not None:
            return f"not proved: {self.unproved}"
        if self.closed:
            return (
                "nothing is missing, the surface has no boundary: every pair at a finite distance is guaranteed, "
                f"provided {self.assumes}"
            )
        kind = "exact and for graph" if self.sound else "graph (Dijkstra)"
        parts = [f"proved for {kind} distances, provided {', and '.join(self._conditions)}"]
        if self.sound:
            parts.append("distances that are too short or too long break it by their error")
        else:
            parts.append("with continuous geodesics a path may leave inside a boundary edge: use sound=True")
        tolerance = f"{self.rtol:g}, and {self.rounding:.1g} more for rounding"
        parts.append(f"a guaranteed pair is consistent to a relative tolerance of {tolerance}")
        return "; ".join(parts)

    @property
    def _conditions(self) -> list[str]:
        conditions = [self.assumes]
        if self.kind == "same-loop":
            conditions.append("the whole is a topological sphere")
        if not self.in_space:
            conditions.append("part and whole have the same metric")
        if self.kind != "boundary" and self.metric_bound != 1:
            conditions.append(f"its smallest eigenvalue over the whole is at least c² = {self.metric_bound**2:.6g}")
        return conditions

    @property
    def _diagonal(self) -> tuple[Int[np.ndarray, "r"], Int[np.ndarray, "r"]]:
        k = np.arange(len(self.threshold))
        return k, k if self.rows is None else self.rows

    def _blocks(self) -> Iterator[tuple[slice, Float[np.ndarray, "_ n"], Float[np.ndarray, "_ n"]]]:
        """Blocks of rows, so that what is computed on the way stays small beside the matrices."""
        height = max(1, _BLOCK_ENTRIES // max(1, self.threshold.shape[1]))
        for start in range(0, len(self.threshold), height):
            block = slice(start, start + height)
            yield block, self.distances[block], self.threshold[block]
