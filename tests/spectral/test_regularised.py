from __future__ import annotations

import numpy as np
import pytest
import torch

from partwhole.spectral import penalties, regularised_map
from partwhole.spectral.systems import solve_rows


@pytest.fixture
def problem() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {
        "of_part": rng.standard_normal((7, 12)),
        "of_whole": rng.standard_normal((9, 12)),
        "part_values": np.sort(rng.uniform(0, 30, 7)),
        "whole_values": np.sort(rng.uniform(0, 20, 9)),
    }


@pytest.mark.parametrize(("penalty", "weight"), [("resolvent", 100.0), ("difference", 1e-3)])
def test_every_row_is_the_least_squares_solution(problem, penalty, weight) -> None:
    C = regularised_map(**problem, penalty=penalty, weight=weight)
    D = penalties(problem["part_values"], problem["whole_values"], penalty=penalty)
    for row in range(7):
        stacked = np.vstack([problem["of_whole"].T, np.diag(np.sqrt(weight * D[row]))])
        right = np.concatenate([problem["of_part"][row], np.zeros(9)])
        np.testing.assert_allclose(C[row], np.linalg.lstsq(stacked, right, rcond=None)[0], rtol=1e-8, atol=1e-10)


def test_tensors_give_what_arrays_give(problem) -> None:
    tensors = {name: torch.from_numpy(array) for name, array in problem.items()}
    np.testing.assert_allclose(regularised_map(**tensors).numpy(), regularised_map(**problem), atol=1e-12)


def test_the_gradient_reaches_the_descriptors(problem) -> None:
    tensors = {name: torch.from_numpy(array) for name, array in problem.items()}
    values = tensors["part_values"], tensors["whole_values"]

    def solved(of_part: torch.Tensor, of_whole: torch.Tensor) -> torch.Tensor:
        return regularised_map(of_part, of_whole, *values)

    inputs = [tensors[name].requires_grad_(True) for name in ("of_part", "of_whole")]
    assert torch.autograd.gradcheck(solved, inputs)


def test_single_precision_is_solved_in_double_precision() -> None:
    # smooth descriptors: little of high frequencies, and half as many as there are frequencies
    generator = torch.Generator().manual_seed(0)
    decay = torch.arange(1.0, 41)[:, None] ** -2
    of_part, of_whole = (torch.randn(40, 20, generator=generator) * decay for _ in range(2))
    given = of_part, of_whole, torch.linspace(0, 700, 40), torch.linspace(0, 500, 40)
    found = regularised_map(*given)
    assert found.dtype == torch.float32
    expected = regularised_map(*(tensor.double().numpy() for tensor in given))
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-4 * np.abs(expected).max())


def test_rows_and_their_gradients_are_those_of_dense_systems() -> None:
    torch.manual_seed(0)
    F = torch.randn(6, 4, dtype=torch.float64)
    gram, diagonals, right = F @ F.T, torch.rand(5, 6).double() + 0.1, torch.randn(5, 6).double()
    each = [torch.linalg.solve(gram + torch.diag(row), b) for row, b in zip(diagonals, right, strict=True)]
    torch.testing.assert_close(solve_rows(gram, diagonals, right), torch.stack(each))
    inputs = [tensor.requires_grad_(True) for tensor in (F, diagonals, right)]
    assert torch.autograd.gradcheck(lambda F, d, r: solve_rows(F @ F.T, d, r), inputs)


def test_a_row_without_a_penalty_is_solved_in_single_precision() -> None:
    # of rank 1, and two of the four diagonals are 0: no system but for rounding
    gram = torch.outer(torch.ones(4), torch.ones(4))
    found = solve_rows(gram, torch.tensor([[0.0, 0.0, 1.0, 1.0]]), torch.ones(1, 4))
    assert found.isfinite().all()
    torch.testing.assert_close(
        gram @ found[0] + torch.tensor([0.0, 0, 1, 1]) * found[0], torch.ones(4), atol=1e-3, rtol=0
    )


def test_the_resolvent_is_that_of_a_complex_number() -> None:
    part, whole = np.array([0.0, 1.0, 4.0]), np.array([0.0, 2.0])
    # 1 / (√λ − i) = (√λ + i) / (λ + 1), at eigenvalues over the largest
    resolvent = [1 / (np.sqrt(values / 4) - 1j) for values in (part, whole)]
    expected = np.abs(resolvent[0][:, None] - resolvent[1][None, :]) ** 2
    np.testing.assert_allclose(penalties(part, whole), expected, atol=1e-15)


def test_the_resolvent_does_not_depend_on_units(problem) -> None:
    part, whole = problem["part_values"], problem["whole_values"]
    np.testing.assert_allclose(penalties(7 * part, 7 * whole), penalties(part, whole), atol=1e-12)


def test_constants_alone_have_no_penalty() -> None:
    assert penalties(np.zeros(1), np.zeros(1)).tolist() == [[0.0]]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"weight": 0.0}, "weight=0.0 must be positive"),
        ({"of_part": np.zeros((7, 3))}, r"shapes \(7, 3\) and \(9, 12\)"),
        ({"part_values": np.ones(3)}, r"\(3, 9\) eigenvalues"),
    ],
)
def test_wrong_arguments(problem, changes, message) -> None:
    with pytest.raises(ValueError, match=message):
        regularised_map(**{**problem, **changes})


def test_another_penalty() -> None:
    with pytest.raises(ValueError, match="penalty must be one of 'resolvent', 'difference', got 'none'"):
        penalties.__wrapped__(np.ones(2), np.ones(2), penalty="none")
