"""`Scene`: a part, its whole, the map between them and what is known of it, as shown on the page."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.datasets.pairs import GroundTruth
from partwhole.matching.confidence.fit import swapped_question
from partwhole.matching.parts.result import PartsMatch
from partwhole.matching.result import LandmarkResult
from partwhole.mesh import LandmarkPair, Mesh
from partwhole.registration.result import FittedTemplate
from partwhole.store.cache import Cache
from partwhole.store.compute import first_largest
from partwhole.viewer.figures.render import Axis, Camera, outward_normals
from partwhole.viewer.page.displayed import DisplayedSurface
from partwhole.viewer.page.fitted import FitOnPage
from partwhole.viewer.page.packing import pack

# more vertices than these are no gain to the eye, and distances between them are no longer measured at once
MOST_SHOWN = 20_000


@dataclass(frozen=True)
class DoubtfulPlace:
    """A connected piece of the part where the map is doubtful: a vertex in it, its share of the area, mean confidence."""

    vertex: int
    area_share: float
    confidence: float


@dataclass(frozen=True, eq=False)
class Scene:
    """What the page shows. Arrays have one entry for each vertex of the part, as given.

    Attributes
    ----------
    part, whole : the surfaces; the whole may be missing, and then there is nothing to map to
    vertex_map : for each vertex of the part its vertex of the whole
    confidence : from 0 to 1, how sure each entry of the map is
    doubtful : where the map should not be relied on
    vertex_map_before : the map before it was refined
    truth : where the vertices of the part truly lie, if that is known
    factor : from lengths of the part to those of the whole, where their units differ
    doubtful_places : where to look first
    landmarks : that a match is steered by, or was
    fit : the whole, as the template that was fitted to the part
    parts : what two parts share: `part` is a, laid onto b, `whole` is b
    title : of the page
    warnings : what to know before using the map
    notes, map_notes : what else a reader has to know, of the surfaces and of the map, one sentence each
    """

    part: DisplayedSurface
    whole: DisplayedSurface | None = None
    vertex_map: Int[np.ndarray, "_"] | None = None
    confidence: Float[np.ndarray, "_"] | None = field(default=None, kw_only=True)
    doubtful: Bool[np.ndarray, "_"] | None = field(default=None, kw_only=True)
    vertex_map_before: Int[np.ndarray, "_"] | None = field(default=None, kw_only=True)
    truth: GroundTruth | None = field(default=None, kw_only=True)
    factor: float = field(default=1.0, kw_only=True)
    doubtful_places: tuple[DoubtfulPlace, ...] = field(default=(), kw_only=True)
    landmarks: tuple[LandmarkPair, ...] = field(default=(), kw_only=True)
    fit: FittedTemplate | None = field(default=None, kw_only=True)
    parts: PartsMatch | None = field(default=None, kw_only=True)
    title: str = field(default="", kw_only=True)
    warnings: tuple[str, ...] = field(default=(), kw_only=True)
    notes: tuple[str, ...] = field(default=(), kw_only=True)
    map_notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        if self.fit is not None and self.whole is None:
            raise ValueError("a fit needs the whole, which is the template that was fitted")
        if self.parts is not None and self.truth is not None:
            raise ValueError("the truth is of a part and its whole; there is none for what two parts share")
        for name in ("vertex_map", "vertex_map_before"):
            numbers = getattr(self, name)
            if numbers is None:
                continue
            if self.whole is None:
                raise ValueError(f"{name} needs a whole to map to")
            if numbers.size and not 0 <= numbers.min() <= numbers.max() < self.whole.full.n_vertices:
                raise ValueError(
                    f"{name} refers to vertices {numbers.min()} to {numbers.max()} of the whole, "
                    f"{self.whole.full.name} has 0 to {self.whole.full.n_vertices - 1}; do the files belong together?"
                )
        for name in ("vertex_map", "confidence", "doubtful", "vertex_map_before"):
            values = getattr(self, name)
            if values is not None and len(values) != self.part.full.n_vertices:
                raise ValueError(
                    f"{name} has {len(values)} entries, {self.part.full.name} has {self.part.full.n_vertices} vertices; "
                    "do the files belong together?"
                )
        if self.truth is not None:
            if self.vertex_map is None or self.whole is None:
                raise ValueError("the truth can be compared with a map only, and there is none")
            places = (("part", self.part, self.truth.part_vertices), ("whole", self.whole, self.truth.corners))
            for name, surface, numbers in places:
                if numbers.size and numbers.max() >= surface.full.n_vertices:
                    raise ValueError(
                        f"the truth refers to vertex {numbers.max()} of the {name}, which has "
                        f"{surface.full.n_vertices} vertices; do the files belong together?"
                    )

    @classmethod
    def of(
        cls,
        part: Mesh,
        whole: Mesh | None = None,
        vertex_map: Int[np.ndarray, "p"] | None = None,
        **known: Any,
    ) -> Scene:
        """Of surfaces as they are; see `simplified` for those with very many vertices."""
        title = known.pop("title", "") or (part.name if whole is None else f"{part.name} → {whole.name}")
        shown_whole = None if whole is None else DisplayedSurface.of(whole)
        return cls(DisplayedSurface.of(part), shown_whole, vertex_map, title=title, **known)

    @property
    def is_large(self) -> bool:
        """Whether `simplified` takes time."""
        surfaces = [self.part] if self.whole is None else [self.part, self.whole]
        return any(s.full.n_vertices > MOST_SHOWN and not s.is_simplified for s in surfaces)

    def simplified(self, most: int = MOST_SHOWN, *, cache: Cache | None = None) -> Scene:
        """With at most `most` vertices of each surface drawn; a note says so, and that distances are no longer proved."""
        surfaces = [self.part] if self.whole is None else [self.part, self.whole]
        with ThreadPoolExecutor(2) as pool:
            part, *wholes = pool.map(lambda surface: surface.simplified(most, cache=cache), surfaces)
        notes = [
            f"{surface.full.name} has {surface.full.n_vertices} vertices; {surface.mesh.n_vertices} of them are drawn, "
            "and distances are those of the surface they form"
            + (f"; what is guaranteed there is not proved for {surface.full.name} itself." if surface is part else ".")
            for surface in (part, *wholes)
            if surface.is_simplified
        ]
        return replace(self, part=part, whole=wholes[0] if wholes else None, notes=(*notes, *self.notes))

    @cached_property
    def errors(self) -> Float[np.ndarray, "p"]:
        """Geodesic error of each entry of the map, as a share of √(area of the whole); NaN where the truth is not known."""
        if self.whole is None or self.vertex_map is None or self.truth is None:
            raise ValueError("errors need a map and the truth to compare it with")
        from partwhole.evaluation.errors import distance_rows, geodesic_errors

        whole, truth, size = self.whole.full, self.truth, self.part.full.n_vertices
        of_rows = geodesic_errors(self.vertex_map, truth, distance_rows(whole), area=whole.area)
        count = np.bincount(truth.part_vertices, minlength=size)
        total = np.bincount(truth.part_vertices, of_rows, size)
        return np.divide(total, count, out=np.full(size, np.nan), where=count > 0)

    @cached_property
    def part_camera(self) -> Camera:
        """A view that shows much of the part; of two parts, one that shows much of what they share on both."""
        camera = self.part.camera
        if self.parts is None or self.whole is None:
            return camera
        sides = ((self.part, self.parts.a_to_b.shared), (self.whole, self.parts.b_to_a.shared))
        cameras = [camera, *(Camera(azimuth, 12.0, camera.up) for azimuth in np.arange(16) * 22.5)]
        scores = [min(_seen(surface, shared, one) for surface, shared in sides) for one in cameras]
        return cameras[first_largest(scores)]

    @cached_property
    def whole_camera(self) -> Camera:
        """Shows that side of the whole to which the side of the part that is seen first is mapped."""
        assert self.whole is not None
        if self.parts is not None:
            return self.part_camera
        if self.vertex_map is None:
            return self.whole.camera
        up = self._whole_up()
        eye = self.part.camera.axes[2]
        seen = np.maximum(outward_normals(self.part.mesh) @ eye, 0) * self.part.mesh.vertex_areas
        mapped = outward_normals(self.whole.mesh)[self.shown_map(self.vertex_map)]
        cameras = [Camera(azimuth, 12.0, up) for azimuth in np.arange(16) * 22.5]
        scores = [seen @ np.maximum(mapped @ camera.axes[2], 0) for camera in cameras]
        return cameras[first_largest(scores)]

    def _whole_up(self) -> Axis:
        """The axis of the whole along which matches rise as the vertices of the part do."""
        assert self.whole is not None
        assert self.vertex_map is not None
        height = self.part.mesh.vertices[:, "xyz".index(self.part.camera.up)]
        matches = self.whole.mesh.vertices[self.shown_map(self.vertex_map)]
        spread = matches.std(axis=0)
        together = (height - height.mean()) @ (matches - matches.mean(axis=0))
        risen = np.divide(together, spread, out=np.zeros(3), where=spread > 0)
        axes: tuple[Axis, ...] = ("x", "y", "z")
        return axes[first_largest(risen)]

    @property
    def swapped(self) -> str | None:
        """What to ask where part and whole look as if they were swapped."""
        if self.whole is None or self.parts is not None:
            return None
        return swapped_question(self.part.full, self.whole.full)

    def shown_map(self, vertex_map: Int[np.ndarray, "p"]) -> Int[np.ndarray, "k"]:
        """A map between the vertices that are drawn."""
        assert self.whole is not None
        return self.whole.to_shown[vertex_map[self.part.to_full]]

    def _shown_landmark(self, landmark: LandmarkPair) -> dict[str, Any]:
        """A landmark for the page: between the vertices that are drawn, with their numbers, and what became of it."""
        assert self.whole is not None
        became = {"before": landmark.before, "use": landmark.use} if isinstance(landmark, LandmarkResult) else {}
        return {
            "part": int(self.part.to_shown[landmark.part]),
            "whole": int(self.whole.to_shown[landmark.whole]),
            "numbers": [landmark.part, landmark.whole],
            "label": landmark.label,
            **became,
        }

    def _shown_parts(self, found: PartsMatch) -> dict[str, np.ndarray]:
        """For the page: what is shared of both, and how probable that is."""
        assert self.whole is not None
        sides = (("part", self.part, found.a_to_b), ("whole", self.whole, found.b_to_a))
        arrays = {
            f"{name}_{what}": values[surface.to_full]
            for name, surface, way in sides
            for what, values in (("shared", way.shared), ("overlap", way.overlap), ("confidence", way.confidence))
        }
        if self.part.is_simplified:
            arrays |= {"full_part_shared": found.a_to_b.shared, "full_part_overlap": found.a_to_b.overlap}
        return arrays

    def to_bytes(self, *, measured: Mapping[str, np.ndarray] | None = None, **more: Any) -> bytes:
        """All of it for the page, see `pack`; arrays that were `measured`, and `more` to its description, are added."""
        meta: dict[str, Any] = {
            "title": self.title,
            "warnings": [text for text in self.warnings if text != self.swapped],
            "swapped": self.swapped,
            "notes": [*self.notes, *self.map_notes],
            "truth": self.truth is not None,
            "factor": self.factor,
            "doubtful_places": [
                {"vertex": int(self.part.to_shown[p.vertex]), "area_share": p.area_share, "confidence": p.confidence}
                for p in self.doubtful_places
            ],
            "landmarks": [self._shown_landmark(one) for one in self.landmarks],
            **more,
        }
        arrays: dict[str, np.ndarray] = dict(measured or {})
        for name, surface in (("part", self.part), ("whole", self.whole)):
            if surface is not None:
                meta[name] = surface.described(self.whole_camera if name == "whole" else self.part_camera)
                arrays |= {f"{name}_{key}": array for key, array in surface.arrays().items()}
        if self.fit is not None:
            assert self.whole is not None
            fit = FitOnPage(self.fit, self.part, self.whole)
            meta["fit"] = fit.described()
            arrays |= {f"fit_{key}": array for key, array in fit.arrays().items()}
        if self.parts is not None:
            meta["parts"] = {"shares": self.parts.shares, "belongs": self.parts.belongs}
            arrays |= self._shown_parts(self.parts)
        maps = {"map": self.vertex_map, "before": self.vertex_map_before}
        for name, vertex_map in maps.items():
            if vertex_map is not None:
                arrays[name] = self.shown_map(vertex_map)
                if self.part.is_simplified or (self.whole is not None and self.whole.is_simplified):
                    arrays[f"full_{name}"] = vertex_map
        known: Mapping[str, np.ndarray | None] = {"confidence": self.confidence, "doubtful": self.doubtful}
        for name, values in known.items():
            if values is not None:
                arrays[name] = values[self.part.to_full]
                if self.part.is_simplified:
                    arrays[f"full_{name}"] = values
        return pack(meta, arrays)


def _seen(surface: DisplayedSurface, chosen: Bool[np.ndarray, "n"], camera: Camera) -> float:
    """Of the chosen region, the area that faces a camera."""
    mesh = surface.mesh
    facing = np.maximum(outward_normals(mesh) @ camera.axes[2], 0)
    return float((facing * mesh.vertex_areas * chosen[surface.to_full]).sum())
