"""What training and evaluation share on the command line."""

from __future__ import annotations

import sys

import pytest

from partwhole.cli.shared import learning
from partwhole.cli.shared.console import Console
from partwhole.cli.shared.learning import Stages, chosen_cache, read_pairs, ready, stages, with_truth
from partwhole.datasets import Pair, Pairs, random_cuts, sphere


def pairs(*notes: str) -> list[Pair]:
    cut = random_cuts(sphere(200), seed=1)
    made = Pair.of_cut(cut)
    return [Pair(made.part, made.whole, made.ground_truth, name=f"pair {k}", notes=(n,)) for k, n in enumerate(notes)]


def test_torch_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    ready("cpu")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ValueError, match=r'networks need torch: .* -m pip install "torch>='):
        ready("cpu")


def test_a_device_that_is_not_there_is_named_as_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=r"^--device cuda needs a CUDA device.*use --device cpu$"):
        ready("cuda")


def test_the_cache_is_that_of_the_user_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARTWHOLE_CACHE", "somewhere")
    console = Console(quiet=True)
    found = chosen_cache(True, console)
    assert found is not None
    assert found.folder.name == "somewhere"
    assert chosen_cache(False, console) is None
    assert console.notes == []


def test_a_cache_without_a_place_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARTWHOLE_CACHE", "~/kept")
    monkeypatch.setattr("os.path.expanduser", lambda path: path)  # as where nobody knows the user
    console = Console(quiet=True)
    assert chosen_cache(True, console) is None
    assert console.notes == [
        "nothing is kept for other runs: there is no folder for the cache, since you have no home folder; set PARTWHOLE_CACHE"
    ]


def test_notes_of_pairs_are_said_once() -> None:
    console = Console(quiet=True)
    held = read_pairs(Pairs.given(pairs("a", "b", "a"), name="three"), console, Stages())
    assert [pair.name for pair in held] == ["pair 0", "pair 1", "pair 2"]
    assert console.notes == ["a", "b"]


def test_pairs_without_truth_are_counted() -> None:
    console = Console(quiet=True)
    known, other = pairs("", "")
    bare = Pair(other.part, other.whole, name="bare")
    assert with_truth([known, bare], "two", console) == [known]
    assert console.notes == ["two: 1 of 2 pairs have no ground truth and are left out"]
    with pytest.raises(ValueError, match="one: none of the 1 pairs has ground truth"):
        with_truth([bare], "one", console)


@pytest.mark.parametrize("knobs", [{"quiet": True}, {"as_json": True}, {}])
def test_where_nobody_looks_there_are_no_bars(knobs: dict[str, bool], capsys: pytest.CaptureFixture[str]) -> None:
    with stages(Console(**knobs)) as report:
        report("reading", 0, 3)
        report.detail("reading", "slowly")
    assert capsys.readouterr() == ("", "")


def test_a_log_has_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(learning, "_LINE_EVERY", -1.0)
    with stages(Console()) as report:
        report("reading", 0, 3)
        report.detail("training", "loss 0.5")
        report("training", 7, 20)
    assert capsys.readouterr() == ("", "reading: 0 of 3\ntraining, loss 0.5: 7 of 20\n")
    with stages(Console(quiet=True)) as report:
        report("reading", 0, 3)
    assert capsys.readouterr() == ("", "")


def test_each_stage_has_a_bar(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with stages(Console()) as report:
        report.detail("training", "too early to say")
        report("reading", 0, 0)
        report("reading", 3, 3)
        report("reading", 0, 2)
        report("training", 5, 20)
        report.detail("training", "loss 0.5")
        bars = {task.description: (task.completed, task.total) for task in report._bar.tasks}
    assert bars == {"reading": (0, 2), "training, loss 0.5": (5, 20)}
    assert capsys.readouterr().out == ""
