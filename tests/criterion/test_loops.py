from __future__ import annotations

import numpy as np
import pytest

from partwhole.criterion.loops import check_piece_of_sphere, twice_genus
from partwhole.datasets.shapes.primitives import annulus, cylinder, plane, sphere, torus
from partwhole.mesh import Mesh
from partwhole.mesh.topology import separate


def moebius_strip(n: int = 12) -> Mesh:
    turn = np.arange(n) * 2 * np.pi / n
    around = np.stack([np.cos(turn), np.sin(turn), 0 * turn], axis=1)
    across = np.stack([np.cos(turn / 2) * np.cos(turn), np.cos(turn / 2) * np.sin(turn), np.sin(turn / 2)], axis=1)
    faces = []
    for i in range(n):
        j = i + 1
        a, b, c, d = (i, n + i, j, n + j) if j < n else (i, n + i, n, 0)
        faces += [[a, b, c], [b, d, c]]
    return Mesh(np.concatenate([around - 0.3 * across, around + 0.3 * across]), faces, name="strip")


@pytest.mark.parametrize("mesh", [plane(50), annulus(1, 2, 60), sphere(40), cylinder(1, 2, 60)])
def test_spheres_with_holes(mesh: Mesh) -> None:
    assert twice_genus(mesh) == 0
    np.testing.assert_array_equal(np.unique(separate(mesh.vertices, mesh.faces).faces), np.arange(mesh.n_vertices))
    check_piece_of_sphere(mesh)


def test_handles_are_refused() -> None:
    assert twice_genus(torus(1, 0.4, 100)) == 2
    with pytest.raises(ValueError, match="so the whole is not a sphere: use wormhole_criterion"):
        check_piece_of_sphere(torus(1, 0.4, 100))


def test_one_sided_surfaces_are_refused() -> None:
    assert twice_genus(moebius_strip()) == 1
    with pytest.raises(ValueError, match="strip has handles or is one-sided"):
        check_piece_of_sphere(moebius_strip())


def test_edges_with_three_faces_are_refused() -> None:
    book = Mesh([[0, 0, 0], [0, 0, 1], [1, 0, 0], [0, 1, 0], [-1, -1, 0]], [[0, 1, 2], [0, 1, 3], [0, 1, 4]])
    with pytest.raises(ValueError, match=r"1 edges with more than two faces.*pw\.repair"):
        check_piece_of_sphere(book)


def test_vertices_without_faces_are_refused() -> None:
    sheet = plane(30)
    with pytest.raises(ValueError, match=r"2 components.*largest_component\(\)"):
        check_piece_of_sphere(Mesh(np.concatenate([sheet.vertices, [[9, 9, 9]]]), sheet.faces))


def test_pieces_that_touch_are_taken_apart() -> None:
    # four triangles in a ring, each touching the next at one vertex: a circle of discs, still a piece of a sphere
    corners = [[1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0], [1, 1, 0], [-1, 1, 0], [-1, -1, 0], [1, -1, 0]]
    ring = Mesh(corners, [[0, 4, 1], [1, 5, 2], [2, 6, 3], [3, 7, 0]])
    assert not ring.is_manifold
    assert len(np.unique(separate(ring.vertices, ring.faces).faces)) == 12
    check_piece_of_sphere(ring)
