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


@dataclass(frozen=True, eq=False, repr=False)
class Criterion:
    """Which pairs of vertices are guaranteed to be as far apart on the whole as they are on the part.

    Row k belongs to vertex `rows[k]`, or to vertex k if `rows` is None; columns are all vertices. Arrays are NumPy's, or
    torch tensors if the criterion was computed with device="cuda".
    """

    kind: Kind
    distances: Any
    threshold: Any
    rows: Int[np.ndarray, "r"] | None
    sound: bool
    rtol: float
    metric_bound: float = 1.0
    closed: bool = False

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
    def statement(self) -> str:
        """What is proved, and on which condition, in words."""
        if self.closed:
            return "the surface has no boundary: every pair is guaranteed"
        if self.sound:
            parts = [
                "proved for exact distances: boundary edges are allowed for",
                "approximate distances that can fall below the truth break it by their error",
            ]
        else:
            parts = [
                "proved for graph (Dijkstra) distances",
                "with continuous geodesics a path may leave inside a boundary edge: use sound=True",
            ]
        if self.kind == "same-loop":
            parts.append("provided the whole is a topological sphere")
        if self.metric_bound != 1:
            parts.append(
                f"provided the metric's smallest eigenvalue over the whole is at least c² = {self.metric_bound**2:.6g}"
            )
        parts.append(f"a guaranteed pair is consistent to a relative tolerance of {self.rtol:g}")
        return "; ".join(parts)

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
