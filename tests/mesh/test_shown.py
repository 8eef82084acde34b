"""Surfaces and results open the page; what that does is tested with the viewer."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import partwhole.viewer.notebook
from partwhole.datasets import sphere
from partwhole.mesh import Mesh
from partwhole.mesh.shown import ShownByItself


def test_a_surface_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(
        partwhole.viewer.notebook, "show_result", lambda given, **options: asked.append((given, options))
    )
    ball = sphere(50)
    ball.show(block=False)
    assert asked == [(ball, {"in_browser": None, "block": False})]
    # hundreds of surfaces may be a result of a cell, and are not drawn unless somebody asks for it
    assert not hasattr(Mesh, "_repr_html_")


def test_a_result_is_shown_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partwhole.viewer.notebook, "scene_of", lambda given: given)
    monkeypatch.setattr(partwhole.viewer.notebook, "Frame", lambda scene: SimpleNamespace(html=f"<p>{scene.name}</p>"))

    class Result(ShownByItself):
        name = "mine"

    assert Result()._repr_html_() == "<p>mine</p>"
