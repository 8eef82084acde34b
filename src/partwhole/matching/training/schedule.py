"""What an iteration of training takes: which pair, which rate, which random numbers. All of it is known from its number."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from partwhole.matching.config import TrainingConfig


def learning_rate(iteration: int, n_pairs: int, config: TrainingConfig) -> float:
    """η_T + (η_0 − η_T)(1 + cos π s) / 2, s the share of the half cosine that is over: by iterations, or by whole passes.

    Examples
    --------
    >>> config = TrainingConfig(iterations=100, cosine_epochs=None)
    >>> [round(learning_rate(i, 10, config), 6) for i in (0, 50, 100)]
    [0.001, 0.00055, 0.0001]
    """
    if config.optimisation.cosine_epochs is None:
        share = iteration / config.optimisation.iterations
    else:
        share = min(1.0, iteration // n_pairs / config.optimisation.cosine_epochs)
    high, low = config.optimisation.learning_rate, config.optimisation.final_learning_rate
    return low + (high - low) * (1 + math.cos(math.pi * share)) / 2


def pair_number(iteration: int, n_pairs: int, seed: int) -> int:
    """Which pair an iteration takes: all pairs in every pass, each pass in an order of its own."""
    epoch, position = divmod(iteration, n_pairs)
    return int(_order(epoch, n_pairs, seed)[position])


@lru_cache(maxsize=4)
def _order(epoch: int, n_pairs: int, seed: int) -> np.ndarray:
    return np.random.default_rng((seed, 2, epoch)).permutation(n_pairs)


def random_seed(*numbers: int) -> int:
    """A seed for torch that belongs to these numbers."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> 1)
