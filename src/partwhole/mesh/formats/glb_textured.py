"""Textures and skeletons in GLB: base colours, TEXCOORD, and skins; `glb` reads the triangles that they belong to."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float, Int, UInt8
from scipy import sparse

from partwhole.mesh.formats.common import FormatError, as_float64, counted
from partwhole.mesh.formats.glb import TRIANGLES, Gathered, Primitive, gather
from partwhole.mesh.formats.glb_access import Json, accessor, entry, floats, items, whole
from partwhole.mesh.formats.glb_writer import GlbWriter
from partwhole.mesh.formats.images import MOST_PIXELS, decode_image, encode_png

if TYPE_CHECKING:
    from partwhole.mesh.surface import Mesh
    from partwhole.mesh.textured import Skin, Texture

_FRACTIONS = {5126: "<f4", 5121: "u1", 5123: "<u2"}
_NUMBERS = {5121: "u1", 5123: "<u2"}
_PLAIN = (1.0, 1.0, 1.0, 1.0)
# vertices times joints: a file of a few bytes must not fill the memory
_MOST_WEIGHTS = 2**27
# entries of a frame that differ by less are those of a rotation
_RIGID = 1e-5


def decode(data: bytes) -> tuple[Texture | None, Skin | None, list[str]]:
    """The texture, the skeleton, and what was left out."""
    document, buffer, found = gather(data)
    notes: list[str] = []
    texture = _texture(document, buffer, found, notes)
    skin = _skin(document, buffer, found, notes) if found.skins else None
    return texture, skin, notes


def encode(mesh: Mesh, texture: Texture | None, skin: Skin | None, influences: int) -> bytes:
    """One mesh, with a primitive for each picture, and the nodes of the joints."""
    writer = GlbWriter()
    vertex, faces, uv = split_at_seams(mesh, texture)
    attributes = {"POSITION": writer.array(mesh.vertices[vertex].astype("<f4"), bounds=True)}
    document: Json = {"scenes": [{"nodes": [0]}], "nodes": [{"name": mesh.name, "mesh": 0}]}
    groups: list[tuple[np.ndarray, Json]] = [(faces, {})]
    if texture is not None:
        attributes["TEXCOORD_0"] = writer.array(uv.astype("<f4"))
        groups = [(faces[texture.image_of == k], {"material": k}) for k in range(len(texture.images))]
        document |= _materials(texture, writer)
    if skin is not None:
        joints, weights = largest_influences(skin.weights, influences)
        for k in range(influences // 4):
            own = slice(4 * k, 4 * k + 4)
            kind = "|u1" if len(skin.names) <= 256 else "<u2"
            attributes[f"JOINTS_{k}"] = writer.array(joints[vertex, own].astype(kind))
            attributes[f"WEIGHTS_{k}"] = writer.array(weights[vertex, own].astype("<f4"))
        inverse = np.linalg.inv(skin.rest).transpose(0, 2, 1).reshape(-1, 16)
        inverse[:, [3, 7, 11, 15]] = [0, 0, 0, 1]
        first = len(document["nodes"])
        nodes, top = _joint_nodes(skin, first)
        document["nodes"] += nodes
        document["nodes"][0]["skin"] = 0
        document["scenes"][0]["nodes"].append(top)
        joint_numbers = list(range(first, first + len(skin.names)))
        bind = writer.array(inverse.astype("<f4"))
        document["skins"] = [{"joints": joint_numbers, "inverseBindMatrices": bind, "skeleton": top}]
    primitives = [
        {"attributes": attributes, "indices": writer.array(own.astype("<u4").reshape(-1)), "mode": TRIANGLES, **more}
        for own, more in groups
        if len(own)
    ]
    return writer.finish({**document, "meshes": [{"primitives": primitives}]})


def split_at_seams(
    mesh: Mesh, texture: Texture | None
) -> tuple[Int[np.ndarray, "k"], Int[np.ndarray, "m 3"], Float[np.ndarray, "k 2"]]:
    """Vertices that have one texture coordinate each: their numbers in the mesh, the faces, and the coordinates.

    A vertex comes first under its own number, so that a mesh without seams stays as it is.
    """
    if texture is None:
        return np.arange(mesh.n_vertices), mesh.faces, np.zeros((mesh.n_vertices, 2))
    pairs = np.stack([mesh.faces.reshape(-1), texture.corners.reshape(-1)], axis=1)
    seen, place = np.unique(pairs, axis=0, return_inverse=True)
    first = np.ones(len(seen), bool)
    first[1:] = seen[1:, 0] != seen[:-1, 0]
    number = np.where(first, seen[:, 0], 0)
    number[~first] = mesh.n_vertices + np.arange((~first).sum())
    vertex = np.concatenate([np.arange(mesh.n_vertices), seen[~first, 0]])
    uv = np.zeros((len(vertex), 2))
    uv[number] = texture.uv[seen[:, 1]]
    return vertex, number[place.reshape(-1)].reshape(-1, 3), uv


def largest_influences(
    weights: sparse.csr_matrix, count: int
) -> tuple[Int[np.ndarray, "n c"], Float[np.ndarray, "n c"]]:
    """For each vertex the joints that it follows most, and how much; rows sum to one, and joints without weight are 0."""
    table = sparse.csr_matrix(weights)
    row = np.repeat(np.arange(table.shape[0]), np.diff(table.indptr))
    order = np.lexsort((table.indices, -table.data, row))
    rank = np.arange(len(row)) - table.indptr[row]
    kept = rank < count
    joints, shares = np.zeros((table.shape[0], count), np.int64), np.zeros((table.shape[0], count))
    at = row[order][kept], rank[kept]
    joints[at], shares[at] = table.indices[order][kept], table.data[order][kept]
    joints[shares == 0] = 0
    return joints, shares / shares.sum(axis=1, keepdims=True)


# --- textures


@dataclass
class _Pictures:
    """The pictures of materials, each made once."""

    document: Json
    buffer: bytes
    images: list[UInt8[np.ndarray, "_ _ 4"]] = field(default_factory=list)
    number_of: dict[str, int] = field(default_factory=dict)
    decoded: dict[int, UInt8[np.ndarray, "_ _ 4"]] = field(default_factory=dict)
    pixels_left: int = MOST_PIXELS
    textured: bool = False

    def of(self, primitive: Primitive) -> tuple[int, int]:
        """The number of the picture of a primitive, and the set of texture coordinates that it is shown by."""
        material: Json = {}
        where = primitive.where
        if "material" in primitive.source:
            number = whole(primitive.source, "material", where)
            material, where = entry(self.document, "materials", number), f"materials[{number}]"
        surface = material.get("pbrMetallicRoughness", {})
        if not isinstance(surface, dict):
            raise FormatError(f"{where}: pbrMetallicRoughness must be an object")
        factor = floats(surface, "baseColorFactor", 4, where, default=_PLAIN)
        shown = surface.get("baseColorTexture")
        self.textured |= shown is not None or "baseColorFactor" in surface
        if shown is None:
            key, coordinates = json.dumps(factor.tolist()), 0
        else:
            if not isinstance(shown, dict):
                raise FormatError(f"{where}: baseColorTexture must be an object")
            if "KHR_texture_transform" in _object(shown, "extensions"):
                raise FormatError(
                    f"{where}: KHR_texture_transform is not supported; write the texture coordinates as they are"
                )
            texture = whole(shown, "index", where)
            coordinates = whole(shown, "texCoord", where, default=0)
            source = whole(entry(self.document, "textures", texture), "source", f"textures[{texture}]")
            key = json.dumps([source, factor.tolist()])
        if key not in self.number_of:
            self.number_of[key] = len(self.images)
            self.images.append(
                _tinted(np.full((1, 1, 4), 255, np.uint8) if shown is None else self._image(source), factor)
            )
            self.pixels_left -= self.images[-1].shape[0] * self.images[-1].shape[1]
        return self.number_of[key], coordinates

    def _image(self, number: int) -> UInt8[np.ndarray, "_ _ 4"]:
        if number not in self.decoded:
            where = f"images[{number}]"
            image = entry(self.document, "images", number)
            if "bufferView" not in image:
                raise FormatError(f"{where}: the picture lies in another file; only an embedded one is read")
            view_number = whole(image, "bufferView", where)
            view = entry(self.document, "bufferViews", view_number)
            begin = whole(view, "byteOffset", where, default=0)
            size = whole(view, "byteLength", where)
            if whole(view, "buffer", where) != 0 or begin + size > len(self.buffer):
                raise FormatError(f"{where}: bufferViews[{view_number}] does not lie in the embedded buffer")
            self.decoded[number] = decode_image(self.buffer[begin : begin + size], where, most_pixels=self.pixels_left)
        return self.decoded[number]


def _texture(document: Json, buffer: bytes, found: Gathered, notes: list[str]) -> Texture | None:
    from partwhole.mesh.textured import Texture

    pictures = _Pictures(document, buffer)
    uv: list[np.ndarray] = []
    corners, image_of = [], []
    n_uv = without = 0
    for primitive in found.primitives:
        number, coordinates = pictures.of(primitive)
        image_of.append(np.full(len(primitive.triangles), number))
        attributes, key = primitive.source["attributes"], f"TEXCOORD_{coordinates}"
        if key in attributes:
            values = _fractions(document, buffer, whole(attributes, key, primitive.where), "VEC2", primitive.where)
            if len(values) != primitive.n_vertices:
                raise FormatError(
                    f"{primitive.where}: {key} has {len(values)} entries, POSITION {primitive.n_vertices}"
                )
        else:
            without += pictures.images[number].size > 4
            values = np.zeros((primitive.n_vertices, 2))
        found.count(len(values), primitive.where)
        uv.append(values)
        corners.append(primitive.triangles - primitive.first_vertex + n_uv)
        n_uv += len(values)
    if not pictures.textured:
        return None
    if without:
        notes.append(f"{counted(without, 'primitive')} with a picture but without texture coordinates: one colour each")
    return Texture(np.concatenate(uv), np.concatenate(corners), tuple(pictures.images), np.concatenate(image_of))


def _object(owner: Json, key: str) -> Json:
    """An object in the document; empty if it is not there, or is something else."""
    found = owner.get(key)
    return found if isinstance(found, dict) else {}


def _fractions(document: Json, buffer: bytes, index: int, shape: str, where: str) -> Float[np.ndarray, "k c"]:
    """Floats, or whole numbers that stand for shares of their largest value; all finite."""
    stored = accessor(document, buffer, index, shape, _FRACTIONS)
    values = as_float64(stored)
    if stored.dtype.kind == "u":
        values /= np.iinfo(stored.dtype).max
    if not np.isfinite(values).all() or np.abs(values).max() > 1e6:
        raise FormatError(f"{where}: accessors[{index}] holds values that are not finite, or beyond a million")
    return values


def _tinted(image: UInt8[np.ndarray, "h w 4"], factor: Float[np.ndarray, "4"]) -> UInt8[np.ndarray, "h w 4"]:
    """A picture in sRGB times a factor of linear light."""
    if np.array_equal(factor, _PLAIN):
        return image
    level = np.arange(256) / 255
    linear = np.where(level <= 0.04045, level / 12.92, ((level + 0.055) / 1.055) ** 2.4)
    tinted = np.empty_like(image)
    for channel in range(4):
        if channel == 3:
            table = level * np.clip(factor[3], 0, 1)
        else:
            light = np.clip(linear * factor[channel], 0, 1)
            table = np.where(light <= 0.0031308, light * 12.92, 1.055 * light ** (1 / 2.4) - 0.055)
        tinted[..., channel] = np.rint(255 * table).astype(np.uint8)[image[..., channel]]
    return tinted


def _materials(texture: Texture, writer: GlbWriter) -> Json:
    views = [writer.view(encode_png(image)) for image in texture.images]
    numbers = range(len(views))
    return {
        "images": [{"bufferView": view, "mimeType": "image/png"} for view in views],
        "samplers": [{"magFilter": 9729, "minFilter": 9987, "wrapS": 10497, "wrapT": 10497}],
        "textures": [{"source": k, "sampler": 0} for k in numbers],
        "materials": [
            {
                "pbrMetallicRoughness": {"baseColorTexture": {"index": k}, "metallicFactor": 0, "roughnessFactor": 1},
                "doubleSided": True,
            }
            for k in numbers
        ],
    }


# --- skeletons


def _skin(document: Json, buffer: bytes, found: Gathered, notes: list[str]) -> Skin:
    from partwhole.mesh.textured import Skin

    joint_of: dict[int, int] = {}  # node -> joint
    rest: list[np.ndarray] = []
    tables: dict[int, Int[np.ndarray, "j"]] = {}
    for number in sorted({p.skin for p in found.primitives if p.skin is not None}):
        tables[number] = _joints(document, buffer, number, joint_of, rest)
    if found.n_vertices * 8 > _MOST_WEIGHTS or len(rest) > 2**16:
        raise FormatError(f"skins: {found.n_vertices} vertices and {len(rest)} joints are more than is read")
    rows, columns, shares = [], [], []
    loose = 0
    for primitive in found.primitives:
        if not primitive.new:
            continue
        own = np.arange(primitive.n_vertices) + primitive.first_vertex
        joints, weights = np.zeros((len(own), 1), np.int64), np.ones((len(own), 1))
        if primitive.skin is None:
            loose += len(own)
        else:
            joints, weights = _influences(document, buffer, primitive, tables[primitive.skin])
        rows.append(np.repeat(own, joints.shape[1]))
        columns.append(joints.reshape(-1))
        shares.append(weights.reshape(-1))
    if loose:
        notes.append(f"{counted(loose, 'vertex', 'vertices')} without a skin follow the first joint")
    table = sparse.coo_matrix(
        (np.concatenate(shares), (np.concatenate(rows), np.concatenate(columns))), (found.n_vertices, len(rest))
    ).tocsr()
    table.eliminate_zeros()
    names, parents = _hierarchy(document, joint_of)
    return Skin(names, parents, np.array(rest), table)


def _joints(
    document: Json, buffer: bytes, number: int, joint_of: dict[int, int], rest: list[np.ndarray]
) -> Int[np.ndarray, "j"]:
    """The joints of a skin, among those of all skins; new ones are added."""
    where = f"skins[{number}]"
    skin = entry(document, "skins", number)
    listed = [whole({"joint": node}, "joint", where) for node in items(skin, "joints")]
    n_nodes = len(items(document, "nodes"))
    if not listed or max(listed) >= n_nodes or len(set(listed)) < len(listed):
        raise FormatError(f"{where}: joints must be different nodes, of which the file has {n_nodes}")
    if "inverseBindMatrices" in skin:
        stored = accessor(document, buffer, whole(skin, "inverseBindMatrices", where), "MAT4", {5126: "<f4"})
        if len(stored) < len(listed):
            raise FormatError(f"{where}: {len(stored)} inverseBindMatrices for {counted(len(listed), 'joint')}")
        inverse = as_float64(stored[: len(listed)]).reshape(-1, 4, 4).transpose(0, 2, 1)
    else:
        inverse = np.tile(np.eye(4), (len(listed), 1, 1))
    if not np.isfinite(inverse).all() or (np.abs(np.linalg.det(inverse)) < 1e-30).any():
        raise FormatError(f"{where}: inverseBindMatrices can't be inverted")
    for node, frame in zip(listed, np.linalg.inv(inverse), strict=True):
        if node not in joint_of:
            joint_of[node] = len(rest)
            rest.append(frame)
    return np.array([joint_of[node] for node in listed])


def _influences(
    document: Json, buffer: bytes, primitive: Primitive, joints: Int[np.ndarray, "j"]
) -> tuple[Int[np.ndarray, "n k"], Float[np.ndarray, "n k"]]:
    attributes, where = primitive.source["attributes"], primitive.where
    numbers: list[np.ndarray] = []
    shares: list[np.ndarray] = []
    while f"JOINTS_{len(numbers)}" in attributes and len(numbers) < 4:
        k = len(numbers)
        numbers.append(accessor(document, buffer, whole(attributes, f"JOINTS_{k}", where), "VEC4", _NUMBERS))
        shares.append(_fractions(document, buffer, whole(attributes, f"WEIGHTS_{k}", where), "VEC4", where))
    if not numbers:
        raise FormatError(f"{where}: a skin bends it, but it has no JOINTS_0")
    if any(len(values) != primitive.n_vertices for values in (*numbers, *shares)):
        raise FormatError(f"{where}: JOINTS and WEIGHTS must have {primitive.n_vertices} entries, as POSITION has")
    index, weights = np.concatenate(numbers, axis=1).astype(np.int64), np.concatenate(shares, axis=1)
    if weights.min() < 0:
        raise FormatError(f"{where}: a weight is {weights.min():.3g}; weights are not negative")
    index[weights == 0] = 0
    if index.max() >= len(joints):
        raise FormatError(f"{where}: joint {index.max()} does not exist; the skin has {len(joints)}")
    sums = weights.sum(axis=1, keepdims=True)
    # a vertex that follows nothing stays where the first joint is
    weights[sums[:, 0] == 0, 0] = 1
    return joints[index], weights / weights.sum(axis=1, keepdims=True)


def _hierarchy(document: Json, joint_of: dict[int, int]) -> tuple[tuple[str, ...], tuple[int | None, ...]]:
    """Names of the joints, all different, and for each the joint next above it in the tree of nodes."""
    nodes = items(document, "nodes", of=dict)
    above = {child: k for k, node in enumerate(nodes) for child in items(node, "children")}
    names, parents, used = [], [], set()
    next_joint: dict[int, int | None] = {}
    for node, joint in joint_of.items():
        name = str(nodes[node].get("name") or f"joint {joint}")
        name = name if name not in used else f"{name} {joint}"
        used.add(name)
        names.append(name)
        # what was walked over is kept, since chains of nodes may be long
        walked, at = [], above.get(node)
        while at is not None and at not in joint_of and at not in next_joint:
            walked.append(at)
            at = above.get(at)
        found = None if at is None else joint_of.get(at, next_joint.get(at))
        next_joint |= dict.fromkeys(walked, found)
        parents.append(found)
    return tuple(names), tuple(parents)


def _joint_nodes(skin: Skin, first: int) -> tuple[list[Json], int]:
    """A node for each joint, numbered from `first`, and the node that all of them hang on."""
    nodes: list[Json] = []
    for joint, (name, parent) in enumerate(zip(skin.names, skin.parents, strict=True)):
        frame = skin.rest[joint] if parent is None else np.linalg.solve(skin.rest[parent], skin.rest[joint])
        below = [first + child for child, above in enumerate(skin.parents) if above == joint]
        nodes.append({"name": name, **_as_node(frame), **({"children": below} if below else {})})
    roots = [first + joint for joint, parent in enumerate(skin.parents) if parent is None]
    if len(roots) == 1:
        return nodes, roots[0]
    nodes.append({"name": "skeleton", "children": roots})
    return nodes, first + len(nodes) - 1


def _as_node(frame: Float[np.ndarray, "4 4"]) -> dict[str, Any]:
    """Rotation and translation, which can be animated; the matrix, if it is more than these."""
    turn = frame[:3, :3]
    if np.abs(turn @ turn.T - np.eye(3)).max() > _RIGID or np.linalg.det(turn) < 0:
        return {"matrix": frame.T.reshape(-1).tolist()}
    from scipy.spatial.transform import Rotation

    rotation = Rotation.from_matrix(turn).as_quat()
    return {"rotation": rotation.tolist(), "translation": frame[:3, 3].tolist()}
