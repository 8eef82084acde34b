from __future__ import annotations

import pytest
import torch
from torch.overrides import TorchFunctionMode

from partwhole.matching import OrthogonalityLoss, soft_map
from partwhole.matching.training.spectral_losses import MapLoss, MapSolve, SpectralLoss

SOLVE = MapSolve(12, weight=0.1)


@pytest.fixture
def surfaces(prepared):
    part, whole = prepared.surfaces(*prepared.pairs[0])
    truth = torch.arange(len(part)) % len(whole)
    return part.with_truth(truth, part.mass / part.mass.sum()), whole


@pytest.fixture
def features(surfaces):
    generator = torch.Generator().manual_seed(0)
    return [torch.randn((len(surface), 30), generator=generator, requires_grad=True) for surface in surfaces]


def value(loss, features, surfaces):
    return loss.on_features(*features, soft_map(*features, 0.1), *surfaces)


def test_features_that_are_those_of_the_truth_have_the_least_loss(surfaces, features) -> None:
    part, whole = surfaces
    # without a penalty the map of features that are pulled back by the truth is the true one, on as many eigenfunctions
    every = min(whole.values.shape[-1], part.values.shape[-1])
    loss = MapLoss(MapSolve(every, weight=1e-6))
    basis = whole.functions[:, :every].double()
    doubled = [
        type(one)(**{**vars(one), **{n: getattr(one, n).double() for n in ("mass", "values", "functions")}})
        for one in surfaces
    ]
    pulled = basis[part.truth]
    assert float(loss.on_features(pulled, basis, torch.empty(len(part), len(whole)), *doubled)) < 1e-6
    assert value(loss, features, surfaces).item() > 1


def test_what_is_not_known_does_not_count(surfaces, features) -> None:
    part, whole = surfaces
    assert part.truth is not None
    assert part.truth_shares is not None
    loss = MapLoss(SOLVE)
    half = part.truth_shares * (torch.arange(len(part)) % 2)
    other = part.truth.clone()
    other[::2] = 0
    first = value(loss, features, (part.with_truth(part.truth, half), whole))
    assert torch.equal(first, value(loss, features, (part.with_truth(other, half), whole)))


@pytest.mark.parametrize("loss", [MapLoss(SOLVE), SpectralLoss(SOLVE), SpectralLoss(SOLVE, coupled=1.0)])
def test_gradients_reach_the_features(loss, surfaces, features) -> None:
    value(loss, features, surfaces).backward()
    assert all(one.grad is not None and one.grad.isfinite().all() and one.grad.any() for one in features)


def test_products_of_the_solve_are_not_rounded(surfaces, features) -> None:
    seen: list[tuple[int, str]] = []

    class Watch(TorchFunctionMode):
        def __torch_function__(self, function, types, arguments=(), knobs=None):
            if function in (torch.Tensor.matmul, torch.Tensor.__matmul__):
                seen.append((max(arguments[0].shape), torch.get_float32_matmul_precision()))
            return function(*arguments, **(knobs or {}))

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        with Watch():
            SOLVE(*reversed(features), *reversed(surfaces))
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision(before)
    # of the features of both surfaces; what follows is in double precision
    assert {(len(surface), "highest") for surface in surfaces} <= set(seen)


def test_the_terms_add_up(surfaces, features) -> None:
    terms = [SpectralLoss(SOLVE, 1, 0), SpectralLoss(SOLVE, 0, 1), SpectralLoss(SOLVE, 0, 0, 1)]
    together = value(SpectralLoss(SOLVE, 1, 1, 1), features, surfaces)
    torch.testing.assert_close(together, sum(value(one, features, surfaces) for one in terms))


def test_losses_of_features_and_of_soft_maps_add_up(surfaces, features) -> None:
    both = SpectralLoss(SOLVE) + OrthogonalityLoss(eigenpairs=12)
    assert [term.name for term in both.terms()] == ["spectral", "orthogonality"]
    P = soft_map(*features, 0.1)
    expected = value(SpectralLoss(SOLVE), features, surfaces) + OrthogonalityLoss(eigenpairs=12)(P, *surfaces)
    torch.testing.assert_close(value(both, features, surfaces), expected)


def test_what_is_asked_wrongly(surfaces, features) -> None:
    part, whole = surfaces
    with pytest.raises(ValueError, match="MapLoss is a loss of features"):
        MapLoss(SOLVE)(soft_map(*features, 0.1), part, whole)
    with pytest.raises(ValueError, match="needs the ground truth"):
        value(MapLoss(SOLVE), features, (whole, whole))
