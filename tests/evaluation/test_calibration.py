"""Whether confidence means what it says."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from partwhole.evaluation import calibration, calibration_plot


def test_a_probability_is_calibrated() -> None:
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0, 1, 40_000)
    errors = np.where(rng.uniform(0, 1, 40_000) < confidence, 0.01, 0.3)
    found = calibration(confidence, errors)
    assert found.gap < 0.02
    assert np.allclose(found.confidence, np.linspace(0.05, 0.95, 10), atol=0.01)
    assert np.all(np.diff(found.error) < 0)
    # the lowest fifth is wrong nine times out of ten, and half of all are wrong
    assert found.carried == pytest.approx(0.9 * 0.3 * 0.2 / errors.mean(), abs=0.02)
    assert found.carried <= found.possible
    assert found.curve[20] == pytest.approx(found.carried)
    assert found.best_curve[20] == pytest.approx(found.possible)
    assert (found.curve <= found.best_curve + 1e-12).all()
    assert (found.curve[0], found.curve[100]) == (0, 1)


def test_confidence_that_says_nothing() -> None:
    rng = np.random.default_rng(1)
    found = calibration(rng.uniform(0, 1, 20_000), rng.uniform(0, 0.1, 20_000))
    assert found.carried == pytest.approx(0.2, abs=0.01)
    assert found.possible == pytest.approx(0.36, abs=0.01)
    assert repr(found) == "Calibration(the lowest fifth carries 20% of the error, at most 36%)"


def test_how_often_a_right_place_is_surer_than_a_wrong_one() -> None:
    errors = np.array([0.01] * 6 + [0.2] * 4)
    told = [0.9, 0.8, 0.8, 0.7, 0.6, 0.5, 0.7, 0.4, 0.3, 0.2]
    # of 24 pairs two are the wrong way round, and in one both are equally sure
    assert calibration(told, errors).auc == pytest.approx(21.5 / 24)
    assert calibration(np.ones(10), errors).auc == 0.5


def test_no_error_at_all() -> None:
    found = calibration(np.ones(10), np.zeros(10))
    assert math.isnan(found.carried)
    assert math.isnan(found.auc)
    assert np.isnan(found.curve).all()


def test_what_does_not_belong_together() -> None:
    with pytest.raises(ValueError, match="3 confidences and 4 errors, in 10 groups"):
        calibration(np.ones(3), np.ones(4))
    with pytest.raises(ValueError, match="5 confidences and 5 errors, in 10 groups"):
        calibration(np.ones(5), np.ones(5))
    with pytest.raises(ValueError, match="must be finite; leave out vertices"):
        calibration(np.ones(10), np.full(10, np.inf))


def test_a_plot(tmp_path: Path) -> None:
    errors = np.linspace(0, 0.2, 50)
    found = {"one": calibration(1 - errors, errors), "other": calibration(errors, errors)}
    calibration_plot(found, tmp_path / "calibration.png", title="two")
    assert (tmp_path / "calibration.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="there is no calibration to plot"):
        calibration_plot({})
