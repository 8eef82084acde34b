from __future__ import annotations

import os
import random
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from partwhole.store import atomic_write


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def test_file_appears_when_the_block_ends(tmp_path):
    target = tmp_path / "a.bin"
    with atomic_write(target) as file:
        file.write(b"one")
        assert not target.exists()
    assert target.read_bytes() == b"one"
    assert names(tmp_path) == ["a.bin"]


def test_old_file_stays_until_the_new_one_is_whole(tmp_path):
    target = tmp_path / "a.bin"
    target.write_bytes(b"old")
    with atomic_write(target) as file:
        file.write(b"new")
        file.flush()
        assert target.read_bytes() == b"old"
    assert target.read_bytes() == b"new"


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_nothing_is_left_after_an_exception(tmp_path, error):
    target = tmp_path / "a.bin"
    target.write_bytes(b"old")

    def interrupted() -> None:
        with atomic_write(target) as file:
            file.write(b"half")
            raise error

    with pytest.raises(error):
        interrupted()
    assert target.read_bytes() == b"old"
    assert names(tmp_path) == ["a.bin"]


def test_file_serves_memory_maps_and_np_save(tmp_path):
    with atomic_write(tmp_path / "rows.bin") as file:
        rows = np.memmap(file, np.float64, "r+", shape=(50, 3))
        rows[:] = 2.0
        rows.flush()
        del rows
    with atomic_write(tmp_path / "saved.npy") as file:
        np.save(file, np.arange(4))
    assert np.fromfile(tmp_path / "rows.bin").sum() == 300
    assert np.load(tmp_path / "saved.npy").tolist() == [0, 1, 2, 3]
    assert names(tmp_path) == ["rows.bin", "saved.npy"]


@pytest.fixture(params=["nameless", "named"], autouse=True)
def kind_of_file(request, monkeypatch):
    """Everything once as Linux has it, and once as other systems do."""
    if request.param == "named":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    elif not hasattr(os, "O_TMPFILE"):
        pytest.skip("files without a name are Linux's")


def test_permissions_are_the_usual_ones_and_are_kept(tmp_path):
    target, plain = tmp_path / "a.bin", tmp_path / "plain.bin"
    plain.write_bytes(b"")
    with atomic_write(target):
        pass
    assert stat.S_IMODE(target.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    target.chmod(0o600)
    with atomic_write(target):
        pass
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


def test_link_stays_a_link(tmp_path):
    target, link = tmp_path / "a.bin", tmp_path / "link.bin"
    target.write_bytes(b"old")
    link.symlink_to(target)
    with atomic_write(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_long_names_work(tmp_path):
    target = tmp_path / ("x" * 240 + ".bin")
    with atomic_write(target) as file:
        file.write(b"1")
    assert target.read_bytes() == b"1"


def test_errors_are_clear(tmp_path):
    with (
        pytest.raises(FileNotFoundError, match="does not exist; create the folder"),
        atomic_write(tmp_path / "no" / "a"),
    ):
        pass
    with pytest.raises(ValueError, match="is a folder"), atomic_write(tmp_path):
        pass
    with pytest.raises(ValueError, match="is not the name of a file"), atomic_write(""):
        pass


WRITERS = {
    "atomic_write": """
from partwhole.store import atomic_write
while True:
    for letter in (b"a", b"b"):
        with atomic_write(target) as file:
            for _ in range(64):
                file.write(letter * 65536)
""",
    "memmap": """
import numpy as np
from partwhole.store import atomic_write
while True:
    for value in (1, 2):
        with atomic_write(target) as file:
            rows = np.memmap(file, np.uint8, "r+", shape=(64, 65536))
            for row in rows:
                row[:] = value
            del rows, row
""",
}


def has_nameless_files(folder):
    try:
        os.close(os.open(folder, os.O_TMPFILE | os.O_RDWR))
    except (AttributeError, OSError):  # some file systems can't
        return False
    return True


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("writer", WRITERS)
def test_a_killed_process_leaves_no_half_written_file(tmp_path, writer):
    target = tmp_path / "big.bin"
    named = not has_nameless_files(tmp_path)
    patch = "if hasattr(os, 'O_TMPFILE'): del os.O_TMPFILE" if named else ""
    begin = (
        f"target = {str(target)!r}\nimport os, numpy, partwhole.store.storage\n{patch}\nprint('ready', flush=True)\n"
    )
    code = begin + WRITERS[writer]
    delays = random.Random(0)
    for _ in range(6):
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            while not target.exists():  # on a busy machine the first one takes long
                time.sleep(0.01)
            time.sleep(delays.uniform(0.0, 0.15))
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
        content = np.fromfile(target, np.uint8)
        assert content.size == 64 * 65536
        assert content.min() == content.max()
    for name in set(names(tmp_path)) - {"big.bin"}:
        # between getting a name and taking the old file's place, a nameless file is whole
        assert ".partial" in name
        assert named or (tmp_path / name).stat().st_size == 64 * 65536
