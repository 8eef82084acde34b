from __future__ import annotations

import numpy as np
import pytest
import torch

from partwhole.matching import PreparedPairs, Surface, hard_map, soft_map, spectral_map
from partwhole.matching.readout import maps as soft_maps
from partwhole.matching.readout.maps import functional_map_of, nearest_rows
from partwhole.spectral import Eigenpairs, functional_map, vertex_map_from_functional_map


def basis_of(surface: Surface, k: int) -> Eigenpairs:
    parts = surface.values[:k], surface.functions[:, :k], surface.mass
    return Eigenpairs(*(part.double().numpy() for part in parts))


@pytest.fixture
def features() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(0)
    return torch.randn(30, 6), torch.randn(50, 6)


def test_a_soft_map_is_a_softmax_of_cosines(features) -> None:
    part, whole = (tensor.double().numpy() for tensor in features)
    cosine = np.array([[x @ y / np.linalg.norm(x) / np.linalg.norm(y) for y in whole] for x in part])
    expected = np.exp(cosine / 0.2) / np.exp(cosine / 0.2).sum(axis=1, keepdims=True)
    P = soft_map(*features, 0.2)
    np.testing.assert_allclose(P, expected, rtol=1e-4)
    np.testing.assert_allclose(P.sum(dim=1), 1, rtol=1e-6)


def test_vertices_that_are_absent_are_never_reached(features) -> None:
    part, whole = features
    absent = torch.zeros(50)
    absent[[0, 7, 49]] = -torch.inf
    P = soft_map(part, whole, 0.1, absent=absent)
    assert (P[:, [0, 7, 49]] == 0).all()
    there = absent == 0
    torch.testing.assert_close(P[:, there], soft_map(part, whole[there], 0.1))
    torch.testing.assert_close(P.sum(dim=1), torch.ones(30))


def test_absent_vertices_get_no_gradient_and_spoil_none(features) -> None:
    part, whole = (tensor.clone().requires_grad_() for tensor in features)
    absent = torch.zeros(50)
    absent[40:] = -torch.inf
    soft_map(part, whole, 0.1, absent=absent).square().sum().backward()
    assert whole.grad.isfinite().all()
    assert part.grad.isfinite().all()
    assert (whole.grad[40:] == 0).all()
    assert (whole.grad[:40] != 0).any()


def test_the_colder_the_harder(features) -> None:
    part, whole = features
    hard = torch.nn.functional.one_hot(hard_map(part, whole), 50).float()
    torch.testing.assert_close(soft_map(part, whole, 1e-6), hard)
    away = [float((soft_map(part, whole, t) - hard).abs().max()) for t in (1.0, 0.1, 0.01, 0.001)]
    assert away == sorted(away, reverse=True)


def test_the_length_of_features_does_not_matter(features) -> None:
    part, whole = features
    scaled = part * torch.rand(30, 1) * 10, whole * (torch.rand(50, 1) + 0.1)
    torch.testing.assert_close(soft_map(*scaled, 0.1), soft_map(part, whole, 0.1), rtol=1e-4, atol=1e-6)
    assert torch.equal(hard_map(*scaled), hard_map(part, whole))


def test_features_of_length_zero_are_a_map_too() -> None:
    P = soft_map(torch.zeros(2, 3), torch.randn(4, 3), 0.01)
    torch.testing.assert_close(P, torch.full((2, 4), 0.25))


@pytest.mark.parametrize("entries", [1 << 25, 100, 1])
def test_nearest_rows_by_brute_force(features, references, monkeypatch, entries) -> None:
    monkeypatch.setattr(soft_maps, "BLOCK_ENTRIES", entries)
    queries, points = features
    found = nearest_rows(queries, points)
    np.testing.assert_array_equal(found, references.nearest_rows(queries.numpy(), points.numpy()))


@pytest.mark.parametrize("k", [3, 20])
def test_the_functional_map_is_that_of_the_spectral_folder(stock: PreparedPairs, k) -> None:
    part, whole = stock.parts[0], stock.wholes[0]
    bases = basis_of(part, k), basis_of(whole, k)
    vertex_map = torch.randint(len(whole), (len(part),), generator=torch.Generator().manual_seed(1))
    found = functional_map_of(vertex_map, part, whole, k)
    np.testing.assert_allclose(found, functional_map(vertex_map.numpy(), *bases), atol=1e-5)
    P = torch.rand(len(part), len(whole), generator=torch.Generator().manual_seed(1))
    P /= P.sum(dim=1, keepdim=True)
    found = functional_map_of(P, part, whole, k)
    np.testing.assert_allclose(found, functional_map(P.double().numpy(), *bases), atol=1e-5)


@pytest.mark.parametrize("number", range(5))
def test_the_spectral_read_out_is_that_of_the_spectral_folder(stock: PreparedPairs, pairs, number) -> None:
    p, w = stock.pairs[number]
    part, whole, k = stock.parts[p], stock.wholes[w], 15
    rng = np.random.default_rng(number)
    noisy = rng.integers(len(whole), size=len(part))
    if pairs[number].ground_truth is not None:
        true = pairs[number].ground_truth.whole_vertices
        noisy = np.where(rng.random(len(part)) < 0.8, true, noisy)
    bases = basis_of(part, k), basis_of(whole, k)
    expected = vertex_map_from_functional_map(functional_map(noisy, *bases), *bases)
    found = spectral_map(torch.from_numpy(noisy), part, whole, k).numpy()
    # in single precision a vertex between two may fall to the other
    assert (found != expected).mean() < 0.03
    if pairs[number].ground_truth is not None:
        places = pairs[number].whole.vertices
        error, before = (np.linalg.norm(places[m] - places[true], axis=1).mean() for m in (found, noisy))
        assert error < before
