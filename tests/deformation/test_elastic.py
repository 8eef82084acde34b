"""The energy: rigid motions cost nothing, and its minimum solves its equations."""

from __future__ import annotations

import numpy as np

from partwhole.datasets import sphere
from partwhole.deformation.register import LEAST_WEIGHT, ElasticSurface, factorised, iterated
from partwhole.mesh import Mesh
from partwhole.store.compute import nearest_rotation


def test_the_laplacian_is_that_of_cotangents() -> None:
    # two right triangles: the weight of a leg is ½ cot 45° = ½, of the common hypotenuse 0, which is lifted
    square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    L = ElasticSurface(square).laplacian.toarray()
    assert np.allclose(L[0], [1 + LEAST_WEIGHT, -0.5, -LEAST_WEIGHT, -0.5])


def test_rotations_are_found_from_any_start() -> None:
    ball = sphere(100)
    rng = np.random.default_rng(0)
    turn = nearest_rotation(rng.normal(size=(1, 3, 3)))[0]
    start = nearest_rotation(rng.normal(size=(100, 3, 3)))
    elastic = ElasticSurface(ball)
    found = start
    for _ in range(5):
        found = elastic.rotations(ball.vertices @ turn.T, found)
    assert np.allclose(found, turn, atol=1e-5)


def test_wanted_rotations_are_taken_where_they_are_pulled() -> None:
    ball = sphere(100)
    identity, turn = np.tile(np.eye(3), (100, 1, 1)), np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
    pull = np.where(np.arange(100) < 50, 1e3, 0.0)
    found = ElasticSurface(ball).rotations(ball.vertices, identity, np.tile(turn, (100, 1, 1)), pull)
    for _ in range(5):
        found = ElasticSurface(ball).rotations(ball.vertices, found, np.tile(turn, (100, 1, 1)), pull)
    assert np.allclose(found[:50], turn, atol=1e-2)
    assert np.allclose(found[50:], np.eye(3))


def test_with_bend_neighbours_turn_alike() -> None:
    ball = sphere(200)
    rough = ball.vertices + 0.05 * np.random.default_rng(0).normal(size=ball.vertices.shape)
    spread = []
    for bend in (0.0, 1.0):
        elastic = ElasticSurface(ball, bend=bend)
        found = np.tile(np.eye(3), (200, 1, 1))
        for _ in range(5):
            found = elastic.rotations(rough, found)
        i, j = ball.edges.T
        spread.append(np.abs(found[i] - found[j]).mean())
    assert spread[1] < 0.3 * spread[0]


def test_a_factorised_matrix_solves() -> None:
    ball = sphere(50)
    from scipy import sparse

    matrix = ElasticSurface(ball).laplacian + sparse.diags_array(ball.vertex_areas)
    found = factorised(matrix)(ball.vertices)
    assert np.allclose(matrix @ found, ball.vertices)
    assert np.allclose(iterated(sparse.csr_array(matrix), ball.vertices, np.zeros_like(found)), found, atol=1e-5)
