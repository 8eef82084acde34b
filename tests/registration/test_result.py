"""A fit on disk and on the page: nothing is lost, and the page shows the template as it was fitted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import partwhole as pw
from partwhole.datasets import cut_plane, sphere
from partwhole.matching import MatchResult
from partwhole.matching.result import CoarseMatch, Fit
from partwhole.matching.scans.prepare import Scaling
from partwhole.mesh.barycentric import BarycentricMap
from partwhole.registration import FittedTemplate
from partwhole.saved import Tree
from partwhole.viewer.notebook import scene_of


@pytest.fixture(scope="module")
def fitted() -> FittedTemplate:
    """A template that was fitted to half of itself, at twice the size."""
    cut = cut_plane(sphere(80), (0, 0, 0), (0, 0, 1))
    p, n = cut.part.n_vertices, cut.whole.n_vertices
    sure = np.linspace(0, 1, p)
    match = MatchResult(
        part=cut.part.scaled(2.0),
        whole=cut.whole,
        vertex_map=cut.vertex_map,
        confidence=sure,
        matched=np.ones(p, bool),
        functional_map=np.eye(3, dtype=np.float32),
        vertex_map_before=None,
        losses=(),
        fit=Fit(0.5, "wormhole", 0.01, 1.0, 0.9, 0.0, None, None),
        regions=(),
        scaling=Scaling((0.5,), "given"),
        factor=0.5,
        up=None,
        yaw=None,
        coarse=CoarseMatch(cut.part, cut.whole, cut.vertex_map, sure),
        read_out="lateration",
        model="small",
        notes=(),
        warnings=(),
        seconds={},
    )
    return FittedTemplate(
        mesh=cut.whole.scaled(2.0),
        source=np.where(np.isin(np.arange(n), cut.vertex_map), 0, 2),
        distance=np.linspace(0, 1, n),
        confidence=np.linspace(1, 0, n),
        expected_error=np.full(n, 0.1),
        barycentric=BarycentricMap.at_vertices(cut.vertex_map),
        match=match,
        flipped=np.empty(0, np.int64),
        intersections=np.empty((0, 2), np.int64),
        warnings=("half of it was not seen",),
        notes=("one",),
        seconds={"bending": 0.5},
    )


def test_nothing_is_lost(fitted: FittedTemplate, tmp_path: Path) -> None:
    files = fitted.save(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(files)
    again = pw.load(tmp_path)
    assert isinstance(again, FittedTemplate)
    one, other = Tree(), Tree()
    assert one.packed(fitted) == other.packed(again)
    assert list(one.arrays) == list(other.arrays)
    assert all(one.arrays[name].tobytes() == other.arrays[name].tobytes() for name in one.arrays)
    assert again.mesh.name == fitted.mesh.name


def test_a_fit_is_saved_in_a_folder(fitted: FittedTemplate, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="file is a file; a result is saved in a folder"):
        fitted.save(tmp_path / "file")


def test_the_page_shows_it(fitted: FittedTemplate) -> None:
    scene = scene_of(fitted)
    assert scene.whole is not None
    assert (scene.part.full, scene.whole.full) == (fitted.match.part, fitted.match.whole)
    assert scene.fit is fitted
    assert scene.warnings == ("half of it was not seen",)
    assert "<iframe" in fitted._repr_html_()
