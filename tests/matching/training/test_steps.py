"""Pairs, rates and random numbers of an iteration."""

from __future__ import annotations

import math

import pytest

from partwhole.matching import preset
from partwhole.matching.training.prepared_pairs import pair_number
from partwhole.matching.training.steps import learning_rate, random_seed


def test_the_rate_falls_by_passes_or_by_iterations() -> None:
    by_passes = preset("pfaust-h")
    # 300 passes over 100 pairs: after 20 000 iterations, 200 passes, it has not come down
    assert learning_rate(0, 100, by_passes) == 1e-3
    assert learning_rate(99, 100, by_passes) == 1e-3
    assert learning_rate(100, 100, by_passes) == pytest.approx(1e-4 + 9e-4 * (1 + math.cos(math.pi / 300)) / 2)
    assert learning_rate(15_000, 100, by_passes) == pytest.approx(5.5e-4)
    assert learning_rate(30_000, 100, by_passes) == pytest.approx(1e-4)
    assert learning_rate(90_000, 100, by_passes) == pytest.approx(1e-4)
    by_iterations = by_passes.with_changes(cosine_epochs=None)
    rates = [learning_rate(i, 7, by_iterations) for i in range(0, 20_001, 1000)]
    assert rates == sorted(rates, reverse=True)
    assert (rates[0], rates[10], rates[20]) == pytest.approx((1e-3, 5.5e-4, 1e-4))


def test_every_pair_once_in_every_pass() -> None:
    for n, seed in ((1, 0), (7, 0), (7, 5)):
        passes = [[pair_number(e * n + i, n, seed) for i in range(n)] for e in range(6)]
        assert all(sorted(numbers) == list(range(n)) for numbers in passes)
        if n > 1:
            assert len({tuple(numbers) for numbers in passes}) > 3
    assert [pair_number(i, 50, 0) for i in range(50)] != [pair_number(i, 50, 1) for i in range(50)]
    # in any order: what an iteration takes is a function of its number
    order = [pair_number(i, 7, 3) for i in range(40)]
    assert [pair_number(i, 7, 3) for i in reversed(range(40))] == order[::-1]


def test_seeds_of_iterations_are_their_own() -> None:
    seeds = {random_seed(seed, 1, iteration) for seed in range(20) for iteration in range(100)}
    assert len(seeds) == 2000
    assert all(0 <= seed < 2**63 for seed in seeds)
    assert len({random_seed(0), random_seed(0, 1, 0), random_seed(1)}) == 3
