"""What `match_parts` gives: the vertices that two parts share, and how one lies on the other. Nothing here needs torch."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.matching.parts.constants import SHARED
from partwhole.mesh import Mesh


@dataclass(frozen=True, eq=False, repr=False)
class PartnerMap:
    """From the vertices of one part to those of another.

    Attributes
    ----------
    vertex_map : the likeliest partner of every vertex, also of one that probably has none
    overlap : how probable it is that a vertex has a partner, if the parts share anything
    confidence : how probable it is that a vertex has a partner, and that this is it
    matched : False for vertices without faces or on pieces left out: their overlap and confidence are 0
    threshold : a vertex counts as shared from this overlap on; at most one half, less where little is sure, so that the
        region that counts as shared is expected to agree best with the true one
    """

    vertex_map: Int[np.ndarray, "n"]
    overlap: Float[np.ndarray, "n"]
    confidence: Float[np.ndarray, "n"]
    matched: Bool[np.ndarray, "n"]
    threshold: float = SHARED

    @property
    def shared(self) -> Bool[np.ndarray, "n"]:
        """Vertices that are taken to have a partner; the others have none."""
        return self.overlap >= self.threshold

    def __len__(self) -> int:
        return len(self.vertex_map)


@dataclass(frozen=True, eq=False, repr=False)
class PartsMatch:
    """Which vertices two parts of one whole share.

    Attributes
    ----------
    a, b : as they were given, or read; vertices are numbered as there
    a_to_b, b_to_a : the map each way, with the probability that there is a partner
    belongs : how probable it is that the parts share anything
    whole_area : of the whole, in the units of the parts: given, or the one of those tried on which the maps agree most
    guaranteed : of the pairs of shared vertices of a, the share whose distance is guaranteed on both sides
    distortion : mean difference of the two distances over these, in √area of the whole; nan without any
    alignment : the rigid motion that takes what is shared of a to where it is on b: x ↦ A[:3, :3] x + A[:3, 3]
    misfit : root of the mean squared distance of partners after it, in √area of the whole; large where the poses differ
    model : what the network is called
    notes : what was done and assumed on the way
    warnings : what to know before using the map
    seconds : that it took
    """

    a: Mesh
    b: Mesh
    a_to_b: PartnerMap
    b_to_a: PartnerMap
    belongs: float
    whole_area: float
    guaranteed: float
    distortion: float
    alignment: Float[np.ndarray, "4 4"]
    misfit: float
    model: str
    notes: tuple[str, ...]
    warnings: tuple[str, ...]
    seconds: float

    def __repr__(self) -> str:
        shares = " and ".join(f"{100 * share:.0f} %" for share in self.shares)
        return f"PartsMatch({self.a.name!r}, {self.b.name!r}: {shares} shared)"

    @property
    def shares(self) -> tuple[float, float]:
        """Of the areas of a and b, what is shared."""
        areas = self.a.vertex_areas, self.b.vertex_areas
        found = [
            float(area[one.shared].sum() / area.sum())
            for area, one in zip(areas, (self.a_to_b, self.b_to_a), strict=True)
        ]
        return found[0], found[1]

    @property
    def partners(self) -> Int[np.ndarray, "k 2"]:
        """(vertex of a, vertex of b) for each vertex of a that is shared."""
        shared = np.flatnonzero(self.a_to_b.shared)
        return np.stack([shared, self.a_to_b.vertex_map[shared]], axis=1)

    def swapped(self) -> PartsMatch:
        """The same with a and b exchanged: what `match_parts(b, a)` gives."""
        R, t = self.alignment[:3, :3], self.alignment[:3, 3]
        back = np.eye(4)
        back[:3, :3], back[:3, 3] = R.T, -R.T @ t
        return replace(self, a=self.b, b=self.a, a_to_b=self.b_to_a, b_to_a=self.a_to_b, alignment=back)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the result into a folder, surfaces included; `partwhole.load` reads it back, to the last bit."""
        from partwhole.saved import save

        save(self, folder)

    def summary(self) -> dict[str, Any]:
        """The result as plain numbers and text."""
        return {
            "a_vertices": self.a.n_vertices,
            "b_vertices": self.b.n_vertices,
            "shared": {"a": self.shares[0], "b": self.shares[1]},
            "shared_vertices": {"a": int(self.a_to_b.shared.sum()), "b": int(self.b_to_a.shared.sum())},
            "belongs": self.belongs,
            "whole_area": self.whole_area,
            "guaranteed": self.guaranteed,
            "distortion": self.distortion,
            "alignment": self.alignment.tolist(),
            "misfit": self.misfit,
            "model": self.model,
            "notes": list(self.notes),
            "warnings": list(self.warnings),
            "seconds": self.seconds,
        }
