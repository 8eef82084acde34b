"""`show_result`: a result or a surface in the browser or, in a notebook, in a frame below the cell, where `found` is enough.

A frame holds all of the page: scripts, styles and scene. So it works where the notebook is only read, and needs no server.
"""

from __future__ import annotations

import base64
import html
import io
import sys
from typing import Any

from partwhole.mesh import Mesh
from partwhole.viewer.figures.map_figures import coordinate_colors, drawn, map_figure, side_by_side, two_sides
from partwhole.viewer.page.export import page_html, report_bytes
from partwhole.viewer.page.results import scene_of_result
from partwhole.viewer.page.scene import Scene
from partwhole.viewer.page.server import PageServer
from partwhole.viewer.show import show_scene

# vertices of each surface that are drawn in a notebook, which keeps every page that was ever shown in it
MOST_VERTICES = 5000
# of a page; in the place of a larger one there is a picture
MOST_BYTES = 8_000_000
_HEIGHT = 560
_PANEL_HEIGHT = 360


class Frame:
    """The page of a scene as notebooks show it: `html` is a frame, or a picture where the page would be too large.

    Parameters
    ----------
    scene : what to show
    most_bytes : of the page
    """

    def __init__(self, scene: Scene, *, most_bytes: int = MOST_BYTES) -> None:
        page = page_html(report_bytes(scene.simplified(MOST_VERTICES)))
        size = len(page.encode())
        if size > most_bytes:
            said = f"{scene.title}: a page of {size / 1e6:.0f} MB is too large for a notebook; show(in_browser=True) opens it"
            self.html = f"{_picture(scene)}<p>{html.escape(said)}</p>"
            return
        # in a sandbox, so that it can't reach the notebook around it
        self.html = (
            f'<iframe srcdoc="{html.escape(page)}" sandbox="allow-scripts allow-downloads" '
            f'style="width: 100%; height: {_HEIGHT}px; border: 0" title="{html.escape(scene.title)}"></iframe>'
        )

    def _repr_html_(self) -> str:
        return self.html


def show_result(given: Any, *, in_browser: bool | None = None, block: bool | None = None) -> PageServer | None:
    """Show a result or a surface.

    Parameters
    ----------
    given : a `MatchResult`, a `FittedTemplate` or a `Mesh`
    in_browser : False shows it in the notebook; None does so if there is one
    block : until Ctrl-C, where it is shown in the browser; None: unless Python is interactive

    Returns
    -------
    The server of the page in the browser, for `address` and `close()`; None in a notebook.
    """
    scene = scene_of(given)
    notebook = _notebook()
    if in_browser is False and notebook is None:
        raise ValueError("in_browser=False needs a notebook, and this is not one; use in_browser=True")
    if notebook is not None and not in_browser:
        notebook(Frame(scene))
        return None
    interactive = notebook is not None or hasattr(sys, "ps1")
    return show_scene(scene, block=not interactive if block is None else block)


def scene_of(given: Any) -> Scene:
    """What the page shows of a result or a surface."""
    return Scene.of(given) if isinstance(given, Mesh) else scene_of_result(given)


def _notebook() -> Any:
    """The function that shows something below the cell that is running; None outside notebooks."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if shell is None or "IPKernelApp" not in shell.config:
        return None
    from importlib import import_module

    return import_module("IPython.display").display


def _picture(scene: Scene) -> str:
    """Both surfaces, or the only one, as an image inside the HTML."""
    part = scene.part.simplified(MOST_VERTICES)
    if scene.whole is None or scene.vertex_map is None:
        coat = coordinate_colors(part.mesh)
        views = two_sides(part.camera)
        figure = side_by_side([(drawn(part.mesh, view, _PANEL_HEIGHT, coat), side) for view, side in views])
    else:
        whole = scene.whole.simplified(MOST_VERTICES)
        vertex_map = whole.to_shown[scene.vertex_map[part.to_full]]
        figure = map_figure(part.mesh, whole.mesh, vertex_map, panel_height=_PANEL_HEIGHT)
    data = io.BytesIO()
    figure.savefig(data, format="png")
    image = base64.b64encode(data.getvalue()).decode()
    return f'<img src="data:image/png;base64,{image}" alt="{html.escape(scene.title)}" style="max-width: 100%">'
