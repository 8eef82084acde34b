"""VTK's XML files: every way in which numbers may be written, and what each defect is answered with."""

from __future__ import annotations

import base64
import struct
import zlib

import numpy as np
import pytest

from partwhole.mesh.formats.common import MeshWarning

CORNERS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], "f4")
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])
ENDS = np.array([3, 6, 9, 12])


class Writer:
    """Writes arrays in one of the formats, as VTK does."""

    def __init__(self, how="ascii", *, packed=False, order="<", head="I", block=20):
        self.how, self.packed, self.order, self.head, self.block, self.behind = how, packed, order, head, block, b""

    def heads(self, *numbers):
        return struct.pack(f"{self.order}{len(numbers)}{self.head}", *numbers)

    def coded(self, array):
        """The bytes of an array behind their head: the pieces that are written at once."""
        data = array.astype(array.dtype.newbyteorder(self.order)).tobytes()
        if not self.packed:
            return [self.heads(len(data)) + data]
        blocks = [data[at : at + self.block] for at in range(0, len(data), self.block)]
        small = [zlib.compress(block) for block in blocks]
        head = (
            self.heads(len(blocks), self.block, len(data) % self.block, *map(len, small)) if blocks else self.heads(0)
        )
        return [head, b"".join(small)]

    def array(self, name, array):
        kind = {"f": "Float", "i": "Int", "u": "UInt"}[array.dtype.kind] + str(8 * array.dtype.itemsize)
        start = f'<DataArray type="{kind}" Name="{name}" format="{self.how.partition("-")[0]}"'
        if self.how == "ascii":
            return f"{start}>\n{' '.join(map(str, array.ravel().tolist()))}\n</DataArray>"
        pieces = self.coded(array)
        if self.how == "binary":
            return f"{start}>\n {b''.join(map(base64.b64encode, pieces)).decode()}\n</DataArray>"
        offset = len(self.behind)
        self.behind += b"".join(pieces if self.how == "appended-raw" else map(base64.b64encode, pieces))
        return f'{start} offset="{offset}"/>'

    def cells(self, tag, corners, ends, *more):
        inside = self.array("connectivity", corners) + self.array("offsets", ends) + "".join(more)
        return f"<{tag}>{inside}</{tag}>"

    def file(self, *pieces, kind="PolyData"):
        order = "LittleEndian" if self.order == "<" else "BigEndian"
        head = {"I": "UInt32", "Q": "UInt64"}[self.head]
        packer = ' compressor="vtkZLibDataCompressor"' if self.packed else ""
        text = f'<?xml version="1.0"?>\n<VTKFile type="{kind}" version="1.0" '
        text += f'byte_order="{order}" header_type="{head}"{packer}>\n'
        text += f"<{kind}>{''.join(pieces)}</{kind}>\n"
        coding = self.how.partition("-")[2]
        behind = (
            b'<AppendedData encoding="%s">\n_' % coding.encode() + self.behind + b"</AppendedData>\n" if coding else b""
        )
        return text.encode() + behind + b"</VTKFile>\n"

    def tetrahedron(self):
        points = f"<Points>{self.array('Points', CORNERS)}</Points>"
        # kinds of cells of which there are none may be listed or not
        nothing = self.cells("Lines", np.empty(0, np.int64), np.empty(0, np.int64)) + "<Verts></Verts>"
        return self.file(f"<Piece>{points}{nothing}{self.cells('Polys', FACES, ENDS)}</Piece>")


@pytest.mark.parametrize("how", ["ascii", "binary", "appended-raw", "appended-base64"])
@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(("order", "head"), [("<", "I"), ("<", "Q"), (">", "I")])
def test_every_way_of_writing(read, is_tetrahedron, how, packed, order, head):
    assert is_tetrahedron(read(Writer(how, packed=packed, order=order, head=head).tetrahedron(), "x.vtp"))


def test_a_block_that_is_full_is_the_last(read, is_tetrahedron):
    assert is_tetrahedron(read(Writer("binary", packed=True, block=48).tetrahedron(), "x.vtp"))


def test_the_contents_tell_what_it_is(read, is_tetrahedron):
    with pytest.warns(MeshWarning, match=r"read as VTP because of its contents, although its ending is '\.vtk'"):
        assert is_tetrahedron(read(Writer().tetrahedron(), "x.vtk"))


def test_pieces_are_joined(read):
    writer = Writer()
    piece = f"<Piece><Points>{writer.array('P', CORNERS)}</Points>{writer.cells('Polys', FACES, ENDS)}</Piece>"
    mesh = read(writer.file(piece, piece), "x.vtp")
    assert mesh.faces.tolist() == [*FACES.tolist(), *(FACES + 4).tolist()]


def test_strips_and_polygons(read):
    writer = Writer()
    points = f"<Points>{writer.array('P', np.concatenate([CORNERS, [[1, 1, 1]]]))}</Points>"
    strips = writer.cells("Strips", np.array([0, 1, 2, 3, 4]), np.array([5]))
    lines = writer.cells("Lines", np.array([0, 1]), np.array([2]))
    mesh = None
    with pytest.warns(MeshWarning, match="1 cell of points or lines left out"):
        mesh = read(writer.file(f"<Piece>{points}{strips}{lines}</Piece>"), "x.vtp")
    assert mesh.faces.tolist() == [[0, 1, 2], [2, 1, 3], [2, 3, 4]]


def test_grids(read, is_tetrahedron, refused):
    writer = Writer("binary", packed=True)
    points = f"<Points>{writer.array('P', CORNERS)}</Points>"

    def grid(kinds):
        types = writer.array("types", np.array(kinds, "u1"))
        return writer.file(
            f"<Piece>{points}{writer.cells('Cells', FACES, ENDS, types)}</Piece>", kind="UnstructuredGrid"
        )

    assert is_tetrahedron(read(grid([5, 5, 7, 5]), "x.vtu"))
    assert refused(grid([5, 13, 10, 5]), "x.vtu").startswith(": the file holds tetrahedra, wedges; write its")
    assert refused(grid([5]), "x.vtu") == ": there are 4 cells and 1 types of cells"


TEXT = Writer().tetrahedron().decode()
PACKED = Writer("binary", packed=True).tetrahedron().decode()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (TEXT.replace("<VTKFile", '<!DOCTYPE a [<!ENTITY b "c">]>\n<VTKFile'), ": the file has a DOCTYPE"),
        (TEXT.replace("</Piece>", ""), ": the XML is damaged: mismatched tag"),
        (TEXT.replace('type="PolyData"', 'type="ImageData"'), ": a 'ImageData' is not a surface; write PolyData (.vtp)"),
        (TEXT.replace("version=\"1.0\" byte", 'compressor="vtkLZ4DataCompressor" byte'), ": the arrays are packed by"),
        (TEXT.replace("UInt32", "UInt7"), ": header_type 'UInt7' or byte_order 'LittleEndian' is none of VTK's"),
        (TEXT.replace("Points>", "Pints>"), ": the points are missing"),
        (TEXT.replace("1.0 0.0 0.0 0.0 1.0", "1.0 0.0 0.0 0.0"), ": the points have 11 coordinates; each has 3"),
        (TEXT.replace("0.0 0.0 0.0 1.0", "0.0 x 0.0 1.0", 1), ": line 2: 'x' is not a number"),
        (TEXT.replace("Float32", "String"), ": the points are of type 'String'"),
        (TEXT.replace("Int64", "Float64"), ": the corners of the Lines are of type 'Float64'"),
        (TEXT.replace("offsets", "offset"), ": the offsets of the Lines are missing"),
        (TEXT.replace("3 6 9 12", "3 6 9 11"), ": the offsets of the Polys do not rise from 0 to 12"),
        (TEXT.replace("3 6 9 12", "3 9 6 12"), ": the offsets of the Polys do not rise"),
        (TEXT.replace('format="ascii"', 'format="morse"'), ": the points are in the format 'morse'"),
        (TEXT.replace('format="ascii"', 'format="binary"'), ": the points are not base64"),
        (TEXT.replace('format="ascii"', 'format="appended" offset="5"'), ": the file ends within the points"),
        (TEXT.replace('format="ascii"', 'format="appended"'), ": line 1: the number of bytes before an array is"),
        (TEXT.replace("2 0 3", "2 0 4"), ": face 3 (cell 3) uses vertex 4, the 4 vertices there are numbered 0 to 3"),
    ],
)  # fmt: skip
def test_defects(refused, content, said):
    assert refused(content, "x.vtp").startswith(said)


def packed_points(head, data):
    """A file whose points are these bytes."""
    first = PACKED.index(">\n", PACKED.index("<Points>")) + 2
    text = base64.b64encode(head).decode() + base64.b64encode(data).decode()
    return PACKED[:first] + text + PACKED[PACKED.index("\n</DataArray>") :]


def test_what_is_packed_is_bounded_by_what_the_file_says(refused):
    block = zlib.compress(bytes(1000))
    cases = {
        struct.pack("<4I", 1, 2000, 0, len(block)): ": the points are damaged: a block has 1000 bytes, not 2000",
        struct.pack("<4I", 1, 0, 0, len(block)): ": the points are damaged: a block is empty",
        struct.pack("<4I", 1, 1 << 31, 0, len(block)): ": the points would be more than 100 times as large as the file",
        struct.pack("<4I", 1 << 30, 8, 0, len(block)): ": the points are not base64",
        struct.pack("<4I", 1, 10, 0, 1 << 30): ": the file ends within the points",
        struct.pack("<4I", 1, 1000, 7, len(block)): ": the points have 7 bytes, which are not numbers of type Float32",
    }
    for head, said in cases.items():
        assert refused(packed_points(head, block), "x.vtp").startswith(said)
    assert refused(packed_points(struct.pack("<4I", 1, 1000, 0, 7), b"\xff" * 7), "x.vtp").startswith(
        ": the points are damaged: "
    )


@pytest.mark.parametrize("how", ["appended-raw", "appended-base64"])
def test_pieces_that_show_the_same_bytes_are_bounded(refused, how):
    """A file of 100 KB whose 1000 pieces would be 240 MB."""
    writer = Writer(how)
    piece = f"<Piece><Points>{writer.array('Points', np.zeros(30_000, 'f4'))}</Points></Piece>"
    said = ": the points would be more than 100 times as large as the file"
    assert refused(writer.file(*[piece] * 1000), "x.vtp").startswith(said)


def test_damage_anywhere_is_read_or_refused(survives):
    for how in ("binary", "appended-raw"):
        for packed in (False, True):
            survives(Writer(how, packed=packed).tetrahedron(), "x.vtp", times=40)
