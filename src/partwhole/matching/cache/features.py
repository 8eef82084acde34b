"""Features of a whole at several yaw_steps, computed once: for many parts in one run, and for those of later ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from partwhole.matching.cache.results import surroundings
from partwhole.matching.cache.templates import Templates
from partwhole.matching.ensemble import Ensemble
from partwhole.matching.matcher import Matcher
from partwhole.matching.network.surface import Surface
from partwhole.matching.search.trials import features_at, whole_yaw_steps
from partwhole.store.cache import Cache, hash_of

# wholes whose features are kept in files
_PLACES = 16


def weights_of(matcher: Matcher) -> str:
    """SHA-256 of all weights and choices of a matcher."""
    networks = matcher.matchers if isinstance(matcher, Ensemble) else (matcher,)
    told = [
        {
            "config": one.config.to_json(),
            "weights": {name: tensor.cpu().numpy() for name, tensor in one.network.state_dict().items()},
        }
        for one in networks
    ]
    return hash_of({"networks": told, "combine": matcher.combine if isinstance(matcher, Ensemble) else ""})


class WholeFeatures:
    """Gives `features_at` the yaw_steps of a whole, from memory, from the cache, or from the network.

    Parameters
    ----------
    matcher : whose features they are
    whole : names the surface by its content
    recall : what is in memory
    cache : what is in files; None: nothing
    """

    def __init__(self, matcher: Matcher, whole: str, recall: Templates, cache: Cache | None) -> None:
        self._matcher, self._whole, self._recall, self._cache = matcher, whole, recall, cache

    def __call__(self, whole: Surface, up: str, yaw_steps: int) -> list[tuple[float, Tensor]]:
        """Angles and features.

        Parameters
        ----------
        whole : the surface, upright
        up : the axis that was taken for the vertical one
        yaw_steps : at which the part is tried
        """
        count = whole_yaw_steps(self._matcher, yaw_steps)

        def find() -> list[tuple[float, Tensor]]:
            return self._from_files(whole, up, count)

        return self._recall.of(self._whole, ("features", self._matcher, up, count), find)

    def _from_files(self, whole: Surface, up: str, count: int) -> list[tuple[float, Tensor]]:
        if self._cache is None:
            return features_at(self._matcher, whole, count)
        told: dict[str, Any] = {
            "made by": surroundings(),
            "whole": self._whole,
            "model": weights_of(self._matcher),
            "up": up,
            "yaw_steps": count,
            "device": self._matcher.device.type,
        }
        # 10 MB for 5000 vertices: a few templates are worth it, and a later one takes the place of an earlier one
        name = hash_of(told)
        key = {"what": "features of a whole", "place": int(name, 16) % _PLACES}
        held = self._cache.get(key)
        if held is not None and held["name"].tobytes().hex() == name:
            features = torch.from_numpy(held["features"]).to(self._matcher.device)
            return list(zip(held["angles"].tolist(), features, strict=True))
        found = features_at(self._matcher, whole, count)
        features = torch.stack([one for _, one in found])
        angles = torch.tensor([angle for angle, _ in found], dtype=torch.float64)
        of = np.frombuffer(bytes.fromhex(name), np.uint8)
        self._cache.put(key, {"name": of, "angles": angles.numpy(), "features": features.cpu().numpy()})
        return found
