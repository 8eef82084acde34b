"""`DisplayedFit`: a template fitted to the part, as the page shows it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from partwhole.registration.result import SOURCE_COLORS, FittedTemplate
from partwhole.store.cache import Cache
from partwhole.viewer.page.displayed import DisplayedSurface, middle_of


@dataclass(frozen=True, eq=False)
class DisplayedFit:
    """A fitted template and the mesh that is drawn for it.

    Attributes
    ----------
    fitted : the result
    surface : its mesh, in the coordinates of the part
    """

    fitted: FittedTemplate
    surface: DisplayedSurface

    @classmethod
    def of(cls, fitted: FittedTemplate) -> DisplayedFit:
        """The fitted template as it is."""
        return cls(fitted, DisplayedSurface.of(fitted.mesh))

    def simplified(self, most: int, *, cache: Cache | None = None) -> DisplayedFit:
        """With at most `most` vertices drawn."""
        return replace(self, surface=self.surface.simplified(most, cache=cache))

    @cached_property
    def rest(self) -> Float[np.ndarray, "n 3"]:
        """The template before it was bent, laid onto the part by the similarity that fits the map best."""
        inverse = np.linalg.inv(self.fitted.match.alignment)
        return self.fitted.match.whole.vertices @ inverse[:3, :3].T + inverse[:3, 3]

    @property
    def crossing(self) -> Int[np.ndarray, "k"]:
        """The triangles that go through others."""
        return np.unique(self.fitted.intersections)

    def described(self, part: DisplayedSurface) -> dict[str, Any]:
        """For the page: sizes, the kinds of vertices with their colours and shares, and what is wrong with triangles."""
        fitted = self.fitted
        return {
            **self.surface.described(part.camera),
            "length": fitted.mesh.area**0.5,
            "sources": [
                {"name": name, "color": (SOURCE_COLORS[k] / 255).tolist(), "share": fitted.shares[name]}
                for k, name in fitted.source_names.items()
            ],
            "turned_over": len(fitted.flipped),
            "crossing": len(fitted.intersections),
        }

    def arrays(self, part: DisplayedSurface) -> dict[str, np.ndarray]:
        """For the page: for each vertex that is drawn what it rests on, and for each vertex of the part its place."""
        fitted, surface = self.fitted, self.surface
        middle, corners = middle_of(surface.mesh), fitted.mesh.vertices[fitted.mesh.faces]
        places = fitted.barycentric
        nearest = np.where(places.covered, surface.to_shown[places.nearest_vertex], -1)
        return {
            **surface.arrays(),
            "rest": self.rest[surface.to_full] - middle,
            "source": fitted.source[surface.to_full],
            "distance": fitted.distance[surface.to_full],
            "expected_error": fitted.expected_error[surface.to_full],
            "nearest": nearest[part.to_full],
            # of all triangles, also where fewer are drawn
            "turned_over": corners[fitted.flipped].reshape(-1) - np.tile(middle, 3 * len(fitted.flipped)),
            "crossing": corners[self.crossing].reshape(-1) - np.tile(middle, 3 * len(self.crossing)),
        }
