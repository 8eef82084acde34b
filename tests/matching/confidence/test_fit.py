"""The fit of a map as a whole, and the warnings that follow."""

from __future__ import annotations

from types import ModuleType

import pytest
import torch

from partwhole.datasets import cut_plane
from partwhole.matching import Matcher, TrainingConfig
from partwhole.matching.confidence.constants import DOUBTFUL
from partwhole.matching.confidence.fit import fit_of, warnings_about
from partwhole.matching.network.diffusion_net import new_network
from partwhole.matching.result import Fit
from partwhole.matching.search.search import search


def test_a_fit_is_measured(small: ModuleType, config: TrainingConfig) -> None:
    torch.manual_seed(1)
    matcher = Matcher(new_network(config.network), config)
    cut = cut_plane(small.lopsided(110), (0, 0, 0), (1.0, 0.5, 0.2))
    given = small.pair_of(cut.part, cut.whole, matcher)
    position = search(matcher, given, yaw_steps=4, up="y")
    true = torch.from_numpy(cut.vertex_map)
    fit = fit_of(true, position)
    assert fit.distortion < 0.02
    assert fit.stretch == pytest.approx(1, abs=0.05)
    assert fit.reversed == 0
    assert fit.guaranteed == pytest.approx(float(given.guaranteed.float().mean()), abs=1e-6)
    assert not fit.mirrored
    scrambled = fit_of(true.flip(0), position)
    assert scrambled.distortion > 10 * fit.distortion
    assert scrambled.poor


def fit(**changes: object) -> Fit:
    good = {
        "guaranteed": 0.5,
        "criterion": "wormhole",
        "distortion": 0.02,
        "stretch": 1.0,
        "curvature": 0.9,
        "reversed": 0.05,
        "rival_angle": 180.0,
        "rival_margin": 2.0,
        "expected_error": 0.01,
    }
    return Fit(**{**good, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"curvature": 0.1}, "the map is probably wrong"),
        ({"expected_error": 0.2}, "the map is probably wrong: an error of 20 % of √area is to be expected"),
        ({"expected_error": 0.08}, "parts of the map are probably wrong: an error of 8 % of √area is to be expected"),
        ({"distortion": 0.3}, "the part may belong to something else"),
        ({"reversed": 0.9}, "probably a mirror image: 90 % of the area"),
        ({"rival_margin": 0.1}, "perhaps the wrong way round: with the part turned by 180°"),
        ({"stretch": 1.6}, "distances on the whole are 1.60 times those on the part"),
    ],
)
def test_what_is_wrong_is_said(changes: dict[str, object], said: str) -> None:
    assert warnings_about(fit(), 0.2) == ()
    assert any(said in text for text in warnings_about(fit(**changes), 0.2))


def test_a_map_that_fits_badly_is_doubtful_everywhere() -> None:
    assert fit().credit == 1
    assert fit(curvature=0.51, distortion=0.11, rival_margin=0.0).credit == 1
    assert fit(curvature=0.49).credit == pytest.approx(0.49)
    assert fit(reversed=0.9).credit == DOUBTFUL
    assert fit(distortion=0.24).credit == pytest.approx(DOUBTFUL / 2)
    assert fit(curvature=-0.3).credit == 0


def test_doubt_and_certainty() -> None:
    (said,) = warnings_about(fit(), 0.6)
    assert said.endswith("60 % of the part's area is doubtful")
    (said,) = warnings_about(fit(), 0.7)
    assert "the part may belong to something else" in said
    assert not fit(rival_margin=None, rival_angle=None).perhaps_turned
    assert not fit(reversed=float("nan")).mirrored
