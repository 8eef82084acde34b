"""How many cores there are, and how many of them are free."""

from __future__ import annotations

from pathlib import Path

import pytest

from partwhole.store import cores


@pytest.mark.parametrize(
    ("minute", "now", "free"),
    [(0.2, 3.0, 4), (3.0, 0.0, 4), (3.0, 2.0, 2), (1.0, 3.0, 3), (9.0, 9.0, 1), (2.4, None, 2)],
)
def test_cores_are_free_that_nothing_runs_on(
    monkeypatch: pytest.MonkeyPatch, minute: float, now: float | None, free: int
) -> None:
    monkeypatch.setattr(cores, "available_cores", lambda: 4)
    monkeypatch.setattr(cores.os, "getloadavg", lambda: (minute, 0.0, 0.0))
    monkeypatch.setattr(cores, "_running_now", lambda: now)
    assert cores.free_cores() == free


def test_a_system_that_says_nothing(tmp_path: Path) -> None:
    assert cores._running_now(tmp_path / "nothing") is None
    (tmp_path / "odd").write_text("0.1 0.2")
    assert cores._running_now(tmp_path / "odd") is None
    (tmp_path / "said").write_text("0.76 2.21 2.61 3/84 29376\n")
    assert cores._running_now(tmp_path / "said") == 2.0
    (tmp_path / "alone").write_text("0.76 2.21 2.61 0/84 29376\n")
    assert cores._running_now(tmp_path / "alone") == 0.0
    assert 1 <= cores.free_cores() <= cores.available_cores()
