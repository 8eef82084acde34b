"""Answers from the cache are those that would be computed."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

from partwhole.datasets import Cut, cut_plane
from partwhole.matching import Ensemble, Matcher, MatchResult, TrainingConfig, match
from partwhole.matching.cache.results import code_version, model_key, version_of, without_times
from partwhole.matching.network.diffusion_net import new_network
from partwhole.matching.result import CoarseMatch
from partwhole.mesh import Mesh
from partwhole.mesh.barycentric import BarycentricMap
from partwhole.store.cache import Cache


@pytest.fixture(scope="module")
def cut(small: ModuleType) -> Cut:
    return cut_plane(small.lopsided(500), (0, 0, 0), (1.0, 0.5, 0.2))


def random_matcher(config: TrainingConfig, seed: int) -> Matcher:
    torch.manual_seed(seed)
    return Matcher(new_network(config.network), config.with_changes(yaw_steps=4, whole_yaw_steps=2), {"name": "small"})


@pytest.fixture(scope="module")
def matcher(config: TrainingConfig) -> Matcher:
    return random_matcher(config, 2)


def same(one: object, other: object) -> bool:
    """Whether two results hold the same numbers, words and surfaces, to the last bit."""
    if isinstance(one, Mesh) and isinstance(other, Mesh):
        return one.content_hash == other.content_hash
    if isinstance(one, MatchResult | CoarseMatch | BarycentricMap):
        return all(same(getattr(one, field.name), getattr(other, field.name)) for field in fields(one))
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(one, other)
    return type(one) is type(other) and one == other


@pytest.mark.parametrize("choices", [{}, {"refine": 1, "read_out": "features"}, {"max_vertices": 200}])
def test_an_answer_is_what_would_be_computed(
    cut: Cut, matcher: Matcher, tmp_path: Path, choices: dict[str, int]
) -> None:
    cache = Cache(tmp_path)
    alone = match(cut.part, cut.whole, model=matcher, **choices)
    first = match(cut.part, cut.whole, model=matcher, cache=cache, **choices)
    again = match(cut.part, cut.whole, model=matcher, cache=cache, **choices)
    assert (alone.from_cache, first.from_cache, again.from_cache) == (False, False, True)
    assert set(again.seconds) == {"reading"}
    for other in (first, again):
        assert same(without_times(alone), without_times(other))


def test_another_question_is_another_answer(
    cut: Cut, matcher: Matcher, config: TrainingConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = Cache(tmp_path)
    match(cut.part, cut.whole, model=matcher, cache=cache)
    other = random_matcher(config, 3)
    moved = Mesh(cut.part.vertices + 1e-12, cut.part.faces)
    for part, model, choices in (
        (cut.part, matcher, {"yaw_steps": 3}),
        (cut.part, matcher, {"read_out": "features"}),
        (cut.part, matcher, {"units": 1.0}),
        (cut.part, other, {}),
        (moved, matcher, {}),
    ):
        assert not match(part, cut.whole, model=model, cache=cache, **choices).from_cache
    assert match(cut.part, cut.whole, model=matcher, cache=cache).from_cache
    monkeypatch.setattr("partwhole.matching.cache.results.surroundings", lambda: {"code": "of another day"})
    assert not match(cut.part, cut.whole, model=matcher, cache=cache).from_cache


def test_features_of_a_known_whole_are_not_computed_again(
    cut: Cut, matcher: Matcher, small: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = cut_plane(small.lopsided(500), (0, 0, 0), (-1.0, 0.5, 0.2)).part
    alone = match(other, cut.whole, model=matcher, up="y")
    cache = Cache(tmp_path)
    match(cut.part, cut.whole, model=matcher, cache=cache, up="y")
    seen: list[int] = []
    features = Matcher.encode
    monkeypatch.setattr(Matcher, "encode", lambda self, one: (seen.append(len(one)), features(self, one))[1])
    found = match(other, cut.whole, model=matcher, cache=cache, up="y")
    assert set(seen) == {other.n_vertices}
    assert same(without_times(alone), without_times(found))
    # where two wholes fall into one place the later one stays, and neither is taken for the other
    monkeypatch.setattr("partwhole.matching.search.search.SLOTS", 1)
    cache = Cache(tmp_path / "one place")
    another = small.lopsided(500, seed=1)
    for whole, turns in ((cut.whole, 2), (another, 2), (cut.whole, 3)):
        seen.clear()
        match(other, whole, model=matcher, cache=cache, yaw_steps=turns, up="y")
        assert whole.n_vertices in seen


def test_weights_and_code_have_names(matcher: Matcher, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"1")
    (tmp_path / "b").write_bytes(b"2")
    assert model_key(tmp_path / "a") != model_key(tmp_path / "b")
    with pytest.raises(ValueError, match="there is no file"):
        model_key(tmp_path / "c")
    assert code_version("matching") != code_version("mesh") != code_version()
    assert version_of("numpy") == np.__version__
    assert version_of("no such library") == "not installed"
    assert matcher.fingerprint() != Ensemble([matcher], combine="choose").fingerprint()


def test_answers_do_without_torch() -> None:
    code = (
        "import sys, partwhole.matching.cache.results, partwhole.cli.commands.match; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
