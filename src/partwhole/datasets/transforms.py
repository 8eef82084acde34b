"""Other versions of pairs: with fewer vertices, to train faster, with parts in random orientations, or in other units."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from partwhole.datasets.pairs import GroundTruth, Pair, given_pairs
from partwhole.mesh import Mesh, decimate
from partwhole.mesh.decimation import Decimation
from partwhole.store.arguments import Progress, check_whole_number

# small parts keep as many vertices as frequencies are usually asked of them
_FEWEST = 300


def with_fewer_vertices(pairs: Iterable[Pair], n_vertices: int, *, progress: Progress | None = None) -> list[Pair]:
    """The same pairs with wholes of at most `n_vertices` vertices, and parts that are as coarse as their wholes.

    Boundaries keep their shape. Vertices are a subset of those given, so the ground truth of those left is still known: it is
    rounded to the nearest vertex left of the whole. Train on such pairs, and measure errors on the given ones.

    Parameters
    ----------
    pairs : to simplify
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
    check_whole_number("n_vertices", n_vertices)
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


def with_parts_turned(pairs: Iterable[Pair], *, seed: int = 0) -> list[Pair]:
    """The same pairs with each part rotated at random, uniformly over all rotations, about its own middle.

    The middle, the mean of its vertices, moves to the origin, since the position of a part is arbitrary, too. Wholes stay as
    they are. A part that occurs in several pairs is rotated alike in all of them.

    Examples
    --------
    >>> from partwhole.datasets import random_cuts, sphere
    >>> pair = Pair.of_cut(random_cuts(sphere(300), seed=0))
    >>> turned = with_parts_turned([pair])[0]
    >>> bool(np.allclose(turned.part.edge_lengths, pair.part.edge_lengths)), turned.whole is pair.whole
    (True, True)
    """
    turned: dict[str, Mesh] = {}
    found = []
    for pair in given_pairs(pairs):
        part, key = pair.part, pair.part.content_hash
        if key not in turned:
            R = random_rotation(np.random.default_rng((seed, len(turned))))
            turned[key] = Mesh((part.vertices - part.vertices.mean(axis=0)) @ R.T, part.faces, name=part.name)
        found.append(replace(pair, part=turned[key]))
    return found


def with_own_areas(pairs: Iterable[Pair]) -> list[Pair]:
    """The same pairs with each part scaled to the area of its whole, as if every file were brought to one area by itself.

    What a file's own units say about the size of a part against its whole is so lost.

    Examples
    --------
    >>> from partwhole.datasets import random_cuts, sphere
    >>> pair = with_own_areas([Pair.of_cut(random_cuts(sphere(300), seed=0))])[0]
    >>> bool(np.isclose(pair.part.area, pair.whole.area))
    True
    """
    return [
        replace(pair, part=pair.part.scaled((pair.whole.area / pair.part.area) ** 0.5)) for pair in given_pairs(pairs)
    ]


def random_rotation(generator: np.random.Generator) -> np.ndarray:
    """A rotation drawn uniformly: that of a random unit quaternion."""
    w, x, y, z = (q := generator.normal(size=4)) / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
