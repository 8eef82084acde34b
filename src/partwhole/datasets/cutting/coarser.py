"""Pairs with fewer vertices: a network learns the same from them, in a fraction of the time and memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np

from partwhole.datasets.ground_truth import GroundTruth
from partwhole.datasets.pairs import Pair
from partwhole.mesh import Mesh, decimate
from partwhole.mesh.decimation import Decimation

# small parts keep as many vertices as frequencies are usually asked of them
_FEWEST = 300


def with_fewer_vertices(
    pairs: Iterable[Pair], n_vertices: int, *, progress: Callable[[str, int, int], None] | None = None
) -> list[Pair]:
    """The same pairs with wholes of at most so many vertices, and parts that are as coarse as their wholes.

    Borders stay as they are. Vertices are some of those that were there, so the ground truth of those left is still known: it
    is rounded to the nearest vertex left of the whole. Train on such pairs, and measure errors on those that were given.

    Parameters
    ----------
    pairs : as they were given
    n_vertices : of a whole, at most; of a part its share of the area, and not below 300
    progress : called with ("decimation", pairs done, pairs in all)

    Examples
    --------
    >>> from partwhole.datasets import random_cuts, sphere
    >>> fine = Pair.of_cut(random_cuts(sphere(2000), seed=0))
    >>> coarse = with_fewer_vertices([fine], 500)[0]
    >>> coarse.whole.n_vertices, len(coarse.ground_truth) == coarse.part.n_vertices < fine.part.n_vertices
    (500, True)
    """
    if n_vertices < _FEWEST:
        raise ValueError(f"n_vertices={n_vertices} is too few to learn from; leave at least {_FEWEST}")
    known: dict[str, Decimation] = {}

    def coarse(mesh: Mesh, most: int) -> Decimation:
        if mesh.content_hash not in known:
            known[mesh.content_hash] = decimate(mesh, most)
        return known[mesh.content_hash]

    found: list[Pair] = []
    given = list(pairs)
    for pair in given:
        if progress is not None:
            progress("decimation", len(found), len(given))
        whole = coarse(pair.whole, n_vertices)
        part = coarse(pair.part, max(_FEWEST, round(n_vertices * pair.part.area / pair.whole.area)))
        truth = (
            None if pair.ground_truth is None else _left(pair.ground_truth.rounded(pair.whole.vertices), part, whole)
        )
        found.append(replace(pair, part=part.mesh, whole=whole.mesh, ground_truth=truth))
    if progress is not None:
        progress("decimation", len(given), len(given))
    return found


def _left(truth: GroundTruth, part: Decimation, whole: Decimation) -> GroundTruth:
    """The rows whose vertices are still there."""
    number = np.full(len(part.to_coarse), -1)
    number[part.to_fine] = np.arange(len(part.to_fine))
    rows = number[truth.part_vertices]
    there = rows >= 0
    return GroundTruth.at_vertices(rows[there], whole.to_coarse[truth.whole_vertices[there]])
