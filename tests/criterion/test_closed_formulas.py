"""Surfaces whose distances, and so whose thresholds, are known."""

from __future__ import annotations

import numpy as np
import pytest

from partwhole.criterion import boundary_criterion, same_loop_criterion, wormhole_criterion
from partwhole.datasets.shapes.primitives import annulus, sphere, sphere_cap
from partwhole.mesh import Mesh

INNER, OUTER = 1.0, 2.0


def ring_distances(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distances on the flat ring (a segment, or two tangents and an arc), and how far segments are from the centre."""
    x, y = points[:, 0], points[:, 1]
    radius = np.maximum(np.hypot(x, y), INNER)
    line = np.hypot(np.subtract.outer(x, x), np.subtract.outer(y, y))
    turn = np.abs(np.angle(np.exp(1j * np.subtract.outer(np.arctan2(y, x), np.arctan2(y, x)))))
    to_tangent, tangent = np.arccos(INNER / radius), np.sqrt(radius**2 - INNER**2)
    arc = turn - np.add.outer(to_tangent, to_tangent)
    around = np.add.outer(tangent, tangent) + INNER * arc
    with np.errstate(invalid="ignore"):
        passes = np.abs(np.outer(x, y) - np.outer(y, x)) / line
    clear = np.where(arc > 0, passes, INNER + 1)
    return np.where(arc > 0, around, line), np.where(line > 0, clear, INNER + 1)


def test_flat_ring() -> None:
    ring = annulus(INNER, OUTER, 700, jitter=0.5)
    D, clear = ring_distances(ring.vertices)
    radius = np.hypot(*ring.vertices[:, :2].T)
    step = np.linalg.norm(np.diff(ring.vertices[ring.boundary_edges], axis=1), axis=2).max()

    to_boundary = np.minimum(radius - INNER, OUTER - radius)
    exact = np.add.outer(to_boundary, to_boundary)
    K = boundary_criterion(ring, D).threshold
    # the nearest boundary vertex is at most half an edge beside the nearest boundary point
    excess = K - exact
    assert -1e-12 <= excess.min() <= excess.max() <= step

    # no way through the disc is shorter than the straight line, so pairs that see each other are guaranteed; for the
    # others the straight line is a way, except that it has to pass through boundary vertices
    wormhole = wormhole_criterion(ring, D, rtol=1e-9)
    line = np.linalg.norm(ring.vertices[:, None] - ring.vertices[None], axis=2)
    hidden = clear < INNER
    assert wormhole.mask[~hidden].all()
    assert (wormhole.threshold - line).min() >= -1e-12
    assert (wormhole.threshold - line)[hidden].max() <= 2 * step
    assert not wormhole.mask[hidden & (D - line > 2 * step)].any()


@pytest.mark.parametrize("angle", [np.pi / 3, np.pi / 2])
def test_cap_of_a_sphere(angle: float) -> None:
    cap = sphere_cap(500, angle)
    D = np.arccos(np.clip(cap.vertices @ cap.vertices.T, -1, 1))
    np.fill_diagonal(D, 0)
    polar = np.arccos(np.clip(cap.vertices[:, 2], -1, 1))
    pole, boundary = int(polar.argmin()), cap.boundary_vertices
    step = np.linalg.norm(np.diff(cap.vertices[cap.boundary_edges], axis=1), axis=2).max()
    for criterion in (boundary_criterion, wormhole_criterion, same_loop_criterion):
        K = criterion(cap, D).threshold
        # from the pole, the shortest way out and back to j is along j's meridian
        excess = K[pole] - (angle + (angle - polar))
        assert -1e-7 <= excess.min() <= excess.max() <= step
        assert K[pole, pole] == pytest.approx(2 * angle)
    # between boundary vertices the straight line itself
    K = wormhole_criterion(cap, D).threshold[np.ix_(boundary, boundary)]
    chord = np.linalg.norm(cap.vertices[boundary][:, None] - cap.vertices[boundary][None], axis=2)
    np.testing.assert_allclose(K, chord, atol=1e-7)
    assert np.all(boundary_criterion(cap, D).threshold[np.ix_(boundary, boundary)] == 0)


@pytest.mark.parametrize("criterion", [boundary_criterion, wormhole_criterion, same_loop_criterion])
@pytest.mark.parametrize("sound", [False, True])
def test_no_boundary(criterion, sound: bool) -> None:
    ball = sphere(60)
    D = np.arccos(np.clip(ball.vertices @ ball.vertices.T, -1, 1))
    result = criterion(ball, D, sound=sound)
    assert np.isinf(result.threshold).all()
    assert result.mask.all()
    assert np.all(result.soft_mask == 1)
    assert (result.fraction, result.n_guaranteed) == (1.0, 60 * 59)
    assert "no boundary: every pair at a finite distance is guaranteed, provided the whole is" in result.statement


def slot() -> tuple[Mesh, np.ndarray]:
    """A plane with a slot [−1, 1] × [−s, s] missing, its long sides single edges, and exact distances on it."""
    s = 0.05
    points = np.array([[-1, -s], [1, -s], [1, s], [-1, s], [0, 0.5], [0, -0.5], [-3, -3], [3, -3], [3, 3], [-3, 3]])
    faces = [[3, 2, 4], [0, 5, 1], [2, 8, 4], [4, 8, 9], [4, 9, 3], [3, 9, 6], [3, 6, 0], [0, 6, 5], [5, 6, 7]]
    faces += [[5, 7, 1], [1, 7, 8], [1, 8, 2]]
    line = np.linalg.norm(points[:, None] - points[None], axis=2)
    way = np.where(_crosses(points, np.array([1.0, s])), np.inf, line)
    for k in range(len(points)):
        way = np.minimum(way, way[:, [k]] + way[[k], :])
    return Mesh(np.column_stack([points, np.zeros(len(points))]), faces, name="slot"), way


def _crosses(points: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Whether the segment between two points runs through the inside of the box |x| < half."""
    t = np.linspace(0, 1, 4001)[:, None]
    result = np.zeros((len(points), len(points)), bool)
    for i, p in enumerate(points):
        for j, q in enumerate(points):
            result[i, j] = (np.abs(p + t * (q - p)) < half - 1e-9).all(axis=1).any()
    return result


def test_ways_out_inside_an_edge_need_sound() -> None:
    mesh, D = slot()
    assert (len(mesh.boundary_loops), mesh.genus) == (2, 0)
    above, below = 4, 5
    line = np.linalg.norm(mesh.vertices[:, None] - mesh.vertices[None], axis=2)
    assert D[above, below] > 2 * line[above, below]
    for criterion in (wormhole_criterion, same_loop_criterion):
        # the straight line crosses the slot far from its corners: taken at vertices, no way out seems shorter
        assert criterion(mesh, D, sound=False).mask[above, below]
        assert not criterion(mesh, D, sound=True).mask[above, below]
    for criterion in (boundary_criterion, wormhole_criterion, same_loop_criterion):
        sound = criterion(mesh, D, sound=True)
        assert not np.any(sound.mask & (D - line > 1e-9))
