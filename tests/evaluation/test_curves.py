"""PCK curves and their areas."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwhole.evaluation import mean_curve, pck_curve, pck_plot


def test_the_range_and_the_ends() -> None:
    curve = pck_curve([0.0, 0.0, 0.3, np.inf])
    assert (len(curve.thresholds), curve.thresholds[0], curve.limit) == (101, 0.0, 0.25)
    assert set(curve.shares) == {0.5}
    assert curve.area == 0.5
    assert pck_curve(np.zeros(5)).area == 1
    assert pck_curve([np.inf]).area == 0


def test_equal_errors_fill_the_range_evenly() -> None:
    curve = pck_curve(np.linspace(0, 0.25, 5001))
    np.testing.assert_allclose(curve.shares, curve.thresholds / 0.25, atol=1e-3)
    assert curve.area == pytest.approx(0.5, abs=1e-3)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0.01, 2))
def test_area_is_the_integral_of_the_curve(errors: list[float], limit: float) -> None:
    curve = pck_curve(errors, limit=limit, steps=4000)
    left, right = curve.shares[:-1].mean(), curve.shares[1:].mean()
    assert left - 1e-9 <= curve.area <= right + 1e-9
    assert (np.diff(curve.shares) >= 0).all()


def test_the_mean_of_curves() -> None:
    mean = mean_curve([pck_curve([0.0]), pck_curve([1.0])])
    assert set(mean.shares) == {0.5}
    assert mean.area == 0.5


@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
def test_a_plot_is_the_same_file_again(tmp_path: Path, ending: str) -> None:
    curves = {"ours": pck_curve([0.01, 0.02, 0.2]), "theirs": pck_curve([0.1, 0.2])}
    figure = pck_plot(curves, tmp_path / f"a.{ending}", title="a title")
    (axes,) = figure.axes
    np.testing.assert_allclose(axes.lines[0].get_ydata(), 100 * curves["ours"].shares)
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert labels == [f"ours: {100 * curves['ours'].area:.1f}", f"theirs: {100 * curves['theirs'].area:.1f}"]
    assert axes.get_legend().get_title().get_text() == "area × 100, 0 to 0.25"
    assert (tmp_path / f"a.{ending}").stat().st_size > 1000
    if ending == "png":
        pck_plot(curves, tmp_path / "b.png", title="a title")
        assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_a_plot_need_not_be_saved() -> None:
    assert len(pck_plot({"one": pck_curve([0.1])}).axes) == 1


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pck_curve([]), "at least one number"),
        (lambda: pck_curve([np.nan]), "none negative or nan"),
        (lambda: pck_curve([-0.1]), "none negative"),
        (lambda: pck_curve([0.1], limit=0.0), "limit=0.0 must be positive"),
        (lambda: pck_curve([0.1], steps=0), "steps=0 at least 1"),
        (lambda: mean_curve([]), "0 curves can be averaged"),
        (lambda: mean_curve([pck_curve([0.1]), pck_curve([0.1], limit=1.0)]), "the same thresholds"),
        (lambda: pck_plot({}), "one range, got none"),
        (lambda: pck_plot({"a": pck_curve([0.1]), "b": pck_curve([0.1], limit=1.0)}), r"got \[0.25, 1.0\]"),
        (lambda: pck_plot({"a": pck_curve([0.1])}, "a.bmp"), r"saved as .png, .pdf, .svg"),
    ],
)
def test_nonsense_is_refused(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()
