"""SHREC'16, read from folders laid out like the published ones."""

from __future__ import annotations

import inspect
from pathlib import Path

import numpy as np
import pytest

from partwhole.datasets import Shrec16, cut_plane, sphere
from partwhole.mesh import Mesh
from partwhole.mesh.io import write_mesh

BALL = Mesh(sphere(80).vertices * 40 + 9, sphere(80).faces)
CUT = cut_plane(BALL, (9, 9, 9), (0, 0, 1))


def write_off_twice(path: Path, again: int) -> np.ndarray:
    """The ball as a file that repeats one face, the other way round, right behind it; the faces of the file."""
    faces = np.insert(BALL.faces, again + 1, BALL.faces[again, ::-1], axis=0)
    lines = [f"OFF\n{BALL.n_vertices} {len(faces)} 0"]
    lines += [" ".join(map(repr, v)) for v in BALL.vertices.tolist()]
    lines += [" ".join(map(str, [3, *f])) for f in faces.tolist()]
    path.write_text("\n".join(lines) + "\n")
    return faces


def barycentric(faces: np.ndarray, *, last: bool) -> str:
    """A .baryc_gt for the part: in a triangle at each vertex, the first or the last one of the file."""
    rows = []
    for vertex in CUT.vertex_map:
        at = np.argwhere(faces == vertex)[-1 if last else 0]
        rows.append(" ".join(map(str, [at[0] + 1.0, *np.eye(3)[at[1]]])))
    return "\n".join(rows) + "\n"


@pytest.fixture
def flat(tmp_path: Path) -> Path:
    """The training layout: two classes, one of them with a repeated face."""
    for name in ("null", "cuts", "holes"):
        (tmp_path / "shrec16" / name).mkdir(parents=True)
    root = tmp_path / "shrec16"
    write_mesh(BALL, root / "null/wolf.off")
    doubled = write_off_twice(root / "null/cat.off", again=20)
    for damage, count in (("cuts", 12), ("holes", 8)):
        for kind, faces in (("wolf", BALL.faces), ("cat", doubled)):
            for number in range(1, count + 1):
                stem = root / damage / f"{damage}_{kind}_shape_{number}"
                write_mesh(CUT.part, stem.with_suffix(".off"))
                stem.with_suffix(".baryc_gt").write_text(barycentric(faces, last=number % 2 == 0))
    return tmp_path


@pytest.mark.parametrize(("damage", "train", "test"), [("cuts", 18, 6), ("holes", 12, 4)])
def test_the_training_split(flat: Path, damage, train: int, test: int) -> None:
    data = Shrec16(flat, damage)
    assert (len(data.pairs()), len(data.train_pairs()), len(data.test_pairs())) == (train + test, train, test)
    assert data.train_pairs().name == f"SHREC'16 {damage.upper()} training split, train"
    assert data.test_pairs().name == f"SHREC'16 {damage.upper()} training split, test"
    first = {number for (_, number), _ in data.train_pairs().keys}
    later = {number for (_, number), _ in data.test_pairs().keys}
    assert max(first) + 1 == min(later)
    pairs = data.pairs()
    assert pairs[0].whole is pairs[1].whole


def test_triangles_are_those_of_the_file_where_faces_repeat(flat: Path) -> None:
    for pair in Shrec16(flat / "shrec16", "holes").pairs():
        assert pair.whole.area == pytest.approx(1)
        truth = pair.ground_truth
        assert truth is not None
        assert truth.kind == "barycentric"
        # the part keeps its shape, and lies on its own vertex mean
        true = truth.points(pair.whole.vertices)
        np.testing.assert_allclose(pair.part.vertices, true - true.mean(axis=0), atol=1e-9)
        assert pair.rounded().ground_truth.whole_vertices.tolist() == CUT.vertex_map.tolist()
        repeated = pair.name.startswith("holes cat")
        assert pair.notes == (("cat: 1 repeated face left out",) if repeated else ())
        assert pair.whole.n_faces == BALL.n_faces
        assert pair.scale == pytest.approx(BALL.area**-0.5)


@pytest.mark.parametrize("place", ["cuts/corres", "corres"])
def test_the_layout_with_folders_inside(tmp_path: Path, place: str) -> None:
    for name in ("null/off", "cuts/off", place):
        (tmp_path / name).mkdir(parents=True)
    write_mesh(BALL, tmp_path / "null/off/dog.off")
    # 15 is beyond the training shapes: these are the contest's test shapes
    for number in (1, 15):
        write_mesh(CUT.part, tmp_path / f"cuts/off/cuts_dog_shape_{number}.off")
        text = "".join(f"{v + 1}\n" for v in CUT.vertex_map)
        (tmp_path / place / f"cuts_dog_shape_{number}.vts").write_text(text)
    data = Shrec16(tmp_path, "cuts")
    assert data.parts == (("dog", 1), ("dog", 15))
    assert [p.ground_truth.whole_vertices.tolist() for p in data.pairs()] == [CUT.vertex_map.tolist()] * 2
    with pytest.raises(ValueError, match="numbered up to 15, the training shapes of CUTS end at 12"):
        data.test_pairs()


def test_what_is_missing_is_named(flat: Path) -> None:
    with pytest.raises(FileNotFoundError, match="has no null, no cuts: SHREC'16 is published at"):
        Shrec16(flat / "shrec16" / "null", "cuts")
    (flat / "shrec16/cuts/cuts_cat_shape_3.baryc_gt").unlink()
    with pytest.raises(FileNotFoundError, match=r"has no cuts_cat_shape_3.baryc_gt or .vts"):
        Shrec16(flat, "cuts").train_pairs()
    (flat / "shrec16/null/wolf.off").unlink()
    with pytest.raises(FileNotFoundError, match=r"wolf.off does not exist: SHREC'16"):
        Shrec16(flat, "holes").pairs()
    for path in (flat / "shrec16/holes").glob("*.off"):
        path.unlink()
    with pytest.raises(FileNotFoundError, match=r"has no holes_<class>_shape_<number>.off"):
        Shrec16(flat, "holes")


def test_files_that_do_not_fit_are_refused(flat: Path) -> None:
    pairs, root = Shrec16(flat, "cuts").pairs(), flat / "shrec16"
    truth = root / "cuts/cuts_cat_shape_1.baryc_gt"
    truth.write_text("999 1 0 0\n")
    with pytest.raises(ValueError, match=r"cuts_cat_shape_1.baryc_gt: triangles reach to 998"):
        pairs[0]
    truth.write_text("9 1 0 0\n")
    with pytest.raises(ValueError, match=r"baryc_gt has 1 rows, cuts cat 1 has 40 vertices"):
        pairs[0]
    (root / "null/wolf.off").write_text("OFF\n4 1 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n4 0 1 2 3\n")
    with pytest.raises(ValueError, match=r"wolf.off: must hold triangles only"):
        pairs[-1]


def test_damage_that_is_none(flat: Path) -> None:
    check = getattr(Shrec16.__init__, "__wrapped__", Shrec16.__init__)
    with pytest.raises(ValueError, match="damage must be 'cuts' or 'holes', got 'bites'"):
        check(object.__new__(Shrec16), flat, "bites")


@pytest.mark.real_data
def test_published_shapes(data_root: Path) -> None:
    for damage, count in (("cuts", 96), ("holes", 64)):
        data = Shrec16(data_root, damage)
        assert len(data.pairs()) == count
        assert len(data.train_pairs()) == 3 * len(data.test_pairs())
        pair = data.test_pairs()[0]
        assert pair.notes == ("cat: 12 repeated faces left out",)
        truth = pair.ground_truth
        assert truth is not None
        assert len(truth) == pair.part.n_vertices
        # neighbours lie beside each other on the whole: poses bend edges, they do not tear them
        true = truth.points(pair.whole.vertices)
        mapped = np.linalg.norm(true[pair.part.edges[:, 0]] - true[pair.part.edges[:, 1]], axis=1)
        assert mapped.max() < 2 * pair.part.edge_lengths.max()
        assert mapped.sum() == pytest.approx(pair.part.edge_lengths.sum(), rel=0.1)


def test_parts_where_their_files_have_them(flat: Path) -> None:
    pair = Shrec16(flat, "cuts", centre="whole").test_pairs()[0]
    assert pair.ground_truth is not None
    np.testing.assert_allclose(pair.part.vertices, pair.ground_truth.points(pair.whole.vertices), atol=1e-9)
    with pytest.raises(ValueError, match="centre must be 'own' or 'whole', got 'here'"):
        inspect.unwrap(Shrec16.__init__)(object.__new__(Shrec16), flat, "cuts", centre="here")
