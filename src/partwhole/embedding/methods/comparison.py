"""Every method of the paper's Swiss-roll figures on the same data, with one interface and the same error measures."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from partwhole.embedding.methods.baselines import METHODS, named
from partwhole.embedding.methods.quality import map_stress, procrustes_error
from partwhole.embedding.methods.task import EmbeddingMethod, EmbeddingTask, check_connected
from partwhole.store.arguments import Progress

__all__ = [
    "METHODS",
    "EmbeddingMethod",
    "EmbeddingTask",
    "Outcome",
    "Quality",
    "compare",
    "judge",
    "named",
    "run_method",
]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a method made of a task.

    Attributes
    ----------
    method : which one
    embedding : (n, k) places; None if it failed
    seconds : wall time; distances along the surface are included where the method uses them
    error : why there is no map, in one line; None if there is one
    skipped : whether that is because a library isn't installed
    notes : what the method warned of
    """

    method: EmbeddingMethod
    embedding: Float[np.ndarray, "n k"] | None
    seconds: float
    error: str | None = None
    skipped: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Quality:
    """How good a map is.

    Attributes
    ----------
    similarity, affine : `procrustes_error` against the true coordinates, with each kind of fit
    stress : `map_stress` against all measured distances
    guaranteed_stress : against those that the wormhole criterion guarantees
    """

    similarity: float
    affine: float
    stress: float
    guaranteed_stress: float


def run_method(method: EmbeddingMethod, task: EmbeddingTask) -> Outcome:
    """The map of one method; a failure is part of the outcome, not an exception."""
    measuring, start = 0.0, time.perf_counter()
    embedding, error, skipped = None, None, False
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if method.geodesic:
                measuring = task.seconds
                check_connected(task)
            start = time.perf_counter()
            embedding = np.asarray(method.make(task), dtype=np.float64)
        except ImportError as missing:
            error, skipped = _line(missing), True
        except ValueError as refusal:
            error = _line(refusal)
        except Exception as failure:  # whatever a method does, the others go on
            error = f"{type(failure).__name__}: {_line(failure)}"
    seconds = measuring + time.perf_counter() - start
    if embedding is not None and not np.isfinite(embedding).all():
        embedding, error = None, "the map has places that are NaN or infinite"
    notes = tuple(dict.fromkeys(_line(warning.message) for warning in caught))
    return Outcome(method, embedding, seconds, error, skipped, notes)


def compare(
    task: EmbeddingTask,
    methods: Iterable[EmbeddingMethod] | None = None,
    *,
    progress: Progress | None = None,
) -> tuple[Outcome, ...]:
    """The maps of several methods, in their order; all of `METHODS` unless given.

    Parameters
    ----------
    task : the points, and what is known of them
    methods : to compare
    progress : called with ("embedding", methods done, methods in all)

    Examples
    --------
    >>> from partwhole.datasets import swiss_roll
    >>> roll = swiss_roll(600, variant="hole", width=20.0, seed=1)
    >>> task = EmbeddingTask(roll.points, n_neighbors=10)
    >>> for outcome in compare(task, [named("isomap"), named("whcie")]):
    ...     print(outcome.method.label, judge(outcome.embedding, roll.flat, task).similarity < 0.1)
    Isomap False
    WHCIE True
    """
    chosen = METHODS if methods is None else tuple(methods)
    outcomes = []
    for done, method in enumerate(chosen):
        if progress is not None:
            progress("embedding", done, len(chosen))
        outcomes.append(run_method(method, task))
    if progress is not None:
        progress("embedding", len(chosen), len(chosen))
    return tuple(outcomes)


def judge(embedding: Float[np.ndarray, "n k"], truth: Float[np.ndarray, "n d"], task: EmbeddingTask) -> Quality:
    """All numbers about one map of a task whose true coordinates are known."""
    return Quality(
        similarity=procrustes_error(embedding, truth),
        affine=procrustes_error(embedding, truth, fit="affine"),
        stress=map_stress(embedding, task.distances),
        guaranteed_stress=map_stress(embedding, task.distances, mask=task.guaranteed),
    )


def _line(message: object) -> str:
    return " ".join(str(message).split())
