"""`DisplayedSurface`: a surface as the page draws it, with fewer vertices if it has very many."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from partwhole.criterion.result import no_part_of_manifold
from partwhole.mesh import Mesh, decimate
from partwhole.store.cache import Cache
from partwhole.viewer.figures.render import Camera, automatic_camera, guess_up, picture_extent, winds_inwards

# raised with every change of decimation, so that nothing older is found in a cache
_SCHEMA = 1
# above this many faces the search for a good view takes longer than the first look at the page should
MOST_LOOKED_AT = 30_000


@dataclass(frozen=True, eq=False)
class DisplayedSurface:
    """A surface and the mesh that is drawn for it: the surface itself, or one with fewer vertices.

    Attributes
    ----------
    full : the surface
    mesh : what is drawn, and measured on
    to_full : for each vertex that is drawn, its number on the surface
    to_shown : for each vertex of the surface, the nearest one that is drawn
    """

    full: Mesh
    mesh: Mesh
    to_full: Int[np.ndarray, "k"]
    to_shown: Int[np.ndarray, "n"]

    @classmethod
    def of(cls, mesh: Mesh) -> DisplayedSurface:
        """The surface as it is."""
        same = np.arange(mesh.n_vertices)
        return cls(mesh, mesh, same, same)

    def simplified(self, most: int, *, cache: Cache | None = None) -> DisplayedSurface:
        """With at most `most` vertices drawn; from the cache, if this surface was simplified before."""
        if self.full.n_vertices <= most:
            return self
        key = {"what": "simplified surface", "schema": _SCHEMA, "mesh": self.full.content_hash, "most": most}
        kept = None if cache is None else cache.get(key)
        if kept is not None:
            mesh = Mesh(self.full.vertices[kept["to_full"]], kept["faces"], name=self.full.name)
            return DisplayedSurface(self.full, mesh, kept["to_full"], kept["to_shown"])
        simpler = decimate(self.full, most, keep_boundary=False)
        if cache is not None:
            arrays = {"to_full": simpler.to_fine, "to_shown": simpler.to_coarse, "faces": simpler.mesh.faces}
            cache.put(key, arrays)
        return DisplayedSurface(self.full, simpler.mesh, simpler.to_fine, simpler.to_coarse)

    @property
    def is_simplified(self) -> bool:
        return self.mesh is not self.full

    @cached_property
    def unproved(self) -> str | None:
        """Why nothing is proved of distances that are measured on what is drawn, whatever the method; None if it can be."""
        if self.is_simplified:
            drawn, all_of_them = f"{self.mesh.n_vertices:,}", f"{self.full.n_vertices:,}"
            return (
                f"distances are measured on a simplified surface, with {drawn} of {all_of_them} vertices and another "
                "boundary; partwhole mask measures on all of them"
            )
        return no_part_of_manifold(self.full)

    @cached_property
    def camera(self) -> Camera:
        """A view that shows much of the surface."""
        if self.mesh.n_faces <= MOST_LOOKED_AT:
            return automatic_camera(self.mesh)
        cameras = [Camera(azimuth, 12.0, guess_up(self.mesh)) for azimuth in (0.0, 45.0, 90.0, 135.0)]
        return max(cameras, key=lambda camera: float(np.prod(picture_extent(self.mesh, camera))))

    def described(self, camera: Camera) -> dict[str, Any]:
        """For the page: sizes, and where it is looked at from."""
        mesh = self.mesh
        return {
            "name": self.full.name,
            "vertices": self.full.n_vertices,
            "faces": self.full.n_faces,
            "loops": len(self.full.boundary_loops),
            "shown": mesh.n_vertices,
            "centre": middle_of(mesh).tolist(),
            "area": self.full.area,
            "unproved": self.unproved,
            "inwards": winds_inwards(mesh),
            "view": {"up": camera.up, "azimuth": float(camera.azimuth), "elevation": float(camera.elevation)},
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """For the page: what is drawn, about its middle."""
        mesh = self.mesh
        arrays: dict[str, np.ndarray] = {
            # about their middle, so that float32 resolves scans far from the origin too
            "vertices": mesh.vertices - middle_of(mesh),
            "faces": mesh.faces,
            "boundary": mesh.boundary_edges,
            "boundary_vertices": mesh.boundary_vertices,
            "boundary_labels": mesh.boundary_labels,
        }
        if self.is_simplified:
            arrays["numbers"] = self.to_full
        return arrays


def middle_of(mesh: Mesh) -> Float[np.ndarray, "3"]:
    """The middle of the box around a surface, which the page turns it about."""
    used = mesh.vertices[np.unique(mesh.faces)]
    return (used.min(axis=0) + used.max(axis=0)) / 2
