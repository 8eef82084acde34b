"""The loss of two parts: its gradient, and what it is small for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from partwhole.datasets import cut_plane, sphere
from partwhole.geodesics import geodesic_distances
from partwhole.matching import TrainingConfig, soft_map
from partwhole.matching.network.surface import Surface, pair_mask, surface_of
from partwhole.matching.training.losses import configured_by
from partwhole.matching.training.parts_loss import PartsLoss


def value(loss: PartsLoss, f: torch.Tensor, g: torch.Tensor, a: Surface, b: Surface) -> torch.Tensor:
    """The loss; the soft map that it is given is not looked at."""
    return loss.on_features(f, g, torch.zeros(len(a), len(b), dtype=f.dtype), a, b)


def surface(side: float) -> tuple[Surface, np.ndarray]:
    """A part of a ball in double precision with graph distances, and which vertices of the ball it has."""
    cut = cut_plane(sphere(90, jitter=0.3).scaled(0.28), (0, 0, -0.1 * side), (0, 0, side))
    D = torch.from_numpy(geodesic_distances(cut.part, method="dijkstra"))
    made = surface_of(cut.part, eigenpairs=6)
    mass, mask = made.mass.double(), pair_mask(cut.part, D, criterion="wormhole").double()
    return replace(made, mass=mass).with_loss(D, mask * mass[:, None] * mass, mask=mask), cut.vertex_map


@pytest.fixture(scope="module")
def parts() -> tuple[Surface, Surface, np.ndarray, np.ndarray]:
    (a, on_a), (b, on_b) = surface(1.0), surface(-1.0)
    return a, b, on_a, on_b


def features(count: int, seed: int) -> torch.Tensor:
    return torch.randn((count, 5), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def slowly(loss: PartsLoss, f: torch.Tensor, g: torch.Tensor, a: Surface, b: Surface) -> torch.Tensor:
    """The formula of the loss as it stands, with the masks at the images held constant."""

    def way(f: torch.Tensor, g: torch.Tensor, a: Surface, b: Surface) -> torch.Tensor:
        rows = soft_map(f, g, loss.temperature, no_match=loss.no_match)
        back = soft_map(g, f, loss.temperature, no_match=loss.no_match)
        o = rows.sum(dim=1)
        P, Q = rows / o[:, None], back / back.sum(dim=1)[:, None]
        M = a.mask * (P @ b.mask @ P.T).detach()
        off = (P @ b.distances @ P.T - a.distances).square()
        w = a.mass * o
        total = loss.weight * (w[:, None] * w * M * off).sum()
        trip = ((w / a.mass.sum())[:, None] * (P @ Q) * a.distances.square()).sum()
        return total + loss.round_trip * trip - loss.presence * (w.sum() / a.mass.sum()).log()

    return way(f, g, a, b) + way(g, f, b, a)


def test_value_and_gradient_are_those_of_the_formula(parts) -> None:
    a, b, *_ = parts
    loss = PartsLoss(weight=30.0, temperature=0.3)
    given = [features(len(one), seed).requires_grad_() for seed, one in enumerate((a, b))]
    expected = slowly(loss, *given, a, b)
    found = value(loss, *given, a, b)
    assert found.item() == pytest.approx(expected.item(), rel=1e-9)
    gradients = torch.autograd.grad(found, given), torch.autograd.grad(expected, given)
    for one, other in zip(*gradients, strict=True):
        assert torch.allclose(one, other, rtol=1e-7, atol=1e-10)


def test_the_loss_is_the_same_from_either_side(parts) -> None:
    a, b, *_ = parts
    f, g = features(len(a), 0), features(len(b), 1)
    loss = PartsLoss(temperature=0.3)
    assert value(loss, f, g, a, b).item() == pytest.approx(value(loss, g, f, b, a).item())


def test_the_truth_has_a_smaller_loss_than_no_overlap_or_a_wrong_one(parts) -> None:
    a, b, on_a, on_b = parts
    shared = np.intersect1d(on_a, on_b)
    assert 10 < len(shared) < min(len(on_a), len(on_b))
    loss = PartsLoss(weight=1e3, temperature=0.02)
    # a direction for each vertex of the ball: only the same vertices are alike
    own = torch.eye(90, dtype=torch.float64)
    true = value(loss, own[on_a], own[on_b], a, b)
    none = value(loss, own[on_a], -torch.ones(len(b), 90, dtype=torch.float64), a, b)
    order = torch.randperm(len(b), generator=torch.Generator().manual_seed(0))
    wrong = value(loss, own[on_a], own[on_b][order], a, b)
    assert true < none
    assert true < wrong
    # the overlap grows where there is none
    f, g = normalize(features(len(a), 3), dim=1), normalize(features(len(b), 4), dim=1).requires_grad_()
    only = PartsLoss(weight=0.0, round_trip=0.0, no_match=0.9)
    before = value(only, f, g, a, b)
    moved = g - 1e-3 * torch.autograd.grad(before, g)[0]
    assert value(only, f, moved, a, b) < before


def test_both_sides_are_prepared_for_it() -> None:
    assert configured_by(PartsLoss(), TrainingConfig()).loss.masked_sides == "both"


def test_what_is_refused(parts) -> None:
    a, b, *_ = parts
    with pytest.raises(ValueError, match="needs distances and masks of both: prepare_pairs with masked_sides='both'"):
        value(PartsLoss(), features(len(a), 0), features(len(b), 1), a, replace(b, mask=None))
    with pytest.raises(ValueError, match="temperature=0 must be positive"):
        PartsLoss(temperature=0)
