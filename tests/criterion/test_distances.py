from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from partwhole.criterion.distances import min_plus


def by_numpy(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a[:, :, None] + b[None]).min(axis=1, initial=np.inf)


def test_identity_has_zeros_on_the_diagonal_and_inf_beside() -> None:
    identity = np.where(np.eye(7, dtype=bool), 0.0, np.inf)
    a = np.random.default_rng(0).random((5, 7))
    np.testing.assert_array_equal(min_plus(a, identity), a)


def test_powers_of_steps_are_shortest_paths_on_a_ring() -> None:
    n = 12
    apart = np.abs(np.subtract.outer(np.arange(n), np.arange(n)))
    round_the_ring = np.minimum(apart, n - apart).astype(float)
    ways = np.where(round_the_ring <= 1, round_the_ring, np.inf)
    for _ in range(3):
        ways = min_plus(ways, ways)
    np.testing.assert_array_equal(ways, np.minimum(round_the_ring, 8.0))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "shape",
    [(1, 1, 1), (4, 4, 16), (5, 3, 17), (7, 400, 20), (3, 5, 1100), (9, 130, 513), (4, 0, 6), (0, 3, 4), (3, 4, 0)],
)
def test_equals_numpy_with_remainders_in_every_direction(shape: tuple[int, int, int], dtype: type) -> None:
    rng = np.random.default_rng(1)
    m, k, n = shape
    a, b = rng.normal(size=(m, k)).astype(dtype), rng.normal(size=(k, n)).astype(dtype)
    a[rng.random(a.shape) < 0.2] = np.inf
    b[rng.random(b.shape) < 0.2] = np.inf
    product = min_plus(a, b)
    assert product.dtype == dtype
    np.testing.assert_array_equal(product, by_numpy(a, b))


def test_large_products_are_shared_out_to_threads() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.random((301, 120), dtype=np.float32), rng.random((120, 700), dtype=np.float32)
    product = min_plus(a, b)
    for row in (0, 37, 150, 299, 300):
        np.testing.assert_array_equal(product[row], (a[row, :, None] + b).min(axis=0))


def test_any_memory_layout() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.random((40, 30)), rng.random((30, 50))
    expected = by_numpy(a[::2], b[:, ::3])
    np.testing.assert_array_equal(min_plus(a[::2], b[:, ::3]), expected)
    np.testing.assert_array_equal(min_plus(b[:, ::3].T, a[::2].T), expected.T)


@given(st.data(), st.sampled_from([np.float32, np.float64]))
def test_equals_numpy_on_anything(data: st.DataObject, dtype: type) -> None:
    size = st.integers(0, 9)
    m, k, n = data.draw(size), data.draw(size), data.draw(size)
    width = np.dtype(dtype).itemsize * 8
    largest = 2.0**100
    numbers = st.just(np.inf) | st.floats(-largest, largest, width=width)
    a = data.draw(hnp.arrays(dtype, (m, k), elements=numbers))
    b = data.draw(hnp.arrays(dtype, (k, n), elements=numbers))
    np.testing.assert_array_equal(min_plus(a, b), by_numpy(a, b))


@pytest.mark.parametrize(("a", "b"), [(np.ones((2, 3)), np.ones((2, 3))), (np.ones(3), np.ones((3, 2)))])
def test_shapes_that_do_not_fit(a: np.ndarray, b: np.ndarray) -> None:
    with pytest.raises(ValueError, match=r"needs shapes \(m, k\) and \(k, n\), got"):
        min_plus(a, b)


def test_types_that_do_not_fit() -> None:
    with pytest.raises(ValueError, match="float32 and float64: use astype"):
        min_plus(np.ones((2, 2), np.float32), np.ones((2, 2)))
    with pytest.raises(ValueError, match="int64"):
        min_plus(np.ones((2, 2), int), np.ones((2, 2), int))


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_entries_without_a_sum(bad: float) -> None:
    with pytest.raises(ValueError, match=f"b contains {bad}"):
        min_plus(np.ones((2, 2)), np.array([[1.0, np.inf], [2.0, bad]]))


def test_device_that_does_not_exist() -> None:
    with pytest.raises(ValueError, match='device must be "cpu" or "cuda", got \'tpu\''):
        min_plus.__wrapped__(np.ones((2, 2)), np.ones((2, 2)), device="tpu")  # past the check of the annotation


def test_cuda_is_asked_only_if_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = ModuleType("partwhole.criterion.cuda.distances")
    stand_in.min_plus_arrays = lambda a, b: by_numpy(a, b)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "partwhole.criterion.cuda.distances", stand_in)
    a = np.random.default_rng(4).random((3, 3))
    np.testing.assert_array_equal(min_plus(a, a, device="cuda"), by_numpy(a, a))
