"""What stands for a surface: stand-ins with the attributes that other libraries' meshes have, and nothing else."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, Literal, cast

import numpy as np
import pytest

import partwhole as pw
from partwhole.embedding.estimators.inputs import checked_input
from partwhole.mesh import Mesh, as_mesh
from partwhole.mesh.formats.common import MeshWarning
from partwhole.mesh.surface_like import is_surface, surface_arrays
from partwhole.store.arguments import how_to_install

POINTS = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], float)
FACES = np.array([[0, 1, 2], [0, 2, 3]])
SQUARE = Mesh(POINTS, FACES)


class Tensor:
    """As Open3D has them: no `__array__`, only a copy to main memory."""

    def __init__(self, values: np.ndarray) -> None:
        self._values = values

    def cpu(self) -> Tensor:
        return self

    def numpy(self) -> np.ndarray:
        return self._values


class TensorMap:
    """KeyError for what it does not have, as Open3D raises it."""

    def __init__(self, **tensors: np.ndarray) -> None:
        self._tensors = tensors

    def __getattr__(self, name: str) -> Tensor:
        if name.startswith("_"):
            raise AttributeError(name)
        return Tensor(self._tensors[name])


def padded(*polygons: list[int]) -> np.ndarray:
    return np.array([number for polygon in polygons for number in (len(polygon), *polygon)])


def cells(*blocks: tuple[str, list[list[int]]]) -> SimpleNamespace:
    return SimpleNamespace(points=POINTS, cells=[SimpleNamespace(type=kind, data=np.array(c)) for kind, c in blocks])


TRIANGLES: dict[str, Any] = {
    "pair of arrays": (POINTS, FACES),
    "pair of lists": [POINTS.tolist(), FACES.tolist()],
    "trimesh": SimpleNamespace(vertices=POINTS, faces=FACES.astype(np.uint32)),
    "scene of trimesh": SimpleNamespace(geometry={}, to_mesh=lambda: SimpleNamespace(vertices=POINTS, faces=FACES)),
    "Open3D": SimpleNamespace(vertices=POINTS.tolist(), triangles=FACES.astype(np.int32)),
    "Open3D on tensors": SimpleNamespace(vertex=TensorMap(positions=POINTS), triangle=TensorMap(indices=FACES)),
    "PyVista": SimpleNamespace(points=POINTS, faces=padded([0, 1, 2], [0, 2, 3]), n_strips=0),
    "meshio": cells(("triangle", FACES.tolist())),
}
QUADS: dict[str, Any] = {
    "PyVista": SimpleNamespace(points=POINTS, faces=padded([0, 1, 2, 3])),
    "meshio": cells(("quad", [[0, 1, 2, 3]])),
    "polygons of meshio": cells(("polygon", [[0, 1, 2, 3]])),
}
CLOUDS: dict[str, Any] = {
    "array": POINTS,
    "trimesh": SimpleNamespace(vertices=POINTS),
    "Open3D": SimpleNamespace(points=POINTS.tolist(), colors=[]),
    "Open3D on tensors": SimpleNamespace(point=TensorMap(positions=POINTS)),
    "PyVista": SimpleNamespace(points=POINTS, faces=padded()),
    "meshio": cells(("vertex", [[0], [1]])),
}


@pytest.mark.parametrize("kind", TRIANGLES)
def test_triangles_of_every_library(kind: str) -> None:
    mesh = as_mesh(TRIANGLES[kind], name="scan")
    assert (mesh.vertices.tolist(), mesh.faces.tolist()) == (POINTS.tolist(), FACES.tolist())
    assert mesh.name == "scan"
    assert mesh.faces.dtype == np.int64


@pytest.mark.parametrize("kind", QUADS)
def test_polygons_become_fans_and_are_told(kind: str) -> None:
    with pytest.warns(MeshWarning, match="1 polygon with more than 3 corners was triangulated as a fan") as caught:
        mesh = as_mesh(QUADS[kind])
    assert mesh.faces.tolist() == FACES.tolist()
    assert len(caught) == 1


def test_polygons_of_several_sizes() -> None:
    mixed = SimpleNamespace(points=np.concatenate([POINTS, [[2, 0, 0]]]), faces=padded([0, 1, 2, 3], [1, 4, 2]))
    with pytest.warns(MeshWarning, match="1 polygon"):
        assert as_mesh(mixed).faces.tolist() == [[0, 1, 2], [0, 2, 3], [1, 4, 2]]


def test_what_is_no_surface_of_meshio_is_told() -> None:
    with pytest.warns(MeshWarning, match="^mesh: cells of type line, vertex left out"):
        mesh = as_mesh(cells(("vertex", [[0]]), ("triangle", FACES.tolist()), ("line", [[0, 1]])))
    assert mesh.faces.tolist() == FACES.tolist()


@pytest.mark.parametrize("kind", CLOUDS)
def test_a_cloud_has_no_faces(kind: str) -> None:
    found = surface_arrays(CLOUDS[kind], "part")
    assert (np.asarray(found.vertices).tolist(), len(found.faces)) == (POINTS.tolist(), 0)
    with pytest.raises(ValueError, match="part has no faces; a point cloud is not a surface"):
        as_mesh(CLOUDS[kind], name="part")


def test_a_mesh_stays_the_same_object_and_a_file_goes_by_its_name(tmp_path: Path) -> None:
    assert as_mesh(SQUARE, name="other") is SQUARE
    path = tmp_path / "square.off"
    pw.write_mesh(TRIANGLES["trimesh"], path)
    for given in (path, str(path)):
        assert as_mesh(given, name="part").name == "square.off"
        assert as_mesh(given).content_hash == SQUARE.content_hash


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (3, "part must be a surface, got int; give a path, a pw.Mesh, (vertices, faces), or a mesh of trimesh, Open3D, "),
        ((POINTS, FACES, 1), "part must be a surface, got (array([["),
        (np.zeros(3), "part must be a surface, got ndarray"),
        (SimpleNamespace(points=POINTS, cells=FACES), "part must be a surface, got SimpleNamespace"),
        (SimpleNamespace(points=POINTS, cells=3), "part must be a surface, got SimpleNamespace"),
        ((POINTS, [[0, 1, 2], [0]]), "part: faces must be an array, got [[0, 1, 2], [0]]"),
        ((POINTS, FACES / 1), "part: faces must be integers, got float64"),
        (cells(("tetra", [[0, 1, 2, 3]]), ("wedge", [])), "part has cells of type tetra, wedge; a surface has triangles"),
        (SimpleNamespace(points=POINTS, faces=padded(), n_strips=2), "part has 2 triangle strips; give part.triangulate()"),
        (
            SimpleNamespace(points=POINTS, cells=FACES, extract_surface=None),
            "part is a SimpleNamespace, not a surface; give part.extract_surface()",
        ),
        (SimpleNamespace(points=POINTS, faces=padded([0, 1])), "part: face 0 has 2 corners; a face has at least 3"),
        (SimpleNamespace(points=POINTS, faces=np.array([3, 0, 1])), "part: entry 0 of the faces is 3, but 2 corners follow"),
        (SimpleNamespace(vertex=TensorMap(), triangle=TensorMap()), "part has no vertices"),
    ],
)  # fmt: skip
def test_what_is_not_accepted(given: Any, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)) as caught:
        as_mesh(given, name="part")
    assert str(caught.value).startswith(said)
    assert "\n" not in str(caught.value)


def test_surfaces_are_told_from_points() -> None:
    assert is_surface(SQUARE)
    assert all(is_surface(given) for kind, given in TRIANGLES.items() if kind != "pair of lists")
    assert not any(map(is_surface, (POINTS, POINTS.tolist(), (POINTS[0], POINTS[1]), None)))


@pytest.mark.parametrize("kind", ["pair of arrays", "trimesh", "Open3D on tensors", "PyVista", "meshio"])
def test_repair_takes_them_with_their_defects(kind: str, tmp_path: Path) -> None:
    assert pw.repair(TRIANGLES[kind]).mesh.content_hash == SQUARE.content_hash
    path = tmp_path / "twice.off"
    path.write_text("OFF 4 3 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 3\n3 2 0 1\n")
    found = pw.repair(path)
    assert (found.summary(), found.mesh.name) == ("1 duplicate face dropped", "twice.off")
    assert pw.repair((POINTS, [*FACES.tolist(), [1, 0, 2]])).summary() == "1 duplicate face dropped"
    with pytest.warns(MeshWarning, match="1 polygon"):
        assert pw.repair(QUADS["PyVista"]).mesh.content_hash == SQUARE.content_hash


def test_functions_give_the_same_for_every_form() -> None:
    given = TRIANGLES["Open3D"]
    wanted = pw.geodesic_distances(SQUARE, method="dijkstra")
    assert np.array_equal(pw.geodesic_distances(given, method="dijkstra"), wanted)
    assert np.array_equal(pw.wormhole_criterion(given).mask, pw.wormhole_criterion(SQUARE).mask)
    assert pw.decimate(given, 10).mesh.content_hash == SQUARE.content_hash
    assert pw.datasets.cut_plane(given, (0.5, 0, 0), (0, 0, 1)).part.n_vertices == 4
    assert pw.datasets.Pair.of(given, given).whole.area == 1.0
    assert pw.evaluation.coverage(np.arange(4), given) == pytest.approx(1.0)
    assert pw.uniform_metric(given, 2.0).lower_bound == 2.0


def test_estimators_take_meshes_of_every_library() -> None:
    mesh = pw.datasets.annulus(n_vertices=60)
    wanted = checked_input(pw.WHCIE(), mesh, None)
    for given in (SimpleNamespace(vertices=mesh.vertices, faces=mesh.faces), (mesh.vertices, mesh.faces)):
        found = checked_input(pw.WHCIE(), given, None)
        assert np.array_equal(found.distances, wanted.distances)
        assert np.array_equal(found.boundary, wanted.boundary)


@pytest.mark.parametrize("library", ["trimesh", "open3d", "pyvista"])
def test_the_way_to_another_library(
    library: Literal["trimesh", "open3d", "pyvista"], monkeypatch: pytest.MonkeyPatch
) -> None:
    def made(vertices: np.ndarray, faces: np.ndarray, **options: Any) -> SimpleNamespace:
        # Open3D refuses what can't be written to
        assert vertices.flags.writeable
        assert faces.flags.writeable
        return SimpleNamespace(vertices=vertices, faces=faces, options=options)

    known: dict[str, Any] = {
        "trimesh": {"Trimesh": made},
        "open3d": {
            "geometry": SimpleNamespace(TriangleMesh=made),
            "utility": SimpleNamespace(Vector3dVector=lambda array: array, Vector3iVector=lambda array: array),
        },
        "pyvista": {"PolyData": SimpleNamespace(from_regular_faces=made)},
    }
    monkeypatch.setitem(sys.modules, library, cast(ModuleType, SimpleNamespace(**known[library])))
    found = getattr(SQUARE, f"to_{library}")()
    assert as_mesh(found).content_hash == SQUARE.content_hash
    # trimesh would merge vertices, and number them anew
    assert found.options == ({"process": False} if library == "trimesh" else {})
    monkeypatch.setitem(sys.modules, library, cast(ModuleType, None))
    with pytest.raises(ImportError, match=re.escape(f"to_{library} needs {library}: {how_to_install(library)}")):
        getattr(SQUARE, f"to_{library}")()
