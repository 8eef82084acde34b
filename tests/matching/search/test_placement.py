"""Place where features alone do not decide."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch.nn.functional import normalize

from partwhole.datasets import sphere
from partwhole.matching import surface_of
from partwhole.matching.readout.maps import Comparison
from partwhole.matching.search.constants import PLACE_STEPS, PLACE_WEIGHT, PLACE_WIDTH
from partwhole.matching.search.orientation import rigidly_aligned
from partwhole.matching.search.placement import alternatives, placed_map


def test_alternatives_are_all_that_are_nearly_as_similar() -> None:
    torch.manual_seed(0)
    one, other = (normalize(torch.randn(count, 4), dim=1) for count in (1500, 70))
    similar = one @ other.T
    wanted = similar >= similar.amax(dim=1, keepdim=True) - 0.2
    blocks = alternatives(one, other, 0.2)
    assert len(blocks) == 2
    found = torch.zeros_like(wanted)
    for block in blocks:
        found[block.rows, block.columns] = True
    assert torch.equal(found, wanted)
    assert torch.equal(torch.cat([block.best(block.similar) for block in blocks]), similar.argmax(dim=1))


def test_of_equal_ones_the_first_is_taken() -> None:
    block = alternatives(torch.ones(2, 1), torch.ones(3, 1), 0.1)[0]
    assert block.best(block.similar).tolist() == [0, 0]


def test_what_else_is_known_counts_too() -> None:
    suits = torch.tensor([[0.0, 0.5]])
    block = alternatives(torch.ones(1, 1), torch.ones(2, 1), 0.1, suits)[0]
    assert block.columns.tolist() == [1]


def test_the_map_is_that_of_all_pairs() -> None:
    """The same as with every pair of vertices looked at."""
    torch.manual_seed(1)
    surface = surface_of(sphere(300).scaled(0.28), eigenpairs=20)
    features = normalize(surface.points, dim=1)
    # left and right are alike
    features = torch.stack([features[:, 0].abs(), features[:, 1], features[:, 2]], dim=1)
    compared = Comparison(features + 0.02 * torch.randn(300, 3), features)
    one, other = normalize(compared.part, dim=1), normalize(compared.whole, dim=1)
    similar = one @ other.T
    nearest = similar.argmax(dim=1)
    for _ in range(PLACE_STEPS):
        sure = (one * other[nearest]).sum(dim=1).clamp(min=0) ** 4
        x = rigidly_aligned(replace(surface, mass=surface.mass * sure + 1e-12), surface, nearest).points
        squares = torch.cdist(x.double(), surface.points.double()).square()
        nearest = (similar + PLACE_WEIGHT * torch.exp(-squares / (2 * PLACE_WIDTH**2))).argmax(dim=1)
    found = placed_map(compared, surface, surface)
    assert np.mean((found != nearest).numpy()) < 0.01
