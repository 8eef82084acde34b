"""Pairs whose parts lie any way up: how much of a method's success is the way that shapes happen to stand?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from partwhole.datasets.pairs import Pair, given_pairs
from partwhole.mesh import Mesh


def with_parts_turned(pairs: Iterable[Pair], *, seed: int = 0) -> list[Pair]:
    """The same pairs with each part turned by a random rotation, all of them equally probable, about its own middle.

    The middle, the mean of its vertices, comes to lie at the origin: the place of a part means nothing either. Wholes stay as
    they are. A part that occurs in several pairs is turned in the same way in all of them.

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


def random_rotation(generator: np.random.Generator) -> np.ndarray:
    """A rotation, all of them equally probable: that of a random unit quaternion."""
    w, x, y, z = (q := generator.normal(size=4)) / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
