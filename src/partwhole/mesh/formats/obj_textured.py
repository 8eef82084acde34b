"""Textures in OBJ: `vt`, `usemtl`, and the colours and pictures of the materials in `mtllib`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Int, UInt8

from partwhole.mesh.formats import obj
from partwhole.mesh.formats.common import FormatError, Words, counted, fans, split_words
from partwhole.mesh.formats.images import MOST_PIXELS, decode_image, encode_png

if TYPE_CHECKING:
    from partwhole.mesh.surface import Mesh
    from partwhole.mesh.textured import Texture

_WHITE = np.full((1, 1, 4), 255, np.uint8)
_LARGEST_FILE = 2**28
_LIBRARIES = re.compile(rb"^[ \t]*mtllib[ \t]+([^\r\n]+)", re.MULTILINE)
# options of map_Kd that come before the name of the file, and how many words each has
_OPTIONS = {
    b"-blendu": 1,
    b"-blendv": 1,
    b"-cc": 1,
    b"-clamp": 1,
    b"-texres": 1,
    b"-mm": 2,
    b"-o": 3,
    b"-s": 3,
    b"-t": 3,
}


def decode(data: bytes, folder: Path) -> tuple[Texture | None, list[str]]:
    """The texture, and what was left out; the file itself has been read by `obj`, so its faces are sound."""
    from partwhole.mesh.textured import Texture

    rows = obj.split_rows(data)
    first = rows.first()
    notes: list[str] = []
    images = _Images(folder, notes)
    image_of, current = [], 0
    for word, index in zip(first, range(len(rows)), strict=True):
        if word == b"mtllib":
            for name in rows.row(index)[1:]:
                images.read_library(name)
        elif word == b"usemtl":
            current = images.number(b" ".join(rows.row(index)[1:]))
        elif word == b"f":
            image_of.append(current)
    role = np.array([1 if word == b"vt" else 2 if word == b"f" else 0 for word in first])
    polygons = rows.rows(role == 2).columns(1)
    coordinates = rows.rows(role == 1)
    if len(coordinates) == 0 and not images.library:
        return None, notes
    if len(coordinates) and coordinates.widths.min() < 2:
        raise FormatError(f"line {coordinates.lines[int(coordinates.widths.argmin())]}: vt without a number")
    uv = np.zeros((len(coordinates) + 1, 2))
    both = np.minimum(coordinates.widths, 3)
    given = coordinates.columns(np.ones(len(both), np.int64), both).floats()
    column = np.concatenate([np.arange(k) for k in (both - 1)]) if len(both) else np.empty(0, np.int64)
    uv[np.repeat(np.arange(1, len(uv)), both - 1), column] = given
    if not np.isfinite(uv).all():
        raise FormatError("vt: a texture coordinate is not finite")
    uv[:, 1] = 1 - uv[:, 1]
    before = np.repeat(np.cumsum(role == 1)[role == 2], polygons.widths)
    corners = _uv_numbers(polygons, before)
    if corners.max(initial=0) >= len(uv) or corners.min(initial=0) < 0:
        raise FormatError(f"f: a corner uses texture coordinate {corners.max()}, there are {len(uv) - 1}")
    faces, polygon = fans(corners, polygons.widths)
    of_face = np.array(image_of, dtype=np.int64)[polygon]
    bare = (faces == 0).any(axis=1) & (np.array([image.size > 4 for image in images.images])[of_face])
    if bare.any():
        notes.append(
            f"{counted(int(bare.sum()), 'face')} with a picture but without texture coordinates: one colour each"
        )
    used, of_face = np.unique(of_face, return_inverse=True)
    return Texture(uv, faces, tuple(images.images[k] for k in used), of_face.reshape(-1)), notes


def files_beside(data: bytes, folder: Path) -> list[Path]:
    """The other files that an OBJ file is read with: its libraries of materials, and the pictures that these name."""
    images = _Images(folder, [])
    names = [name for line in _LIBRARIES.findall(data) for name in line.split()]
    for name in names:
        images.read_library(name)
    pictures = [picture for _, picture in images.library.values() if picture is not None]
    return [*(folder / name.decode(errors="surrogateescape") for name in names), *pictures]


def encode(mesh: Mesh, texture: Texture | None, stem: str) -> list[tuple[str, bytes]]:
    """The names of the files and what is in them: OBJ, and with a texture MTL and PNG; what others refer to comes first."""
    if texture is None:
        return [(f"{stem}.obj", obj.encode(mesh.vertices, mesh.faces, None))]
    names = [f"{stem}.png"] if len(texture.images) == 1 else [f"{stem}-{k}.png" for k in range(len(texture.images))]
    files = [(name, encode_png(image)) for name, image in zip(names, texture.images, strict=True)]
    library = "".join(f"newmtl picture{k}\nKd 1 1 1\nKs 0 0 0\nmap_Kd {name}\n" for k, name in enumerate(names))
    files.append((f"{stem}.mtl", library.encode()))
    lines = [f"mtllib {stem}.mtl"]
    lines += map("v %r %r %r".__mod__, map(tuple, mesh.vertices.tolist()))
    lines += map("vt %r %r".__mod__, map(tuple, (texture.uv * [1, -1] + [0, 1]).tolist()))
    for k in range(len(names)):
        own = texture.image_of == k
        both = np.stack([mesh.faces[own] + 1, texture.corners[own] + 1], axis=2).reshape(-1, 6)
        lines += [f"usemtl picture{k}", *map("f %d/%d %d/%d %d/%d".__mod__, map(tuple, both.tolist()))]
    files.append((f"{stem}.obj", "\n".join([*lines, ""]).encode(errors="surrogateescape")))
    return files


def _uv_numbers(polygons: Words, before: Int[np.ndarray, "c"]) -> Int[np.ndarray, "c"]:
    """For each corner its texture coordinate, counted from 1; 0 where it has none."""
    words = [word.split(b"/")[1:2] for word in polygons.words]
    numbers = np.array([int(word[0]) if word and word[0] else 0 for word in words], dtype=np.int64)
    return np.where(numbers < 0, before + 1 + numbers, numbers)


class _Images:
    """The pictures of materials, by the materials' names; number 0 is plain white."""

    def __init__(self, folder: Path, notes: list[str]) -> None:
        self.folder, self.notes = folder, notes
        self.images: list[UInt8[np.ndarray, "_ _ 4"]] = [_WHITE]
        self.library: dict[bytes, tuple[np.ndarray, Path | None]] = {}
        self._number_of: dict[bytes, int] = {}
        self._left = MOST_PIXELS

    def read_library(self, name: bytes) -> None:
        path = self.folder / name.decode(errors="surrogateescape")
        if not path.is_file() or path.stat().st_size > _LARGEST_FILE:
            self.notes.append(f"mtllib {path.name} is not there, or too large; its materials are white")
            return
        current = None
        rows = split_words(path.read_bytes())
        for k in range(len(rows)):
            word, *rest = rows.row(k)
            if word == b"newmtl":
                current = b" ".join(rest)
                self.library[current] = (np.ones(3), None)
            elif current is not None and word == b"Kd" and len(rest) == 3:
                self.library[current] = (np.clip([float(v) for v in rest], 0, 1), self.library[current][1])
            elif current is not None and word == b"map_Kd" and rest:
                while len(rest) > 1 and rest[0] in _OPTIONS:
                    rest = rest[1 + _OPTIONS[rest[0]] :]
                file = path.parent / b" ".join(rest).decode(errors="surrogateescape").replace("\\", "/")
                self.library[current] = (self.library[current][0], file)

    def number(self, material: bytes) -> int:
        """The number of the picture of a material."""
        if material not in self.library:
            return 0
        if material not in self._number_of:
            colour, file = self.library[material]
            if file is not None and not (file.is_file() and file.stat().st_size <= _LARGEST_FILE):
                self.notes.append(f"the picture {file.name} is not there, or too large; its faces have one colour")
                file = None
            if file is None:
                pixel = [*np.rint(255 * colour).astype(np.uint8).tolist(), 255]
                image = np.array([[pixel]], np.uint8)
            else:
                image = decode_image(file.read_bytes(), file.name, most_pixels=self._left)
                self._left -= image.shape[0] * image.shape[1]
            self._number_of[material] = len(self.images)
            self.images.append(image)
        return self._number_of[material]
