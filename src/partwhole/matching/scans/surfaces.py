"""From a surface as it was given to one that a network can be shown: its large pieces, its faces outwards, fewer vertices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole._ties import first_largest
from partwhole.matching.scans.units import percent
from partwhole.mesh import Mesh, decimate
from partwhole.mesh.formats.common import counted
from partwhole.mesh.topology import consistent_orientation

# pieces with less of the area, or fewer vertices, say nothing about where they belong
_SMALL_SHARE, _SMALL_COUNT = 0.01, 20
# nothing is taken away for a few vertices less
_WORTHWHILE = 1.3
# with fewer vertices a part would lose its shape, however small it is
_LEAST = 400
# all distances between more vertices fill the memory; a surface that can be decimated never has so many
_MOST = 12_000
# of vertices or of area that was left out, what a reader should know before all else
_GRAVE = 0.1
# |Σ normal · area| / Σ area: 0 for closed surfaces, ½ for half a sphere
_NEARLY_CLOSED = 0.3


@dataclass(frozen=True, eq=False, repr=False)
class PreparedSurface:
    """A surface as it is matched.

    Attributes
    ----------
    given : as it was given
    mesh : as it is matched, in the units that it was given in
    to_given : for each vertex of `mesh` its vertex of `given`
    covered : which vertices of `given` lie on what is matched; the others belong to no face, or to pieces left out
    decimated : whether vertices were taken away
    notes : what was done
    warnings : what of it may matter for the result
    """

    given: Mesh
    mesh: Mesh
    to_given: Int[np.ndarray, "m"]
    covered: Bool[np.ndarray, "n"]
    decimated: bool
    notes: tuple[str, ...]
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        return f"PreparedSurface({self.given.name!r}: {self.mesh.n_vertices} of {self.given.n_vertices} vertices)"


def prepare_surface(mesh: Mesh, role: Literal["part", "whole"], *, most_vertices: int) -> PreparedSurface:
    """The surface that is matched in the place of the one that was given.

    Vertices without faces are left out; of a whole all but the largest piece, of a part the specks. Faces are turned so
    that neighbours agree and face outwards. Where there are many more vertices than asked for, it is decimated.

    Parameters
    ----------
    mesh : as given
    role : a whole is one piece; a part may be several
    most_vertices : about how many to match
    """
    if mesh.area == 0:
        raise ValueError(f"{mesh.name}: all its faces have area 0; a surface is needed")
    kept, kept_notes, warnings = _pieces(mesh, role)
    pieces, to_given = (mesh, np.arange(mesh.n_vertices)) if kept.all() else mesh.submesh(kept)
    covered = np.zeros(mesh.n_vertices, bool)
    covered[to_given] = True
    notes = list(kept_notes)
    wanted = max(most_vertices, min(_LEAST, pieces.n_vertices))
    decimated = pieces.n_vertices > _WORTHWHILE * wanted
    if decimated:
        fewer = decimate(pieces, wanted, keep_boundary=False)
        pieces, to_given = fewer.mesh, to_given[fewer.to_fine]
        if pieces.n_vertices > max(_MOST, _WORTHWHILE * most_vertices):
            raise ValueError(
                f"{mesh.name}: its {mesh.n_vertices} vertices can't be made fewer than {pieces.n_vertices}, which are too "
                "many to match, since they lie on borders or where the surface is no manifold; mend it with pw.repair, or "
                "remesh it"
            )
        notes.append(f"the {role} is matched with {pieces.n_vertices} of its {mesh.n_vertices} vertices")
    turned, flipped = _outwards(pieces)
    if flipped:
        notes.append(f"{counted(flipped, 'face')} of the {role} were turned over, so that all face outwards")
    if flipped > pieces.n_faces / 2:
        warnings.append(
            f"the {role} was inside out; if that is because its coordinates are mirrored (x for −x, say), left and right are "
            "exchanged in the map"
        )
    return PreparedSurface(mesh, turned, to_given, covered, decimated, tuple(notes), tuple(warnings))


def _pieces(mesh: Mesh, role: str) -> tuple[Bool[np.ndarray, "n"], list[str], list[str]]:
    """The vertices to keep, and what to say about the others."""
    notes: list[str] = []
    warnings: list[str] = []
    used = np.zeros(mesh.n_vertices, bool)
    used[mesh.faces] = True
    if not used.all():
        notes.append(f"{counted(int((~used).sum()), 'vertex', 'vertices')} of the {role} without faces left out")
    label = mesh.component_labels
    areas = np.bincount(label, weights=mesh.vertex_areas)
    sizes = np.bincount(label)
    real = np.flatnonzero(areas > 0)
    shares = areas / areas.sum()
    if role == "whole":
        chosen = [first_largest(areas)]
    else:
        chosen = [int(c) for c in real if shares[c] >= _SMALL_SHARE and sizes[c] >= _SMALL_COUNT] or [
            first_largest(areas)
        ]
    lost = len(real) - len(chosen)
    if lost:
        share = 1 - shares[chosen].sum()
        text = f"{counted(lost, 'piece')} of the {role} left out, {percent(float(share))} of its area"
        if role == "whole":
            text += ": a whole is one piece, and the largest is taken"
        (warnings if share > _GRAVE else notes).append(text)
    return used & np.isin(label, chosen), notes, warnings


def _outwards(mesh: Mesh) -> tuple[Mesh, int]:
    """Faces turned so that neighbours agree and pieces face outwards, and how many were turned."""
    flip = consistent_orientation(mesh.vertices, mesh.faces).flip.copy()
    label = mesh.component_labels[mesh.faces[:, 0]]
    flip ^= _inside_out(mesh, flip, label)[label]
    if not flip.any():
        return mesh, 0
    faces = np.where(flip[:, None], mesh.faces[:, [0, 2, 1]], mesh.faces)
    return Mesh(mesh.vertices, faces, name=mesh.name), int(flip.sum())


def _inside_out(mesh: Mesh, flip: Bool[np.ndarray, "m"], label: Int[np.ndarray, "m"]) -> Bool[np.ndarray, "c"]:
    """Pieces that are nearly closed and face inwards; a patch has no inside, and stays as it was given."""

    def total(values: Float[np.ndarray, "m"]) -> Float[np.ndarray, "c"]:
        return np.bincount(label, values, minlength=mesh.n_components)

    towards = np.where(flip, -1.0, 1.0)[:, None] * mesh.face_normals * mesh.face_areas[:, None]
    corners = mesh.vertices[mesh.faces].mean(axis=1)
    area = np.maximum(total(mesh.face_areas), np.finfo(float).tiny)
    middle = np.stack([total(corners[:, axis] * mesh.face_areas) for axis in range(3)], axis=1) / area[:, None]
    # the normals of a closed surface cancel; a hole is closed by a cone from the middle
    open_by = np.linalg.norm(np.stack([total(towards[:, axis]) for axis in range(3)], axis=1), axis=1) / area
    cones = np.einsum("ij,ij->i", towards, corners - middle[label])
    return (open_by < _NEARLY_CLOSED) & (total(cones) < -0.3 * total(np.abs(cones)))
