from __future__ import annotations

import numpy as np
import pytest

from partwhole.transfer import transfer_landmarks


def test_landmarks_inside_triangles_come_back(cut, exact):
    rng = np.random.default_rng(0)
    faces, weights = rng.integers(cut.part.n_faces, size=30), rng.dirichlet([2, 2, 2], size=30)
    points = np.einsum("kc,kcd->kd", weights, cut.part.vertices[cut.part.faces[faces]])
    on_whole = transfer_landmarks(points, exact, to="whole")
    np.testing.assert_allclose(on_whole.positions, points, atol=1e-9)
    assert on_whole.covered.all()
    again = transfer_landmarks(on_whole.positions, exact, to="part")
    np.testing.assert_allclose(again.positions, points, atol=1e-9)
    away = np.linalg.norm(cut.part.vertices[again.vertices] - points, axis=1)
    assert away.max() < cut.part.edge_lengths.max()


def test_a_landmark_in_what_is_missing_has_no_place(cut, exact):
    found = transfer_landmarks(np.array([[0.0, 0, -1], [0, 0, 1.5]]), exact)
    assert found.covered.tolist() == [False, True]
    assert np.isnan(found.positions[0]).all()
    np.testing.assert_allclose(found.off_surface, [0, 0.5], atol=0.05)


def test_points_are_finite(exact):
    with pytest.raises(ValueError, match="points must be rows of three finite numbers"):
        transfer_landmarks(np.array([[np.nan, 0, 0]]), exact)
