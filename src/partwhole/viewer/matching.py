"""From two surfaces to a map, for the page: with the weights that were given, or those that come with the library."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.mesh import Mesh


class NoModel(ValueError):
    """There is nothing to match with; the message says what can be done."""


@dataclass(frozen=True, eq=False)
class Found:
    """A map, and what is known of it."""

    vertex_map: Int[np.ndarray, "p"]
    confidence: Float[np.ndarray, "p"] | None = None
    doubtful: Bool[np.ndarray, "p"] | None = None
    vertex_map_before: Int[np.ndarray, "p"] | None = None


def match_surfaces(
    part: Mesh, whole: Mesh, *, model: Path | None = None, tell: Callable[[str], None] = lambda stage: None
) -> Found:
    """For each vertex of the part its vertex of the whole.

    Parameters
    ----------
    part, whole : in the same units
    model : weights that `partwhole train` wrote; None for those that come with the library
    tell : is called with what is being done
    """
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        raise NoModel("matching needs torch: pip install 'partwhole[torch]'") from None
    if model is not None:
        from partwhole.matching.matcher import Matcher

        tell("reading the model")
        matcher = Matcher.load(model)
        tell("matching")
        return _found(matcher.match(part, whole))
    import partwhole

    match = getattr(partwhole, "match", None)
    if match is None:
        raise NoModel(
            "no map: there is no trained model at hand. Train one (partwhole train) and give it with --model; "
            "the trust explorer needs none"
        )
    tell("matching")
    return _found(match(part, whole))


def _found(match: Any) -> Found:
    """What a match knows; those that tell less are welcome too."""
    confidence = getattr(match, "confidence", None)
    return Found(
        np.asarray(match.vertex_map, np.int64),
        None if confidence is None else np.asarray(confidence, np.float64),
        getattr(match, "doubtful", None),
        getattr(match, "vertex_map_before", None),
    )
