from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from partwhole.datasets import GroundTruth, sphere
from partwhole.datasets.cutting.cuts import Cut
from partwhole.matching.parts.result import PartsMatch
from partwhole.mesh import Mesh
from partwhole.store.cache import Cache
from partwhole.viewer.page.displayed import DisplayedSurface
from partwhole.viewer.page.export import report_bytes
from partwhole.viewer.page.packing import unpack
from partwhole.viewer.page.results import scene_of_result
from partwhole.viewer.page.scene import Scene


def test_all_of_a_scene_is_packed(scene: Scene, cut: Cut) -> None:
    meta, arrays = unpack(scene.to_bytes(number=3))
    assert meta["title"] == "scan → ball"
    assert meta["number"] == 3
    assert meta["part"]["vertices"] == cut.part.n_vertices
    assert meta["part"]["loops"] == 2
    assert meta["whole"]["loops"] == 0
    np.testing.assert_array_equal(arrays["map"], cut.vertex_map)
    np.testing.assert_array_equal(arrays["part_faces"].reshape(-1, 3), cut.part.faces)
    centred = arrays["part_vertices"].reshape(-1, 3) + meta["part"]["centre"]
    np.testing.assert_allclose(centred, cut.part.vertices, atol=1e-6)
    assert {"before", "confidence", "doubtful"} <= set(arrays)
    assert "full_map" not in arrays


def test_a_part_may_come_alone(cut: Cut) -> None:
    meta, arrays = unpack(Scene.of(cut.part).to_bytes())
    assert "whole" not in meta
    assert not {"map", "whole_vertices"} & set(arrays)


def test_large_surfaces_are_simplified_and_that_is_said(cut: Cut) -> None:
    scene = Scene.of(cut.part, cut.whole, cut.vertex_map).simplified(300)
    meta, arrays = unpack(scene.to_bytes())
    assert meta["part"]["vertices"] == cut.part.n_vertices
    assert meta["part"]["shown"] == len(arrays["part_numbers"]) <= 300
    assert f"{cut.part.n_vertices} vertices; {meta['part']['shown']} of them are drawn" in meta["notes"][0]
    assert "not proved" in meta["notes"][0]
    assert "not proved" not in meta["notes"][1]
    assert len(meta["notes"]) == 2
    assert "measured on a simplified surface" in meta["part"]["unproved"]
    np.testing.assert_array_equal(arrays["full_map"], cut.vertex_map)
    # a vertex that is drawn goes to the vertex drawn nearest to its match
    matches = arrays["whole_numbers"][arrays["map"]]
    true = cut.vertex_map[arrays["part_numbers"]]
    away = np.linalg.norm(cut.whole.vertices[matches] - cut.whole.vertices[true], axis=1)
    assert away.max() < 0.6


def test_a_part_that_no_manifold_has_proves_nothing(cut: Cut) -> None:
    part = cut.part
    fin = Mesh(
        np.vstack([part.vertices, part.vertices[:1] + 1]),
        np.vstack([part.faces, [*part.faces[0, :2], part.n_vertices]]),
    )
    for shown, unproved in ((fin, True), (part, False)):
        meta, _ = unpack(Scene.of(shown).to_bytes())
        assert (meta["part"]["unproved"] is not None) == unproved


def test_views_of_large_surfaces_are_found_without_drawing_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partwhole.viewer.page.displayed.MOST_LOOKED_AT", 10)
    assert DisplayedSurface.of(sphere(100)).camera.elevation == 12.0


def test_errors_where_the_truth_is_known(scene: Scene, cut: Cut) -> None:
    known = replace(scene, truth=GroundTruth.at_vertices([0, 5], [cut.vertex_map[0], cut.vertex_map[6]]))
    assert known.errors[0] == 0
    assert known.errors[5] > 0
    assert np.isnan(known.errors[1:5]).all()
    with pytest.raises(ValueError, match="errors need a map and the truth"):
        _ = scene.errors


def test_what_does_not_belong_together_is_refused(scene: Scene, cut: Cut) -> None:
    with pytest.raises(ValueError, match="vertex_map needs a whole"):
        Scene.of(cut.part, None, cut.vertex_map)
    with pytest.raises(ValueError, match="refers to vertices 0 to 99999 of the whole"):
        Scene.of(cut.part, cut.whole, np.where(cut.vertex_map == cut.vertex_map[0], 99999, 0))
    with pytest.raises(ValueError, match="vertex_map has 10 entries"):
        Scene.of(cut.part, cut.whole, cut.vertex_map[:10])
    with pytest.raises(ValueError, match="confidence has 3 entries"):
        Scene.of(cut.part, cut.whole, cut.vertex_map, confidence=np.ones(3))
    with pytest.raises(ValueError, match="compared with a map only"):
        replace(Scene.of(cut.part), truth=GroundTruth.of_map([0]))
    with pytest.raises(ValueError, match="vertex 90000 of the whole"):
        replace(scene, truth=GroundTruth.at_vertices([0], [90000]))


def test_the_whole_is_first_seen_where_the_part_is_mapped_to(scene: Scene, cut: Cut) -> None:
    assert scene.whole is not None
    eye = scene.whole_camera.axes[2]
    part_eye = scene.part.camera.axes[2]
    # both are in the same place here, so the best view of the whole is about that of the part
    assert eye @ part_eye > 0.8
    turned = Mesh(cut.whole.vertices * [-1, -1, 1], cut.whole.faces)
    other = Scene.of(cut.part, turned, cut.vertex_map)
    assert other.whole_camera.axes[2] @ (part_eye * [-1, -1, 1]) > 0.8
    assert Scene.of(cut.part, cut.whole).whole_camera == DisplayedSurface.of(cut.whole).camera


def test_the_whole_stands_as_the_part_does(scene: Scene, cut: Cut) -> None:
    x, y, z = cut.whole.vertices.T
    for vertices, axes in ((np.stack([x, z, -y], axis=1), "xzy"), (np.stack([z, x, y], axis=1), "yzx")):
        turned = Scene.of(cut.part, Mesh(vertices, cut.whole.faces), cut.vertex_map)
        assert turned.whole_camera.up == axes["xyz".index(scene.part.camera.up)]


def test_what_was_simplified_is_kept(scene: Scene, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path / "cache")
    first = scene.simplified(350, cache=cache)
    monkeypatch.setattr("partwhole.viewer.page.displayed.decimate", None)  # is not called again
    again = scene.simplified(350, cache=cache)
    assert first.to_bytes() == again.to_bytes()
    assert again.part.is_simplified
    np.testing.assert_array_equal(first.part.to_shown, again.part.to_shown)


def test_a_cache_that_can_not_be_written_does_no_harm(scene: Scene, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    said: list[str] = []
    assert scene.simplified(350, cache=Cache(tmp_path / "file/kept", tell=said.append)).part.is_simplified
    assert len(said) == 1


def test_the_first_look_waits_for_no_compiler(result_folder: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from partwhole.viewer.page.results import read_scene;"
        f"read_scene([Path({str(result_folder)!r})]).to_bytes(); print('numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_two_parts_lie_as_one_does_on_the_other(two_parts: PartsMatch) -> None:
    scene = scene_of_result(two_parts)
    meta, arrays = unpack(scene.to_bytes())
    assert meta["title"] == "upper.ply | lower.ply"
    assert meta["parts"] == {"shares": list(two_parts.shares), "belongs": 0.9}
    assert meta["swapped"] is None
    assert meta["part"]["view"] == meta["whole"]["view"]
    v, w = two_parts.partners.T
    places = [arrays[f"{name}_vertices"].reshape(-1, 3) + meta[name]["centre"] for name in ("part", "whole")]
    np.testing.assert_allclose(places[0][v], places[1][w], atol=1e-5)
    np.testing.assert_array_equal(arrays["part_shared"], two_parts.a_to_b.shared)
    np.testing.assert_array_equal(arrays["whole_overlap"], np.float32(two_parts.b_to_a.overlap))
    assert "full_part_shared" not in arrays
    simpler = unpack(scene.simplified(150).to_bytes())[1]
    np.testing.assert_array_equal(simpler["full_part_shared"], two_parts.a_to_b.shared)
    np.testing.assert_array_equal(simpler["part_shared"], two_parts.a_to_b.shared[simpler["part_numbers"]])
    # two parts don't show what their whole is
    assert "no_same_loop" in unpack(report_bytes(scene))[0]
    assert unpack(report_bytes(scene))[0]["no_same_loop"] is None
    with pytest.raises(ValueError, match="the truth is of a part and its whole"):
        replace(scene, truth=GroundTruth.of_map(two_parts.a_to_b.vertex_map))
