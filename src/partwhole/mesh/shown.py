"""`Shown`: the methods to display surfaces and results."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class Shown:
    """Has `show`, which opens the page of `partwhole view`."""

    def show(self, *, in_browser: bool | None = None, block: bool | None = None) -> Any:
        """Look at it: in the browser, or in a notebook below the cell.

        Parameters
        ----------
        in_browser : True opens the browser from a notebook, too
        block : in the browser, until Ctrl-C; None: unless Python is interactive

        Returns
        -------
        The server of the page in the browser, for `address` and `close()`; None in a notebook.
        """
        return _notebook().show_result(self, in_browser=in_browser, block=block)


class ShownByItself(Shown):
    """A notebook shows it as the last line of a cell, without `show`."""

    def _repr_html_(self) -> str:
        viewer = _notebook()
        html: str = viewer.Frame(viewer.scene_of(self)).html
        return html


def _notebook() -> Any:
    # the viewer is made of all that is below it, and is not known here: it is looked up when somebody wants to look, as
    # `partwhole.viewer` is when somebody writes it
    return import_module("partwhole.viewer.notebook")
