"""Landmarks: named points of a surface, and pairs of them on a part and its whole; read from files and written.

Files: CSV, markups of 3D Slicer (`.mrk.json`), and picked points of MeshLab (`.pp`). A file holds numbers of vertices,
counted from 0, or points, which stand for the nearest vertex.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
from jaxtyping import Float, Int

from partwhole.mesh.formats.common import counted
from partwhole.mesh.surface import Mesh, as_mesh
from partwhole.mesh.surface_like import SurfaceLike
from partwhole.store.arguments import as_array, as_numbers, checked_path, displayable, in_short
from partwhole.store.storage import atomic_write
from partwhole.store.text import table_rows

# a point that lies farther from the surface, in √area, is worth a word: other units, another position, another scan
FAR = 0.05

ENDINGS = (".csv", ".mrk.json", ".pp")
_OF_PART, _OF_WHOLE = ("part", "scan"), ("whole", "template")
_LABELS = ("label", "name")


@dataclass(frozen=True)
class LandmarkPair:
    """A vertex of a part, and the vertex of the whole that is the same place.

    Attributes
    ----------
    part, whole : vertices, counted from 0
    label : its name; may be empty
    """

    part: int
    whole: int
    label: str = ""

    def __str__(self) -> str:
        """The name in messages.

        >>> print(LandmarkPair(12, 99, "nose"))
        landmark 'nose' (scan vertex 12 → template vertex 99)
        """
        name = f"landmark {displayable(self.label)!r}" if self.label else "the landmark"
        return f"{name} (scan vertex {self.part} → template vertex {self.whole})"


# as a caller gives them: pairs, or numbers of vertices with or without a label; or files, see `read_landmark_pairs`
LandmarksGiven = (
    Sequence[LandmarkPair | tuple[int, int] | tuple[int, int, str]]
    | np.ndarray
    | str
    | os.PathLike[str]
    | Sequence[str | os.PathLike[str]]
)


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Named vertices of one surface.

    Attributes
    ----------
    vertices : counted from 0
    labels : as many; empty where a file has no names
    away : from the point in the file to its vertex, in √area of the surface; 0 where the file has numbers of vertices
    notes : sentences about points that are far from the surface or were left out
    """

    vertices: Int[np.ndarray, "k"]
    labels: tuple[str, ...]
    away: Float[np.ndarray, "k"]
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.vertices)


def read_landmarks(path: str | os.PathLike[str], mesh: SurfaceLike) -> Landmarks:
    """Read landmarks from a file, as vertices of a surface.

    A CSV file has the columns `vertex`, or `x`, `y` and `z`, and `label` if they have names; without a header they are
    points, or names and points. Points are in the coordinates of the surface. 3D Slicer counts x and y from right to left or
    from left to right (RAS, LPS): if all points lie on the surface only when both are reversed, they are reversed, and a
    note says so.

    Parameters
    ----------
    path : a `.csv`, `.mrk.json` or `.pp` file
    mesh : the surface they lie on

    Examples
    --------
    >>> import tempfile
    >>> from partwhole.datasets import sphere
    >>> path = Path(tempfile.mkdtemp()) / "points.csv"
    >>> _ = path.write_text("label,x,y,z\\ntop,0,0,1\\nbottom,0,0,-1\\n")
    >>> ball = sphere(200)
    >>> found = read_landmarks(path, ball)
    >>> found.labels, ball.vertices[found.vertices, 2].round(1).tolist()
    (('top', 'bottom'), [1.0, -1.0])
    """
    mesh = as_mesh(mesh)
    listed = _listed(_existing(path))
    return _on_surface(listed, mesh, displayable(str(path)))


def write_landmarks(
    path: str | os.PathLike[str],
    mesh: SurfaceLike,
    vertices: Sequence[int] | np.ndarray,
    labels: Sequence[str] | None = None,
) -> None:
    """Write vertices of a surface as landmarks, by the ending of `path`: `.csv`, `.mrk.json` or `.pp`.

    Parameters
    ----------
    path : the file
    mesh : the surface
    vertices : counted from 0
    labels : their names; 1, 2, … by default
    """
    mesh = as_mesh(mesh)
    path, ending = checked_path("path", path), _ending(path)
    vertices = np.atleast_1d(as_array("vertices must be a list of vertex numbers", vertices)).tolist()
    numbers = [_vertex(number, mesh, f"landmark number {at}") for at, number in enumerate(vertices, start=1)]
    if isinstance(labels, str) or not (labels is None or isinstance(labels, Sequence)):
        raise ValueError(f"labels must be a list with a name for each vertex, got {in_short(labels)}")
    names = [str(at) for at in range(1, len(numbers) + 1)] if labels is None else list(map(str, labels))
    if len(names) != len(numbers):
        raise ValueError(f"labels has {len(names)} entries for {counted(len(numbers), 'vertex', 'vertices')}")
    encode: dict[str, Callable[[list[str], list[int], Mesh], str]] = {
        ".csv": _as_csv,
        ".mrk.json": _as_markups,
        ".pp": _as_picked_points,
    }
    _write(path, encode[ending](names, numbers, mesh))


def read_landmark_pairs(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], part: SurfaceLike, whole: SurfaceLike
) -> tuple[tuple[LandmarkPair, ...], tuple[str, ...]]:
    """Read pairs of landmarks, and return them with notes about them.

    Parameters
    ----------
    paths : one CSV file with the columns `part` and `whole` (or `scan` and `template`), numbers of vertices, and `label` if
        you like; or points, `part_x` to `whole_z`. Or two files, of the part and of the whole, whose landmarks belong
        together by their labels, or by their order if there are none
    part, whole : the surfaces
    """
    part, whole = as_mesh(part, name="part"), as_mesh(whole, name="whole")
    given = (
        list(paths) if isinstance(paths, Sequence) and not isinstance(paths, str) else [checked_path("paths", paths)]
    )
    if not 1 <= len(given) <= 2:
        raise ValueError(f"landmarks are in one file, or in two, of the part and of the whole; got {len(given)}")
    if len(given) == 1:
        return _both_in_one(_existing(given[0]), part, whole)
    of_part, of_whole = read_landmarks(given[0], part), read_landmarks(given[1], whole)
    places = [displayable(str(path)) for path in given]
    pairs, notes = _paired(of_part, of_whole, places)
    return pairs, (*of_part.notes, *of_whole.notes, *notes)


def write_landmark_pairs(path: str | os.PathLike[str], pairs: Sequence[LandmarkPair]) -> None:
    """Write pairs as a CSV file with the columns part, whole and label."""
    path = checked_path("path", path)
    if _ending(path) != ".csv":
        raise ValueError(f"{displayable(str(path))}: pairs of landmarks are written as .csv")
    _write(path, _csv_text([["part", "whole", "label"], *([one.part, one.whole, one.label] for one in pairs)]))


def checked_landmarks(given: Any, part: Mesh, whole: Mesh) -> tuple[LandmarkPair, ...]:
    """Pairs of landmarks from numbers of vertices, which are checked.

    Parameters
    ----------
    given : a sequence of `LandmarkPair`, or of (vertex of the part, vertex of the whole), with or without a label
    part, whole : the surfaces

    Examples
    --------
    >>> from partwhole.datasets import sphere
    >>> ball = sphere(100)
    >>> checked_landmarks([(3, 7)], ball, ball)
    (LandmarkPair(part=3, whole=7, label=''),)
    >>> checked_landmarks([(3, 700)], ball, ball)
    Traceback (most recent call last):
    ValueError: landmarks[0]: vertex 700 of sphere, which has the vertices 0 to 99; they are counted from 0
    """
    wanted = "landmarks must be a list of (vertex of the part, vertex of the whole)"
    if given is None:
        return ()
    if isinstance(given, np.ndarray):
        given = given.tolist()
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        raise ValueError(f"{wanted}, got {in_short(given)}; read_landmark_pairs reads a file")
    found: list[LandmarkPair] = []
    for at, one in enumerate(given):
        fields = (one.part, one.whole, one.label) if isinstance(one, LandmarkPair) else one
        if isinstance(fields, str | bytes) or not isinstance(fields, Sequence) or len(fields) not in (2, 3):
            raise ValueError(f"{wanted}, got {in_short(one)} as landmarks[{at}]")
        label = fields[2] if len(fields) == 3 else ""
        if not isinstance(label, str):
            raise ValueError(f"{wanted}, with or without a label, got {in_short(one)} as landmarks[{at}]")
        name = f"landmark {displayable(label)!r}" if label else f"landmarks[{at}]"
        found.append(LandmarkPair(_vertex(fields[0], part, name), _vertex(fields[1], whole, name), label))
    return tuple(found)


def given_landmarks(
    given: LandmarksGiven | None, part: Mesh, whole: Mesh
) -> tuple[tuple[LandmarkPair, ...], tuple[str, ...]]:
    """Pairs of landmarks from numbers of vertices or from files, and notes about them."""
    paths = str | os.PathLike
    if isinstance(given, paths) or (
        isinstance(given, Sequence) and len(given) and all(isinstance(one, paths) for one in given)
    ):
        return read_landmark_pairs(given, part, whole)  # type: ignore[arg-type]
    return checked_landmarks(given, part, whole), ()


# --- what the formats have in common


@dataclass(frozen=True)
class _Listed:
    """What a file lists: names, and for each either the number of a vertex or a point."""

    labels: list[str]
    vertices: list[int] | None
    points: np.ndarray | None
    notes: list[str]


def _existing(path: str | os.PathLike[str]) -> Path:
    path = checked_path("path", path)
    _ending(path)
    if not path.is_file():
        raise FileNotFoundError(f"file not found: {displayable(str(path))}; give a {', '.join(ENDINGS)} file")
    return path


def _ending(path: str | os.PathLike[str]) -> str:
    name = Path(path).name.lower()
    for ending in ENDINGS:
        if name.endswith(ending):
            return ending
    raise ValueError(f"{displayable(str(path))}: landmarks are in a {', '.join(ENDINGS)} file")


def _listed(path: Path) -> _Listed:
    """What a file of landmarks of one surface lists."""
    read = {".csv": _from_csv, ".mrk.json": _from_markups, ".pp": _from_picked_points}[_ending(path)]
    try:
        listed = read(path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError:
        raise ValueError(f"{displayable(str(path))} is not a text file") from None
    except ValueError as fault:
        raise ValueError(f"{displayable(str(path))}: {fault}") from None
    if not listed.labels:
        raise ValueError(f"{displayable(str(path))} has no landmarks")
    return listed


def _on_surface(listed: _Listed, mesh: Mesh, place: str) -> Landmarks:
    notes = [f"{place}: {note}" for note in listed.notes]
    if listed.vertices is not None:
        numbers = [
            _vertex(number, mesh, f"{place}: landmark {displayable(label)!r}" if label else f"{place}: landmark {at}")
            for at, (label, number) in enumerate(zip(listed.labels, listed.vertices, strict=True), start=1)
        ]
        return Landmarks(np.array(numbers, np.int64), tuple(listed.labels), np.zeros(len(numbers)), tuple(notes))
    assert listed.points is not None
    vertices, away = _nearest(listed.points, mesh)
    if (away > FAR).all():
        turned = _nearest(listed.points * [-1, -1, 1], mesh)
        if (turned[1] <= FAR).all():
            vertices, away = turned
            notes.append(f"{place}: x and y of the points were reversed (RAS and LPS), as {mesh.name} has them")
    for label, distance in zip(listed.labels, away, strict=True):
        if distance > FAR:
            notes.append(
                f"{place}: landmark {displayable(label)!r} lies {distance:.2f} √area from the nearest vertex of {mesh.name}; "
                "are its units and its position those of the mesh?"
            )
    return Landmarks(vertices, tuple(listed.labels), away, tuple(notes))


def _nearest(points: Float[np.ndarray, "k 3"], mesh: Mesh) -> tuple[Int[np.ndarray, "k"], Float[np.ndarray, "k"]]:
    """The nearest vertices that have faces, and how far they are, in √area."""
    from scipy.spatial import cKDTree

    used = np.unique(mesh.faces)
    away, at = cKDTree(mesh.vertices[used]).query(points)
    return used[at].astype(np.int64), away / mesh.area**0.5


def _vertex(number: Any, mesh: Mesh, name: str) -> int:
    if isinstance(number, bool) or not isinstance(number, int | np.integer):
        raise ValueError(f"{name}: a vertex must be a whole number, got {in_short(number)}")
    if not 0 <= number < mesh.n_vertices:
        raise ValueError(
            f"{name}: vertex {number} of {mesh.name}, which has the vertices 0 to {mesh.n_vertices - 1}; they are counted "
            "from 0"
        )
    return int(number)


def _paired(
    of_part: Landmarks, of_whole: Landmarks, places: Sequence[str]
) -> tuple[tuple[LandmarkPair, ...], list[str]]:
    """Pairs of landmarks with the same label, or with the same place in the lists if there are no labels."""
    one, other = places
    if not any(of_part.labels) and not any(of_whole.labels):
        if len(of_part) != len(of_whole):
            raise ValueError(
                f"{one} has {counted(len(of_part), 'landmark')} and {other} {len(of_whole)}, without labels; give them labels"
            )
        return tuple(LandmarkPair(int(p), int(w)) for p, w in zip(of_part.vertices, of_whole.vertices, strict=True)), []
    held = []
    for place, marks in zip(places, (of_part, of_whole), strict=True):
        named = dict(zip(marks.labels, marks.vertices.tolist(), strict=True))
        if len(named) < len(marks):
            twice = next(label for label in marks.labels if marks.labels.count(label) > 1)
            raise ValueError(
                f"{place}: the label {displayable(twice)!r} occurs twice; landmarks are paired by their labels"
            )
        held.append(named)
    named_part, named_whole = held
    common = [label for label in of_part.labels if label in named_whole]
    if not common:
        raise ValueError(f"no label of {one} is in {other}: landmarks of two files are paired by their labels")
    notes = [
        f"{place}: landmark {displayable(label)!r} is not in the other file, and was left out"
        for place, named in zip(places, held, strict=True)
        for label in named
        if label not in common
    ]
    return tuple(LandmarkPair(named_part[label], named_whole[label], label) for label in common), notes


def _write(path: Path, text: str) -> None:
    with atomic_write(path) as file:
        file.write(text.encode(errors="backslashreplace"))


# --- CSV


def _from_csv(text: str) -> _Listed:
    rows = table_rows(text)
    table = _Columns.of(rows, [("vertex", "vertex_number")], [(("x", "r", "l"), ("y", "a", "p"), ("z", "s"))])
    return _Listed(table.labels, table.vertices[0], table.points[0], [])


def _both_in_one(path: Path, part: Mesh, whole: Mesh) -> tuple[tuple[LandmarkPair, ...], tuple[str, ...]]:
    """Pairs from one CSV file."""
    place = displayable(str(path))
    if _ending(path) != ".csv":
        raise ValueError(f"{place} holds landmarks of one surface; give two files, of the part and of the whole")
    sides = [tuple(f"{side}{end}" for side in names for end in ("", "_vertex")) for names in (_OF_PART, _OF_WHOLE)]
    points = [tuple(tuple(f"{side}_{axis}" for side in names) for axis in "xyz") for names in (_OF_PART, _OF_WHOLE)]
    try:
        table = _Columns.of(table_rows(path.read_text(encoding="utf-8-sig")), sides, points)
    except UnicodeDecodeError:
        raise ValueError(f"{place} is not a text file") from None
    except ValueError as fault:
        raise ValueError(f"{place}: {fault}") from None
    if not table.labels:
        raise ValueError(f"{place} has no landmarks")
    marks = [
        _on_surface(_Listed(table.labels, table.vertices[side], table.points[side], []), mesh, place)
        for side, mesh in enumerate((part, whole))
    ]
    pairs = zip(*(one.vertices.tolist() for one in marks), table.labels, strict=True)
    return tuple(LandmarkPair(*fields) for fields in pairs), (*marks[0].notes, *marks[1].notes)


@dataclass(frozen=True)
class _Columns:
    """Columns of a CSV file: labels, and for each surface the vertices or the points."""

    labels: list[str]
    vertices: list[list[int] | None]
    points: list[np.ndarray | None]

    @classmethod
    def of(
        cls, rows: list[list[str]], numbers: Sequence[Sequence[str]], points: Sequence[Sequence[Sequence[str]]]
    ) -> _Columns:
        """Read rows whose header, if there is one, has some of the names given for each column of each surface."""
        rows = [row for row in rows if not row[0].lstrip().startswith("#")]
        if not rows:
            return cls([], [None] * len(numbers), [None] * len(numbers))
        head, body = _header(rows, sides=len(numbers))

        def column(names: Sequence[str]) -> int | None:
            return next((head.index(name) for name in names if name in head), None)

        at_label = column(_LABELS)
        of_vertices: list[list[int] | None] = []
        of_points: list[np.ndarray | None] = []
        for names, axes in zip(numbers, points, strict=True):
            at, places = column(names), [column(axis) for axis in axes]
            if at is not None:
                of_vertices.append([_whole_number(row, at, line) for line, row in body])
                of_points.append(None)
            elif None not in places:
                read = [[_number(row, place, line) for place in places] for line, row in body]  # type: ignore[arg-type]
                of_vertices.append(None)
                of_points.append(as_numbers("points", read).reshape(-1, 3))
            else:
                wanted = f"{names[0]}, or {', '.join(axis[0] for axis in axes)}"
                raise ValueError(f"it has the columns {', '.join(head)}; it should have {wanted}")
        labels = ["" if at_label is None else _cell(row, at_label) for _, row in body]
        return cls(labels, of_vertices, of_points)


def _header(rows: list[list[str]], *, sides: int) -> tuple[list[str], list[tuple[int, list[str]]]]:
    """The names of the columns, and the rows below with their numbers; names are supplied where there is no header."""
    numbered = list(enumerate(rows, start=1))
    first = [cell.strip() for cell in rows[0]]
    if not any(_is_number(cell) for cell in first):
        return [cell.lower() for cell in first], numbered[1:]
    plain = ["part", "whole"] if sides == 2 else ["x", "y", "z"]
    supplied = plain if _is_number(first[0]) else ["label", *plain]
    if supplied == plain and len(first) > len(plain):
        supplied = [*plain, "label"]
    if len(first) < len(supplied):
        raise ValueError(f"row 1: {', '.join(first)!r} should be {', '.join(supplied)}")
    return supplied, numbered


def _cell(row: list[str], at: int) -> str:
    return row[at].strip() if at < len(row) else ""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(row: list[str], at: int, line: int) -> float:
    try:
        value = float(_cell(row, at))
    except ValueError:
        value = np.nan
    if not np.isfinite(value):
        raise ValueError(f"row {line}: {in_short(_cell(row, at))} is not a number")
    return value


def _whole_number(row: list[str], at: int, line: int) -> int:
    try:
        return int(_cell(row, at))
    except ValueError:
        raise ValueError(f"row {line}: {in_short(_cell(row, at))} is not the number of a vertex") from None


def _csv_text(rows: Sequence[Sequence[Any]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _as_csv(names: list[str], numbers: list[int], mesh: Mesh) -> str:
    points = mesh.vertices[numbers].tolist()
    rows = ([name, number, *point] for name, number, point in zip(names, numbers, points, strict=True))
    return _csv_text([["label", "vertex", "x", "y", "z"], *rows])


# --- markups of 3D Slicer


def _from_markups(text: str) -> _Listed:
    try:
        points = [point for markup in json.loads(text)["markups"] for point in markup["controlPoints"]]
        defined = [point for point in points if point.get("positionStatus", "defined") == "defined"]
        labels = [str(point.get("label") or point.get("id") or "") for point in defined]
        read = as_numbers("position", [point["position"] for point in defined]).reshape(len(defined), 3)
    except (KeyError, TypeError, AttributeError, ValueError) as fault:
        raise ValueError(
            f"it is not a file of markups of 3D Slicer ({type(fault).__name__}: {in_short(str(fault))})"
        ) from None
    return _Listed(labels, None, _finite(read, labels), _left_out(len(points) - len(defined), "not defined"))


def _as_markups(names: list[str], numbers: list[int], mesh: Mesh) -> str:
    points = [
        {"id": str(at), "label": name, "position": mesh.vertices[number].tolist(), "positionStatus": "defined"}
        for at, (name, number) in enumerate(zip(names, numbers, strict=True), start=1)
    ]
    # Slicer takes the coordinates of a mesh for LPS unless its file says otherwise
    markup = {"type": "Fiducial", "coordinateSystem": "LPS", "controlPoints": points}
    schema = "https://raw.githubusercontent.com/slicer/slicer/master/Modules/Loadable/Markups/Resources/Schema/"
    schema += "markups-schema-v1.0.3.json#"
    return json.dumps({"@schema": schema, "markups": [markup]}, indent=1, ensure_ascii=False) + "\n"


# --- picked points of MeshLab


def _from_picked_points(text: str) -> _Listed:
    if "<!ENTITY" in text:
        raise ValueError("it defines entities, which picked points of MeshLab don't")
    try:
        points = list(ElementTree.fromstring(text).iter("point"))
        active = [point for point in points if point.get("active", "1") != "0"]
        labels = [point.get("name", "") for point in active]
        read = np.array([[float(point.attrib[axis]) for axis in "xyz"] for point in active]).reshape(-1, 3)
    except (ElementTree.ParseError, KeyError, ValueError) as fault:
        raise ValueError(f"it is not a file of picked points of MeshLab ({in_short(str(fault))})") from None
    return _Listed(labels, None, _finite(read, labels), _left_out(len(points) - len(active), "not active"))


def _as_picked_points(names: list[str], numbers: list[int], mesh: Mesh) -> str:
    root = ElementTree.Element("PickedPoints")
    for name, point in zip(names, mesh.vertices[numbers].tolist(), strict=True):
        where = {axis: repr(value) for axis, value in zip("xyz", point, strict=True)}
        ElementTree.SubElement(root, "point", {"active": "1", "name": name, **where})
    ElementTree.indent(root)
    return "<!DOCTYPE PickedPoints>\n" + ElementTree.tostring(root, encoding="unicode") + "\n"


def _finite(points: Float[np.ndarray, "k 3"], labels: list[str]) -> Float[np.ndarray, "k 3"]:
    bad = np.flatnonzero(~np.isfinite(points).all(axis=1))
    if len(bad):
        raise ValueError(
            f"landmark {displayable(labels[bad[0]])!r} is at {points[bad[0]].tolist()}, which is not a point"
        )
    return points


def _left_out(count: int, why: str) -> list[str]:
    return [f"{counted(count, 'point')} {why}, left out"] if count else []
