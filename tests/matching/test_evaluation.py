"""Benchmarks, and confidence beside errors that are known."""

from __future__ import annotations

import math
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
import torch

from partwhole.datasets import GroundTruth, Pair, Pairs
from partwhole.evaluation import evaluate_map, geodesic_errors
from partwhole.geodesics import geodesic_distances
from partwhole.matching import Benchmark, Matcher, TrainingConfig, evaluate, evaluation, match
from partwhole.matching.confidence.constants import LARGEST_ERROR
from partwhole.matching.evaluation import cues_and_errors
from partwhole.matching.network.diffusion_net import new_network
from partwhole.mesh import Mesh


@pytest.fixture(scope="module")
def matcher(config: TrainingConfig) -> Matcher:
    torch.manual_seed(0)
    return Matcher(new_network(config.network), config.with_changes(seed=3))


@pytest.fixture(scope="module")
def known(pairs: Pairs) -> Pairs:
    """Those with ground truth."""
    return pairs[:4]


@pytest.fixture(scope="module")
def maps(matcher: Matcher, known: Pairs) -> dict[str, list[np.ndarray]]:
    """What `match` finds for each pair, by read-out."""
    return {
        read_out: [match(pair.part, pair.whole, model=matcher, read_out=read_out).vertex_map for pair in known]
        for read_out in ("features", "lateration", "registration")
    }


@pytest.mark.parametrize("method", ["dijkstra", "fast_marching"])
def test_errors_are_those_of_each_map_by_itself(matcher, known, cache, maps, method) -> None:
    benchmark = Benchmark(known, method=method, cache=cache)
    both = benchmark.by_read_out(matcher, ["features", "lateration"])
    found = {**both, "registration": evaluate(matcher, known, method=method, cache=cache)}
    for read_out, measured in found.items():
        assert measured.protocol.read_out == read_out
        for pair, result, vertex_map in zip(known, measured.pairs, maps[read_out], strict=True):
            expected = evaluate_map(pair, vertex_map, geodesic_distances(pair.whole, method=method))
            assert result.name == pair.name
            np.testing.assert_allclose(result.errors, expected.errors, atol=1e-6)
            assert (result.coverage, result.roughness) == pytest.approx((expected.coverage, expected.roughness))
            assert 0 < result.seconds < 60
        assert measured.macro > 0


def test_read_outs_that_share_a_search_find_what_they_find_alone(matcher, known, cache, monkeypatch) -> None:
    searches = []
    really = evaluation.searched
    monkeypatch.setattr(evaluation, "searched", lambda *a, **k: searches.append(1) or really(*a, **k))
    benchmark = Benchmark(known[:2], method="dijkstra", cache=cache)
    shared = benchmark.by_read_out(matcher, ["spectral", "lateration", "registration"], refine=2)
    assert len(searches) == 2
    for read_out, found in shared.items():
        alone = benchmark.of(matcher, read_out=read_out, refine=2)
        for one, two in zip(found.pairs, alone.pairs, strict=True):
            np.testing.assert_array_equal(one.vertex_map, two.vertex_map)
        assert found.protocol == alone.protocol
    with pytest.raises(ValueError, match="read_outs is empty; name at least one, such as 'lateration'"):
        benchmark.by_read_out(matcher, [])


def test_other_pairs_share_what_is_known_of_their_wholes(matcher, known, cache, monkeypatch) -> None:
    every = Benchmark(known, method="dijkstra", cache=cache)
    measured = []
    really = evaluation.distances_of
    monkeypatch.setattr(evaluation, "distances_of", lambda mesh, **k: measured.append(mesh) or really(mesh, **k))
    one_by_one = Benchmark(known[:1], method="dijkstra", cache=cache, most_wholes=2)
    for number in range(4):
        one_by_one = one_by_one.with_pairs([known[number]])
        found, expected = one_by_one.of_pair(0, matcher), every.of_pair(number, matcher)
        np.testing.assert_array_equal(found.errors, expected.errors)
        np.testing.assert_array_equal(found.vertex_map, expected.vertex_map)
    assert len(measured) == len({pair.whole.content_hash for pair in known}) == 2
    with pytest.raises(ValueError, match="there are no pairs"):
        one_by_one.with_pairs([])


def test_in_a_hurry_errors_are_the_same(matcher, known, cache) -> None:
    benchmark = Benchmark(known, name="four", method="dijkstra", keep=True, cache=cache)
    assert len(benchmark) == 4
    slow, quick = (benchmark.of(matcher, thorough=thorough) for thorough in (True, False))
    for one, two in zip(slow.pairs, quick.pairs, strict=True):
        np.testing.assert_array_equal(one.errors, two.errors)
        assert np.isnan(two.coverage)
        assert np.isnan(two.seconds)
    assert slow.protocol == quick.protocol


def test_the_protocol_says_how(matcher, known, cache) -> None:
    plain = evaluate(matcher, known, cache=cache).protocol
    assert plain.data == "balls"
    assert (plain.distances, plain.ground_truth, plain.read_out, plain.weights) == (
        "fast_marching",
        "vertices",
        "registration",
        "final",
    )
    assert plain.seeds == (3,)
    other = evaluate(matcher, list(known), read_out="features", method="dijkstra", weights="validated", cache=cache)
    assert (other.protocol.data, other.protocol.distances) == ("pairs", "dijkstra")
    assert (other.protocol.read_out, other.protocol.weights) == ("features", "validated")


def test_points_in_triangles(matcher, known, cache) -> None:
    pair = known[0]
    faces = pair.whole.faces[np.arange(pair.part.n_vertices) % len(pair.whole.faces)]
    truth = GroundTruth(np.arange(pair.part.n_vertices), faces, np.full(faces.shape, 1 / 3))
    found = evaluate(matcher, [replace(pair, ground_truth=truth)], method="dijkstra", cache=cache)
    assert found.protocol.ground_truth == "barycentric"
    D = geodesic_distances(pair.whole, method="dijkstra")
    vertex_map = matcher.match(pair.part, pair.whole, cache=cache).vertex_map
    expected = D[vertex_map[:, None], faces].mean(axis=1)
    assert (np.abs(found.pairs[0].errors - expected) < 1e-5).mean() > 0.95


def test_pairs_without_ground_truth_are_refused(pairs) -> None:
    with pytest.raises(
        ValueError, match=r"1 of 5 pairs have no ground truth \(a part that belongs to another whole, for"
    ):
        Benchmark(pairs)
    empty = Pair(pairs[0].part, pairs[0].whole, GroundTruth.of_map(np.zeros(0, np.int64)), name="nothing known")
    with pytest.raises(
        ValueError, match=r"2 of 2 pairs have no ground truth \(nothing known, for one\), .* pairs\.where"
    ):
        Benchmark([empty, empty])


def test_no_pairs() -> None:
    with pytest.raises(ValueError, match="there are no pairs"):
        Benchmark([])


def test_progress_is_told(matcher, known, cache) -> None:
    told: list[tuple[str, int, int]] = []
    evaluate(matcher, known, cache=cache, progress=lambda *what: told.append(what))
    assert [done for what, done, total in told if what == "matching" and total == 4] == [0, 1, 2, 3, 4]
    assert told[0][0] == "distances"


def test_confidence_beside_errors(matcher, known, cache) -> None:
    # a truth that the maps are not: these parts are matched without any error
    off = [replace(p, ground_truth=GroundTruth.of_map(np.roll(p.ground_truth.whole_vertices, 3))) for p in known]
    benchmark = Benchmark(off, cache=cache)
    steps: list[int] = []
    found = benchmark.calibration(matcher, most=2, progress=lambda what, done, total: steps.append(done))
    assert steps == [0, 1, 2]
    assert 0 <= found.carried <= found.possible <= 1
    both = [benchmark.of(matcher).pairs[k].errors for k in (0, 3)]
    assert found.error.mean() == pytest.approx(np.mean(np.concatenate(both)), rel=0.05)


def test_cues_and_errors_are_those_of_match(small: ModuleType, matcher: Matcher) -> None:
    pair = small.pairs()[1]
    cues, errors, areas, fit = cues_and_errors(pair, matcher)
    assert pair.ground_truth is not None
    assert len(cues) == len(errors) == len(areas) == len(pair.ground_truth.part_vertices)
    assert math.isnan(fit.expected_error)
    found = match(pair.part, pair.whole, model=matcher)
    expected = geodesic_errors(
        found.vertex_map, pair.ground_truth, geodesic_distances(pair.whole, method="dijkstra"), area=pair.whole.area
    )
    assert np.allclose(errors, expected, atol=1e-5)


def test_the_truth_must_be_known(small: ModuleType, matcher: Matcher) -> None:
    pair = small.pairs()[0]
    with pytest.raises(ValueError, match="has no ground truth, so its errors can't be measured"):
        cues_and_errors(Pair(pair.part, pair.whole, name="unknown"), matcher)


def test_where_no_place_is_right_all_errors_are_the_largest(small: ModuleType, matcher: Matcher) -> None:
    one, other = small.pairs()[:2]
    found = cues_and_errors(Pair(one.part, other.whole, name="neither"), matcher, wrong=True)
    assert len(found.errors) == one.part.n_vertices
    assert (found.errors == LARGEST_ERROR).all()


def test_specks_have_neither_cues_nor_errors(small: ModuleType, matcher: Matcher) -> None:
    pair = small.pairs()[1]
    part = pair.part
    speck = Mesh(
        np.concatenate([part.vertices, part.vertices[:1] + 0.01 * np.eye(3)]),
        np.concatenate([part.faces, part.n_vertices + np.array([[0, 1, 2]])]),
    )
    truth = GroundTruth.of_map(np.append(pair.ground_truth.whole_vertices, [0, 0, 0]))
    found = cues_and_errors(Pair(speck, pair.whole, ground_truth=truth, name="speck"), matcher)
    assert len(found.errors) == len(found.cues) == part.n_vertices
