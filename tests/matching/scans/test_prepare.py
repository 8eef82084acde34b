"""Surfaces as they come, made fit for a network."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch

from partwhole.datasets import Pair, cut_plane, sphere
from partwhole.matching.scans.prepare import common_units, prepare_scans, read_scans
from partwhole.matching.scans.surface import prepare_surface
from partwhole.mesh import Mesh


def together(*meshes: Mesh, loose: int = 0) -> Mesh:
    """Several surfaces in one, and vertices that no face uses."""
    starts = np.cumsum([0, *(mesh.n_vertices for mesh in meshes)])
    faces = np.concatenate([mesh.faces + start for mesh, start in zip(meshes, starts, strict=False)])
    return Mesh(np.concatenate([*(mesh.vertices for mesh in meshes), np.full((loose, 3), 9.0)]), faces, name="several")


def moved(mesh: Mesh, by: float, size: float = 1.0) -> Mesh:
    return Mesh(mesh.vertices * size + [by, 0, 0], mesh.faces)


def test_what_is_fit_stays_as_it_is() -> None:
    ball = sphere(300)
    found = prepare_surface(ball, "whole", most_vertices=300)
    assert found.mesh is ball
    assert found.covered.all()
    assert not found.decimated
    assert found.notes == found.warnings == ()
    assert repr(found) == "PreparedSurface('sphere': 300 of 300 vertices)"


def test_specks_and_loose_vertices_are_left_out() -> None:
    mesh = together(sphere(300), moved(sphere(300), 5), moved(sphere(50), 9, 0.01), loose=2)
    found = prepare_surface(mesh, "part", most_vertices=2000)
    assert found.mesh.n_components == 2
    assert (~found.covered).sum() == 52
    assert np.array_equal(found.mesh.vertices, mesh.vertices[found.to_given])
    assert found.notes[:2] == (
        "2 vertices of the part without faces left out",
        "1 piece of the part left out, 0.0047 % of its area",
    )
    assert found.warnings == ()


def test_a_whole_is_one_piece() -> None:
    found = prepare_surface(together(sphere(300), moved(sphere(200), 5)), "whole", most_vertices=2000)
    assert found.mesh.n_components == 1
    assert found.mesh.n_vertices == 300
    assert found.warnings == (
        "1 piece of the whole left out, 50 % of its area: a whole is one piece, and the largest is taken",
    )


def test_many_small_pieces_leave_the_largest() -> None:
    found = prepare_surface(together(*(moved(sphere(12), 5 * k) for k in range(10))), "part", most_vertices=500)
    assert found.mesh.n_components == 1


def test_large_surfaces_are_decimated() -> None:
    fine = sphere(3000)
    found = prepare_surface(fine, "whole", most_vertices=1000)
    assert found.decimated
    assert found.mesh.n_vertices == 1000
    assert np.array_equal(found.mesh.vertices, fine.vertices[found.to_given])
    assert found.notes == ("the whole is matched with 1000 of its 3000 vertices",)
    assert not prepare_surface(fine, "whole", most_vertices=2500).decimated, "a few vertices less are not worth it"
    # however small its area, a part keeps its shape
    assert prepare_surface(fine, "part", most_vertices=10).mesh.n_vertices == 400


def test_what_can_not_be_decimated_is_refused() -> None:
    # triangles that have one vertex in common, and nothing else
    turn = np.linspace(0, 2 * np.pi, 14_000, endpoint=False)
    points = np.concatenate([[[0, 0, 0]], np.stack([np.cos(turn), np.sin(turn), np.sin(5 * turn)], axis=1)])
    rim = np.arange(1, 14_001).reshape(-1, 2)
    fans = Mesh(points, np.concatenate([np.zeros((7000, 1), np.int64), rim], axis=1), name="fans")
    with pytest.raises(
        ValueError, match=r"^fans: its 14001 vertices can't be made fewer than 14001, which are too many"
    ):
        prepare_surface(fans, "part", most_vertices=1000)


def test_faces_come_to_look_outwards() -> None:
    ball = sphere(300)
    inwards = Mesh(ball.vertices, ball.faces[:, ::-1])
    found = prepare_surface(inwards, "whole", most_vertices=300)
    assert (np.einsum("ij,ij->i", found.mesh.face_normals, found.mesh.vertices[found.mesh.faces[:, 0]]) > 0).all()
    assert found.notes == (f"{ball.n_faces} faces of the whole were flipped, so that all point outwards",)
    assert len(found.warnings) == 1
    assert found.warnings[0].startswith("the whole was inside out; if that is because its coordinates are mirrored")
    # most of a ball, inside out; neighbours agree, and still it can be seen
    most = cut_plane(ball, (0, 0, -0.8), (0, 0, 1)).part
    turned = Mesh(most.vertices, most.faces[:, ::-1])
    assert len(prepare_surface(turned, "part", most_vertices=300).notes) == 1
    mixed = ball.faces.copy()
    mixed[::7] = mixed[::7, ::-1]
    assert prepare_surface(Mesh(ball.vertices, mixed), "part", most_vertices=300).warnings == ()
    assert (
        prepare_surface(Mesh(ball.vertices, mixed), "part", most_vertices=300).mesh.face_normals * ball.face_normals
        > -1e-9
    ).all()


def test_a_patch_has_no_inside() -> None:
    patch = cut_plane(sphere(1000), (0, 0, 0.7), (0, 0, 1)).part
    bowl = Mesh(patch.vertices, patch.faces[:, ::-1])
    assert prepare_surface(bowl, "part", most_vertices=1000).notes == ()


def test_no_area() -> None:
    line = Mesh([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]], name="line")
    with pytest.raises(ValueError, match="line: all its faces have area 0; a surface is needed"):
        prepare_surface(line, "part", most_vertices=100)


def test_pairs_and_scans_have_the_same_units() -> None:
    """`Pair.of` and `match` bring surfaces into common units alike, bit by bit, and doing it twice changes nothing."""
    cut = cut_plane(sphere(300, radius=17.3), (0, 0, 3.0), (0.3, 0.2, 1))
    part, whole = (Mesh(mesh.vertices + 5.0, mesh.faces) for mesh in (cut.part, cut.whole))
    pair = Pair.of(part, whole)
    for meshes in (common_units(part, whole), common_units(pair.part, pair.whole)):
        for one, other in zip(meshes, (pair.part, pair.whole), strict=True):
            np.testing.assert_array_equal(one.vertices, other.vertices)


def test_meshes_of_other_libraries_are_read_like_files() -> None:
    ball = sphere(100)
    # as the vertices of a mesh that is optimised
    tensors = torch.tensor(ball.vertices, requires_grad=True), torch.tensor(ball.faces)
    scans = read_scans(SimpleNamespace(vertices=ball.vertices, triangles=ball.faces), tensors)
    assert scans.part.content_hash == scans.whole.content_hash == ball.content_hash
    assert (scans.part.name, scans.whole.name, scans.notes) == ("part", "whole", ())


def test_what_is_wrong_with_them_is_repaired_or_told() -> None:
    ball = sphere(100)
    twice = (ball.vertices, np.concatenate([ball.faces, ball.faces[:1]]))
    scans = read_scans(twice, ball)
    assert scans.part.n_faces == ball.n_faces
    assert scans.notes[0].startswith("the part could not be used as it is (part: face 196 occurs twice: ")
    assert scans.notes[1] == (
        "part, repaired: 1 duplicate face dropped; vertices are numbered as after the repair, not as given"
    )
    assert read_scans(twice, ball, repair=True).notes == scans.notes[1:]
    with pytest.raises(ValueError, match="part: face 196 occurs twice"):
        read_scans(twice, ball, repair=False)
    # that it has no usable face says less than what is wrong with the first one
    with pytest.raises(ValueError, match="whole: face 0 uses a vertex twice"):
        read_scans(ball, (ball.vertices, [[0, 0, 1]]))
    with pytest.raises(ValueError, match="whole has no usable face"):
        read_scans(ball, (ball.vertices, [[0, 0, 1]]), repair=True)


def test_points_without_faces_are_triangulated() -> None:
    ball = sphere(200)
    for given in (ball.vertices, SimpleNamespace(points=ball.vertices)):
        scans = read_scans(given, ball)
        assert np.array_equal(scans.part.vertices, ball.vertices)
        assert scans.part.is_closed
        assert scans.notes[0].startswith("the part is a point cloud, and was triangulated")
    with pytest.raises(ValueError, match=r"whole: points must have shape \(n, 3\), got \(200, 2\)"):
        read_scans(ball, ball.vertices[:, :2])


def test_a_part_may_come_out_a_little_larger_than_its_whole() -> None:
    ball = sphere(300)
    prepare_scans(read_scans(ball.scaled(1.4**0.5), ball), units="same")
    with pytest.raises(ValueError, match=r"has 1.6 times the area .* a part isn't larger than its whole"):
        prepare_scans(read_scans(ball.scaled(1.6**0.5), ball), units="same")


def test_where_units_are_guessed_a_small_part_keeps_vertices() -> None:
    """It may turn out to be larger: three tenths of those of the whole are kept, as for a part with that area."""
    whole = sphere(3000)
    cap = cut_plane(sphere(12_000), (0, 0, 0.7), (0, 0, 1)).part
    assert 0.13 < cap.area / whole.area < 0.16
    given, guessed = (prepare_scans(read_scans(cap.scaled(1000.0), whole), units=units) for units in ("mm:m", "auto"))
    assert given.scaling.factors == guessed.scaling.factors == (0.001,)
    assert given.part.mesh.n_vertices < 500
    assert 850 < guessed.part.mesh.n_vertices < 950
