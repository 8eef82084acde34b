"""Results where they are looked at: a frame in a notebook that needs no server, a page in the browser elsewhere."""

from __future__ import annotations

import html
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from partwhole.mesh import Mesh
from partwhole.viewer.notebook import Frame, scene_of, show_result
from partwhole.viewer.page.results import with_result
from partwhole.viewer.page.scene import Scene


@pytest.fixture
def found(scene: Scene) -> Any:
    """What the viewer asks of a result."""
    assert scene.whole is not None
    known = {name: getattr(scene, name) for name in ("vertex_map", "confidence", "doubtful", "vertex_map_before")}
    region = SimpleNamespace(vertex=3, area_share=0.1, confidence=0.2)
    return SimpleNamespace(
        part=scene.part.full,
        whole=scene.whole.full,
        **known,
        factor=2.0,
        regions=(region,),
        warnings=("w",),
        notes=("n",),
        landmarks=(),
    )


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> list[Frame]:
    """What is shown below the cell of a notebook."""
    shown: list[Frame] = []
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    shell = SimpleNamespace(config={"IPKernelApp": {}})
    vars(ipython).update(get_ipython=lambda: shell, display=display)
    vars(display).update(display=shown.append)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shown


def page_in(frame: Frame) -> str:
    found = re.fullmatch(r'<iframe srcdoc="([^"]*)" sandbox="allow-scripts allow-downloads" style="[^"]*" title="[^"]*">'
                         r"</iframe>", frame.html)  # fmt: skip
    assert found is not None
    return html.unescape(found[1])


def test_a_frame_holds_the_whole_page(scene: Scene) -> None:
    frame = Frame(scene)
    assert frame.html == frame._repr_html_()
    page = page_in(frame)
    assert page.startswith("<!DOCTYPE html>")
    assert 'id="scene"' in page


def test_a_frame_works_without_a_server(scene: Scene, tmp_path: Path, browse: Callable[..., Any]) -> None:
    path = tmp_path / "notebook.html"
    path.write_text(f"<!doctype html><title>notebook</title>{Frame(scene).html}", encoding="utf-8")
    page = browse(path.as_uri(), ready="document.readyState === 'complete'")
    assert page.script("document.querySelector('iframe').contentDocument === null"), "it can't reach the notebook"
    # nor can we look into it, but at it: once it has drawn, there is more to see than grey
    for _ in range(100):
        picture = page.screenshot().astype(int)
        if (np.ptp(picture, axis=2) > 100).mean() > 0.05:
            break
        page.settle()
    else:
        raise AssertionError("nothing was drawn in the frame")


def test_what_is_too_large_is_a_picture(scene: Scene) -> None:
    for shown in (scene, Scene.of(scene.part.full)):
        frame = Frame(shown, most_bytes=1000)
        assert frame.html.startswith('<img src="data:image/png;base64,iVBOR')
        assert html.escape(f"{shown.title}: a page of 0 MB is too large for a notebook") in frame.html
        assert "<iframe" not in frame.html


def test_names_stay_text(scene: Scene) -> None:
    named = Mesh(scene.part.full.vertices, scene.part.full.faces, name='"><script>alert(1)</script>')
    for frame in (Frame(Scene.of(named)), Frame(Scene.of(named), most_bytes=1)):
        assert "<script" not in frame.html


def test_all_that_is_known_of_a_result_is_shown(found: Any) -> None:
    scene = with_result(Scene.of(found.part, found.whole), found)
    assert scene.factor == 2.0
    assert [(place.vertex, place.area_share) for place in scene.doubtful_places] == [(3, 0.1)]
    assert (scene.warnings, scene.map_notes) == (("w",), ("n",))
    assert scene_of(found).vertex_map is found.vertex_map
    assert scene_of(found.part).whole is None


def test_a_notebook_shows_it_below_the_cell(
    found: Any, displayed: list[Frame], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert show_result(found) is None
    assert 'id="scene"' in page_in(displayed[0])
    assert opened == []
    # and the browser, without waiting for it, if that is asked for
    server = show_result(found, in_browser=True)
    assert server is not None
    assert opened == [server.address]
    server.close()
    assert len(displayed) == 1


def test_elsewhere_it_is_shown_in_the_browser(found: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.delitem(sys.modules, "IPython", raising=False)
    server = show_result(found, block=False)
    assert server is not None
    assert opened == [server.address]
    server.close()
    with pytest.raises(ValueError, match="in_browser=False needs a notebook, and this is not one"):
        show_result(found, in_browser=False)
