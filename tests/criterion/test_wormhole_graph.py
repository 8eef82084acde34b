from __future__ import annotations

import numpy as np
import pytest

from partwhole.criterion.wormhole_graph import shortest_paths, wormhole_graph_distances
from partwhole.datasets.shapes.primitives import plane, sphere
from partwhole.mesh import Mesh


def floyd_warshall(n: int, edges: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    way = np.where(np.eye(n, dtype=bool), 0.0, np.inf)
    for (u, v), length in zip(edges.tolist(), lengths.tolist(), strict=True):
        way[u, v] = way[v, u] = min(way[u, v], length)
    for k in range(n):
        way = np.minimum(way, way[:, [k]] + way[[k], :])
    return way


@pytest.mark.parametrize("seed", range(5))
def test_parallel_edges_loops_and_zero_lengths(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = 20
    edges = rng.integers(0, n, (35, 2))
    lengths = np.maximum(rng.random(35) - 0.3, 0)
    np.testing.assert_allclose(shortest_paths(n, edges, lengths), floyd_warshall(n, edges, lengths), rtol=1e-12)


def test_without_boundary_nothing_is_shorter(graph_distances) -> None:
    ball = sphere(50)
    for kind in ("boundary", "wormhole", "same-loop"):
        np.testing.assert_allclose(wormhole_graph_distances(ball, kind), graph_distances(ball), rtol=1e-12)


def test_wormholes_on_a_folded_sheet() -> None:
    sheet = plane((3, 5), width=2 * np.pi)
    x, y, _ = sheet.vertices.T
    # rolled up until its two ends touch: they're in one place and far apart on the sheet
    rolled = Mesh(np.stack([np.cos(x), np.sin(x), y], axis=1), sheet.faces)
    left, right = np.flatnonzero(x == 0), np.flatnonzero(x == x.max())
    across = wormhole_graph_distances(rolled, "wormhole")
    assert np.diag(across[np.ix_(left, right)]).max() < 1e-12
    assert np.all(wormhole_graph_distances(rolled, "boundary")[np.ix_(left, right)] == 0)
