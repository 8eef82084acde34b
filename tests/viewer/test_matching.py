from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from partwhole.datasets.cutting import Cut
from partwhole.matching.matcher import Matcher
from partwhole.viewer.matching import NoModel, match_surfaces


def test_without_torch_it_is_said(cut: Cut, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(NoModel, match="matching needs torch"):
        match_surfaces(cut.part, cut.whole)


def test_a_given_model_is_used(cut: Cut, monkeypatch: pytest.MonkeyPatch) -> None:
    class Model:
        def match(self, part: object, whole: object) -> SimpleNamespace:
            return SimpleNamespace(
                vertex_map=cut.vertex_map.astype(np.int32), confidence=np.ones(cut.part.n_vertices, np.float32)
            )

    read = []

    def load(path: Path) -> Model:
        read.append(path)
        return Model()

    monkeypatch.setattr(Matcher, "load", load)
    told: list[str] = []
    found = match_surfaces(cut.part, cut.whole, model=Path("mine.safetensors"), tell=told.append)
    np.testing.assert_array_equal(found.vertex_map, cut.vertex_map)
    assert found.confidence is not None
    assert read == [Path("mine.safetensors")]
    assert told == ["reading the model", "matching"]
