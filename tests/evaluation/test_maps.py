"""Coverage and roughness."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.datasets import cut_plane, plane, sphere
from partwhole.evaluation import coverage, roughness
from partwhole.mesh import Mesh

BALL = sphere(300)
CAP = cut_plane(BALL, (0, 0, 0), (0, 0, 1))


def test_coverage_is_the_share_of_area() -> None:
    assert coverage(np.arange(300), BALL) == pytest.approx(1)
    assert coverage(CAP.vertex_map, BALL) == pytest.approx(0.5, abs=0.02)
    assert coverage(np.zeros(7, int), BALL) == pytest.approx(BALL.vertex_areas[0] / BALL.area)
    # how often a vertex is hit, and in which order, does not count
    twice = np.concatenate([CAP.vertex_map[::-1], CAP.vertex_map])
    assert coverage(twice, BALL) == pytest.approx(coverage(CAP.vertex_map, BALL))
    assert coverage(CAP.vertex_map, BALL.scaled(9)) == pytest.approx(coverage(CAP.vertex_map, BALL))


def test_roughness_of_copies_and_tears() -> None:
    assert roughness(CAP.vertex_map, CAP.part, BALL) == pytest.approx(1)
    assert roughness(CAP.vertex_map, CAP.part, BALL.scaled(2)) == pytest.approx(4)
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    turned = Mesh(BALL.vertices @ rotation, BALL.faces)
    assert roughness(CAP.vertex_map, CAP.part, turned) == pytest.approx(1)
    torn = CAP.vertex_map.copy()
    torn[10] = int(np.linalg.norm(BALL.vertices - BALL.vertices[torn[10]], axis=1).argmax())
    rough = roughness(torn, CAP.part, BALL)
    shuffled = roughness(np.random.default_rng(1).permutation(CAP.vertex_map), CAP.part, BALL)
    assert 1.5 < rough < shuffled


def test_roughness_by_hand() -> None:
    # a row of three squares, each one wide: the edges along it are mapped to twice their length
    strip, wide = plane((2, 4), width=3.0, height=1.0), plane((2, 4), width=6.0, height=1.0)
    lengths = strip.edge_lengths**2, wide.edge_lengths**2
    assert roughness(np.arange(8), strip, wide) == pytest.approx(lengths[1].sum() / lengths[0].sum())


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: coverage(np.array([300]), BALL), "there is no vertex 300, sphere has vertices 0 to 299"),
        (lambda: coverage(np.array([-1]), BALL), "there is no vertex -1"),
        (lambda: coverage(np.arange(0), BALL), "vertex_map must be a list"),
        (lambda: coverage(np.array([0]), BALL.scaled(0.0)), "area 0"),
        (lambda: roughness(np.array([0]), CAP.part, BALL), "vertex_map has 1 entries"),
        (lambda: roughness(CAP.vertex_map, CAP.part.scaled(0.0), BALL), "no edge of positive length"),
    ],
)
def test_nonsense_is_refused(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
