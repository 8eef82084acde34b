"""Files of numbers."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from partwhole.datasets.number_files import read_npz, read_numbers, read_vts


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


def npy_header(shape: tuple[int, ...]) -> bytes:
    """The beginning of an .npy file that promises an array of this shape."""
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return file.getvalue()


def test_archives_come_back_and_broken_ones_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    np.savez(path, one=np.arange(3), two=np.eye(2))
    assert {name: array.shape for name, array in read_npz(path).items()} == {"one": (3,), "two": (2, 2)}
    whole = path.read_bytes()
    for broken in (b"", whole[:80], b"neither zip nor npy", whole[:40] + b"x" * 40 + whole[80:]):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match=r"a.npz is not a whole .npz file of plain numbers"):
            read_npz(path)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("one.npy", npy_header((10**10, 1000)))
    with pytest.raises(ValueError, match="plain numbers: "):
        read_npz(path)
    locked = bytearray(whole)
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        locked[locked.index(mark) + flags] |= 1  # says that the first array is encrypted
    path.write_bytes(locked)
    with pytest.raises(ValueError, match="plain numbers"):
        read_npz(path)
    np.savez_compressed(path, one=np.arange(1000))
    squeezed = path.read_bytes()
    path.write_bytes(squeezed[:60] + b"\xff" * 40 + squeezed[100:])
    with pytest.raises(ValueError, match="plain numbers"):
        read_npz(path)
    np.savez(path, object=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="plain numbers"):
        read_npz(path)
    np.save(tmp_path / "b.npy", np.arange(3))
    path.write_bytes((tmp_path / "b.npy").read_bytes())
    with pytest.raises(ValueError, match="plain numbers"):
        read_npz(path)
