from __future__ import annotations

import copy
import json
import struct
import warnings
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from partwhole.mesh.formats.common import MeshWarning
from partwhole.mesh.formats.images import encode_png
from partwhole.mesh.io import read_mesh
from partwhole.mesh.surface import Mesh
from partwhole.mesh.textured import Skin, Texture, TexturedMesh, read_textured, write_textured

TETRAHEDRON = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]], name="x")
PICTURE = np.arange(3 * 4 * 4, dtype=np.uint8).reshape(3, 4, 4) * 5
UV = np.array([[0.125, 0.5], [0.625, 0.5], [0.5, 0.25], [0.875, 0.75], [1.25, -0.5]])


@pytest.fixture
def textured() -> TexturedMesh:
    """A tetrahedron whose vertex 0 has two texture coordinates, with two joints."""
    texture = Texture(UV, np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 4, 3]]), (PICTURE,), np.zeros(4, np.int64))
    rest = np.tile(np.eye(4), (2, 1, 1))
    rest[1] = [[0, -1, 0, 0.5], [1, 0, 0, 0.25], [0, 0, 1, 0], [0, 0, 0, 1]]
    weights = sparse.csr_matrix([[1.0, 0], [0.25, 0.75], [0, 1], [0.5, 0.5]])
    return TexturedMesh(TETRAHEDRON, texture, Skin(("hip", "knee"), (None, 0), rest, weights))


def parts(data: bytes) -> tuple[dict, bytes]:
    size = struct.unpack_from("<I", data, 12)[0]
    return json.loads(data[20 : 20 + size]), data[28 + size :]


def glb(document: dict, binary: bytes) -> bytes:
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    head = struct.pack("<4sII", b"glTF", 2, 28 + len(text) + len(binary))
    return head + struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(binary), b"BIN\0") + binary


@pytest.fixture
def changed(textured, tmp_path):
    """Reads the textured from a file after its JSON was changed."""

    def read(change) -> TexturedMesh:
        path = tmp_path / "x.glb"
        write_textured(textured, path)
        document, binary = parts(path.read_bytes())
        path.write_bytes(glb(change(document) or document, binary))
        return read_textured(path)

    return read


class TestGlb:
    def test_what_is_written_is_read(self, textured, tmp_path):
        path = tmp_path / "x.glb"
        write_textured(textured, path)
        found = read_textured(path)
        # vertex 0 has two texture coordinates, so it is there twice
        assert found.mesh.vertices.tolist() == [*TETRAHEDRON.vertices.tolist(), TETRAHEDRON.vertices[0].tolist()]
        assert found.mesh.faces[:3].tolist() == TETRAHEDRON.faces[:3].tolist()
        np.testing.assert_allclose(found.texture.uv[found.texture.corners], UV[textured.texture.corners])
        np.testing.assert_array_equal(found.texture.images[0], PICTURE)
        assert (found.skin.names, found.skin.parents) == (textured.skin.names, textured.skin.parents)
        np.testing.assert_allclose(found.skin.rest, textured.skin.rest, atol=1e-6)
        np.testing.assert_allclose(
            found.skin.weights.toarray(), textured.skin.weights.toarray()[[0, 1, 2, 3, 0]], atol=1e-7
        )
        assert repr(found).startswith(
            "TexturedMesh('x.glb': 5 vertices, Texture(5 texture coordinates; pictures of 4 × 3), Skin(2"
        )

    def test_other_readers_of_the_file_get_the_surface(self, textured, tmp_path):
        write_textured(textured, tmp_path / "x.glb")
        with pytest.warns(MeshWarning, match="1 skin not applied"):
            assert read_mesh(tmp_path / "x.glb").n_faces == 4

    def test_a_mesh_alone_keeps_its_vertices(self, tmp_path):
        write_textured(TexturedMesh(TETRAHEDRON), tmp_path / "x.glb")
        found = read_textured(tmp_path / "x.glb")
        assert found.mesh.faces.tolist() == TETRAHEDRON.faces.tolist()
        assert (found.texture, found.skin) == (None, None)

    @pytest.mark.parametrize("influences", [4, 8])
    def test_the_largest_weights_are_kept_and_sum_to_one(self, tmp_path, influences):
        weights = np.arange(1.0, 11) / 55
        rest = np.tile(np.eye(4), (10, 1, 1))
        skin = Skin(tuple("abcdefghij"), (None, *range(9)), rest, sparse.csr_matrix(np.tile(weights, (4, 1))))
        write_textured(TexturedMesh(TETRAHEDRON, None, skin), tmp_path / "x.glb", influences=influences)
        found = read_textured(tmp_path / "x.glb").skin.weights.toarray()
        kept = np.where(np.arange(10) >= 10 - influences, weights, 0)
        np.testing.assert_allclose(found, np.tile(kept / kept.sum(), (4, 1)), atol=1e-6)

    def test_several_roots_and_frames_that_are_no_rotations(self, tmp_path, textured):
        rest = textured.skin.rest * np.array([2.0, 2, 2, 1])
        skin = Skin(("a", "b"), (None, None), rest, textured.skin.weights)
        write_textured(TexturedMesh(TETRAHEDRON, None, skin), tmp_path / "x.glb")
        found = read_textured(tmp_path / "x.glb").skin
        assert found.parents == (None, None)
        np.testing.assert_allclose(found.rest, rest, atol=1e-6)

    def test_several_pictures_and_plain_colours(self, tmp_path, textured):
        red = np.array([[[255, 0, 0, 255]]], np.uint8)
        texture = replace(textured.texture, images=(PICTURE, red), image_of=np.array([0, 0, 1, 1]))
        write_textured(TexturedMesh(TETRAHEDRON, texture), tmp_path / "x.glb")
        found = read_textured(tmp_path / "x.glb").texture
        assert found.image_of.tolist() == [0, 0, 1, 1]
        np.testing.assert_array_equal(found.images[1], red)

    def test_a_colour_of_a_material_tints_its_picture(self, changed):
        def tint(document):
            document["materials"][0]["pbrMetallicRoughness"]["baseColorFactor"] = [0, 1, 0.5, 1]

        image = changed(tint).texture.images[0]
        assert (image[..., 0] == 0).all()
        np.testing.assert_array_equal(image[..., 1], PICTURE[..., 1])
        # half the light is more than half the value
        assert image[2, 3, 2] == pytest.approx(0.735 * PICTURE[2, 3, 2], abs=1.5)

    def test_without_inverse_bind_matrices_joints_are_at_the_origin(self, changed):
        def drop(document):
            del document["skins"][0]["inverseBindMatrices"]

        np.testing.assert_array_equal(changed(drop).skin.rest, np.tile(np.eye(4), (2, 1, 1)))

    def test_a_vertex_without_a_skin_follows_the_first_joint(self, changed):
        def again(document):
            document["nodes"].append({"mesh": 0})
            document["scenes"][0]["nodes"].append(len(document["nodes"]) - 1)

        with pytest.warns(MeshWarning, match="5 vertices without a skin follow the first joint"):
            found = changed(again)
        assert found.skin.weights.toarray()[5:].tolist() == [[1, 0]] * 5

    @pytest.mark.parametrize(
        ("path", "value", "said"),
        [
            (("skins", 0, "joints"), [], "joints must be different nodes"),
            (("skins", 0, "joints"), [1, 1], "joints must be different nodes"),
            (("skins", 0, "joints"), [1, 99], "joints must be different nodes"),
            (("skins", 0, "joints"), [1], "joint 1 does not exist; the skin has 1"),
            (("skins", 0, "inverseBindMatrices"), 0, "expected MAT4"),
            (("nodes", 0, "skin"), 3, r"skins\[3\] does not exist"),
            (("meshes", 0, "primitives", 0, "attributes", "JOINTS_0"), None, "JOINTS_0 must be a whole number"),
            (("meshes", 0, "primitives", 0, "attributes", "WEIGHTS_0"), 0, "expected VEC4"),
            (("meshes", 0, "primitives", 0, "attributes", "TEXCOORD_0"), 0, "expected VEC2"),
            (("meshes", 0, "primitives", 0, "material"), 5, r"materials\[5\] does not exist"),
            (("materials", 0, "pbrMetallicRoughness"), 5, "pbrMetallicRoughness must be an object"),
            (("materials", 0, "pbrMetallicRoughness", "baseColorTexture"), 5, "baseColorTexture must be an object"),
            (("materials", 0, "pbrMetallicRoughness", "baseColorFactor"), [1], "must be 4 finite numbers"),
            (
                ("materials", 0, "pbrMetallicRoughness", "baseColorTexture", "extensions"),
                {"KHR_texture_transform": {}},
                "KHR_texture_transform is not supported",
            ),
            (("images", 0), {"uri": "x.png"}, "the picture lies in another file"),
            (("images", 0, "bufferView"), 0, "the picture can't be read as PNG or JPEG"),
            (("bufferViews", 2, "byteLength"), 10**6, "does not lie in the embedded buffer|ends at byte"),
        ],
    )
    def test_what_is_damaged_is_refused(self, changed, path, value, said):
        def change(document):
            owner = document
            for step in path[:-1]:
                owner = owner[step]
            owner[path[-1]] = value

        with pytest.raises(ValueError, match=said) as caught:
            changed(change)
        assert "\n" not in str(caught.value)

    def test_numbers_that_make_no_sense(self, textured, tmp_path):
        path = tmp_path / "x.glb"
        for values, said in (
            ([[-1.0, 2], [0, 1], [0, 1], [0, 1]], "a weight is -1"),
            ([[np.inf, 0]] * 4, "not finite"),
        ):
            with np.errstate(invalid="ignore"):
                write_textured(TexturedMesh(TETRAHEDRON, None, textured.skin), path)
            document, binary = parts(path.read_bytes())
            at = document["accessors"][document["meshes"][0]["primitives"][0]["attributes"]["WEIGHTS_0"]]["bufferView"]
            begin = document["bufferViews"][at]["byteOffset"]
            table = np.pad(np.array(values, "<f4"), ((0, 0), (0, 2))).tobytes()
            path.write_bytes(glb(document, binary[:begin] + table + binary[begin + len(table) :]))
            with pytest.raises(ValueError, match=said):
                read_textured(path)

    def test_any_entry_may_be_damaged(self, textured, tmp_path):
        path = tmp_path / "x.glb"
        write_textured(textured, path)
        document, binary = parts(path.read_bytes())

        def places(value, at=()):
            yield at
            if isinstance(value, dict | list):
                keys = value if isinstance(value, dict) else range(len(value))
                for key in keys:
                    yield from places(value[key], (*at, key))

        refused = 0
        for number, place in enumerate(list(places(document))[1:]):
            other = copy.deepcopy(document)
            owner = other
            for step in place[:-1]:
                owner = owner[step]
            owner[place[-1]] = [None, -1, "x", 1e99, [], {}, 7][number % 7]
            path.write_bytes(glb(other, binary))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MeshWarning)
                try:
                    read_textured(path)
                except ValueError:
                    refused += 1
        assert refused > 40


class TestObj:
    def test_what_is_written_is_read(self, textured, tmp_path):
        write_textured(TexturedMesh(TETRAHEDRON, textured.texture), tmp_path / "x.obj")
        assert sorted(path.name for path in tmp_path.iterdir()) == ["x.mtl", "x.obj", "x.png"]
        found = read_textured(tmp_path / "x.obj")
        assert found.mesh.content_hash == TETRAHEDRON.content_hash
        np.testing.assert_allclose(found.texture.uv[found.texture.corners], UV[textured.texture.corners])
        np.testing.assert_array_equal(found.texture.images[0], PICTURE)
        assert len(found.texture.images) == 1

    def test_several_pictures(self, textured, tmp_path):
        texture = replace(textured.texture, images=(PICTURE, PICTURE[:1]), image_of=np.array([0, 1, 1, 1]))
        write_textured(TexturedMesh(TETRAHEDRON, texture), tmp_path / "x.obj")
        found = read_textured(tmp_path / "x.obj").texture
        assert [image.shape for image in found.images] == [PICTURE.shape, (1, 4, 4)]
        assert found.image_of.tolist() == [0, 1, 1, 1]

    def test_polygons_plain_colours_and_corners_without_coordinates(self, tmp_path):
        (tmp_path / "x.png").write_bytes(encode_png(PICTURE))
        (tmp_path / "x.mtl").write_text(
            "newmtl skin\nmap_Kd -s 1 1 1 x.png\nnewmtl cloth\nKd 0 0.2 1\nnewmtl lost\nmap_Kd y.png\n"
        )
        (tmp_path / "x.obj").write_text(
            "mtllib x.mtl z.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nvt 0 0\nvt 1 0\nvt 1 1 0\nvt 0.5\n"
            "usemtl skin\nf 1/1 2/-3 3/3 4/4\nusemtl cloth\nf 1 2 5\nusemtl lost\nf 2 3 5\nusemtl skin\nf 3 4 5\n"
        )
        with pytest.warns(MeshWarning) as told:
            found = read_textured(tmp_path / "x.obj").texture
        said = " ".join(str(one.message) for one in told)
        assert "z.mtl is not there" in said
        assert "y.png is not there" in said
        assert "1 face with a picture but without texture coordinates" in said
        assert found.uv[found.corners[1]].tolist() == [[0, 1], [1, 0], [0.5, 1]]
        colors = found.colors(np.array([2, 3]), np.full((2, 3), 1 / 3))
        np.testing.assert_allclose(colors, [[0, 51, 255, 255], [255, 255, 255, 255]])

    def test_without_texture_there_is_none(self, tmp_path):
        write_textured(TexturedMesh(TETRAHEDRON), tmp_path / "x.obj")
        assert read_textured(tmp_path / "x.obj").texture is None

    @pytest.mark.parametrize(
        ("line", "said"),
        [
            ("vt\nf 1/1 2/1 3/1", "line 4: vt without a number"),
            ("vt nan 0\nf 1/1 2/1 3/1", "not finite"),
            ("vt 0 0\nf 1/1 2/1 3/2", "uses texture coordinate 2, there are 1"),
        ],
    )
    def test_what_is_damaged_is_refused(self, tmp_path, line, said):
        (tmp_path / "x.obj").write_text(f"v 0 0 0\nv 1 0 0\nv 0 1 0\n{line}\n")
        with pytest.raises(ValueError, match=said):
            read_textured(tmp_path / "x.obj")


def test_a_picture_that_would_fill_the_memory_is_refused(tmp_path):
    import zlib

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    for side in (9000, 30000):
        huge = (
            b"\x89PNG\r\n\x1a\n"
            + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
            + chunk(b"IEND", b"")
        )
        (tmp_path / "x.png").write_bytes(huge)
        (tmp_path / "x.mtl").write_text("newmtl a\nmap_Kd x.png\n")
        (tmp_path / "x.obj").write_text("mtllib x.mtl\nv 0 0 0\nv 1 0 0\nv 0 1 0\nvt 0 0\nusemtl a\nf 1/1 2/1 3/1\n")
        with pytest.raises(ValueError, match=r"x.png: the pictures have more than 67108864 pixels"):
            read_textured(tmp_path / "x.obj")


def test_colours_between_pixels_and_beyond_the_edge(textured):
    texture = textured.texture
    # face 0 has the corners (⅛, ½), (½, ¼) and (⅝, ½): at its first corner the middle of pixel (1, 0)
    np.testing.assert_allclose(texture.colors(np.array([0]), np.array([[1.0, 0, 0]]))[0], PICTURE[1, 0])
    np.testing.assert_allclose(texture.colors(np.array([0]), np.array([[0, 0, 1.0]]))[0], PICTURE[1, 2])
    beyond = texture.colors(np.array([3]), np.array([[0, 1.0, 0]]))[0]
    np.testing.assert_allclose(beyond, PICTURE[1, [0, 1]].mean(axis=0))


def test_a_skeleton_turns_what_hangs_on_a_joint(textured):
    half = np.diag([-1.0, -1, 1])
    skin = textured.skin
    np.testing.assert_allclose(skin.posed(TETRAHEDRON.vertices, skin.rest), TETRAHEDRON.vertices)
    moved = skin.posed(TETRAHEDRON.vertices, skin.turned({"knee": half}))
    np.testing.assert_allclose(moved[2], [1, -0.5, 0])
    whole = skin.posed(TETRAHEDRON.vertices, skin.turned({"hip": half}))
    np.testing.assert_allclose(whole, TETRAHEDRON.vertices @ half)


def test_files_that_cannot_be(textured, tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_textured(tmp_path / "none.glb")
    with pytest.raises(ValueError, match=r"OBJ has no skeleton; write .glb"):
        write_textured(textured, tmp_path / "x.obj")
    (tmp_path / "x.glb").write_bytes(struct.pack("<4sIII4s", b"glTF", 2, 24, 4, b"JSON") + b"nope")
    with pytest.raises(ValueError, match=r"x.glb: byte 20: the JSON can't be read"):
        read_textured(tmp_path / "x.glb")
