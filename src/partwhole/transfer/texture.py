"""Texture transfer: the texture of one surface, baked into an image for another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8

from partwhole.mesh import Mesh
from partwhole.mesh.barycentric import SurfaceTree
from partwhole.mesh.textured import Texture, TexturedMesh
from partwhole.store.arguments import check_instance, check_whole_number
from partwhole.transfer.atlas import make_atlas
from partwhole.transfer.correspondence import Correspondence, Side, check_correspondence, check_side

# pixels between charts, half of which each of them is padded by at least
_GAP = 8
_BLOCK = 2**18
# the surface of the texture may be off that of the map by this share of its size
_OFF = 1e-3


@dataclass(frozen=True, eq=False, repr=False)
class TransferredTexture:
    """A texture on the target surface.

    Attributes
    ----------
    texture : one image, and the texture coordinates of each face
    covered : for each face whether its pixels have a place on the other surface; the others have the colour `missing`
    covered_share : of the area
    """

    texture: Texture
    covered: Bool[np.ndarray, "m"]
    covered_share: float

    def __repr__(self) -> str:
        return f"TransferredTexture({self.texture}, {100 * self.covered_share:.0f} % covered)"


def transfer_texture(
    textured: TexturedMesh,
    correspondence: Correspondence,
    *,
    to: Side = "part",
    size: int = 1024,
    missing: tuple[int, int, int] = (128, 128, 128),
    texture: Texture | None = None,
) -> TransferredTexture:
    """Bake an image for one surface from the texture of the other.

    Every pixel is a point of the surface; it is carried through the map, moved to the closest point of the textured surface,
    and gets the colour there. Pixels beside a chart get the colour of the nearest point in it, so that no seam shows.

    Parameters
    ----------
    textured : the textured surface, with the shape of the whole, or, with to="whole", of the part; its triangles may differ
    correspondence : of the two surfaces
    to : which surface gets the texture
    size : width and height of the image, in pixels
    missing : colour where a point has no place on the textured surface
    texture : existing texture coordinates of the target surface to bake into; by default an atlas is made
    """
    check_side(to)
    check_correspondence(correspondence)
    check_instance("textured", textured, TexturedMesh, "use partwhole.mesh.textured.read_textured(path)")
    if texture is not None:
        check_instance("texture", texture, Texture, "take that of a TexturedMesh")
    check_whole_number("size", size)
    if not 16 <= size <= 8192:
        raise ValueError(f"size={size} must lie between 16 and 8192 pixels")
    if textured.texture is None:
        raise ValueError(
            f"{textured.mesh.name} has no texture; give a file with texture coordinates or colours of materials"
        )
    origin, target = correspondence.whole, correspondence.part
    if to == "whole":
        origin, target = target, origin
    check_same_place(textured.mesh, origin)
    if texture is None:
        atlas = make_atlas(target, size, gap=_GAP)
        uv, corners = atlas.uv, atlas.corners
    else:
        uv, corners = _inside(texture, target)
    faces, weights, far = _pixels(uv, corners, size)
    look = _Look(textured, textured.texture, correspondence, to)
    image = np.empty((size * size, 4), np.uint8)
    count, hit = np.zeros(target.n_faces), np.zeros(target.n_faces)
    near = np.flatnonzero(~far)
    for start in range(0, len(near), _BLOCK):
        own = near[start : start + _BLOCK]
        colors, covered = look(faces[own], weights[own])
        colors[~covered] = [*missing, 255]
        image[own] = np.clip(np.rint(colors), 0, 255)
        np.add.at(count, faces[own], 1)
        np.add.at(hit, faces[own], covered)
    image = _spread(image.reshape(size, size, 4), far.reshape(size, size))
    small = count == 0
    if small.any():
        # faces without a pixel are covered if their centres are
        hit[small] = look(np.flatnonzero(small), np.full((int(small.sum()), 3), 1 / 3))[1]
        count[small] = 1
    share = hit / count
    area = target.face_areas
    covered_share = float(share @ area / area.sum()) if area.any() else float(share.mean())
    baked = Texture(uv, corners, (image,), np.zeros(target.n_faces, np.int64))
    return TransferredTexture(baked, share > 0.5, covered_share)


def check_same_place(mesh: Mesh, surface: Mesh) -> None:
    """Raise ValueError unless the vertices of the surface lie on the mesh, so that the two are the same shape."""
    off = SurfaceTree(mesh).nearest(surface.vertices).distances
    size = float(np.linalg.norm(np.ptp(surface.vertices, axis=0)))
    if off.max() > _OFF * size:
        raise ValueError(
            f"{surface.name} has vertices up to {off.max():.3g} away from {mesh.name}; give the file that was matched, in "
            "the same place and units"
        )


class _Look:
    """Colours of points of one surface, by the texture of the other."""

    def __init__(self, textured: TexturedMesh, texture: Texture, correspondence: Correspondence, to: Side) -> None:
        self.textured, self.texture, self.correspondence, self.to = textured, texture, correspondence, to
        self.tree = SurfaceTree(textured.mesh)

    def __call__(
        self, faces: Int[np.ndarray, "k"], weights: Float[np.ndarray, "k 3"]
    ) -> tuple[Float[np.ndarray, "k 4"], Bool[np.ndarray, "k"]]:
        if self.to == "part":
            there, normals = self.correspondence.near_whole(faces, weights)
            covered = self.correspondence.mapped_faces[faces]
        else:
            part, whole = self.correspondence.part, self.correspondence.whole
            corners = whole.faces[faces]
            points = np.einsum("kc,kcd->kd", weights, whole.vertices[corners])
            own = np.einsum("kc,kcd->kd", weights, whole.vertex_normals[corners])
            places = self.correspondence.on_part(points, own)[0]
            there = np.nan_to_num(places.positions(part.vertices))
            normals = np.nan_to_num(places.interpolate(part.vertex_normals))
            covered = places.covered
        found = self.tree.nearest(there, normals)
        return self.texture.colors(found.faces, found.weights), covered & found.found


def _pixels(
    uv: Float[np.ndarray, "k 2"], corners: Int[np.ndarray, "m 3"], size: int
) -> tuple[Int[np.ndarray, "p"], Float[np.ndarray, "p 3"], Bool[np.ndarray, "p"]]:
    """For the centre of each pixel the closest point of the faces in the picture, and whether that is farther than a gap."""
    # each face has vertices of its own, since texture coordinates of a face may coincide
    flat = np.zeros((corners.size, 3))
    flat[:, :2] = uv[corners.reshape(-1)] * size
    middle = np.arange(size) + 0.5
    points = np.zeros((size * size, 3))
    points[:, 0], points[:, 1] = np.tile(middle, size), np.repeat(middle, size)
    found = SurfaceTree(Mesh(flat, np.arange(corners.size).reshape(-1, 3))).nearest(points)
    return found.faces, found.weights, found.distances > _GAP


def _spread(image: UInt8[np.ndarray, "h w 4"], empty: Bool[np.ndarray, "h w"]) -> UInt8[np.ndarray, "h w 4"]:
    """Empty pixels get the colour of the nearest one that is not, for programs that show the picture smaller."""
    from scipy.ndimage import distance_transform_edt

    if not empty.any():
        return image
    row, column = distance_transform_edt(empty, return_distances=False, return_indices=True)
    return image[row, column]


def _inside(texture: Texture, target: Mesh) -> tuple[Float[np.ndarray, "k 2"], Int[np.ndarray, "m 3"]]:
    if len(texture.corners) != target.n_faces:
        raise ValueError(
            f"texture has {len(texture.corners)} faces, {target.name} {target.n_faces}; do they belong together?"
        )
    if texture.uv.min() < 0 or texture.uv.max() > 1:
        raise ValueError(
            f"texture coordinates reach from {texture.uv.min():.3g} to {texture.uv.max():.3g}; a picture is baked into 0 to 1"
        )
    return texture.uv, texture.corners
