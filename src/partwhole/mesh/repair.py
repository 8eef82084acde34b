"""Repair: from any triangles to a `Mesh` that is a consistently oriented manifold, with a report of what was changed."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from partwhole.mesh.formats.common import MeshWarning
from partwhole.mesh.surface import Mesh
from partwhole.mesh.surface_like import SurfaceLike, surface_arrays
from partwhole.mesh.topology import (
    coincident_points,
    connected_labels,
    consistent_orientation,
    degenerate_faces,
    duplicate_faces,
    separate,
)
from partwhole.store.arguments import as_array, as_numbers, check_number, displayable
from partwhole.store.compute import first_largest


@dataclass(frozen=True)
class RepairReport:
    """How often each thing was done. Faces and vertices are counted in the input, unless said otherwise."""

    out_of_range_faces: int = 0  # dropped: they use a vertex that does not exist
    non_finite_faces: int = 0  # dropped: a corner is nan or infinite
    merged_vertices: int = 0  # only with merge_coincident=True
    degenerate_faces: int = 0  # dropped: they use a vertex twice
    duplicate_faces: int = 0  # dropped: same vertices as an earlier face
    split_edges: int = 0  # edges with more than two faces, taken apart
    split_vertices: int = 0  # vertices that became several
    small_components: int = 0  # dropped, only if asked
    small_component_faces: int = 0  # the faces dropped with them
    flipped_faces: int = 0  # turned over, so that neighbours agree and closed pieces face outwards
    non_orientable_components: int = 0  # left as they are: no orientation fits (a Möbius strip)
    unreferenced_vertices: int = 0  # dropped: no face left uses them
    zero_area_faces: int = 0  # of the result; kept

    @property
    def is_clean(self) -> bool:
        """True if nothing had to be done."""
        noticed = ("non_orientable_components", "zero_area_faces")
        return not any(getattr(self, f.name) for f in fields(self) if f.name not in noticed)


@dataclass(frozen=True, eq=False)
class Repair:
    """A repaired surface, and how it comes from the input.

    `vertex_map[i]` is the vertex of the input for vertex i of the result (one that was split occurs several times),
    `face_map[j]` the face of the input for face j of the result.
    """

    mesh: Mesh
    vertex_map: Int[np.ndarray, "n"]
    face_map: Int[np.ndarray, "m"]
    report: RepairReport

    def summary(self) -> str:
        """What was done, in one line."""
        counts = {field.name: getattr(self.report, field.name) for field in fields(self.report)}
        done = [_counted(count, what) + _DONE.get(what, " dropped") for what, count in counts.items() if count]
        return ", ".join(done) or "nothing to repair"


_DONE = {
    "merged_vertices": "",
    "split_edges": "",
    "split_vertices": "",
    "flipped_faces": "",
    "non_orientable_components": " left as found",
    "zero_area_faces": " kept",
}


def repair(
    vertices: SurfaceLike | ArrayLike,
    faces: ArrayLike | None = None,
    *,
    merge_coincident: bool = False,
    min_component_fraction: float = 0.0,
    name: str | None = None,
) -> Repair:
    """A manifold, consistently oriented surface with no loose vertices, from a mesh or from any vertices and triangles.

    In this order: faces that use vertices which do not exist or are not finite, degenerate faces and repeated faces are
    dropped; edges with more than two faces are taken apart (faces stay joined in pairs, the pair that continues the
    surface best first), and so are vertices where several fans of faces meet, by giving each a copy of the vertex;
    small components are dropped if asked; faces are turned over until neighbours agree, and closed components until
    they face outwards; vertices without faces are dropped. Vertices and faces keep their order, copies of vertices come
    last. Repairing the result again changes nothing.

    Parameters
    ----------
    vertices, faces : (n, 3) coordinates and (m, 3) vertex numbers; or a surface alone, as
        `as_mesh` takes it, but with defects
    merge_coincident : first make vertices with exactly equal coordinates one. Off by default: it glues a surface
        together where it only touches itself, and undoes the copies that an earlier repair made
    min_component_fraction : drop connected components with less than this share of the area; the largest always stays
    name : what to call the result; the name of the mesh unless given

    Examples
    --------
    >>> bow_tie = repair([[0, 0, 0], [1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0]], [[0, 1, 2], [0, 3, 4], [2, 1, 0]])
    >>> bow_tie.summary()
    '1 duplicate face dropped, 1 split vertex'
    >>> bow_tie.mesh.faces.tolist(), bow_tie.vertex_map.tolist()
    ([[0, 1, 2], [5, 3, 4]], [0, 1, 2, 3, 4, 0])
    """
    check_number("min_component_fraction", min_component_fraction)
    if not 0.0 <= min_component_fraction <= 1.0:
        raise ValueError(f"min_component_fraction must lie between 0 and 1, got {min_component_fraction}")
    points, triangles, label = _as_arrays(vertices, faces, name)
    n_given = len(points)
    counts: dict[str, int] = {}
    kept = np.arange(len(triangles))

    def drop(bad: Bool[np.ndarray, "m"], reason: str) -> None:
        nonlocal triangles, kept
        counts[reason] = int(bad.sum())
        triangles, kept = triangles[~bad], kept[~bad]

    drop(np.any((triangles < 0) | (triangles >= len(points)), axis=1), "out_of_range_faces")
    drop(~np.isfinite(points).all(axis=1)[triangles].all(axis=1), "non_finite_faces")
    counts["merged_vertices"] = 0
    if merge_coincident:
        first, number = coincident_points(points)
        counts["merged_vertices"] = len(points) - len(first)
        triangles = first[number[triangles]]
    drop(degenerate_faces(triangles), "degenerate_faces")
    drop(duplicate_faces(triangles), "duplicate_faces")
    if len(triangles) == 0:
        lost = ", ".join(_counted(count, reason) for reason, count in counts.items() if count)
        raise ValueError(f"{label} has no usable face ({lost}); there is nothing to repair")

    apart = separate(points, triangles)
    triangles, points = apart.faces, points[apart.copy_of]
    small, counts["small_components"] = _small_components(points, triangles, min_component_fraction)
    drop(small, "small_component_faces")
    orientation = consistent_orientation(points, triangles)
    triangles[orientation.flip] = triangles[orientation.flip][:, [0, 2, 1]]

    used = np.unique(triangles)
    vertex_map = apart.copy_of[used]
    mesh = Mesh(points[used], np.searchsorted(used, triangles), name=label)
    report = RepairReport(
        **counts,
        split_edges=apart.split_edges,
        split_vertices=apart.split_vertices,
        flipped_faces=int(orientation.flip.sum()),
        non_orientable_components=orientation.non_orientable_components,
        unreferenced_vertices=n_given - counts["merged_vertices"] - len(np.unique(vertex_map)),
        zero_area_faces=int((_relative_areas(mesh.vertices, mesh.faces) == 0).sum()),
    )
    return Repair(mesh, vertex_map, kept, report)


def _counted(count: int, what: str) -> str:
    """`3 degenerate faces`, `1 split vertex`."""
    words = what.replace("_", " ").replace("non ", "non-").replace("out of range", "out-of-range")
    if count == 1:
        words = words.replace("vertices", "vertex").removesuffix("s")
    return f"{count} {words}"


def _as_arrays(
    vertices: SurfaceLike | ArrayLike, faces: ArrayLike | None, name: str | None
) -> tuple[Float[np.ndarray, "n 3"], Int[np.ndarray, "m 3"], str]:
    if isinstance(vertices, Mesh):
        if faces is not None:
            raise ValueError("faces must not be given together with a Mesh, which has its own")
        return vertices.vertices, vertices.faces, vertices.name if name is None else name
    label = "mesh" if name is None else name
    given: Any = (vertices, faces)
    if faces is None:
        found = surface_arrays(vertices, label)
        given = found.vertices, found.faces
        if isinstance(vertices, str | os.PathLike) and name is None:
            label = displayable(Path(vertices).name)
        for note in found.notes:
            warnings.warn(note, MeshWarning, stacklevel=3)
    points = as_numbers(f"{label}: vertices", given[0])
    triangles = as_array(f"{label}: faces must have shape (m, 3)", given[1])
    if points.ndim != 2 or points.shape[1] != 3:
        raise ValueError(f"{label}: vertices must have shape (n, 3), got {points.shape}")
    if triangles.size == 0:
        raise ValueError(f"{label} has no faces; there is nothing to repair")
    if triangles.ndim != 2 or triangles.shape[1] != 3:
        raise ValueError(f"{label}: faces must have shape (m, 3), got {triangles.shape}")
    if not np.issubdtype(triangles.dtype, np.integer):
        raise ValueError(f"{label}: faces must be integers, got {triangles.dtype}")
    return points, triangles.astype(np.int64), label


def _small_components(
    vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"], fraction: float
) -> tuple[Bool[np.ndarray, "m"], int]:
    """Faces of components with less than a share of the area, and how many such components there are."""
    if fraction == 0:
        return np.zeros(len(faces), bool), 0
    label = connected_labels(len(vertices), faces[:, [[0, 1], [1, 2]]].reshape(-1, 2))
    _, component = np.unique(label[faces[:, 0]], return_inverse=True)
    areas = _relative_areas(vertices, faces)
    sizes = np.bincount(component, weights=areas if areas.any() else None).astype(np.float64)
    small = sizes < fraction * sizes.sum()
    small[first_largest(sizes)] = False
    return small[component], int(small.sum())


def _relative_areas(vertices: Float[np.ndarray, "n 3"], faces: Int[np.ndarray, "m 3"]) -> Float[np.ndarray, "m"]:
    """Face areas in units of the largest coordinate, squared: neither very large nor very small surfaces overflow."""
    corners = vertices[faces]
    scale = np.abs(corners).max()
    corners = corners / (scale if scale > 0 else 1.0)
    return 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
