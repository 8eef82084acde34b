"""Reading a mesh from text, and the one line with which it is refused."""

from __future__ import annotations

import pytest

from partwhole.mesh.io import read_mesh
from partwhole.mesh.surface import Mesh

POINTS = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
FACES = [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]]


@pytest.fixture
def read(tmp_path):
    """Write text or bytes to a file and read it as a mesh."""

    def read_text(content, name="x.off", **options):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read_mesh(path, **options)

    return read_text


@pytest.fixture
def refused(read, tmp_path):
    """The message with which a file is refused, without the name of the file, which must be in it."""

    def message(content, name="x.off", **options):
        with pytest.raises(ValueError) as caught:
            read(content, name, **options)
        text = str(caught.value)
        assert text.startswith(str(tmp_path / name)), text
        assert "\n" not in text
        return text.removeprefix(str(tmp_path / name))

    return message


@pytest.fixture
def is_tetrahedron():
    """Whether a mesh is the tetrahedron of the sample files."""
    return lambda mesh: isinstance(mesh, Mesh) and mesh.vertices.tolist() == POINTS and mesh.faces.tolist() == FACES
