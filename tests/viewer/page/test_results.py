from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from partwhole.datasets.cutting.cuts import Cut
from partwhole.matching.result import LandmarkResult
from partwhole.viewer.page.results import read_result, read_scene, read_truth


@pytest.fixture
def folder(result_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(result_folder, tmp_path / "copy"))


def test_the_folder_of_a_result(result_folder: Path, cut: Cut) -> None:
    scene = read_scene([result_folder])
    assert scene.title == "scan.ply → ball.off"
    np.testing.assert_array_equal(scene.vertex_map, cut.vertex_map)
    assert scene.confidence is not None
    assert scene.doubtful is not None
    assert scene.vertex_map_before is not None


def test_meshes(result_folder: Path) -> None:
    alone = read_scene([result_folder / "part.ply"])
    assert alone.whole is None
    both = read_scene([result_folder / "part.ply", result_folder / "whole.ply"])
    assert both.vertex_map is None
    assert both.title == "part.ply → whole.ply"
    with pytest.raises(ValueError, match="not 3 paths"):
        read_scene([result_folder / "part.ply"] * 3)


@pytest.mark.parametrize("summary", ["", "{", "[]", '{"part": 3}'])
def test_a_summary_that_says_nothing_is_no_reason_to_stop(folder: Path, summary: str) -> None:
    (folder / "summary.json").write_text(summary)
    assert read_result(folder).title == "part → whole"
    (folder / "summary.json").unlink()
    assert read_result(folder).title == "part → whole"


def test_what_is_wrong_with_a_folder_is_said(folder: Path, cut: Cut) -> None:
    np.savez(folder / "map.npz", confidence=np.ones(3))
    with pytest.raises(ValueError, match="has no vertex_map"):
        read_result(folder)
    np.savez(folder / "map.npz", vertex_map=np.ones((2, 2)))
    with pytest.raises(ValueError, match="should be a row of whole numbers"):
        read_result(folder)
    np.savez(folder / "map.npz", vertex_map=cut.vertex_map, doubtful=np.ones(3))
    with pytest.raises(ValueError, match="should be a row of truth values"):
        read_result(folder)
    np.savez(folder / "map.npz", vertex_map=cut.vertex_map[:4])
    with pytest.raises(ValueError, match=r"map.npz: vertex_map has 4 entries"):
        read_result(folder)
    (folder / "map.npz").unlink()
    with pytest.raises(
        ValueError, match=r"neither map.npz nor result.json; give a folder that `partwhole match` or fit wrote"
    ):
        read_result(folder)


@pytest.fixture
def truth_file(tmp_path: Path, cut: Cut) -> Callable[[str], Path]:
    def write(name: str) -> Path:
        path = tmp_path / name
        if path.suffix == ".vts":
            np.savetxt(path, cut.vertex_map + 1, fmt="%d")
        else:
            np.savez(path, vertex_map=cut.vertex_map)
        return path

    return write


@pytest.mark.parametrize("name", ["truth.vts", "truth.npz"])
def test_the_truth(truth_file: Callable[[str], Path], result_folder: Path, cut: Cut, name: str) -> None:
    scene = read_scene([result_folder], truth=truth_file(name))
    assert scene.errors.max() == 0


def test_the_truth_for_some_vertices(tmp_path: Path) -> None:
    np.savez(tmp_path / "some.npz", part_vertices=[2, 4], whole_vertices=[8, 9])
    assert read_truth(tmp_path / "some.npz", 5).part_vertices.tolist() == [2, 4]


def test_what_is_wrong_with_a_truth_is_said(tmp_path: Path, truth_file: Callable[[str], Path]) -> None:
    with pytest.raises(ValueError, match="file not found: --truth"):
        read_truth(tmp_path / "none.vts", 5)
    with pytest.raises(ValueError, match="the part has 5; do they belong together"):
        read_truth(truth_file("truth.vts"), 5)
    (tmp_path / "truth.txt").write_text("1")
    with pytest.raises(ValueError, match=r"'.txt' is not read here"):
        read_truth(tmp_path / "truth.txt", 5)
    np.savez(tmp_path / "other.npz", x=[1])
    with pytest.raises(ValueError, match="neither vertex_map nor"):
        read_truth(tmp_path / "other.npz", 5)


def test_what_the_summary_says_is_shown(folder: Path, cut: Cut) -> None:
    regions = [{"vertex": 7, "area_share": 0.1, "confidence": 0.3}, {"vertex": 10**6, "area_share": 0, "confidence": 0}]
    summary = {"part": "a.ply", "whole": "b.ply", "warnings": ["w"], "notes": ["n"], "doubtful_regions": regions}
    marks = [{"label": "nose", "part": 3, "whole": place, "before": 0.1, "use": "sure"} for place in (4, 10**6)]
    summary["landmarks"] = marks
    (folder / "summary.json").write_text(json.dumps(summary))
    np.savez(folder / "map.npz", vertex_map=cut.vertex_map, factor=np.float64(0.5))
    scene = read_result(folder)
    assert (scene.title, scene.warnings, scene.map_notes, scene.factor) == ("a.ply → b.ply", ("w",), ("n",), 0.5)
    assert scene.landmarks == (LandmarkResult(3, 4, "nose", 0.1, "sure"),)
    assert [place.vertex for place in scene.doubtful_places] == [7]
    for factor in (np.float64(0), np.ones(2), np.array(3)):
        np.savez(folder / "map.npz", vertex_map=cut.vertex_map, factor=factor)
        with pytest.raises(ValueError, match="factor should be one positive number"):
            read_result(folder)
