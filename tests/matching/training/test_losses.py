from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor

from partwhole.criterion import boundary_criterion, same_loop_criterion, wormhole_criterion
from partwhole.datasets import Pair, cut_balls, cut_plane, sphere
from partwhole.matching import (
    CorrespondenceLoss,
    OrthogonalityLoss,
    PreparedPairs,
    Surface,
    TrainingConfig,
    WormholeLoss,
    distortion,
    prepare_pairs,
)
from partwhole.matching.network.surface import low_passed
from partwhole.matching.training.losses import Loss, LossSum, LowPassAreaLoss, SynchronousLoss, loss_of, pulled_back


def symmetric(n: int, rng: np.random.Generator) -> np.ndarray:
    given = rng.random((n, n))
    return given + given.T


def random_case(seed: int, p: int = 5, n: int = 7) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """P with rows that sum to one, D_part, D_whole and W, all symmetric but P."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(n), size=p)
    W = symmetric(p, rng) * symmetric(p, rng).round()
    return P, symmetric(p, rng), symmetric(n, rng), W


def in_double(surface: Surface) -> Surface:
    held = {name: value.double() for name, value in vars(surface).items() if isinstance(value, Tensor)}
    return replace(surface, **held)


@pytest.fixture(scope="module")
def pair(prepared: PreparedPairs) -> tuple[Surface, Surface]:
    return in_double(prepared.parts[0]), in_double(prepared.wholes[0])


@pytest.fixture(scope="module")
def P(pair: tuple[Surface, Surface]) -> Tensor:
    torch.manual_seed(0)
    return torch.softmax(3 * torch.randn(len(pair[0]), len(pair[1]), dtype=torch.float64), dim=1)


@pytest.mark.parametrize("seed", range(4))
def test_distortion_is_its_double_sum(references, seed) -> None:
    case = random_case(seed)
    found = distortion(*map(torch.from_numpy, case))
    assert float(found) == pytest.approx(references.distortion(*case), rel=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_its_gradient_is_that_of_automatic_differentiation(references, seed) -> None:
    P, *rest = map(torch.from_numpy, random_case(seed, p=40, n=60))
    gradients = []
    for loss in (distortion, references.naive_distortion):
        P.grad = None
        P.requires_grad_()
        (3 * loss(P, *rest)).backward()
        gradients.append(P.grad)
    torch.testing.assert_close(*gradients, rtol=1e-12, atol=1e-12)


def test_its_gradient_is_that_of_finite_differences() -> None:
    P, *rest = map(torch.from_numpy, random_case(9))
    assert torch.autograd.gradcheck(lambda P: distortion(P, *rest), P.requires_grad_())


def test_only_the_soft_map_has_a_gradient() -> None:
    given = [torch.from_numpy(array).requires_grad_() for array in random_case(0)]
    distortion(*given).backward()
    assert [tensor.grad is not None for tensor in given] == [True, False, False, False]


def test_the_true_map_of_an_isometry_costs_nothing(prepared) -> None:
    whole = prepared.wholes[0]
    assert (
        float(distortion(torch.eye(len(whole)), whole.distances, whole.distances, torch.ones_like(whole.distances)))
        == 0
    )


@pytest.mark.parametrize("mask", ["soft", "binary"])
@pytest.mark.parametrize(
    ("name", "criterion"),
    [
        ("boundary", boundary_criterion),
        ("wormhole", wormhole_criterion),
        ("same_loop", same_loop_criterion),
    ],
)
def test_the_wormhole_loss_by_its_definition(pairs, config, cache, references, P, name, criterion, mask) -> None:
    made = prepare_pairs(pairs[:1], config.with_changes(criterion=name, mask=mask), cache=cache)
    part, whole = in_double(made.parts[0]), in_double(made.wholes[0])
    # as it is, in single precision, which decides how much rounding a criterion allows for
    found = criterion(pairs[0].part, made.parts[0].distances.numpy())
    M = found.soft_mask if mask == "soft" else found.mask.astype(float)
    assert 0.05 < M.mean() < 0.98
    A = part.mass.numpy()
    weights = torch.from_numpy(M * A[:, None] * A[None, :])
    expected = 7.0 * references.naive_distortion(P, part.distances, whole.distances, weights)
    assert float(WormholeLoss(7.0)(P, part, whole)) == pytest.approx(float(expected), rel=1e-5)


def test_without_a_mask_it_is_that_of_direct_match_net(pairs, config, cache, references, P) -> None:
    made = prepare_pairs(pairs[:1], config.with_changes(criterion="none"), cache=cache)
    part, whole = in_double(made.parts[0]), in_double(made.wholes[0])
    areas = torch.outer(part.mass, part.mass)
    expected = references.naive_distortion(P, part.distances, whole.distances, areas)
    assert float(WormholeLoss(1.0)(P, part, whole)) == pytest.approx(float(expected), rel=1e-5)


@pytest.fixture(scope="module")
def two_incomplete() -> PreparedPairs:
    """A part of a ball, and a whole that lacks another piece of it."""
    ball = sphere(90, jitter=0.4)
    part, torn = cut_plane(ball, (0, 0, 0), (1, 0.2, 0)).part, cut_balls(ball, [0, 40], 0.6).part
    config = TrainingConfig(map_eigenpairs=20, diffusion_eigenpairs=16, distances="dijkstra", masked_sides="both")
    return prepare_pairs([Pair.of(part, torn)], config)


def test_with_masks_of_both_sides_a_pair_counts_as_far_as_both_allow(two_incomplete, references) -> None:
    part, whole = in_double(two_incomplete.parts[0]), in_double(two_incomplete.wholes[0])
    assert 0.05 < (whole.mask < 1).double().mean() < 0.95
    torch.manual_seed(1)
    logits = torch.randn(len(part), len(whole), dtype=torch.float64)
    gradients = []
    for way in ("ours", "slow"):
        P = torch.softmax(3 * logits, dim=1).requires_grad_()
        if way == "ours":
            loss = WormholeLoss(7.0, masked_sides="both")(P, part, whole)
        else:
            loss = 7.0 * references.masked_distortion(P, part.distances, whole.distances, part.weights, whole.mask)
        loss.backward()
        gradients.append((loss.detach(), P.grad))
    # masks are symmetric up to the rounding of single precision
    torch.testing.assert_close(gradients[0], gradients[1], rtol=1e-6, atol=1e-9)


def test_its_gradient_is_that_of_finite_differences_with_the_mask_held() -> None:
    P, D_part, D_whole, W = map(torch.from_numpy, random_case(4))
    M = torch.from_numpy(symmetric(len(D_whole), np.random.default_rng(5)) / 2)
    held = W * pulled_back(P, M)
    assert torch.autograd.gradcheck(lambda P: distortion(P, D_part, D_whole, held), P.clone().requires_grad_())
    one, two = P.clone().requires_grad_(), P.clone().requires_grad_()
    distortion(one, D_part, D_whole, held).backward()
    distortion(two, D_part, D_whole, W * pulled_back(two, M)).backward()
    torch.testing.assert_close(one.grad, two.grad, rtol=0, atol=0)


def test_what_the_whole_does_not_guarantee_does_not_count(two_incomplete) -> None:
    """A map to vertices, whose distances are all wrong, but none of which can be trusted."""
    part, whole = two_incomplete.parts[0], two_incomplete.wholes[0]
    P = torch.eye(len(whole))[: len(part)]
    torch.testing.assert_close(pulled_back(P, whole.mask), whole.mask[: len(part), : len(part)])
    doubtful = whole.with_loss(whole.distances, mask=torch.zeros_like(whole.mask))
    assert float(WormholeLoss(masked_sides="both")(P, part, doubtful)) == 0
    assert float(WormholeLoss()(P, part, doubtful)) > 0


def test_a_complete_whole_has_a_mask_of_ones_and_both_sides_are_one(pairs, config, cache, P) -> None:
    made = prepare_pairs(pairs[:1], config.with_changes(masked_sides="both"), cache=cache)
    part, whole = in_double(made.parts[0]), in_double(made.wholes[0])
    assert bool((whole.mask == 1).all())
    expected = float(WormholeLoss()(P, part, whole))
    assert float(WormholeLoss(masked_sides="both")(P, part, whole)) == pytest.approx(expected, rel=1e-12)


def test_the_mask_of_the_whole_must_be_there_if_it_is_asked_for(pair, P) -> None:
    with pytest.raises(ValueError, match=r"needs the mask of the whole: prepare_pairs with masked_sides='both'"):
        WormholeLoss(masked_sides="both")(P, *pair)


def test_low_passed_distances_are_a_low_passed_soft_map(pairs, config, cache, pair, P) -> None:
    part, whole = pair
    k = 9
    functions = whole.functions[:, :k]
    smooth = functions @ functions.T @ torch.diag(whole.mass)
    changed = replace(whole, distances=low_passed(whole.distances, whole, k))
    loss = WormholeLoss()
    expected = float(loss(P @ smooth, part, whole))
    assert float(loss(P, part, changed)) == pytest.approx(expected, rel=1e-9)
    assert abs(float(loss(P, part, whole)) / expected - 1) > 1e-3
    # the choice of a training run
    lpf = prepare_pairs(pairs[:1], config.with_changes(low_pass=k), cache=cache).wholes[0]
    torch.testing.assert_close(lpf.distances, changed.distances.float(), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("k", [1, 6, 20, 500])
def test_orthogonality_by_its_definition(pair, P, k) -> None:
    part, whole = pair
    size = min(k, 20)
    P_, A = P.numpy(), np.diag(part.mass.numpy())
    C = part.functions[:, :size].numpy().T @ A @ P_ @ whole.functions[:, :size].numpy()
    rank = sum(part.values[:size].numpy() < whole.values[:size].numpy().max())
    J = np.diag([1.0] * rank + [0.0] * (size - rank))
    if k == 20:
        assert 1 < rank < size
    expected = 3 * np.linalg.norm(C @ C.T - J, "fro") ** 2
    assert float(OrthogonalityLoss(3.0, k)(P, part, whole)) == pytest.approx(expected, rel=1e-9)


def test_the_identity_of_a_whole_is_orthogonal(pair) -> None:
    _, whole = pair
    k = 12
    # all but the last row: no eigenvalue lies below itself
    assert float(OrthogonalityLoss(1.0, k)(torch.eye(len(whole)).double(), whole, whole)) == pytest.approx(1, abs=1e-4)


def test_orthogonality_has_the_gradient_of_finite_differences() -> None:
    torch.manual_seed(3)
    p, n, k = 4, 5, 3
    part, whole = (
        Surface(
            points=torch.zeros(m, 3),
            normals=torch.zeros(m, 3),
            signatures=torch.zeros(m, 1),
            mass=torch.rand(m).double(),
            values=torch.arange(k).double(),
            functions=torch.randn(m, k).double(),
            basis=torch.zeros(m, 3, k),
        )
        for m in (p, n)
    )
    P = torch.rand(p, n, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda P: OrthogonalityLoss(2.0, k)(P, part, whole), P)


def test_losses_add_up(pair, P) -> None:
    one, two = WormholeLoss(5.0), OrthogonalityLoss(2.0, 10)
    both = one + two
    assert repr(both) == "WormholeLoss(weight=5.0) + OrthogonalityLoss(weight=2.0, eigenpairs=10)"
    assert both.name == "distortion + orthogonality"
    assert both.terms() == (one, two)
    assert one.terms() == (one,)
    assert float(both(P, *pair)) == pytest.approx(float(one(P, *pair)) + float(two(P, *pair)))
    three = one + (two + one)
    assert three.terms() == ((one + two) + one).terms() == (one, two, one)
    assert isinstance(three, LossSum)
    assert float(three(P, *pair)) == pytest.approx(float(2 * one(P, *pair)) + float(two(P, *pair)))


def test_a_loss_without_distances_says_what_it_needs(pair, P) -> None:
    part, whole = pair
    for without in (
        (part.with_loss(None), whole),
        (part.with_loss(part.distances), whole),
        (part, whole.with_loss(None)),
    ):
        with pytest.raises(ValueError, match=r"needs distances of part and whole, and weights .* Surface\.with_loss"):
            WormholeLoss()(P, *without)


def test_a_loss_of_ones_own_must_say_what_it_is() -> None:
    class Nameless(Loss):
        def __call__(self, P, part, whole):
            return P.sum()

    with pytest.raises(TypeError, match=r"abstract method '?name"):
        Nameless()


def test_the_paper_has_these_weights() -> None:
    config = TrainingConfig()
    assert (config.loss.distortion_weight, config.loss.orthogonality_weight, config.loss.map_eigenpairs) == (
        1e3,
        1.0,
        200,
    )
    assert (WormholeLoss().weight, OrthogonalityLoss().weight, OrthogonalityLoss().eigenpairs) == (1e3, 1.0, 200)


def test_correspondence_is_the_entropy_of_the_truth(pair, P) -> None:
    part, whole = pair
    rng = np.random.default_rng(0)
    truth = rng.integers(len(whole), size=len(part))
    shares = rng.dirichlet(np.ones(len(part))) * (rng.random(len(part)) < 0.7)
    known = part.with_truth(torch.from_numpy(truth), torch.from_numpy(shares))
    expected = -2 * sum(share * np.log(float(P[i, j])) for i, (share, j) in enumerate(zip(shares, truth, strict=True)))
    assert float(CorrespondenceLoss(2.0)(P, known, whole)) == pytest.approx(expected, rel=1e-10)


def test_correspondence_is_finite_where_the_soft_map_is_0(pair) -> None:
    part, whole = pair
    nowhere = torch.zeros(len(part), len(whole), requires_grad=True)
    even = torch.full((len(part),), 1 / len(part))
    found = CorrespondenceLoss()(nowhere, part.with_truth(torch.zeros(len(part), dtype=torch.int64), even), whole)
    found.backward()
    assert 80 < float(found.detach()) < 100
    assert bool(nowhere.grad.isfinite().all())


def test_correspondence_needs_the_truth(pair, P) -> None:
    with pytest.raises(ValueError, match="needs the ground truth of the part"):
        CorrespondenceLoss()(P, *pair)


def test_the_low_pass_area_loss_is_its_formula(prepared) -> None:
    part, whole = prepared.surfaces(*prepared.pairs[0])
    P = torch.softmax(torch.randn(len(part), len(whole), generator=torch.Generator().manual_seed(0)), dim=1)
    functions, areas = part.functions[:, :8], torch.diag(part.mass)
    pulled = P @ torch.diag(1 / whole.mass) @ P.T @ areas - torch.eye(len(part))
    expected = (functions.T @ areas @ pulled @ functions).square().sum()
    found = LowPassAreaLoss(eigenpairs=8)(P, part, whole)
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def test_the_low_pass_area_loss_is_zero_where_areas_are_kept(prepared) -> None:
    _, whole = prepared.surfaces(*prepared.pairs[0])
    assert LowPassAreaLoss(eigenpairs=8)(torch.eye(len(whole)), whole, whole).item() < 1e-8


def test_the_synchronous_loss_is_its_formula(pair, P) -> None:
    part, whole = pair
    Phi = whole.functions[:, :10]
    on_whole = Phi @ torch.diag(torch.exp(-0.05 * whole.values[:10]))
    diffused = part.functions @ torch.diag(torch.exp(-0.05 * part.values)) @ part.functions.T @ torch.diag(part.mass)
    apart = P @ on_whole - diffused @ (P @ Phi)
    expected = 2 * torch.trace(apart.T @ torch.diag(part.mass) @ apart)
    torch.testing.assert_close(SynchronousLoss(2.0, time=0.05, eigenpairs=10)(P, part, whole), expected)


def test_the_identity_is_synchronous(pair) -> None:
    _, whole = pair
    loss = SynchronousLoss(time=0.05, eigenpairs=10)
    assert float(loss(torch.eye(len(whole)).double(), whole, whole)) < 1e-9


def test_the_synchronous_loss_is_added_to_the_others() -> None:
    loss = loss_of(TrainingConfig(synchronous_weight=0.5))
    assert loss.terms()[-1] == SynchronousLoss(0.5)
    with pytest.raises(ValueError, match="there is nothing to train for"):
        loss_of(TrainingConfig(synchronous_weight=0.5, distortion_weight=0.0, orthogonality_weight=0.0))
