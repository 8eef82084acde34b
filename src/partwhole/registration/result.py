"""The result of `fit`: the template in the scan's coordinates, and the source of each of its vertices."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int, Shaped, UInt8

from partwhole.deformation.sources import SOURCES
from partwhole.matching.result import MatchResult
from partwhole.mesh import Mesh, write_mesh
from partwhole.mesh.barycentric import BarycentricMap
from partwhole.mesh.shown import ShownByItself
from partwhole.saved import RESULT, save
from partwhole.store.arguments import checked_path
from partwhole.store.storage import atomic_write
from partwhole.transfer import Correspondence, transfer_by_kind
from partwhole.transfer.correspondence import Side
from partwhole.transfer.values import ValueKind

MESH, ARRAYS, SUMMARY = "fitted.ply", "fit.npz", "fit.json"
# seen, between, unseen: sure is dark, made up is pale
SOURCE_COLORS = np.array([[52, 101, 164], [138, 176, 214], [228, 208, 170]], np.uint8)


@dataclass(frozen=True, eq=False, repr=False)
class FittedTemplate(ShownByItself):
    """A template deformed to fit a scan.

    Attributes
    ----------
    mesh : the template's triangulation in the scan's coordinates and units
    source : of each vertex: 0 seen by the scan, 1 between what was seen, 2 unseen; see `source_names`
    distance : of each vertex to the scan, in its units
    confidence : of each vertex: that of the map where it was seen, decreasing with the distance from there
    expected_error : the expected distance of each vertex from its true position, in the scan's units
    barycentric : for each vertex of the scan its place in a triangle of the fitted template; not covered where the scan is
        far from it
    match : the match between scan and template that the fit started from
    flipped : triangles that turned over
    intersections : pairs of triangles that intersect
    warnings : what to check before using the fit
    notes : what was done and assumed
    seconds : duration of each step
    """

    mesh: Mesh
    source: Int[np.ndarray, "n"]
    distance: Float[np.ndarray, "n"]
    confidence: Float[np.ndarray, "n"]
    expected_error: Float[np.ndarray, "n"]
    barycentric: BarycentricMap
    match: MatchResult
    flipped: Int[np.ndarray, "f"]
    intersections: Int[np.ndarray, "k 2"]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    seconds: dict[str, float]

    def __repr__(self) -> str:
        shares = ", ".join(f"{100 * share:.0f} % {name}" for name, share in self.shares.items())
        return f"FittedTemplate({self.match.whole.name!r} → {self.match.part.name!r}: {shares})"

    @property
    def source_names(self) -> dict[int, str]:
        """What the numbers of `source` mean."""
        return dict(SOURCES)

    @property
    def shares(self) -> dict[str, float]:
        """Of the fitted template's area: seen, between and unseen."""
        areas = self.mesh.vertex_areas
        return {name: float(areas[self.source == k].sum() / self.mesh.area) for k, name in SOURCES.items()}

    @property
    def colors(self) -> UInt8[np.ndarray, "n 3"]:
        """A colour for each vertex by its source: dark blue seen, light blue between, sand unseen."""
        return SOURCE_COLORS[self.source]

    def summary(self) -> dict[str, Any]:
        """The result as numbers and text that JSON can hold."""
        seen = self.source == 0
        return {
            "scan": self.match.part.name,
            "template": self.match.whole.name,
            "vertices": self.mesh.n_vertices,
            "faces": self.mesh.n_faces,
            "shares": self.shares,
            "distance": {
                "seen_mean": float(self.distance[seen].mean()) if seen.any() else None,
                "seen_max": float(self.distance[seen].max()) if seen.any() else None,
            },
            "expected_error": {
                name: float(self.expected_error[self.source == k].mean()) if (self.source == k).any() else None
                for k, name in SOURCES.items()
            },
            "scan_covered": float(self.barycentric.covered.mean()),
            "flipped_faces": len(self.flipped),
            "intersecting_pairs": len(self.intersections),
            "match_expected_error": self.match.fit.expected_error,
            "warnings": list(self.warnings),
            "notes": list(self.notes),
            "seconds": self.seconds,
        }

    @cached_property
    def correspondence(self) -> Correspondence:
        """Scan (part), template (whole) and the scan's places on it, for the functions of `partwhole.transfer`."""
        return Correspondence(self.match.part, self.match.whole, self.barycentric)

    def transfer(
        self,
        values: Shaped[np.ndarray, "n *rest"],
        *,
        kind: ValueKind = "auto",
        to: Side = "part",
        missing: Any = None,
    ) -> Shaped[np.ndarray, "m *rest"]:
        """Transfer values from the vertices of the template to those of the scan, or the other way.

        Every vertex gets the value at its place inside a triangle of the other surface: numbers are interpolated; a label is
        that of the corners with the largest weight.

        Parameters
        ----------
        values : a row for each vertex of the template, or of the scan if to="whole"
        kind : "scalar", "vector" (turned with the surface), "color" or "label"; "auto" decides by the type of the values
        to : the surface that gets the values: "part" is the scan, "whole" the template
        missing : the value of vertices that are not covered, nan by default. Labels need it if there are such vertices.
        """
        return transfer_by_kind(values, self.correspondence, kind=kind, to=to, missing=missing)

    def save(self, folder: str | os.PathLike[str]) -> dict[str, Path]:
        """Write the result into a folder, surfaces and match included, and return the paths of the files by name.

        `partwhole.load` reads it back, to the last bit, from result.json and fit.npz. Other programs can read fitted.ply,
        coloured by source, fit.json, and these arrays in fit.npz: `vertices`, `faces`, `source`, `distance`, `confidence` and
        `expected_error` of the template; `triangles`, `weights`, `covered` and `vertex_map` of the scan; `flipped` and
        `intersections`.
        """
        place = checked_path("folder", folder)
        if place.exists() and not place.is_dir():
            raise ValueError(f"{place} is a file; a result is saved in a folder")
        files = {name: place / name for name in (MESH, ARRAYS, RESULT, SUMMARY)}
        # a summary must not stand beside another fit
        files[SUMMARY].unlink(missing_ok=True)
        names = {
            "vertices": self.mesh.vertices,
            "faces": self.mesh.faces,
            "triangles": self.barycentric.triangles,
            "weights": self.barycentric.weights,
            "covered": self.barycentric.covered,
            "vertex_map": self.match.vertex_map,
        }
        save(self, place, arrays=names, file=ARRAYS)
        write_mesh(self.mesh, files[MESH], colors=self.colors)
        with atomic_write(files[SUMMARY]) as file:
            file.write(json.dumps(self.summary(), indent=2).encode())
        return files
