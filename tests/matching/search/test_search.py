"""Which way up, which way round, and how large."""

from __future__ import annotations

from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
import torch

from partwhole.datasets import Cut, cut_plane
from partwhole.matching import Matcher, TrainingConfig
from partwhole.matching.confidence.fit import fit_of, warnings_about
from partwhole.matching.matcher import new_network
from partwhole.matching.result import DOUBTFUL, Fit
from partwhole.matching.search import search as module
from partwhole.matching.search.pair import SurfacePair, surface_pair
from partwhole.matching.search.search import candidate_axes, search
from partwhole.mesh import Mesh


@pytest.fixture(scope="module")
def matcher(config: TrainingConfig) -> Matcher:
    torch.manual_seed(1)
    return Matcher(new_network(config), config)


@pytest.fixture(scope="module")
def cut(small: ModuleType) -> Cut:
    return cut_plane(small.lopsided(110), (0, 0, 0), (1.0, 0.5, 0.2))


@pytest.fixture(scope="module")
def given(cut: Cut, matcher: Matcher) -> SurfacePair:
    return surface_pair(cut.part, cut.whole, 1.0, matcher)


def test_axes() -> None:
    assert candidate_axes("auto", "y")[0] == ("y", "-y", "z", "-z", "x", "-x")
    assert candidate_axes("auto", "z")[1] == ("y", "z", "x")
    for wrong in ("w", "y:w", "y:", ":y", "up"):
        with pytest.raises(ValueError, match=f"up='{wrong}' must be an axis"):
            candidate_axes(wrong, "y")


def test_shown_is_in_the_units_of_the_whole(cut: Cut, matcher: Matcher, given: SurfacePair) -> None:
    part, whole = given.meshes
    assert whole.area == pytest.approx(1)
    assert part.area == pytest.approx(cut.area_share)
    other = surface_pair(Mesh(1000 * cut.part.vertices, cut.part.faces), cut.whole, 0.001, matcher)
    assert torch.allclose(other.part.points, given.part.points, atol=1e-6)
    assert given.guaranteed.diagonal().all()
    assert 0 < float(given.guaranteed.float().mean()) <= 1
    assert given.criterion == "wormhole"


def test_the_same_loop_criterion_gives_way_where_it_is_not_proved(cut: Cut, config: TrainingConfig) -> None:
    matcher = Matcher(
        new_network(config.with_changes(criterion="same_loop")), config.with_changes(criterion="same_loop")
    )
    assert surface_pair(cut.part, cut.whole, 1.0, matcher).criterion == "same_loop"
    two = Mesh(
        np.concatenate([cut.part.vertices, cut.part.vertices + 9]),
        np.concatenate([cut.part.faces, cut.part.faces + cut.part.n_vertices]),
    )
    found = surface_pair(two, cut.whole, 0.5, matcher)
    assert found.criterion == "wormhole"
    assert found.notes == ("the wormhole criterion is used: the part is no connected piece of a sphere",)
    found = surface_pair(cut.part, cut.part, 1.0, matcher)
    assert found.notes == ("the wormhole criterion is used: the whole is no sphere",)


def test_low_pass_is_for_the_loss_alone(given: SurfacePair, matcher: Matcher, config: TrainingConfig) -> None:
    assert given.for_loss(matcher) is given.whole
    smooth = Matcher(new_network(config), config.with_changes(low_pass=10))
    distances = given.for_loss(smooth).distances
    assert distances is not None
    assert given.whole.distances is not None
    assert not torch.equal(distances, given.whole.distances)


def test_a_part_that_lies_comes_to_stand(cut: Cut, matcher: Matcher, given: SurfacePair) -> None:
    upright = search(matcher, given, yaw_steps=4)
    lying = surface_pair(Mesh(cut.part.vertices[:, [2, 0, 1]], cut.part.faces), cut.whole, 1.0, matcher)
    found = search(matcher, lying, up="z:y", yaw_steps=4)
    assert found.up == ("z", "y")
    # it stands again, at some heading
    assert torch.allclose(found.pair.part.points[:, 1], given.part.points[:, 1], atol=1e-6)
    # the two best are aligned
    assert len(found.trials) == len(upright.trials) == 4 + 2
    tried = search(matcher, lying, up="auto", yaw_steps=2)
    assert tried.up[0] in module.UPS
    assert tried.chosen in tried.trials


def test_other_ways_up_are_tried_where_the_map_does_not_fit(
    given: SurfacePair, matcher: Matcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_fits_badly", lambda position, matcher: False)
    assert search(matcher, given, yaw_steps=2).up == ("y", "y")
    monkeypatch.setattr(module, "_fits_badly", lambda position, matcher: True)
    monkeypatch.setattr(module, "_BETTER", -1e9)
    tried = []
    real = module._at
    monkeypatch.setattr(module, "_at", lambda *words: tried.append(words[3]) or real(*words))
    anyhow = search(matcher, given, yaw_steps=2)
    assert len(set(tried)) == len(module.UPS) * len(module._WHOLE_UPS)
    assert anyhow.up == search(matcher, given, up="auto", yaw_steps=2).up
    # what was said is not doubted, and what fits no better is not taken
    assert search(matcher, given, up="y", yaw_steps=2).up == ("y", "y")
    monkeypatch.setattr(module, "_BETTER", 1e9)
    assert search(matcher, given, yaw_steps=2).up == ("y", "y")


def test_a_bad_fit_is_seen(cut: Cut, given: SurfacePair, matcher: Matcher) -> None:
    position = search(matcher, given, yaw_steps=2)
    judged_by_both = Matcher(matcher.network, matcher.config.with_changes(score_weights=(0.0, 10.0, 30.0)))
    true = torch.from_numpy(cut.vertex_map)

    def seen(nearest: torch.Tensor, score: float, by: Matcher = judged_by_both) -> bool:
        chosen = replace(position.chosen, nearest=nearest, score=score)
        return module._fits_badly(replace(position, chosen=chosen), by)

    assert not seen(true, -39.0)
    assert seen(true, -30.0)
    # a score with distances in it has no best value
    assert not seen(true, -30.0, matcher)
    assert seen(true.flip(0), -39.0)


def test_the_best_size_is_taken(given: SurfacePair, matcher: Matcher) -> None:
    alone = search(matcher, given, yaw_steps=2)
    several = search(matcher, given, factors=[0.5, 1.0, 2.0], yaw_steps=2)
    assert several.chosen.score <= alone.chosen.score
    assert several.pair.meshes[0].area == pytest.approx(given.meshes[0].area * several.factor**2)


def test_other_sizes_are_tried_where_distances_disagree(
    given: SurfacePair, matcher: Matcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_stretch", lambda position: 1.1)
    assert search(matcher, given, others=[0.3, 3.0], yaw_steps=2).factor == 1
    monkeypatch.setattr(module, "_stretch", lambda position: 2.0)
    found = search(matcher, given, others=[0.3, 3.0], yaw_steps=2)
    assert found.chosen.score <= search(matcher, given, yaw_steps=2).chosen.score
    # a little better is not enough
    monkeypatch.setattr(module, "_BETTER", 1e9)
    monkeypatch.setattr(module, "_CLEARLY", 1e9)
    assert search(matcher, given, others=[0.3, 3.0], yaw_steps=2).factor == 1
    monkeypatch.setattr(module, "_CLEARLY", -1e9)
    assert search(matcher, given, others=[0.3, 3.0], yaw_steps=2).factor != 1
    monkeypatch.setattr(module, "_stretch", lambda position: float("nan"))
    assert search(matcher, given, factors=[1.0, 1.5], yaw_steps=2).factor in (1.0, 1.5)


def test_the_size_that_distances_ask_for(given: SurfacePair, matcher: Matcher, monkeypatch: pytest.MonkeyPatch) -> None:
    """A map says by how much the part is too large, if only roughly; where that fits better nothing else is tried."""
    monkeypatch.setattr(module, "_stretch", lambda position: 0.8 / position.factor)
    monkeypatch.setattr(module, "_BETTER", -1e9)
    assert search(matcher, given, others=[0.3], yaw_steps=2).factor == pytest.approx(0.8)
    # but not where the size was given, nor where it does not fit better
    assert search(matcher, given, yaw_steps=2).factor == 1
    monkeypatch.setattr(module, "_BETTER", 1e9)
    monkeypatch.setattr(module, "_CLEARLY", 1e9)
    assert search(matcher, given, others=[0.3], yaw_steps=2).factor == 1
    monkeypatch.setattr(module, "_stretch", lambda position: 0.9)
    monkeypatch.setattr(module, "_BETTER", -1e9)
    assert search(matcher, given, others=[0.3], yaw_steps=2).factor == 1


def test_a_fit_is_measured(cut: Cut, given: SurfacePair, matcher: Matcher) -> None:
    position = search(matcher, given, yaw_steps=4)
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
    }
    return Fit(**{**good, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"curvature": 0.1}, "the map fits badly"),
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
    assert warnings_about(fit(), 0.6) == ("60 % of the part's area is doubtful",)
    first, last = warnings_about(fit(), 0.7)
    assert "the part may belong to something else" in first
    assert last == "70 % of the part's area is doubtful"
    assert not fit(rival_margin=None, rival_angle=None).perhaps_turned
    assert not fit(reversed=float("nan")).mirrored
