"""Networks that begin with the weights of another, and networks that are trained with its maps."""

from __future__ import annotations

import pytest
import torch

from partwhole.matching import Matcher, train
from partwhole.matching.network.diffusion_net import new_network
from partwhole.matching.training.data import with_teacher_maps

ALONE = {"distortion_weight": 0.0, "orthogonality_weight": 0.0, "correspondence_weight": 1.0}
STILL = {"dropout": 0.0, "rotation": 0.0, "noise": 0.0, "scaling": (1.0, 1.0)}


@pytest.fixture
def teacher(config) -> Matcher:
    torch.manual_seed(3)
    return Matcher(new_network(config.network), config.with_changes(yaw_steps=2), {"name": "the teacher"})


def test_the_maps_of_the_teacher_are_the_truth(prepared, small, teacher) -> None:
    told: list[tuple[str, int, int]] = []
    lessons = with_teacher_maps(prepared, teacher, progress=lambda *words: told.append(words))
    assert set(lessons.truths) == set(prepared.pairs)
    assert told[-1] == ("teacher's maps", len(prepared), len(prepared))
    for number, (p, w) in enumerate(prepared.pairs):
        part, _ = lessons.surfaces(p, w)
        assert torch.equal(part.truth, small.map_of(teacher, small.prepared_pair(prepared, number), up=None))
        torch.testing.assert_close(part.truth_shares, part.mass / part.mass.sum())
    assert not prepared.truths
    assert lessons.teacher == "the teacher"


def test_a_pupil_comes_near_its_teacher(pairs, config, cache, teacher) -> None:
    # these pairs have no ground truth to learn from, not all of them
    fast = config.with_changes(**ALONE, **STILL, iterations=60, learning_rate=0.01)
    run = train(pairs, fast, teacher=teacher, cache=cache)
    assert run.losses[-8:].mean() < 0.8 * run.losses[:8].mean()
    assert run.matcher.card["protocol"].startswith("trained with the maps of the teacher: no ground truth")
    with pytest.raises(ValueError, match="a teacher has no effect with correspondence_weight=0"):
        train(pairs, config, teacher=teacher, cache=cache)


def test_validation_pairs_get_the_maps_as_well(prepared, config, teacher) -> None:
    few = config.with_changes(**ALONE, iterations=2, evaluate_every=1)
    run = train(prepared, few, teacher=teacher, validation=prepared)
    assert [found["data"] for found in run.evaluations] == ["validation", "validation"]


def test_a_run_begins_with_the_weights_it_is_given(prepared, config, teacher) -> None:
    still = config.with_changes(iterations=1, learning_rate=1e-12, final_learning_rate=1e-12)
    run = train(prepared, still, start=teacher)
    before, after = teacher.network.state_dict(), run.matcher.network.state_dict()
    for name in before:
        torch.testing.assert_close(after[name], before[name], atol=1e-9, rtol=0)
    assert run.matcher.card["start"] == "the teacher"
    # the weights that were given stay as they are
    train(prepared, config.with_changes(iterations=2, learning_rate=0.1), start=teacher)
    assert all(torch.equal(before[name], weight) for name, weight in teacher.network.state_dict().items())


def test_weights_of_another_size_are_refused(prepared, config, teacher) -> None:
    with pytest.raises(ValueError, match=r"the weights to start with \(the teacher\) are of a network of another size"):
        train(prepared, config.with_changes(width=2 * config.network.width), start=teacher)
