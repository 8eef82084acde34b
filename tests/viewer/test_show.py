from __future__ import annotations

import threading
import urllib.error
import urllib.request

import pytest

from partwhole.viewer.page.packing import unpack
from partwhole.viewer.page.scene import Scene
from partwhole.viewer.show import show


def test_a_script_shows_a_map(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert scene.whole is not None
    known = {"confidence": scene.confidence, "title": "mine"}
    page = show(scene.part.full, scene.whole.full, scene.vertex_map, block=False, method="dijkstra", **known)
    assert opened == [page.address]
    before, _, query = page.address.partition("?")
    with urllib.request.urlopen(f"{before}scene?{query}", timeout=20) as answer:
        meta, arrays = unpack(answer.read())
    assert (meta["title"], meta["method"]) == ("mine", "dijkstra")
    assert {"map", "confidence"} <= set(arrays)
    page.close()
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(page.address, timeout=5)


def test_it_blocks_until_it_is_interrupted(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    join = threading.Thread.join

    def interrupted(self: threading.Thread, timeout: float | None = None) -> None:
        # other threads, of this test or left over from another, may end meanwhile
        if "serve_forever" not in self.name or threading.current_thread() is not threading.main_thread():
            return join(self, timeout)
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "join", interrupted)
    page = show(scene.part.full, open_browser=False)
    with pytest.raises(urllib.error.URLError):
        urllib.request.urlopen(page.address, timeout=5)
