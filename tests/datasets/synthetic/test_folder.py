"""A folder of one's own parts and wholes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from partwhole.datasets import FolderPairs, cut_plane, sphere
from partwhole.mesh import Mesh
from partwhole.mesh.io import write_mesh

BALL = sphere(90, radius=2.0)
CUT = cut_plane(BALL, (0, 0, 0), (0, 0, 1))
MAP = CUT.vertex_map


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("parts", "wholes", "maps"):
        (tmp_path / name).mkdir()
    write_mesh(BALL, tmp_path / "wholes/ball.ply")
    for name in ("one", "two.left"):
        write_mesh(CUT.part, tmp_path / f"parts/{name}.off")
    (tmp_path / "parts/notes.txt").write_text("not a surface")
    (tmp_path / "parts/._one.off").write_text("what some systems put beside a file")
    return tmp_path


def true_vertices(pair) -> list[int]:
    full = np.full(CUT.part.n_vertices, -1)
    full[pair.ground_truth.part_vertices] = pair.ground_truth.whole_vertices
    return full.tolist()


def test_every_part_with_every_whole(root: Path) -> None:
    write_mesh(BALL, root / "wholes/other.off")
    pairs = FolderPairs(root)
    assert pairs.keys == (("one", "ball"), ("one", "other"), ("two.left", "ball"), ("two.left", "other"))
    assert pairs.name == root.name
    assert pairs[0].whole.area == pytest.approx(1)
    assert pairs[0].whole is pairs[2].whole
    assert pairs[0] is pairs[0]
    assert [p.ground_truth for p in pairs] == [None] * 4
    assert pairs[1].name == "one → other"
    assert len(pairs[1:]) == 3


def test_a_part_of_wholes_of_area_1_is_one_surface(tmp_path: Path) -> None:
    for name in ("parts", "wholes"):
        (tmp_path / name).mkdir()
    factor = BALL.area**-0.5
    write_mesh(CUT.part.scaled(factor), tmp_path / "parts/cap.ply")
    egg = Mesh(BALL.vertices * [1, 1.1, 0.9], BALL.faces)
    for name, mesh in (("ball", BALL), ("egg", egg)):
        write_mesh(mesh.scaled(mesh.area**-0.5), tmp_path / f"wholes/{name}.ply")
    one, two = FolderPairs(tmp_path)
    assert one.part is two.part
    assert (one.scale, two.scale) == (1.0, 1.0)
    assert one.whole.area == pytest.approx(1)
    at = one.whole.vertices[MAP]
    np.testing.assert_allclose(one.part.vertices, at - at.mean(axis=0), atol=1e-12)


@pytest.mark.parametrize("ending", ["npz", "csv", "vts"])
@pytest.mark.parametrize("name", ["one", "one-ball"])
def test_maps(root: Path, ending: str, name: str) -> None:
    path = root / "maps" / f"{name}.{ending}"
    if ending == "npz":
        np.savez(path, vertex_map=MAP)
    elif ending == "csv":
        path.write_text("part_vertex,whole_vertex\n" + "".join(f"{i},{v}\n" for i, v in enumerate(MAP)))
    else:
        path.write_text("".join(f"{v + 1}\n" for v in MAP))
    one, two = FolderPairs(root)
    assert true_vertices(one) == MAP.tolist()
    assert two.ground_truth is None


def test_a_map_of_some_vertices_and_a_part_with_two_wholes(root: Path) -> None:
    np.savez(root / "maps/one.npz", part_vertices=np.array([4, 4, 2]), whole_vertices=np.array([7, 8, 9]))
    (pair,) = (p for p in FolderPairs(root) if p.name == "one → ball")
    assert len(pair.ground_truth) == 3
    # with two wholes nobody knows which of them maps/one is for
    write_mesh(BALL, root / "wholes/other.off")
    assert FolderPairs(root)[0].ground_truth is None


def test_a_list_of_pairs(root: Path) -> None:
    write_mesh(BALL, root / "wholes/other.off")
    (root / "pairs.csv").write_text("part,whole\n two.left , other.off\none.off,ball\n\n")
    assert FolderPairs(root).keys == (("two.left", "other"), ("one", "ball"))
    np.savez(root / "maps/one.npz", vertex_map=MAP)
    assert true_vertices(FolderPairs(root)[1]) == MAP.tolist()


@pytest.mark.parametrize(
    ("file", "text", "error", "message"),
    [
        ("pairs.csv", "part,whole\none,bull\n", FileNotFoundError, r"pairs.csv, line 2: wholes has no bull"),
        ("pairs.csv", "one,ball\n", ValueError, "should begin with the line part,whole"),
        (
            "pairs.csv",
            "part,whole\n" + 200_000 * "a",
            ValueError,
            r"pairs.csv is no CSV file with the columns part,whole",
        ),
        ("pairs.csv", "part,whole\n", ValueError, "no line below its header"),
        ("pairs.csv", "part,whole\none\n", ValueError, "line 2: 1 entries"),
        ("parts/one.ply", "", ValueError, r"one.ply and one.off have the same name"),
        ("maps/one.csv", "part_vertex,whole_vertex\n0,x\n", ValueError, r"one.csv: invalid literal"),
        ("maps/one.csv", "0,1\n", ValueError, r"^\S*one.csv should begin with the line part_vertex"),
        ("maps/one.vts", "0\n", ValueError, "counted from 1"),
        ("maps/one.vts", "1\n91\n", ValueError, "maps 2 vertices, one has 45; give one for each"),
        ("maps/one.vts", "91\n" * 45, ValueError, "refers to vertex 90, ball has vertices 0 to 89"),
    ],
)
def test_what_is_wrong_is_named(root: Path, file: str, text: str, error: type[Exception], message: str) -> None:
    (root / file).write_text(text)
    with pytest.raises(error, match=message):
        FolderPairs(root)[0]


def test_npz_without_a_map(root: Path) -> None:
    np.savez(root / "maps/one.npz", other=MAP)
    with pytest.raises(ValueError, match="neither vertex_map nor part_vertices"):
        FolderPairs(root)[0]
    np.savez(root / "maps/one.npz", vertex_map=MAP + 0.5)
    with pytest.raises(ValueError, match=r"one.npz: vertex_map must be whole numbers"):
        FolderPairs(root)[0]


def test_folders_that_are_missing_or_empty(root: Path) -> None:
    with pytest.raises(FileNotFoundError, match="has no wholes, no parts"):
        FolderPairs(root / "maps")
    (root / "wholes/ball.ply").unlink()
    with pytest.raises(FileNotFoundError, match=r"wholes has no surfaces; it should hold .off, .obj"):
        FolderPairs(root)
