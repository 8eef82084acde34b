"""`partwhole cache`: what is kept, and how to be rid of it."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from partwhole.cli.main import main
from partwhole.store.cache import Cache


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Cache:
    """Three entries of about 10 kB, last used in January 2001, 2002 and 2003."""
    monkeypatch.delenv("PARTWHOLE_CACHE_LIMIT", raising=False)
    cache = Cache.default()
    for n in range(3):
        cache.put({"n": n}, {"x": np.zeros(10_000, np.uint8)})
        used = 979_300_800 + n * 365 * 86_400
        os.utime(cache.path({"n": n}), (used, used))
    return cache


def run_json(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:
    assert main(["cache", *arguments, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


def test_it_says_what_is_there(kept: Cache, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert f"{kept.folder}: 3 entries, 30.9" in out
    assert " kB; at most 20 GB are kept\n" in out
    assert "the least recently used entry is from 2001-01-" in out
    assert len(kept.entries()) == 3


def test_an_empty_cache_is_not_made(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARTWHOLE_CACHE_LIMIT", "none")
    assert main(["cache", "--clear"]) == 0
    out = capsys.readouterr().out
    assert out == f"removed 0 entries, 0 bytes\n{Cache.default().folder}: 0 entries, 0 bytes; no limit\n"
    assert not Cache.default().folder.exists()
    assert run_json(capsys)["oldest_used"] is None


def test_json_is_all_there_is_on_stdout(kept: Cache, capsys: pytest.CaptureFixture[str]) -> None:
    summary = run_json(capsys)
    assert summary.pop("oldest_used").startswith("2001-01-")
    assert summary == {
        "folder": str(kept.folder),
        "entries": 3,
        "bytes": sum(entry.size for entry in kept.entries()),
        "limit": 20 * 10**9,
        "removed_entries": 0,
        "removed_bytes": 0,
        "notes": [],
    }


def test_quiet_is_silent(kept: Cache, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "--trim", "0", "--quiet"]) == 0
    assert capsys.readouterr() == ("", "")
    assert kept.entries() == []


def test_trim_leaves_what_was_used_last(kept: Cache, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cache", "--trim", "25 kB"]) == 0
    assert capsys.readouterr().out.startswith("removed 1 entry, 10")
    assert [kept.path({"n": n}).exists() for n in range(3)] == [False, True, True]
    summary = run_json(capsys, "--trim", "15kB")
    assert (summary["entries"], summary["removed_entries"]) == (1, 1)
    assert summary["bytes"] == summary["removed_bytes"]


def test_clear_removes_nothing_else(kept: Cache, capsys: pytest.CaptureFixture[str]) -> None:
    (kept.folder / "thesis.npz").write_bytes(b"mine")
    summary = run_json(capsys, "--clear")
    assert (summary["entries"], summary["removed_entries"]) == (0, 3)
    assert [path.name for path in kept.folder.rglob("*")] == ["thesis.npz"]


def test_what_can_not_be_removed_is_said(
    kept: Cache, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError("closed")

    monkeypatch.setattr(os, "unlink", refused)
    assert main(["cache", "--clear"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("removed 0 entries")
    assert err.startswith("note: 30.9")
    assert "are left: they can't be removed" in err


def test_bad_input_is_one_line(
    kept: Cache, one_error: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert "--trim: '5' is not a size; give a number and a unit" in one_error("cache", "--trim", "5")
    assert "--clear removes everything, --trim only a part" in one_error("cache", "--clear", "--trim", "1 GB")
    assert len(kept.entries()) == 3
    monkeypatch.setenv("PARTWHOLE_CACHE_LIMIT", "plenty")
    assert "PARTWHOLE_CACHE_LIMIT is 'plenty'" in one_error("cache")
    monkeypatch.delenv("PARTWHOLE_CACHE_LIMIT")
    (tmp_path / "file").touch()
    monkeypatch.setenv("PARTWHOLE_CACHE", str(tmp_path / "file"))
    assert "is a file; a cache needs a folder" in one_error("cache")


def test_damaged_entries_are_found_and_removed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache = Cache(tmp_path / "elsewhere")
    for number in range(3):
        cache.put({"k": number}, {"x": np.arange(10)})
    damaged = cache.path({"k": 1})
    damaged.write_bytes(damaged.read_bytes()[:-1])
    assert main(["cache", "verify", str(tmp_path / "elsewhere")]) == 0
    out = capsys.readouterr().out
    assert f"damaged: {damaged}" in out
    assert "3 entries read, 1 damaged" in out
    assert not damaged.exists()
    assert main(["cache", "verify", str(tmp_path / "elsewhere"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["damaged"] == []


def test_entries_are_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache = Cache(tmp_path / "elsewhere")
    cache.put({"k": 1}, {"x": np.arange(10)})
    assert main(["cache", "ls", str(tmp_path / "elsewhere")]) == 0
    assert capsys.readouterr().out.startswith(cache.entries()[0].name.removesuffix(".npz"))
    assert main(["cache", "ls", str(tmp_path / "elsewhere"), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["entries"]) == 1
    assert main(["cache", "du", str(tmp_path / "elsewhere")]) == 0
    assert ": 1 entry, " in capsys.readouterr().out


def test_what_was_not_used_for_long_is_pruned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cache = Cache(tmp_path / "elsewhere")
    for number in range(3):
        cache.put({"k": number}, {"x": np.arange(10)})
    os.utime(cache.path({"k": 2}), (1, 1))
    assert main(["cache", "prune", str(tmp_path / "elsewhere"), "--unused", "30d"]) == 0
    assert "removed 1 entry" in capsys.readouterr().out
    assert len(cache.entries()) == 2
    assert main(["cache", "prune", str(tmp_path / "elsewhere"), "--trim", "0"]) == 0
    assert cache.entries() == []


def test_what_is_to_be_pruned_has_to_be_said(one_error: Callable[..., str]) -> None:
    assert "say what to remove: --trim SIZE" in one_error("cache", "prune")
    assert "--unused must be a number of hours, days or weeks" in one_error("cache", "prune", "--unused", "soon")
    assert "--trim is for partwhole cache prune, not for ls" in one_error("cache", "ls", "--trim", "5GB")
    assert "--clear removes everything, --unused only a part" in one_error("cache", "--clear", "--unused", "1d")
