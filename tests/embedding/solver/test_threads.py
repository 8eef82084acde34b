from __future__ import annotations

import pytest
from threadpoolctl import threadpool_info

from partwhole.embedding.solver.threads import RowThreads, one_blas_thread


@pytest.mark.parametrize("cores", [1, 2, 3])
@pytest.mark.parametrize("n_rows", [0, 1, 10, 1000])
@pytest.mark.parametrize("n_pairs", [10, 10**9])
def test_every_row_is_met_once(cores: int, n_rows: int, n_pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partwhole.embedding.solver.threads.available_cores", lambda: cores)
    met: list[int] = []
    with RowThreads(n_rows, n_pairs) as threads:
        threads(lambda start, stop: met.extend(range(start, stop)))
    assert sorted(met) == list(range(n_rows))


def test_an_error_in_a_kernel_comes_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partwhole.embedding.solver.threads.available_cores", lambda: 2)

    def kernel(start: int, stop: int) -> None:
        raise RuntimeError("broken")

    with RowThreads(10, 10**9) as threads, pytest.raises(RuntimeError, match="broken"):
        threads(kernel)


def test_blas_has_one_thread_inside_and_as_many_as_before_outside() -> None:
    def counts() -> list[int]:
        return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]

    before = counts()
    with one_blas_thread():
        assert set(counts()) <= {1}
    assert counts() == before
