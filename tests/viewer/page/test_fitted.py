"""What the page is told of a fit: at the vertices that are drawn, in the place of the scan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from partwhole.registration import FittedTemplate
from partwhole.viewer.page.displayed import DisplayedSurface
from partwhole.viewer.page.fitted import FitOnPage
from partwhole.viewer.page.packing import unpack
from partwhole.viewer.page.results import read_scene, scene_of_result, with_result


def on_page(fitted: FittedTemplate) -> FitOnPage:
    match = fitted.match
    return FitOnPage(fitted, DisplayedSurface.of(match.part), DisplayedSurface.of(match.whole))


def test_the_template_at_rest_lies_on_the_scan(fitted: FittedTemplate) -> None:
    rest = on_page(fitted).rest
    assert np.allclose(rest[fitted.match.vertex_map], fitted.match.part.vertices)


def test_every_vertex_says_what_it_rests_on(fitted: FittedTemplate) -> None:
    page = on_page(fitted)
    arrays, said = page.arrays(), page.described()
    assert np.array_equal(arrays["source"], fitted.source)
    assert [source["name"] for source in said["sources"]] == ["seen", "between", "unseen"]
    assert sum(source["share"] for source in said["sources"]) == pytest.approx(1)
    # what is not covered has no place
    assert arrays["nearest"][-1] == -1
    assert np.array_equal(arrays["nearest"][:-1], fitted.match.vertex_map[:-1])
    # three corners for each triangle, once
    assert arrays["turned_over"].shape == (1, 3, 3)
    assert arrays["crossing"].shape == (3, 3, 3)
    assert (said["turned_over"], said["crossing"]) == (1, 2)
    middle = np.asarray(said["centre"])
    assert np.allclose(arrays["turned_over"][0] + middle, fitted.mesh.vertices[fitted.mesh.faces[4]])


def test_fewer_vertices_are_drawn_with_those_of_the_template(fitted: FittedTemplate) -> None:
    scene = scene_of_result(fitted).simplified(200)
    assert scene.whole is not None
    meta, arrays = unpack(scene.to_bytes())
    shown = scene.whole.mesh.n_vertices
    assert meta["fit"]["shown"] == shown <= 200
    for name, rows in (("vertices", 3), ("rest", 3), ("source", 1), ("distance", 1), ("expected_error", 1)):
        assert len(arrays[f"fit_{name}"]) == rows * shown
    assert arrays["fit_nearest"].max() < shown
    assert np.array_equal(arrays["fit_faces"], arrays["whole_faces"])
    # bad triangles are shown all the same
    assert len(arrays["fit_crossing"]) == 27


def test_a_folder_of_a_fit_is_opened(fitted: FittedTemplate, tmp_path: Path) -> None:
    fitted.save(tmp_path)
    scene = read_scene([tmp_path])
    assert scene.title == "ball, fitted to scan"
    assert scene.to_bytes() == scene_of_result(fitted).to_bytes()
    assert "a note of the fit" in scene.map_notes
    # with another map it is another scene
    assert with_result(scene, fitted.match).fit is None


def test_a_fit_needs_its_template(fitted: FittedTemplate) -> None:
    scene = scene_of_result(fitted)
    with pytest.raises(ValueError, match="a fit needs the whole, which is the template that was fitted"):
        replace(scene, whole=None, vertex_map=None)
