"""PFAUST, read from a folder laid out like the published one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from partwhole.datasets.cutting import cut_balls
from partwhole.datasets.pfaust import PFaust
from partwhole.datasets.primitives import sphere
from partwhole.mesh import Mesh
from partwhole.mesh.io import write_mesh


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
