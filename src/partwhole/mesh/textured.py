"""`TexturedMesh`: a surface with what artists put on it, a texture and a skeleton; read from GLB and OBJ, and written."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float, Int, UInt8
from scipy import sparse

from partwhole.mesh.formats.common import MeshWarning
from partwhole.mesh.surface import Mesh, check_mesh
from partwhole.store.arguments import check_instance, checked_path, displayable
from partwhole.store.storage import atomic_write


@dataclass(frozen=True, eq=False, repr=False)
class Texture:
    """Pictures on the faces: corner c of face f lies at uv[corners[f, c]] in images[image_of[f]].

    u runs from 0 at the left edge of a picture to 1 at the right one, v from the top to the bottom, as in glTF; pictures
    repeat outside.

    Attributes
    ----------
    uv : texture coordinates
    corners : rows of `uv`, for the corners of each face
    images : pictures in sRGB, with opacity; of one pixel for a plain colour
    image_of : number of the picture of each face
    """

    uv: Float[np.ndarray, "k 2"]
    corners: Int[np.ndarray, "m 3"]
    images: tuple[UInt8[np.ndarray, "_ _ 4"], ...]
    image_of: Int[np.ndarray, "m"]

    def __repr__(self) -> str:
        sizes = ", ".join(f"{image.shape[1]} × {image.shape[0]}" for image in self.images)
        return f"Texture({len(self.uv)} texture coordinates; pictures of {sizes})"

    def colors(self, faces: Int[np.ndarray, "p"], weights: Float[np.ndarray, "p 3"]) -> Float[np.ndarray, "p 4"]:
        """Red, green, blue and opacity, from 0 to 255, at points of faces; interpolated between the pixels.

        Parameters
        ----------
        faces : numbers of faces
        weights : of their corners
        """
        places = np.einsum("pc,pcd->pd", weights, self.uv[self.corners[faces]])
        found = np.empty((len(faces), 4))
        of_point = self.image_of[faces]
        for number in np.unique(of_point):
            own = of_point == number
            found[own] = _between_pixels(self.images[number], places[own])
        return found


@dataclass(frozen=True, eq=False, repr=False)
class Skin:
    """A skeleton, and how much each vertex follows each of its joints: x ↦ Σ_b w_b G_b rest_b⁻¹ x, G_b the joint's new frame.

    Attributes
    ----------
    names : of the joints
    parents : for each joint the number of the one it hangs on; None for a root
    rest : for each joint its frame, in which the surface is as it is; (x, y, z, 1) of the joint ↦ those of the surface
    weights : (vertices, joints), not negative; rows sum to one
    """

    names: tuple[str, ...]
    parents: tuple[int | None, ...]
    rest: Float[np.ndarray, "b 4 4"]
    weights: sparse.csr_matrix

    def __repr__(self) -> str:
        return f"Skin({len(self.names)} joints, {self.weights.shape[0]} vertices)"

    @property
    def joints(self) -> Float[np.ndarray, "b 3"]:
        """Where the joints are."""
        return self.rest[:, :3, 3]

    def order(self) -> list[int]:
        """The joints, each after the one it hangs on."""
        below: dict[int | None, list[int]] = {}
        for joint, parent in enumerate(self.parents):
            below.setdefault(parent, []).append(joint)
        found, waiting = [], list(reversed(below.get(None, [])))
        while waiting:
            joint = waiting.pop()
            found.append(joint)
            waiting += reversed(below.get(joint, []))
        return found

    def posed(self, vertices: Float[np.ndarray, "n 3"], frames: Float[np.ndarray, "b 4 4"]) -> Float[np.ndarray, "n 3"]:
        """The vertices when the joints have these frames: linear blend skinning, as in glTF.

        Parameters
        ----------
        vertices : at rest
        frames : as `rest`
        """
        motions = frames @ np.linalg.inv(self.rest)
        blend = np.asarray(self.weights @ motions[:, :3].reshape(len(motions), 12)).reshape(-1, 3, 4)
        return np.einsum("nij,nj->ni", blend[:, :, :3], vertices) + blend[:, :, 3]

    def turned(self, turns: dict[str, Float[np.ndarray, "3 3"]]) -> Float[np.ndarray, "b 4 4"]:
        """The frames after some joints were turned about where they are, in the axes of the surface at rest.

        What hangs on a joint turns with it.

        Parameters
        ----------
        turns : rotations by the names of joints
        """
        unknown = sorted(set(turns) - set(self.names))
        if unknown:
            raise ValueError(f"turns names {', '.join(unknown)}, which are not joints; skin.names lists them")
        motions = np.tile(np.eye(4), (len(self.names), 1, 1))
        for joint in self.order():
            parent = self.parents[joint]
            own = np.eye(4)
            if self.names[joint] in turns:
                own[:3, :3] = turns[self.names[joint]]
                own[:3, 3] = self.joints[joint] - own[:3, :3] @ self.joints[joint]
            motions[joint] = own if parent is None else motions[parent] @ own
        return motions @ self.rest


@dataclass(frozen=True, eq=False, repr=False)
class TexturedMesh:
    """A surface with its texture and its skeleton, as far as there are any.

    Attributes
    ----------
    mesh : vertices and faces in the order of the file, as `read_mesh` gives them
    texture : None if there are neither texture coordinates nor colours of materials
    skin : None if there is no skeleton
    """

    mesh: Mesh
    texture: Texture | None = None
    skin: Skin | None = None

    def __post_init__(self) -> None:
        check_mesh(self.mesh)
        for name, kind in (("texture", Texture), ("skin", Skin)):
            if getattr(self, name) is not None:
                check_instance(name, getattr(self, name), kind, f"use partwhole.mesh.textured.{kind.__name__}(...)")

    def __repr__(self) -> str:
        return f"TexturedMesh({self.mesh.name!r}: {self.mesh.n_vertices} vertices, {self.texture}, {self.skin})"


def read_textured(path: str | os.PathLike[str]) -> TexturedMesh:
    """The surface in a GLB or OBJ file with its texture and, from GLB, its skeleton.

    Of a material its base colour is read, a picture in PNG or JPEG or a plain colour (in OBJ `map_Kd` and `Kd`, through
    `mtllib`). A skinned surface is the one at rest. What is left out becomes a `MeshWarning`.

    Parameters
    ----------
    path : the file
    """
    from partwhole.mesh.formats import glb_textured, obj_textured
    from partwhole.mesh.io import decode_mesh

    path = checked_path("path", path)
    label = displayable(str(path))
    if path.suffix.lower() not in _ENDINGS:
        raise ValueError(f"{label}: textures and skeletons are read from .glb and .obj, not {path.suffix!r}")
    if not path.is_file():
        raise FileNotFoundError(f"{label} does not exist")
    data = path.read_bytes()
    mesh, notes = decode_mesh(data, path)
    try:
        if path.suffix.lower() == ".glb":
            texture, skin, more = glb_textured.decode(data)
        else:
            texture, more = obj_textured.decode(data, path.parent)
            skin = None
    except ValueError as error:
        raise ValueError(f"{label}: {error}") from None
    for note in (*notes, *(f"{label}: {text}" for text in more)):
        if not (skin is not None and _AT_REST in note):
            warnings.warn(note, MeshWarning, stacklevel=2)
    return TexturedMesh(mesh, texture, skin)


def write_textured(textured: TexturedMesh, path: str | os.PathLike[str], *, influences: Literal[4, 8] = 4) -> None:
    """Write a surface with texture and skeleton as GLB; or, without the skeleton, as OBJ with .mtl and .png beside it.

    Vertices that have several texture coordinates are written several times.

    Parameters
    ----------
    textured : the surface
    path : the file, .glb or .obj
    influences : joints that a vertex of a GLB may follow, 4 or 8; the largest weights are kept, and sum to one again. Many
        programs read 4 only.
    """
    from partwhole.mesh.formats import glb_textured, obj_textured

    check_mesh(getattr(textured, "mesh", textured))
    path = checked_path("path", path)
    if path.suffix.lower() not in _ENDINGS:
        raise ValueError(f"{path}: textures and skeletons are written as .glb or .obj, not {path.suffix!r}")
    if influences not in (4, 8):
        raise ValueError(f"influences={influences} must be 4 or 8")
    if path.suffix.lower() == ".glb":
        files = {path: glb_textured.encode(textured.mesh, textured.texture, textured.skin, influences)}
    elif textured.skin is not None:
        raise ValueError(f"{path}: OBJ has no skeleton; write .glb")
    else:
        files = {
            path.with_name(name): data for name, data in obj_textured.encode(textured.mesh, textured.texture, path.stem)
        }
    for file, data in files.items():
        with atomic_write(file) as opened:
            opened.write(data)


_ENDINGS = (".glb", ".obj")
# what read_mesh says of a skeleton, which is read here
_AT_REST = "the shape is the one at rest"


def _between_pixels(image: UInt8[np.ndarray, "h w 4"], uv: Float[np.ndarray, "p 2"]) -> Float[np.ndarray, "p 4"]:
    """Bilinear interpolation between the centres of pixels, of a picture that repeats."""
    height, width = image.shape[:2]
    at = (uv - np.floor(uv)) * [width, height] - 0.5
    low = np.floor(at).astype(np.int64)
    share = at - low
    columns = [(low[:, 0] + step) % width for step in (0, 1)]
    rows = [(low[:, 1] + step) % height for step in (0, 1)]
    found = np.zeros((len(uv), 4))
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            weight = np.abs(1 - j - share[:, 0]) * np.abs(1 - i - share[:, 1])
            found += weight[:, None] * image[row, column]
    return found
