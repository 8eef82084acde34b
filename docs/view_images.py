"""Makes the pictures of docs/view.md: the page in Chromium, with a body that is made here. Run it from anywhere."""

from __future__ import annotations

import importlib.util
import sys
import threading
from pathlib import Path
from types import ModuleType

import partwhole as pw
from partwhole.viewer.scene import Scene
from partwhole.viewer.server import PageServer
from partwhole.viewer.session import Session

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"


def browser_module() -> ModuleType:
    """The browser that the tests drive."""
    path = ROOT / "tests" / "viewer" / "chromium.py"
    spec = importlib.util.spec_from_file_location("chromium", path)
    assert spec is not None
    assert spec.loader is not None
    sys.modules["chromium"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules["chromium"])
    return sys.modules["chromium"]


def body_and_part() -> Scene:
    """A body in two poses; in one it lost pieces. The map is the true one."""
    body = pw.datasets.make_body("biped", 5000, seed=2)
    cut = pw.datasets.random_cuts(body.pose(seed=4), "pfaust-h", seed=6)
    return Scene.of(cut.part, body.pose(seed=0), cut.vertex_map, title="scan → template")


def main() -> None:
    chromium = browser_module()
    program = chromium.find_chromium()
    if program is None:
        sys.exit("no Chromium: install it, or name it in PARTWHOLE_CHROMIUM")
    with PageServer(Session(body_and_part())) as server, chromium.Chromium(program) as browser:
        page = browser.tab(size=(1240, 700))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page.open(server.address)
        vertex, *_ = page.seen_vertex(0, skip=700)
        for view, found in (("texture", "rings"), ("trust", "pair")):
            page.view(view)
            page.script(f"partwhole.chooseVertex({vertex})")
            page.wait(f"partwhole.state.found.{found}")
            page.settle()
            page.screenshot(IMAGES / f"view-{view}.png")
        assert page.complaints == []
        server.shutdown()


if __name__ == "__main__":
    main()
