"""Encodings of a whole at several yaws, computed once: for many parts in one run, and for those of later runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from partwhole.matching.cache.results import surroundings
from partwhole.matching.network.surface import Surface
from partwhole.matching.scans.templates import Templates
from partwhole.matching.search.method import Method
from partwhole.matching.search.orientation import yaws
from partwhole.store.cache import Cache, hash_of

# wholes whose encodings are kept in files
_SLOTS = 16


class CachedEncodings:
    """Angles and encodings of a whole, from memory, from the cache, or computed.

    Parameters
    ----------
    method : whose encodings they are
    whole : names the surface by its content
    templates : what is in memory
    cache : what is in files; None: nothing
    """

    def __init__(self, method: Method, whole: str, templates: Templates, cache: Cache | None) -> None:
        self._method, self._whole, self._templates, self._cache = method, whole, templates, cache

    def __call__(self, whole: Surface, up: str, yaw_steps: int) -> list[tuple[float, Tensor]]:
        """Angles and encodings.

        Parameters
        ----------
        whole : the surface, upright
        up : the axis that was taken for the vertical
        yaw_steps : angles, full circle
        """
        what = "encodings", self._method, up, yaw_steps
        found: list[tuple[float, Tensor]] | None = self._templates.get(self._whole, what)
        if found is None:
            found = self._from_files(whole, up, yaw_steps)
            self._templates.put(self._whole, what, found)
        return found

    def _computed(self, whole: Surface, yaw_steps: int) -> list[tuple[float, Tensor]]:
        vertical = self._method.config.search.vertical
        return [(angle, self._method.encode(seen)) for angle, seen in yaws(whole, yaw_steps, vertical)]

    def _from_files(self, whole: Surface, up: str, yaw_steps: int) -> list[tuple[float, Tensor]]:
        if self._cache is None:
            return self._computed(whole, yaw_steps)
        told: dict[str, Any] = {
            "made by": surroundings(),
            "whole": self._whole,
            "model": self._method.fingerprint(),
            "up": up,
            "yaw steps": yaw_steps,
            "device": self._method.device.type,
        }
        # 10 MB for 5000 vertices: a few templates are worth it, and a later one takes the slot of an earlier one
        name = hash_of(told)
        key = {"what": "encodings of a whole", "slot": int(name, 16) % _SLOTS}
        held = self._cache.get(key)
        if held is not None and held["name"].tobytes().hex() == name:
            features = torch.from_numpy(held["features"]).to(self._method.device)
            return list(zip(held["angles"].tolist(), features, strict=True))
        found = self._computed(whole, yaw_steps)
        features = torch.stack([one for _, one in found])
        angles = torch.tensor([angle for angle, _ in found], dtype=torch.float64)
        of = np.frombuffer(bytes.fromhex(name), np.uint8)
        self._cache.put(key, {"name": of, "angles": angles.numpy(), "features": features.cpu().numpy()})
        return found
