from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from partwhole.datasets import sphere
from partwhole.mesh import Mesh
from partwhole.mesh.barycentric import BarycentricMap
from partwhole.mesh.textured import TexturedMesh
from partwhole.transfer import Correspondence, transfer_texture
from partwhole.transfer.atlas import make_atlas


def at_random(mesh: Mesh, count: int = 3000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Faces, weights and points, many of them on edges, where seams would show."""
    rng = np.random.default_rng(1)
    faces, weights = rng.integers(mesh.n_faces, size=count), rng.dirichlet([1, 1, 1], size=count)
    weights[: count // 2, 0] = 0
    weights /= weights.sum(axis=1, keepdims=True)
    return faces, weights, np.einsum("kc,kcd->kd", weights, mesh.vertices[mesh.faces[faces]])


def color_of(points: np.ndarray) -> np.ndarray:
    """The colour of the globe."""
    return 127.5 + 100 * points / np.linalg.norm(points, axis=1, keepdims=True)


def test_a_baked_picture_shows_the_texture_everywhere_without_seams(cut, exact, globe):
    found = transfer_texture(globe, exact, size=256)
    faces, weights, points = at_random(cut.part)
    shown = found.texture.colors(faces, weights)[:, :3]
    # a pixel of the globe is 5 levels wide; at the pole its own picture is torn
    assert np.abs(shown - color_of(points))[points[:, 2] < 0.9].max() < 8
    assert found.covered.all()
    assert found.covered_share == 1


def test_the_scan_may_have_the_texture_and_the_template_receive_it(cut, exact, globe):
    on_part = transfer_texture(globe, exact, size=256)
    back = transfer_texture(TexturedMesh(cut.part, on_part.texture), exact, to="whole", size=256, missing=(1, 2, 3))
    assert cut.area_share * 0.97 < back.covered_share < cut.area_share * 1.2
    faces, weights, points = at_random(cut.whole)
    shown = back.texture.colors(faces, weights)[:, :3]
    inside = (points @ [0.1, 0.2, 1] > -0.1) & (points[:, 2] < 0.9)
    assert np.abs(shown - color_of(points))[inside].max() < 12
    bare = points @ [0.1, 0.2, 1] < -0.7
    np.testing.assert_allclose(shown[bare], np.broadcast_to([1, 2, 3], (int(bare.sum()), 3)), atol=1e-9)
    assert not back.covered.all()


def test_texture_coordinates_of_the_surface_itself_can_be_used(cut, exact, globe):
    first = transfer_texture(globe, exact, size=128)
    again = transfer_texture(globe, exact, size=128, texture=first.texture)
    np.testing.assert_array_equal(again.texture.uv, first.texture.uv)
    np.testing.assert_array_equal(again.texture.images[0], first.texture.images[0])


def test_faces_that_are_not_laid_onto_the_whole_have_the_missing_colour(cut, globe):
    covered = cut.part.vertices[:, 0] < 0.3
    places = BarycentricMap.at_vertices(cut.vertex_map, covered)
    found = transfer_texture(globe, Correspondence(cut.part, cut.whole, places), size=128, missing=(255, 0, 255))
    np.testing.assert_array_equal(found.covered, covered[cut.part.faces].all(axis=1))
    assert found.covered_share == pytest.approx(cut.part.face_areas[found.covered].sum() / cut.part.area, abs=0.02)
    assert "% covered" in repr(found)


def test_charts_of_an_atlas_do_not_overlap_and_keep_their_distance():
    # folded, so that charts would lie on themselves
    ball = sphere(1200)
    fold = 1 + 0.4 * np.sin(9 * ball.vertices[:, 2]) * np.cos(3 * np.arctan2(ball.vertices[:, 1], ball.vertices[:, 0]))
    mesh, size, gap = Mesh(ball.vertices * fold[:, None], ball.faces), 256, 2
    atlas = make_atlas(mesh, size, gap=gap)
    assert 0 <= atlas.uv.min() <= atlas.uv.max() <= 1
    inside = np.einsum("c,mcd->md", [0.4, 0.3, 0.3], atlas.uv[atlas.corners]) * size
    flat = np.concatenate([atlas.uv * size, np.zeros((len(atlas.uv), 1))], axis=1)
    places = BarycentricMap.closest(
        np.concatenate([inside, np.zeros((len(inside), 1))], axis=1), Mesh(flat, atlas.corners)
    )
    assert (np.sort(places.triangles, axis=1) == np.sort(atlas.corners, axis=1)).all()
    for chart in range(0, atlas.charts.max() + 1, 5):
        own = np.unique(atlas.corners[atlas.charts == chart])
        box = flat[own, :2].min(axis=0) - gap + 1, flat[own, :2].max(axis=0) + gap - 1
        others = np.delete(flat[:, :2], own, axis=0)
        assert not ((others > box[0]) & (others < box[1])).all(axis=1).any()


def test_the_scale_is_the_same_all_over_an_atlas(cut):
    atlas = make_atlas(cut.whole, 256, gap=4)
    corners = atlas.uv[atlas.corners]
    a, b = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    density = np.abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) / 2 / cut.whole.face_areas
    assert density.max() / density.min() < 4.5


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"size": 8}, "size=8 must lie between 16 and 8192 pixels"),
        ({"size": 16}, "size=16 is too small for"),
    ],
)
def test_options_are_checked(exact, globe, change, said):
    with pytest.raises(ValueError, match=said):
        transfer_texture(globe, exact, **change)


def test_surfaces_are_checked(cut, exact, globe):
    with pytest.raises(ValueError, match="sphere has no texture"):
        transfer_texture(TexturedMesh(cut.whole), exact)
    with pytest.raises(ValueError, match="give the file that was matched, in the same place and units"):
        transfer_texture(replace(globe, mesh=cut.whole.scaled(2)), exact)
    with pytest.raises(ValueError, match=r"texture has .* faces, sphere .*; do they belong together"):
        transfer_texture(globe, exact, texture=globe.texture)
    outside = replace(globe.texture, uv=globe.texture.uv + 1)
    with pytest.raises(ValueError, match="texture coordinates reach from"):
        transfer_texture(TexturedMesh(cut.part, globe.texture), exact, to="whole", texture=outside)
