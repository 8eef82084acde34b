"""From two surfaces to a map, for the page: with a given model or a built-in one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from partwhole.store.arguments import how_to_install
from partwhole.viewer.page.results import with_result
from partwhole.viewer.page.scene import Scene

Tell = Callable[[str], None]


class NoModel(ValueError):
    """No model to match with; the message says what can be done."""


def matched(scene: Scene, *, model: str | Path = "default", tell: Tell = lambda stage: None) -> Scene:
    """The scene with a map from its part to its whole, steered by its landmarks, and what is known of it.

    Parameters
    ----------
    model : the name of a built-in model, or a file of weights
    tell : is called with what is being done
    """
    if scene.whole is None:
        raise ValueError("there is no whole to match to")
    try:
        import torch  # noqa: F401

        from partwhole.matching.session import match
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] not in ("torch", "safetensors"):
            raise
        raise NoModel(f"no map: matching needs torch: {how_to_install('torch')}") from None
    from partwhole.matching.network.weights import DEFAULT, model_names

    if model == "default" and DEFAULT not in model_names():
        raise NoModel(
            "no map: this installation comes without a trained model. Train one (partwhole train) and give it with "
            "--model; the trust explorer needs none"
        )
    found = match(
        scene.part.full,
        scene.whole.full,
        model=model,
        landmarks=scene.landmarks,
        progress=lambda what, done, total: tell(f"matching, step {min(done + 1, total)} of {total}: {what}"),
    )
    with_map = with_result(scene, found)
    if scene.fit is None:
        return with_map
    note = "the fit that was shown belongs to the map before; `partwhole fit --landmarks` makes a new one"
    return replace(with_map, map_notes=(*with_map.map_notes, note))
