from __future__ import annotations

import json
import struct

import numpy as np
import pytest

from partwhole.mesh.formats.common import MeshWarning
from partwhole.mesh.formats.glb_access import entry

POINTS = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
FACES = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]


def glb(document: dict, binary: bytes = b"") -> bytes:
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<I4s", len(text), b"JSON") + text
    if binary:
        chunks += struct.pack("<I4s", len(binary), b"BIN\0") + binary
    return struct.pack("<4sII", b"glTF", 2, 12 + len(chunks)) + chunks


def scene(*, indices=FACES, kind="u2", mode=4, nodes=None, stride=12, **primitive) -> tuple[dict, bytes]:
    """A document with the tetrahedron, and its buffer."""
    points = b"".join(np.array(p, "<f4").tobytes().ljust(stride, b"\xff") for p in POINTS)
    binary = points
    accessors = [{"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3"}]
    views = [{"buffer": 0, "byteLength": len(points)}]
    if stride != 12:
        views[0]["byteStride"] = stride
    shape = {"attributes": {"POSITION": 0}, "mode": mode, **primitive}
    if indices is not None:
        flat = np.array(indices, f"<{kind}").reshape(-1)
        code = {"u1": 5121, "u2": 5123, "u4": 5125}[kind]
        accessors.append({"bufferView": 1, "componentType": code, "count": len(flat), "type": "SCALAR"})
        views.append({"buffer": 0, "byteOffset": len(points), "byteLength": flat.nbytes})
        shape["indices"] = 1
        binary += flat.tobytes()
    document = {
        "asset": {"version": "2.0"},
        "nodes": [{"mesh": 0}] if nodes is None else nodes,
        "meshes": [{"primitives": [shape]}],
        "accessors": accessors,
        "bufferViews": views,
        "buffers": [{"byteLength": len(binary)}],
    }
    return document, binary


class TestGlb:
    @pytest.mark.parametrize("kind", ["u1", "u2", "u4"])
    @pytest.mark.parametrize("stride", [12, 20])
    def test_index_types_and_strides(self, is_tetrahedron, read, kind, stride):
        assert is_tetrahedron(read(glb(*scene(kind=kind, stride=stride)), "x.glb"))

    def test_without_nodes_every_mesh_counts(self, is_tetrahedron, read):
        document, binary = scene()
        del document["nodes"]
        assert is_tetrahedron(read(glb(document, binary), "x.glb"))

    def test_strip_and_fan_and_no_indices(self, read):
        strip = read(glb(*scene(indices=None, mode=5)), "x.glb")
        assert strip.faces.tolist() == [[0, 1, 2], [1, 3, 2]]
        fan = read(glb(*scene(indices=None, mode=6)), "x.glb")
        assert fan.faces.tolist() == [[0, 1, 2], [0, 2, 3]]
        with pytest.warns(MeshWarning, match="2 triangles without area that stitch strips together left out"):
            stitched = read(glb(*scene(indices=[0, 1, 2, 2, 3], mode=5)), "x.glb")
        assert stitched.n_faces == 1

    def test_transforms_along_the_hierarchy(self, read):
        half = np.sqrt(0.5)
        nodes = [
            {"children": [1], "translation": [10, 0, 0]},
            {"mesh": 0, "rotation": [0, 0, half, half], "scale": [2, 1, 1]},  # a quarter turn about z
        ]
        mesh = read(glb(*scene(nodes=nodes)), "x.glb")
        assert mesh.vertices == pytest.approx(np.array([[10, 0, 0], [10, 2, 0], [9, 0, 0], [10, 0, 1]]))
        assert mesh.faces.tolist() == FACES

    def test_matrix_is_column_major_and_a_mirror_turns_faces(self, read):
        matrix = [-1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 5, 6, 7, 1]
        with pytest.warns(MeshWarning, match="1 mesh shown in a mirror, by the transform of a node"):
            mesh = read(glb(*scene(nodes=[{"mesh": 0, "matrix": matrix}])), "x.glb")
        assert np.array_equal(mesh.vertices, np.array(POINTS) * [-1, 1, 1] + [5, 6, 7])
        assert mesh.faces.tolist() == [f[::-1] for f in FACES]

    def test_two_nodes_show_one_mesh_twice(self, read):
        mesh = read(glb(*scene(nodes=[{"mesh": 0}, {"mesh": 0, "translation": [5, 0, 0]}])), "x.glb")
        assert (mesh.n_vertices, mesh.n_faces, mesh.n_components) == (8, 8, 2)

    def test_primitives_share_their_points(self, is_tetrahedron, read):
        document, binary = scene(indices=FACES[:2])
        document["accessors"].append({**document["accessors"][1], "bufferView": 2})
        document["bufferViews"].append({"buffer": 0, "byteOffset": len(binary), "byteLength": 12})
        binary += np.array(FACES[2:], "<u2").tobytes()
        document["buffers"][0]["byteLength"] = len(binary)
        document["meshes"][0]["primitives"].append({"attributes": {"POSITION": 0}, "indices": 2})
        assert is_tetrahedron(read(glb(document, binary), "x.glb"))

    def test_points_and_lines_are_said(self, is_tetrahedron, read):
        document, binary = scene()
        document["meshes"][0]["primitives"].append({"attributes": {"POSITION": 0}, "mode": 1})
        with pytest.warns(MeshWarning, match="1 primitive of points or lines left out"):
            assert is_tetrahedron(read(glb(document, binary), "x.glb"))

    def test_skins_are_said(self, is_tetrahedron, read):
        with pytest.warns(MeshWarning, match="1 skin not applied"):
            mesh = read(glb(*scene(nodes=[{"mesh": 0, "skin": 0, "translation": [5, 0, 0]}])), "x.glb")
        assert is_tetrahedron(mesh)

    def test_extensions_without_geometry_pass(self, is_tetrahedron, read):
        document, binary = scene()
        document["extensionsRequired"] = ["KHR_materials_unlit"]
        assert is_tetrahedron(read(glb(document, binary), "x.glb"))

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda d: d.update(extensionsRequired=["KHR_draco"]), "extensionsRequired: \"KHR_draco\" is not"),
            (lambda d: d["accessors"][0].update(sparse={}), "accessors[0]: sparse accessors are not supported"),
            (lambda d: d["accessors"][0].pop("bufferView"), "accessors[0]: sparse accessors are not supported"),
            (lambda d: d["accessors"][0].update(count=5), "accessors[0]: 5 entries do not fit into the 48 bytes"),
            (lambda d: d["accessors"][0].update(count=10**15), "do not fit into the 48 bytes"),
            (lambda d: d["accessors"][0].update(count=0), "accessors[0]: count is 0"),
            (lambda d: d["accessors"][0].update(count="4"), 'accessors[0]: count must be a whole number, got "4"'),
            (lambda d: d["accessors"][0].update(count=True), "count must be a whole number, got true"),
            (lambda d: d["accessors"][0].update(type="VEC2"), "accessors[0]: expected VEC3 of component type 5126"),
            (lambda d: d["accessors"][0].update(componentType=[]), "accessors[0]: expected VEC3"),
            (lambda d: d["accessors"][1].update(componentType=5126), "accessors[1]: expected SCALAR of component type"),
            (lambda d: d["accessors"][1].update(count=11), "11 indices can't be split into triangles"),
            (lambda d: d["bufferViews"][0].update(byteLength=10**6), "bufferViews[0]: ends at byte 1000000 of the"),
            (lambda d: d["bufferViews"][0].update(byteStride=4), "bufferViews[0]: byteStride 4 is less than the 12"),
            (lambda d: d["bufferViews"][0].update(buffer=1), "bufferViews[0]: buffer 1 is not embedded"),
            (lambda d: d["buffers"][0].update(uri="a.bin"), "buffers[0]: the buffer lies in another file"),
            (lambda d: d["buffers"][0].update(byteLength=10**6), "buffers[0]: the header says 1000000 bytes, 72 are"),
            (lambda d: d.update(buffers=[]), "bufferViews[0]: ends at byte 48 of the buffer, which has 0"),
            (lambda d: d.update(meshes={}), "meshes: expected a list"),
            (lambda d: d.update(meshes=[3]), "meshes[0]: expected an object"),
            (lambda d: d.update(meshes=[]), "meshes[0] does not exist; the file has 0"),
            (lambda d: d.update(accessors=[]), "accessors[0] does not exist; the file has 0"),
            (lambda d: d["meshes"][0]["primitives"][0].update(attributes=0), "attributes must be an object"),
            (lambda d: d["meshes"][0]["primitives"][0].update(attributes={}), "POSITION must be a whole number"),
            (lambda d: d["nodes"][0].update(children=[0]), "nodes: 1 node are their own parents"),
            (lambda d: d["nodes"][0].update(children=[5]), "nodes[0]: child 5 does not exist or has two parents"),
            (lambda d: d["nodes"][0].update(matrix=[1]), "nodes[0]: matrix must be 16 finite numbers"),
            (lambda d: d["nodes"][0].update(scale=[1, 2, 10**400]), "nodes[0]: scale must be 3 finite numbers"),
            (lambda d: d["nodes"][0].update(rotation=[0, 0, 0, 0]), "nodes[0]: rotation has length 0"),
            (lambda d: d["nodes"][0].update(scale=[1e308] * 3, translation=[-1e308] * 3), "coordinates up to 1e+308"),
        ],
    )  # fmt: skip
    def test_defects(self, refused, change, message):
        document, binary = scene()
        change(document)
        assert message in refused(glb(document, binary), "x.glb")

    def test_index_out_of_range_does_not_reach_the_next_mesh(self, refused):
        document, binary = scene(indices=[[0, 1, 4]], nodes=[{"mesh": 0}, {"mesh": 0}])
        message = "meshes[0].primitives[0]: index 4 is out of range, there are 4 vertices"
        assert message in refused(glb(document, binary), "x.glb")

    def test_degenerate_names_the_primitive(self, refused):
        message = "face 1 (meshes[0].primitives[0]) uses a vertex twice"
        assert message in refused(glb(*scene(indices=[[0, 1, 2], [0, 1, 1]])), "x.glb")

    def test_not_finite_names_the_primitive(self, refused):
        document, binary = scene()
        binary = struct.pack("<f", np.nan) + binary[4:]
        assert "vertex 0 (meshes[0].primitives[0]) is [nan" in refused(glb(document, binary), "x.glb")

    @pytest.mark.parametrize(("nodes", "primitives"), [(1, 20_000), (20_000, 1)])
    def test_too_many_instances(self, refused, nodes, primitives):
        # each would fill gigabytes, or take minutes, if the same points were read over and over
        document, _ = scene(nodes=[{"mesh": 0}] * nodes, mode=6)
        points = np.zeros((20_000, 3), "<f4").tobytes()
        document["accessors"] = [{**document["accessors"][0], "count": 20_000}]
        document["bufferViews"] = [{"buffer": 0, "byteLength": len(points)}]
        document["buffers"] = [{"byteLength": len(points)}]
        document["meshes"] = [{"primitives": [{"attributes": {"POSITION": 0}, "mode": 6}] * primitives}]
        message = refused(glb(document, points), "x.glb")
        assert "nodes and primitives show the same data so often that more than" in message
        assert "write a file with the one surface that is meant" in message

    def test_primitives_without_surface_count_too(self, refused, monkeypatch):
        monkeypatch.setattr("partwhole.mesh.formats.glb.MOST_ENTRIES", 10_000)
        document, binary = scene(nodes=[{"mesh": 0}] * 1000)
        document["meshes"] = [{"primitives": [{"attributes": {"POSITION": 0}, "mode": 1}] * 1000}]
        assert "show the same data so often" in refused(glb(document, binary), "x.glb")

    def test_one_entry_is_looked_up_alone(self):
        # not the whole list for each of 20 000 entries
        assert entry({"meshes": [None, {"name": "b"}]}, "meshes", 1) == {"name": "b"}

    def test_container(self, refused):
        data = glb(*scene())
        assert "byte 8: the header says" in refused(data[:-1], "x.glb")
        assert "byte 8: the header says" in refused(data + b"\0", "x.glb")
        assert "begins with 'glTF'" in refused(data[:10], "x.glb")
        assert "begins with 'glTF'" in refused(b"xxxx" + data[4:], "x.glb")
        assert "byte 4: glTF version 1 is not supported" in refused(data[:4] + b"\x01" + data[5:], "x.glb")
        assert "byte 12: the first chunk must be JSON" in refused(data[:16] + b"JSOX" + data[20:], "x.glb")
        assert "byte 12: the chunk says 4294967295 bytes" in refused(data[:12] + b"\xff" * 4 + data[16:], "x.glb")
        assert "the JSON can't be read" in refused(data[:20] + b"!" + data[21:], "x.glb")
        extra = data[:8] + struct.pack("<I", len(data) + 4) + data[12:] + b"abcd"
        assert f"byte {len(data)}: the file ends within the header of a chunk" in refused(extra, "x.glb")
        assert "the JSON must be an object" in refused(glb([]), "x.glb")
        deep = b"[" * 100_000
        nested = struct.pack("<4sII", b"glTF", 2, 20 + len(deep)) + struct.pack("<I4s", len(deep), b"JSON") + deep
        assert "the JSON can't be read: RecursionError" in refused(nested, "x.glb")

    def test_no_meshes(self, refused):
        assert refused(glb({"asset": {"version": "2.0"}}), "x.glb") == " has no vertices"

    def test_long_chains_of_nodes(self, is_tetrahedron, read):
        nodes = [{"children": [i + 1]} for i in range(3000)] + [{"mesh": 0}]
        assert is_tetrahedron(read(glb(*scene(nodes=nodes)), "x.glb"))
