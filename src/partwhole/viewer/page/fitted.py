"""`FitOnPage`: a template fitted to the part, as the page shows it: with the vertices of the whole that are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from partwhole.mesh import Mesh
from partwhole.registration.result import SOURCE_COLORS, FittedTemplate
from partwhole.viewer.page.displayed import DisplayedSurface, middle_of


@dataclass(frozen=True, eq=False)
class FitOnPage:
    """A fitted template for a page that draws its scan and its template.

    Attributes
    ----------
    fitted : the result
    part : the scan, as it is drawn
    whole : the template, as it is drawn
    """

    fitted: FittedTemplate
    part: DisplayedSurface
    whole: DisplayedSurface

    @cached_property
    def surface(self) -> DisplayedSurface:
        """The fitted template, drawn with the vertices and the faces of the template."""
        full, whole = self.fitted.mesh, self.whole
        if not whole.is_simplified:
            return DisplayedSurface.of(full)
        mesh = Mesh(full.vertices[whole.to_full], whole.mesh.faces, name=full.name)
        return DisplayedSurface(full, mesh, whole.to_full, whole.to_shown)

    @cached_property
    def rest(self) -> Float[np.ndarray, "n 3"]:
        """The template before it was bent, aligned with the scan by the similarity that fits the map best."""
        inverse = np.linalg.inv(self.fitted.match.alignment)
        return self.fitted.match.whole.vertices @ inverse[:3, :3].T + inverse[:3, 3]

    def described(self) -> dict[str, Any]:
        """Sizes, the kinds of vertices with their colours and shares, and how many triangles are bad."""
        fitted = self.fitted
        return {
            **self.surface.described(self.part.camera),
            "sources": [
                {"name": name, "color": (SOURCE_COLORS[k] / 255).tolist(), "share": fitted.shares[name]}
                for k, name in fitted.source_names.items()
            ],
            "turned_over": len(fitted.flipped),
            "crossing": len(fitted.intersections),
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """What each vertex that is drawn rests on, the place of each vertex of the scan, and the triangles that are bad."""
        fitted, surface = self.fitted, self.surface
        middle = middle_of(surface.mesh)
        places = fitted.barycentric
        nearest = np.where(places.covered, surface.to_shown[places.nearest_vertex], -1)
        return {
            **surface.arrays(),
            "rest": self.rest[surface.to_full] - middle,
            "source": fitted.source[surface.to_full],
            "distance": fitted.distance[surface.to_full],
            "expected_error": fitted.expected_error[surface.to_full],
            "nearest": nearest[self.part.to_full],
            # of all triangles, also where fewer are drawn
            "turned_over": self._corners(fitted.flipped) - middle,
            "crossing": self._corners(np.unique(fitted.intersections)) - middle,
        }

    def _corners(self, faces: Int[np.ndarray, "k"]) -> Float[np.ndarray, "k 3 3"]:
        return self.fitted.mesh.vertices[self.fitted.mesh.faces[faces]]
