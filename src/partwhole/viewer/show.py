"""`show`: the page from a script or a notebook."""

from __future__ import annotations

import threading
import webbrowser
from typing import Any

import numpy as np
from jaxtyping import Int

from partwhole.geodesics.distances import DistanceMethod
from partwhole.mesh import SurfaceLike, as_mesh
from partwhole.viewer.page.scene import Scene
from partwhole.viewer.page.server import PageServer
from partwhole.viewer.page.session import Session


def show(
    part: SurfaceLike,
    whole: SurfaceLike | None = None,
    vertex_map: Int[np.ndarray, "p"] | None = None,
    *,
    method: DistanceMethod = "fast_marching",
    sound: bool = False,
    open_browser: bool = True,
    block: bool = True,
    **known: Any,
) -> PageServer:
    """Look at a part, its whole and a map between them in the browser.

    Parameters
    ----------
    part, whole, vertex_map : what to show; the part alone will do
    method, sound : how distances are measured, and whether boundary edges are allowed for
    open_browser : otherwise open the `address` of what is returned
    block : until Ctrl-C; otherwise return at once, as in a notebook, and end with `close()`
    known : what else is known of the map: `confidence`, `doubtful`, `vertex_map_before`, `truth`, see `Scene`

    Examples
    --------
    >>> from partwhole.datasets import annulus
    >>> page = show(annulus(n_vertices=200), open_browser=False, block=False)
    >>> page.address.startswith("http://127.0.0.1:")
    True
    >>> page.close()
    """
    part = as_mesh(part, name="part")
    whole = None if whole is None else as_mesh(whole, name="whole")
    scene = Scene.of(part, whole, vertex_map, **known)
    return show_scene(scene, method=method, sound=sound, open_browser=open_browser, block=block)


def show_scene(
    scene: Scene,
    *,
    method: DistanceMethod = "fast_marching",
    sound: bool = False,
    open_browser: bool = True,
    block: bool = True,
) -> PageServer:
    """`show`, of a scene."""
    session = Session(None, method=method, sound=sound, match=False)
    server = PageServer(session)
    session.open(scene)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True)
    thread.start()
    if open_browser:
        webbrowser.open(server.address)
    if block:
        try:
            thread.join()
        except KeyboardInterrupt:  # how it is ended
            server.close()
    return server
