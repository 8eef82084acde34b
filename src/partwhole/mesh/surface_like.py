"""What a surface may be given as: a path, arrays, or a mesh of another library, which is known by its attributes alone.

None of these libraries is imported, so they need not be installed, and any class with the same attributes will do.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from jaxtyping import Int

from partwhole.mesh.formats.common import counted, fan_note, fans, unpadded
from partwhole.mesh.surface import Mesh
from partwhole.store.arguments import as_array, displayable, in_short


@runtime_checkable
class HasVertices(Protocol):
    """trimesh, with `faces`, and Open3D, with `triangles`."""

    @property
    def vertices(self) -> Any: ...


@runtime_checkable
class HasPoints(Protocol):
    """PyVista, with `faces`, meshio, with `cells`, and point clouds."""

    @property
    def points(self) -> Any: ...


@runtime_checkable
class HasTensors(Protocol):
    """Open3D on tensors: `vertex.positions` and `triangle.indices`."""

    @property
    def vertex(self) -> Any: ...

    @property
    def triangle(self) -> Any: ...


@runtime_checkable
class HasPoint(Protocol):
    """A point cloud of Open3D on tensors: `point.positions`."""

    @property
    def point(self) -> Any: ...


# a path, a Mesh, (vertices, faces), or a mesh of trimesh, Open3D, PyVista or meshio
SurfaceLike: TypeAlias = (
    Mesh | str | os.PathLike[str] | tuple[Any, Any] | list[Any] | HasVertices | HasPoints | HasTensors
)

# or points of a surface
ScanLike: TypeAlias = SurfaceLike | np.ndarray | HasPoint

ACCEPTED = "a path, a pw.Mesh, (vertices, faces), or a mesh of trimesh, Open3D, PyVista or meshio"

_NO_FACES: Int[np.ndarray, "0 3"] = np.empty((0, 3), np.int64)
# cells of meshio: corners in order, or nothing of a surface
_POLYGONS = ("triangle", "quad", "polygon")
_NO_SURFACE = ("vertex", "line", "line3")


@dataclass(frozen=True, eq=False)
class SurfaceArrays:
    """A surface, or a point cloud, before it is checked.

    Attributes
    ----------
    vertices, faces : as they were given, polygons as triangles; a point cloud has no faces
    notes : what was done to get there
    """

    vertices: np.ndarray
    faces: np.ndarray
    notes: tuple[str, ...] = ()


def is_surface(given: object) -> bool:
    """Whether this is meant as a surface, and not as points or distances, where those may be given as well.

    >>> is_surface("scan.ply"), is_surface(([[0, 0, 0]], [[0, 0, 0]])), is_surface([[0, 0], [1, 1]])
    (True, True, False)
    """
    if isinstance(given, Mesh | str | os.PathLike):
        return True
    if isinstance(given, tuple):
        return len(given) == 2 and all(np.ndim(_plain(part)) == 2 for part in given)
    if hasattr(given, "__array__"):
        return False
    return _is_scene(given) or isinstance(given, HasVertices | HasPoints | HasTensors)


def _is_scene(given: Any) -> bool:
    """Whether this is a scene of trimesh, which gives all of its surfaces as one, each where it is shown."""
    return hasattr(given, "geometry") and hasattr(given, "to_mesh")


def surface_arrays(given: object, name: str) -> SurfaceArrays:
    """The arrays of what `as_mesh` takes, unchecked; of a file or of an object.

    Parameters
    ----------
    given : the surface, or points: an (n, 3) array, or a point cloud of these libraries
    name : what it is called in messages
    """
    if isinstance(given, Mesh):
        return SurfaceArrays(given.vertices, given.faces)
    if isinstance(given, str | os.PathLike):
        from partwhole.mesh.io import decoded, file_contents, triangles_of

        path = Path(given)
        label = displayable(str(path))
        contents, notes = decoded(file_contents(path), path)
        faces, _, more = triangles_of(contents, label)
        return SurfaceArrays(contents.vertices, faces, tuple(f"{label}: {note}" for note in [*notes, *more]))
    found = _of_pair(given, name) if isinstance(given, tuple | list) else _of_object(given, name)
    if found is None:
        kind = in_short(given) if isinstance(given, tuple | list) else type(given).__name__
        raise ValueError(f"{name} must be a surface, got {kind}; give {ACCEPTED}")
    return found


def _of_pair(given: tuple[Any, ...] | list[Any], name: str) -> SurfaceArrays | None:
    if len(given) != 2:
        return None
    vertices, faces = (_array(part, name, what) for part, what in zip(given, ("vertices", "faces"), strict=True))
    return SurfaceArrays(vertices, faces)


def _of_object(given: Any, name: str) -> SurfaceArrays | None:
    """Of an array, which holds points, or of an object of another library."""
    if hasattr(given, "__array__") or hasattr(given, "detach"):
        array = _array(given, name, "points")
        return SurfaceArrays(array, _NO_FACES) if array.ndim == 2 else None
    if _is_scene(given):
        given = given.to_mesh()
    if isinstance(given, HasVertices):
        faces = getattr(given, "faces", getattr(given, "triangles", _NO_FACES))
        return SurfaceArrays(_array(given.vertices, name, "vertices"), _array(faces, name, "faces"))
    if isinstance(given, HasTensors):
        positions, indices = _entry(given.vertex, "positions"), _entry(given.triangle, "indices")
        return SurfaceArrays(_array(positions, name, "vertices"), _array(indices, name, "faces"))
    if isinstance(given, HasPoint):
        return SurfaceArrays(_array(_entry(given.point, "positions"), name, "points"), _NO_FACES)
    return _of_points(given, name) if isinstance(given, HasPoints) else None


def _of_points(given: Any, name: str) -> SurfaceArrays | None:
    """PyVista holds polygons one after the other, each behind its size; meshio has a block for each kind of cell."""
    points = _array(given.points, name, "points")
    if hasattr(given, "faces"):
        if getattr(given, "n_strips", 0):
            raise ValueError(f"{name} has {given.n_strips} triangle strips; give {name}.triangulate()")
        try:
            corners, sizes = unpadded(_array(given.faces, name, "faces").reshape(-1))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        return _triangulated(name, points, corners, sizes)
    if hasattr(given, "extract_surface"):
        raise ValueError(f"{name} is a {type(given).__name__}, not a surface; give {name}.extract_surface()")
    cells = getattr(given, "cells", ())
    if not isinstance(cells, Iterable) or not all(hasattr(block, "type") and hasattr(block, "data") for block in cells):
        return None
    other = sorted({block.type for block in cells} - {*_POLYGONS, *_NO_SURFACE})
    if other:
        raise ValueError(f"{name} has cells of type {', '.join(other)}; a surface has triangles, quads and polygons")
    blocks = [_array(block.data, name, "cells") for block in cells if block.type in _POLYGONS]
    of_all = np.concatenate([_NO_FACES.reshape(-1), *(block.reshape(-1) for block in blocks)])
    widths = np.concatenate([_NO_FACES[:, 0], *(np.full(len(block), block.shape[1]) for block in blocks)])
    passed = [block.type for block in cells if block.type in _NO_SURFACE]
    notes = [f"{name}: cells of type {', '.join(sorted(set(passed)))} left out"] if passed and blocks else []
    return _triangulated(name, points, of_all, widths, notes)


def _triangulated(
    name: str, points: np.ndarray, corners: Int[np.ndarray, "c"], sizes: Int[np.ndarray, "m"], notes: Iterable[str] = ()
) -> SurfaceArrays:
    if len(sizes) and sizes.min() < 3:
        at = int(np.argmax(sizes < 3))
        raise ValueError(f"{name}: face {at} has {counted(int(sizes[at]), 'corner')}; a face has at least 3")
    return SurfaceArrays(points, fans(corners, sizes)[0], (*notes, *fan_note(sizes)))


def _entry(tensors: Any, key: str) -> Any:
    """An attribute, or nothing; containers of tensors raise KeyError for what they do not have."""
    try:
        return getattr(tensors, key)
    except (AttributeError, KeyError):
        return _NO_FACES


def _array(values: Any, name: str, what: str) -> np.ndarray:
    """An array; a tensor is copied to main memory."""
    return as_array(f"{name}: {what} must be an array", _plain(values))


def _plain(values: Any) -> Any:
    for step in ("detach", "cpu", "numpy"):
        if hasattr(values, step):
            values = getattr(values, step)()
    return values
