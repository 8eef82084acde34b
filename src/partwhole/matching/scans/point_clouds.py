"""Point clouds: triangles between neighbours, so that everything that is known of surfaces holds of them too.

Around each point its neighbours are laid into the tangent plane and triangulated; triangles that most of their corners agree
on come first. What is missing from the cloud is missing from the surface, with a boundary around it. What is weaker than
with a mesh: gaps of a few points look like holes, so fewer distances are guaranteed; sheets that nearly touch may be
joined; and which side is outside is guessed from the shape.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from jaxtyping import Float, Int

from partwhole.mesh import Mesh
from partwhole.mesh.formats import obj, off, ply
from partwhole.mesh.formats.vtk import legacy, xml
from partwhole.store.arguments import as_numbers

WEAKER = (
    "the {role} is a point cloud, and was triangulated: gaps of a few points count as holes, so fewer distances are "
    "guaranteed, sheets that nearly touch may be joined, and which side is outside is guessed"
)
_NEIGHBOURS = 14
# that span the tangent plane: more of them would reach to the other side of what is thin
_NEAREST = 8
# edges longer than so many times the spacing of the points here bridge a gap
_LONGEST = 2.6
_FEWEST, _MOST = 30, 60_000
_DECODERS = {".ply": ply.decode, ".off": off.decode, ".obj": obj.decode, ".vtk": legacy.decode, ".vtp": xml.decode}
_TEXT = (".xyz", ".pts", ".txt", ".csv")


def read_cloud(path: Path) -> Float[np.ndarray, "n 3"] | None:
    """The points of a file without faces, or None if it has faces, or can't be read as points.

    PLY, OFF and OBJ without faces; text with x, y, z in the first columns (.xyz, .pts, .txt, .csv); an .npy array.
    """
    ending = path.suffix.lower()
    try:
        if ending in _DECODERS:
            contents = _DECODERS[ending](_with_faces(path.read_bytes()) if ending == ".ply" else path.read_bytes())
            points = None if len(contents.sizes) else contents.vertices
        elif ending == ".npy":
            points = np.load(path, allow_pickle=False)
        elif ending in _TEXT:
            points = np.loadtxt(path, delimiter="," if ending == ".csv" else None, ndmin=2)
        else:
            return None
    except (ValueError, OSError, EOFError, MemoryError):
        return None
    if (
        points is None
        or len(points) == 0
        or points.ndim != 2
        or points.shape[1] < 3
        or not np.issubdtype(points.dtype, np.number)
    ):
        return None
    return points[:, :3].astype(np.float64)


def _with_faces(data: bytes) -> bytes:
    """A PLY file that speaks of faces: of none, if it did not."""
    header = data.partition(b"end_header")[0]
    if b"element face" in header:
        return data
    newline = b"\r\n" if b"\r\n" in header else b"\n"
    none = b"element face 0" + newline + b"property list uchar int vertex_indices" + newline
    return data.replace(b"end_header", none + b"end_header", 1)


def checked_points(name: str, given: np.ndarray) -> Float[np.ndarray, "n 3"]:
    """Points of an array, as coordinates in space."""
    points = as_numbers(f"{name}: points", given)
    if points.ndim != 2 or points.shape[1] != 3:
        raise ValueError(f"{name}: points must have shape (n, 3), got {points.shape}")
    return points


def surface_of_points(points: Float[np.ndarray, "n 3"], *, name: str = "points") -> Mesh:
    """A surface through points: triangles of the local Delaunay triangulations that their corners agree on.

    Its vertices are the points, in their order; points that no triangle uses stay, without faces.

    Parameters
    ----------
    points : of a surface, about evenly spread
    name : what to call it in messages

    Examples
    --------
    >>> from partwhole.datasets import sphere
    >>> ball = sphere(1000)
    >>> found = surface_of_points(ball.vertices)
    >>> found.n_vertices, found.is_closed, bool(abs(found.area / ball.area - 1) < 0.01)
    (1000, True, True)
    """
    if not _FEWEST <= len(points) <= _MOST:
        raise ValueError(
            f"{name} has {len(points)} points and no faces; clouds of {_FEWEST} to {_MOST} points can be matched, and "
            "samples of larger ones"
        )
    if not np.isfinite(points).all():
        raise ValueError(f"{name} has coordinates that are not finite; remove these points")
    from scipy.spatial import cKDTree

    k = min(_NEIGHBOURS + 1, len(points))
    away, near = cKDTree(points).query(points, k=k)
    around = points[near[:, : _NEAREST + 1]]
    around = around - around.mean(axis=1, keepdims=True)
    # the two largest axes span the tangent plane, the smallest is the normal
    _, frames = np.linalg.eigh(np.einsum("nki,nkj->nij", around, around))
    normals = _oriented(frames[:, :, 0], points, near)
    triangles, count = np.unique(_stars(points, near, frames[:, :, 1:]), axis=0, return_counts=True)
    sides = np.linalg.norm(points[triangles] - points[np.roll(triangles, 1, axis=1)], axis=2).max(axis=1, initial=0)
    spacing = np.maximum(away[:, min(6, k - 1)], np.finfo(float).tiny)
    fitting = sides <= _LONGEST * spacing[triangles].mean(axis=1) / np.sqrt(3)
    # the sides of a thin sheet are not joined
    fitting &= (
        np.einsum("mci,mci->mc", normals[triangles], normals[np.roll(triangles, 1, axis=1)]).min(axis=1, initial=1) > 0
    )
    order = np.lexsort((sides, -count))
    faces = _accepted(triangles[order[fitting[order]]])
    if len(faces) == 0:
        raise ValueError(
            f"{name}: its {len(points)} points do not lie on a surface; give a mesh, or points without noise"
        )
    a, b, c = (points[faces[:, corner]] for corner in range(3))
    against = np.einsum("mi,mi->m", np.cross(b - a, c - a), normals[faces].sum(axis=1)) < 0
    return Mesh(points, np.where(against[:, None], faces[:, ::-1], faces), name=name)


def _oriented(
    normals: Float[np.ndarray, "n 3"], points: Float[np.ndarray, "n 3"], near: Int[np.ndarray, "n k"]
) -> Float[np.ndarray, "n 3"]:
    """Normals that agree with those of neighbours, passed on where they are most alike, and point outwards on the whole."""
    from scipy import sparse
    from scipy.sparse import csgraph

    n, k = near.shape
    one, other = np.repeat(np.arange(n), k - 1), near[:, 1:].reshape(-1)
    # a length of zero would be no edge
    unlike = 1.001 - np.abs(np.einsum("ei,ei->e", normals[one], normals[other]))
    tree = csgraph.minimum_spanning_tree(sparse.csr_array((unlike, (one, other)), shape=(n, n)))
    pieces, label = csgraph.connected_components(tree, directed=False)
    found = normals.copy()
    for piece in range(pieces):
        members = np.flatnonzero(label == piece)
        order, before = csgraph.breadth_first_order(tree, members[0], directed=False)
        for point in order[1:].tolist():
            if found[point] @ found[before[point]] < 0:
                found[point] *= -1
        out = points[members] - points[members].mean(axis=0)
        if np.einsum("ij,ij->", found[members], out) < 0:
            found[members] *= -1
    return found


def _stars(
    points: Float[np.ndarray, "n 3"], near: Int[np.ndarray, "n k"], tangents: Float[np.ndarray, "n 3 2"]
) -> Int[np.ndarray, "v 3"]:
    """The triangles at each point in the Delaunay triangulation of its neighbours in its tangent plane, corners ascending."""
    from scipy.spatial import Delaunay, QhullError

    plane = np.einsum("nki,nij->nkj", points[near] - points[near[:, :1]], tangents)
    found = []
    for place, members in zip(plane, near, strict=True):
        try:
            local = Delaunay(place).simplices
        except QhullError:  # neighbours on a line have no triangles
            continue
        found.append(members[local[(local == 0).any(axis=1)]])
    return np.sort(np.concatenate(found), axis=1) if found else np.empty((0, 3), np.int64)


def _accepted(candidates: Int[np.ndarray, "c 3"]) -> Int[np.ndarray, "a 3"]:
    """One candidate after the other, as long as no edge gets a third triangle."""
    faces_at: dict[tuple[int, int], int] = {}
    kept = []
    for a, b, c in candidates.tolist():
        sides = ((a, b), (b, c), (a, c))
        if all(faces_at.get(side, 0) < 2 for side in sides):
            kept.append((a, b, c))
            for side in sides:
                faces_at[side] = faces_at.get(side, 0) + 1
    return np.array(kept, np.int64).reshape(-1, 3)
