"""What does not fit is said before it is tried."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from partwhole.cli.shared.memory import check_fits, free_memory, told_plainly

from partwhole.cli.shared import memory
from partwhole.datasets import Pair, random_cuts, sphere


def test_there_is_some_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    assert free_memory() > 1 << 20

    def unreadable(*_: object, **__: object) -> str:
        raise OSError

    monkeypatch.setattr(Path, "read_text", unreadable)
    assert free_memory() == 4 << 30


def test_each_surface_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair.of_cut(random_cuts(sphere(200), seed=1))
    part, whole = pair.part.n_vertices, pair.whole.n_vertices
    for_loss, for_errors = 4 * (2 * part**2 + 11 * whole**2), 4 * 11 * whole**2
    for needed, wanted in ((for_loss, True), (for_errors, False)):
        monkeypatch.setattr(memory, "free_memory", lambda needed=needed: needed)
        check_fits([pair, pair], device="cpu", for_loss=wanted)
        monkeypatch.setattr(memory, "free_memory", lambda needed=needed: needed - 1)
        with pytest.raises(ValueError, match=r"GiB are free in memory; take fewer pairs, or smaller meshes"):
            check_fits([pair, pair], device="cpu", for_loss=wanted)


def test_on_a_gpu_its_memory_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    pair = Pair.of_cut(random_cuts(sphere(200), seed=1))
    monkeypatch.setattr(memory, "free_on_gpu", lambda: 100)
    with pytest.raises(ValueError, match=r"distances on 1 part and 1 whole take .* free on the GPU"):
        check_fits([pair], device="cuda", for_loss=True)
    check_fits([pair], device="cuda", for_loss=False)


@pytest.mark.parametrize("said", ["CUDA out of memory. Tried", "DefaultCPUAllocator: can't allocate memory: you"])
def test_what_torch_says_is_said_plainly(said: str) -> None:
    with pytest.raises(ValueError, match="there is not enough memory; take fewer pairs"), told_plainly():
        raise RuntimeError(said)


def test_other_faults_stay_as_they_are() -> None:
    with pytest.raises(RuntimeError, match="shapes"), told_plainly():
        raise RuntimeError("shapes do not fit")


def test_training_and_evaluation_ask(
    own_set: Path,
    runs: list[Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    one_error: Callable[..., str],
) -> None:
    monkeypatch.setattr(memory, "free_memory", lambda: 100)
    assert "4 parts and 1 whole take" in one_error("train", "--data", own_set, "-o", tmp_path / "run")
    assert "distances on 1 whole take" in one_error("evaluate", "--data", own_set, "-m", runs[0])
