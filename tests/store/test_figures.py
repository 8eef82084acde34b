"""Names in figures: whatever they are made of, the figure is drawn, without a warning."""

from __future__ import annotations

import io
import os

import pytest
from matplotlib.figure import Figure

from partwhole.store.figures import as_text


@pytest.mark.parametrize(
    "name",
    [r"$\frac{.ply", "a$b$c", "$", "a\nb\tc", "骨 \N{BONE} עצם.ply", os.fsdecode(b"sc\xffan.ply"), "\x00\x1b[31m", "x" * 500,
     "_^{}\\", "‮gnp.exe", ""],
)  # fmt: skip
def test_any_name_can_stand_in_a_figure(name: str) -> None:
    figure = Figure(figsize=(2, 1))
    figure.text(0.5, 0.5, as_text(name))
    figure.savefig(io.BytesIO(), format="png")
    assert len(as_text(name)) <= 62
    assert as_text(name).isprintable()


def test_names_that_are_fine_stay() -> None:
    assert as_text("scan of Zoë → whole.ply") == "scan of Zoë → whole.ply"
