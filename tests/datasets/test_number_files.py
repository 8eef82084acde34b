"""Files of numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from partwhole.datasets.number_files import read_numbers, read_vts


def test_numbers_may_be_written_as_floats(tmp_path: Path) -> None:
    (tmp_path / "a.vts").write_text("1.652000e+03\n7.100000e+01\n1\n")
    assert read_vts(tmp_path / "a.vts").tolist() == [1651, 70, 0]
    (tmp_path / "one.vts").write_text("4")
    assert read_vts(tmp_path / "one.vts").tolist() == [3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a.vts is empty"),
        ("one\n", "a.vts: could not convert"),
        ("1 2\n", r"rows of 1 finite number\(s\), got an array of shape \(1, 2\)"),
        ("nan\n", "finite"),
        ("0\n3\n", "counted from 1, got 0 to 3"),
        ("1.5\n", "counted from 1, got 1.5"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.vts").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_vts(tmp_path / "a.vts")


def test_the_number_of_columns_is_checked(tmp_path: Path) -> None:
    (tmp_path / "b.baryc_gt").write_text("1 0 0 1\n2 1 0 0\n")
    assert read_numbers(tmp_path / "b.baryc_gt", columns=4).shape == (2, 4)
    with pytest.raises(ValueError, match="rows of 3"):
        read_numbers(tmp_path / "b.baryc_gt", columns=3)
