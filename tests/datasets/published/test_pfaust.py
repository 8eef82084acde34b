"""PFAUST, read from a folder laid out like the published one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from partwhole.datasets.cutting.cuts import cut_balls
from partwhole.datasets.published.pfaust import PFaust
from partwhole.datasets.shapes.primitives import sphere
from partwhole.mesh import Mesh
from partwhole.mesh.io import write_mesh

BALL = sphere(60).to_unit_area()[0]
CUT = cut_balls(BALL, [5], 0.2)
# what a template of FAUST does: rows in any order, some vertices twice, others never
TEMPLATE = np.random.default_rng(0).integers(60, size=80)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """One whole, not yet of area 1, and a part of it that is."""
    whole = Mesh(sphere(200).vertices * 3 + 1, sphere(200).faces)
    for folder in ("faust_r", "pfaust/PFAUST-M/off", "pfaust/PFAUST-H/off", "pfaust/ground_truth"):
        (tmp_path / folder).mkdir(parents=True)
    write_mesh(whole, tmp_path / "faust_r" / "tr_reg_000.off")
    cut = cut_balls(whole.to_unit_area()[0], [5, 120], 0.15)
    rounded = Mesh(cut.part.vertices.round(9), cut.part.faces)
    for level in "MH":
        write_mesh(rounded, tmp_path / f"pfaust/PFAUST-{level}/off/tr_reg_000.off")
        np.savez(tmp_path / f"pfaust/ground_truth/PFAUST-{level}_tr_reg_000.npz", full_vertex=cut.vertex_map)
    return tmp_path


@pytest.mark.parametrize("inside", ["", "pfaust"])
def test_parts_are_pieces_of_their_wholes(root: Path, inside: str) -> None:
    data = PFaust(root / inside, "M")
    assert len(data) == 1
    cut = data.cut(0)
    assert cut.whole.area == pytest.approx(1)
    np.testing.assert_allclose(cut.whole.vertices.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_array_equal(cut.part.vertices, cut.whole.vertices[data.vertex_map(0)])
    np.testing.assert_allclose(data.part(0).vertices, cut.part.vertices, atol=1e-8)
    assert cut.part.name == "PFAUST-M 000"


def test_what_is_missing_is_named(root: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"tr_reg_007.off does not exist: PFAUST is published by"):
        PFaust(root, "H").part(7)
    with pytest.raises(
        FileNotFoundError, match=r"has no pfaust.PFAUST-H.off, no faust_r, no pfaust.ground_truth: PFAUST"
    ):
        PFaust(root / "faust_r", "H")


def test_ground_truth_that_does_not_fit_is_refused(root: Path) -> None:
    data, path = PFaust(root, "H"), root / "pfaust/ground_truth/PFAUST-H_tr_reg_000.npz"
    right = data.vertex_map(0)
    for wrong in (right[::-1], right[:-1], right + 10_000):
        np.savez(path, full_vertex=wrong)
        with pytest.raises(ValueError, match="files of different releases"):
            data.cut(0)
    np.savez(path, other=right)
    with pytest.raises(ValueError, match="has no full_vertex"):
        data.vertex_map(0)


def test_a_level_that_is_none(root: Path) -> None:
    check = getattr(PFaust.__init__, "__wrapped__", PFaust.__init__)
    with pytest.raises(ValueError, match="level must be 'M' or 'H', got 'X'"):
        check(object.__new__(PFaust), root, "X")


def write_numbers(path: Path, numbers: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(map(str, numbers.tolist())) + "\n")


@pytest.fixture(params=["release", "bundle"])
def hundred(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A hundred parts of one ball in both layouts; whole k numbers the vertices of the ball from k on."""
    release = request.param == "release"
    folders = ("pfaust/PFAUST-M/off", "faust_r") if release else ("PFAUST_M/partial_off", "PFAUST_M/off")
    for folder in (*folders, "pfaust/ground_truth"):
        (tmp_path / folder).mkdir(parents=True)
    write_mesh(CUT.part, tmp_path / "part.off")
    on_part = {int(v): i for i, v in enumerate(CUT.vertex_map)}
    mask = np.isin(TEMPLATE, CUT.vertex_map)
    at_rows = np.array([on_part[int(v)] for v in TEMPLATE[mask]])
    for k in range(100):
        name = f"tr_reg_{k:03d}"
        (tmp_path / folders[0] / f"{name}.off").hardlink_to(tmp_path / "part.off")
        if release:
            truth = {"template_rows": np.flatnonzero(mask), "partial_vertex_at_rows": at_rows}
            np.savez(tmp_path / f"pfaust/ground_truth/PFAUST-M_{name}.npz", full_vertex=CUT.vertex_map, **truth)
        else:
            write_numbers(tmp_path / f"PFAUST_M/masks/{name}.vts", mask.astype(int))
            write_numbers(tmp_path / f"PFAUST_M/partial_corr/{name}.vts", at_rows + 1)
        if k % 10 == 0:
            turned = Mesh(np.roll(BALL.vertices, k, axis=0) * 7, (BALL.faces + k) % 60)
            write_mesh(turned, tmp_path / folders[1] / f"{name}.off")
            corres = "faust_r/corres" if release else "PFAUST_M/corres"
            write_numbers(tmp_path / corres / f"{name}.vts", (TEMPLATE + k) % 60 + 1)
    return tmp_path


def test_training_and_test_pairs_are_those_of_the_paper(hundred: Path) -> None:
    data = PFaust(hundred, "M")
    train, test = data.train_pairs(), data.test_pairs()
    assert (len(train), len(test)) == (640, 40)
    assert {part for part, _ in train.keys} == set(range(80))
    assert {whole for _, whole in train.keys} == {0, 10, 20, 30, 40, 50, 60, 70}
    assert {part for part, _ in test.keys} == set(range(80, 100))
    assert {whole for _, whole in test.keys} == {80, 90}
    assert (train.name, test.name) == ("PFAUST-M train", "PFAUST-M test")
    pair = test[39]
    assert pair.name == "PFAUST-M 099 → FAUST 090"
    assert pair.whole.area == pytest.approx(1)
    # a surface is read once, whatever the number of its pairs
    assert pair.whole is test[1].whole
    assert pair.part is test[38].part


def test_true_vertices_are_found_through_the_template(hundred: Path) -> None:
    data = PFaust(hundred, "M")
    for pair in (data.test_pairs()[3], data.train_pairs()[9]):
        truth = pair.ground_truth
        assert truth is not None
        here = pair.part.vertices[truth.part_vertices]
        there = pair.whole.vertices[truth.whole_vertices]
        np.testing.assert_allclose(here, there, atol=1e-6)
        assert len(truth) == np.isin(TEMPLATE, CUT.vertex_map).sum()


def test_a_missing_file_is_named_before_anything_is_read(hundred: Path) -> None:
    data = PFaust(hundred, "M")
    parts = next(hundred.glob("PFAUST_M/partial_off"), hundred / "pfaust/PFAUST-M/off")
    (parts / "tr_reg_083.off").unlink()
    with pytest.raises(FileNotFoundError, match=r"tr_reg_083.off does not exist: PFAUST is published by"):
        data.test_pairs()
    assert len(data.train_pairs()) == 640
    next(hundred.rglob("corres/tr_reg_070.vts")).unlink()
    with pytest.raises(FileNotFoundError, match=r"tr_reg_070.vts does not exist"):
        data.train_pairs()


def test_a_bundle_says_what_it_has_not(hundred: Path) -> None:
    data = PFaust(hundred, "M")
    if (hundred / "PFAUST_M").is_dir():
        with pytest.raises(ValueError, match="no map from parts to their own wholes"):
            data.vertex_map(0)
        (data.root / "masks" / "tr_reg_000.vts").write_text("1\n0\n")
        with pytest.raises(ValueError, match=r"keeps 1 of 2 rows.*different releases"):
            data.ground_truth(0, 0)
    else:
        path = data.files(0)[2]
        np.savez(path, template_rows=np.array([80]), partial_vertex_at_rows=np.array([0]))
        with pytest.raises(ValueError, match=r"does not fit .*tr_reg_000.vts, which has 80 rows"):
            data.ground_truth(0, 0)
        np.savez(path, template_rows=np.array([80]))
        with pytest.raises(ValueError, match="has no partial_vertex_at_rows; it holds template_rows"):
            data.ground_truth(0, 0)


@pytest.mark.real_data
@pytest.mark.parametrize("level", ["M", "H"])
def test_published_parts_are_pieces_of_their_wholes(data_root: Path, level) -> None:
    data = PFaust(data_root, level)
    assert len(data) == 100
    for k in (0, 57):
        cut = data.cut(k)
        assert cut.whole.area == pytest.approx(1)
        assert cut.whole.is_closed
        assert cut.area_share < 1


@pytest.mark.real_data
@pytest.mark.parametrize("level", ["M", "H"])
def test_published_ground_truth_keeps_neighbours_together(data_root: Path, level) -> None:
    data = PFaust(data_root, level)
    own = data.ground_truth(83, 83)
    np.testing.assert_array_equal(data.vertex_map(83)[own.part_vertices], own.whole_vertices)
    pair = data.test_pairs()[13]
    truth = pair.ground_truth
    assert truth is not None
    mapped = np.full(pair.part.n_vertices, -1)
    mapped[truth.part_vertices] = truth.whole_vertices
    edges = pair.part.edges[(mapped[pair.part.edges] >= 0).all(axis=1)]
    ends = pair.whole.vertices[mapped[edges]]
    assert len(edges) > 1000
    assert np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).max() < 0.1
