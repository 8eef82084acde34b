"""Points in triangles."""

from __future__ import annotations

import numpy as np

from partwhole.mesh.barycentric import BarycentricMap


def test_values_are_interpolated_as_positions_are() -> None:
    found = BarycentricMap(np.array([[0, 1, 2]]), np.array([[0.5, 0.25, 0.25]]), np.array([True]))
    vertices = np.array([[0.0, 0, 0], [4, 0, 0], [0, 4, 0]])
    assert found.positions(vertices).tolist() == [[1.0, 1.0, 0.0]]
    assert found.interpolate(vertices[:, 0]).tolist() == [1.0]
