"""Parts with holes, and their distances, for the tests of the criteria."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse import csgraph

from partwhole.datasets.shapes.primitives import sphere
from partwhole.mesh import Mesh


@dataclass(frozen=True, eq=False)
class Torn:
    """A part, the whole it came from, and the graph distances of both between the vertices of the part."""

    part: Mesh
    whole: Mesh
    D_part: np.ndarray
    D_whole: np.ndarray


def _graph_distances(mesh: Mesh) -> np.ndarray:
    n = mesh.n_vertices
    graph = sparse.csr_matrix((mesh.edge_lengths, (mesh.edges[:, 0], mesh.edges[:, 1])), shape=(n, n))
    return csgraph.dijkstra(graph, directed=False)


def _tear(whole: Mesh, keep: np.ndarray) -> Torn:
    cut, to_whole = whole.submesh(keep)
    part, to_cut = cut.largest_component()
    chosen = to_whole[to_cut]
    return Torn(part, whole, _graph_distances(part), _graph_distances(whole)[np.ix_(chosen, chosen)])


@pytest.fixture(scope="session")
def graph_distances() -> Callable[[Mesh], np.ndarray]:
    return _graph_distances


@pytest.fixture(scope="session")
def tear() -> Callable[[Mesh, np.ndarray], Torn]:
    """tear(whole, keep): the largest component of what is kept."""
    return _tear


@pytest.fixture(scope="session")
def torn_sphere() -> Callable[..., Torn]:
    """torn_sphere(seed, n_vertices=.., n_holes=.., radius=..): an uneven ellipsoid with random discs missing."""

    def make(seed: int, *, n_vertices: int = 160, n_holes: int = 3, radius: float = 0.35) -> Torn:
        rng = np.random.default_rng(seed)
        ball = sphere(n_vertices, jitter=1.0, seed=rng)
        centres = rng.normal(size=(n_holes, 3))
        centres /= np.linalg.norm(centres, axis=1, keepdims=True)
        keep = (np.arccos(np.clip(ball.vertices @ centres.T, -1, 1)) > radius).all(axis=1)
        return _tear(Mesh(ball.vertices * [1.0, 0.8, 1.5], ball.faces), keep)

    return make
