"""How commands speak."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from partwhole.cli.shared.console import Console, output_folder, to_json, write_arrays, write_text


def test_json_mode_prints_one_object_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(as_json=True)
    console.say("a")
    console.note("b")
    console.table([("c", "d")], head=("e", "f"))
    with console.progress("g") as progress:
        progress(1, 2)
    console.finish({"notes": console.notes})
    out, err = capsys.readouterr()
    assert json.loads(out) == {"notes": ["b"]}
    assert err == ""


def test_quiet_prints_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console(quiet=True)
    console.say("a")
    console.note("b")
    console.table([("c",)], head=("e",))
    console.finish({"x": 1})
    assert capsys.readouterr() == ("", "")


def test_otherwise_results_go_to_stdout_and_notes_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console()
    console.say("result")
    console.note("beware")
    console.table([("left", "1.0 [not markup]")], head=("name", "value"))
    console.finish({"x": 1})
    out, err = capsys.readouterr()
    assert out.splitlines()[0] == "result"
    assert "1.0 [not markup]" in out
    assert err == "note: beware\n"


def test_numbers_are_aligned_to_the_right_and_words_to_the_left(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [("a", "1.0", "12 %"), ("b", "10.25", "sure, and doubtful in places")]
    Console().table(rows, head=("name", "error", "said"))
    lines = capsys.readouterr().out.splitlines()
    first, second = (next(line for line in lines if line.strip().startswith(name)) for name in "ab")
    assert first.index("1.0") + len("1.0") == second.index("10.25") + len("10.25")
    assert first.index("12 %") == second.index("sure")


def test_progress_is_drawn_for_people_only(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    with Console().progress("distances") as progress:
        progress(3, 10)
        progress(10, 10)
    assert capsys.readouterr().out == ""


def test_warnings_become_notes(capsys: pytest.CaptureFixture[str]) -> None:
    console = Console()
    with console.warnings_as_notes():
        warnings.warn("3 polygons were triangulated", stacklevel=1)
    assert console.notes == ["3 polygons were triangulated"]
    assert "note: 3 polygons" in capsys.readouterr().err


def test_summaries_are_plain_json() -> None:
    value = {"a": np.arange(3), "b": (np.float64(0.5), np.inf), "c": Path("x/y"), 4: np.bool_(True), "d": None}
    assert json.loads(to_json(value)) == {"a": [0, 1, 2], "b": [0.5, None], "c": "x/y", "4": True, "d": None}


def test_arrays_and_texts_come_back(tmp_path: Path) -> None:
    arrays = {"a": np.arange(4.0), "b": np.array([True, False])}
    write_arrays(tmp_path / "x.npz", arrays)
    with np.load(tmp_path / "x.npz") as back:
        assert sorted(back) == ["a", "b"]
        np.testing.assert_array_equal(back["a"], arrays["a"])
    write_text(tmp_path / "t.md", "größer\n")
    assert (tmp_path / "t.md").read_text(encoding="utf-8") == "größer\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t.md", "x.npz"]


def test_large_arrays_are_stored_as_they_are(tmp_path: Path) -> None:
    write_arrays(tmp_path / "x.npz", {"a": np.zeros(9 << 20)})
    assert (tmp_path / "x.npz").stat().st_size > 64 << 20


def test_the_output_folder_is_made_and_a_file_is_refused(tmp_path: Path) -> None:
    assert output_folder(tmp_path / "a" / "b").is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(ValueError, match=r"--output .*file is a file; give a folder"):
        output_folder(tmp_path / "file")
