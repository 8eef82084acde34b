"""The page as one HTML file: scripts and styles inside, and for a report the scene too. It needs no network."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from importlib.resources import files
from pathlib import Path

from partwhole.store.storage import atomic_write
from partwhole.viewer.page.distortion import measured_on_map
from partwhole.viewer.page.scene import Scene
from partwhole.viewer.page.trust_explorer import no_piece_of_sphere, why_no_sphere

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./([\w-]+\.js)";\n', re.MULTILINE)
_FIRST = "main.js"


@cache
def page_source(name: str) -> str:
    """A file of the page."""
    return (files("partwhole.viewer.page") / "front_end" / name).read_text(encoding="utf-8")


@cache
def script() -> str:
    """All modules as one, those that others import first.

    A module imports names as they are and exports declarations, and no two share a name at their top; so taking away
    the words `import` and `export` is all it needs.
    """
    order: list[str] = []

    def visit(name: str, above: tuple[str, ...]) -> None:
        if name in above:
            raise ValueError(f"{name} imports itself, by way of {' and '.join(above)}")
        if name in order:
            return
        for needed in _IMPORT.findall(page_source(name)):
            visit(needed, (*above, name))
        order.append(name)

    visit(_FIRST, ())
    return "\n".join(re.sub(r"^export ", "", _IMPORT.sub("", page_source(name)), flags=re.MULTILINE) for name in order)


def content_security_policy(*, live: bool) -> str:
    """Allows only this script and style, pictures that the reader opens and, for a page with a server, that server."""
    rules = {
        "default-src": "'none'",
        "script-src": f"'sha256-{_digest(script())}'",
        "style-src": f"'sha256-{_digest(page_source('style.css'))}'",
        "img-src": "blob: data:",
        "connect-src": "'self'" if live else "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


def page_html(scene: bytes | None = None) -> str:
    """The page; with a scene (see `Scene.to_bytes`) it holds it, without one it asks its server for it."""
    page = page_source("page.html")
    data = "" if scene is None else base64.b64encode(scene).decode()
    policy = content_security_policy(live=scene is None)
    parts = {
        "<!-- policy -->": f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        "<!-- style -->": f"<style>{page_source('style.css')}</style>",
        "<!-- scene -->": f'<script type="application/octet-stream" id="scene">{data}</script>' if data else "",
        "<!-- script -->": f'<script type="module">{script()}</script>',
    }
    for mark, text in parts.items():
        assert page.count(mark) == 1, mark
        page = page.replace(mark, text)
    return page


def report_bytes(scene: Scene) -> bytes:
    """A scene for a page without a server: with what the page does not measure by itself."""
    measured = {} if scene.vertex_map is None or scene.parts is not None else measured_on_map(scene)
    # two parts don't show what their whole is
    no_same_loop = why_no_sphere(None if scene.whole is None or scene.parts is not None else scene.whole.full)
    no_same_loop = no_same_loop or no_piece_of_sphere(scene.part.mesh)
    return scene.to_bytes(measured=measured, live=False, method="dijkstra", sound=False, no_same_loop=no_same_loop)


def export_report(scene: Scene, path: str | Path) -> None:
    """Write the page with a scene as one file that opens from the disk, without a server and without a network.

    Distances from a vertex that is clicked are measured in the browser, along edges; the page says so.
    """
    with atomic_write(path) as file:
        file.write(page_html(report_bytes(scene)).encode())


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
