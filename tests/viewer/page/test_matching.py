from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from partwhole.datasets.cutting.cuts import Cut
from partwhole.matching import session
from partwhole.matching.network import weights as box
from partwhole.matching.result import LandmarkResult
from partwhole.mesh import LandmarkPair
from partwhole.registration import FittedTemplate
from partwhole.viewer.page.matching import NoModel, matched
from partwhole.viewer.page.results import scene_of_result
from partwhole.viewer.page.scene import DoubtfulPlace, Scene


@pytest.fixture
def bare(scene: Scene) -> Scene:
    return replace(scene, vertex_map=None, vertex_map_before=None, confidence=None, doubtful=None, notes=("read",))


def test_what_a_match_knows_goes_into_the_scene(bare: Scene, cut: Cut, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []

    def match(
        part: object, whole: object, *, model: object, landmarks: object, progress: Callable[[str, int, int], None]
    ) -> SimpleNamespace:
        asked.extend([part, whole, model, landmarks])
        progress("operators", 2, 6)
        progress("every vertex", 6, 6)
        return SimpleNamespace(
            vertex_map=cut.vertex_map,
            confidence=np.full(len(cut.vertex_map), 0.5),
            doubtful=np.ones(len(cut.vertex_map), bool),
            vertex_map_before=None,
            factor=0.001,
            regions=(SimpleNamespace(vertex=4, area_share=0.2, confidence=0.1, vertices=9),),
            warnings=("perhaps the wrong way round",),
            notes=("assumed millimetres",),
            landmarks=(LandmarkResult(3, 4, "nose", 0.1),),
        )

    monkeypatch.setattr(session, "match", match)
    told: list[str] = []
    given = (LandmarkPair(3, 4, "nose"),)
    found = matched(replace(bare, landmarks=given), model="mine", tell=told.append)
    assert asked == [cut.part, cut.whole, "mine", given]
    assert found.landmarks == (LandmarkResult(3, 4, "nose", 0.1),)
    assert told == ["matching, step 3 of 6: operators", "matching, step 6 of 6: every vertex"]
    np.testing.assert_array_equal(found.vertex_map, cut.vertex_map)
    assert found.factor == 0.001
    assert found.doubtful_places == (DoubtfulPlace(4, 0.2, 0.1),)
    assert found.warnings == ("perhaps the wrong way round",)
    assert (found.notes, found.map_notes) == (("read",), ("assumed millimetres",))


def test_a_fit_belongs_to_its_map(fitted: FittedTemplate, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "match", lambda *args, **options: fitted.match)
    found = matched(scene_of_result(fitted))
    assert found.fit is None
    assert any("the fit that was shown belongs to the map before" in text for text in found.map_notes)


def test_without_a_model_it_is_said(bare: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(box, "model_names", tuple)
    with pytest.raises(NoModel, match="comes without a trained model"):
        matched(bare)


def test_without_a_whole_it_is_said(bare: Scene) -> None:
    with pytest.raises(ValueError, match="no whole to match to"):
        matched(replace(bare, whole=None))


def test_without_torch_it_is_said(bare: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "torch", raising=False)

    class NoTorch:
        @staticmethod
        def find_spec(name: str, path: object = None, target: object = None) -> None:
            if name == "torch":
                raise ModuleNotFoundError("No module named 'torch'", name="torch")

    monkeypatch.setattr(sys, "meta_path", [NoTorch, *sys.meta_path])
    with pytest.raises(NoModel, match="matching needs torch"):
        matched(bare)


def test_other_faults_of_importing_are_not_hidden(bare: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "partwhole.matching.pipeline", None)
    with pytest.raises(ModuleNotFoundError):
        matched(bare)
