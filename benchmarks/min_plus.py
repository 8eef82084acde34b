"""The min-plus products of one threshold, side by side with other ways to compute them, in one run.

    python benchmarks/min_plus.py [--vertices 5000] [--boundary 300] [--repeat 4] [--json FILE]

K = to_boundaryᵀ ⊗ across ⊗ to_boundary, float32: V·B² + V²·B additions with a minimum each. The peak is what the same
machine does with such pairs when nothing has to be loaded. PyTorch is optional; without it its rows say so.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
from numba import njit

from partwhole.criterion.distances import min_plus
from partwhole.store.compute import available_cores
from recording import heading, save, table

CHAINS, STEPS = 8, 32


def register_only() -> Callable[..., None]:
    """A kernel that runs CHAINS independent chains of STEPS additions with a minimum for each element, in registers.

    The chains are written out, because LLVM turns only a loop without inner loops into vector instructions.
    """
    lines = ["def kernel(x, a, out, rounds):", *(f" a{c} = a[{c}]" for c in range(CHAINS)), " for _ in range(rounds):"]
    lines += ["  for j in range(x.shape[0]):", "   b = x[j]"]
    # each chain starts elsewhere, or two would be the same and be computed once
    lines += [f"   c{c} = b + a{c}" for c in range(CHAINS)]
    lines += [f"   c{c} = min(c{c} + a{(c + step) % 4}, b)" for step in range(STEPS) for c in range(CHAINS)]
    lines += ["   out[j] = " + " + ".join(f"c{c}" for c in range(CHAINS))]
    names: dict[str, Callable[..., None]] = {}
    exec("\n".join(lines), names)
    return njit(nogil=True, fastmath={"nnan", "nsz"})(names["kernel"])


def peak_rate(workers: int) -> float:
    """Additions with a minimum per second that all cores could do: one core by its processor time, times cores."""
    kernel = register_only()
    x = np.linspace(0, 1, 1024, dtype=np.float32)
    a = np.linspace(0.1, 0.2, CHAINS, dtype=np.float32)
    out, rounds = np.empty_like(x), 500
    kernel(x, a, out, 1)
    times = []
    for _ in range(20):
        start = time.thread_time()
        kernel(x, a, out, rounds)
        times.append(time.thread_time() - start)
    return workers * rounds * len(x) * CHAINS * STEPS / min(times)


def numpy_chunks(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """As one writes it: all sums of a few rows at once, then their minimum."""
    out = np.empty((len(a), b.shape[1]), a.dtype)
    for start in range(0, len(a), 8):
        out[start : start + 8] = (a[start : start + 8, :, None] + b[None]).min(axis=1)
    return out


def numpy_in_cache(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The fastest NumPy we could write: one k after the other, on blocks of rows that stay in the cache."""
    out = np.full((len(a), b.shape[1]), np.inf, a.dtype)
    sums = np.empty((16, b.shape[1]), a.dtype)
    for start in range(0, len(a), 16):
        block = out[start : start + 16]
        for k in range(len(b)):
            np.add(a[start : start + 16, k, None], b[k], out=sums[: len(block)])
            np.minimum(block, sums[: len(block)], out=block)
    return out


def on_threads(product: Callable[[np.ndarray, np.ndarray], np.ndarray], workers: int) -> Callable[..., np.ndarray]:
    def shared(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        with ThreadPoolExecutor(workers) as pool:
            return np.concatenate(list(pool.map(lambda rows: product(rows, b), np.array_split(a, workers))))

    return shared


def torch_compiled() -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    import torch

    @torch.compile(dynamic=False)
    def product(a, b):  # type: ignore[no-untyped-def]
        return (a[:, :, None] + b[None]).amin(dim=1)

    return lambda a, b: product(torch.from_numpy(a), torch.from_numpy(b)).numpy()


def boundary_pair_loop(F: np.ndarray, E: np.ndarray, n_pairs: int) -> float:
    """Seconds for all boundary pairs, in the way the paper's authors do it: one V×V matrix for each, extrapolated."""
    K = np.full((F.shape[1], F.shape[1]), np.inf, F.dtype)
    start = time.perf_counter()
    for p, q in np.ndindex(n_pairs, 1):
        np.minimum(K, F[p][:, None] + (E[p, q] + F[q])[None], out=K)
    return (time.perf_counter() - start) / n_pairs * len(E) ** 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vertices", type=int, default=5000)
    parser.add_argument("--boundary", type=int, default=300)
    parser.add_argument("--repeat", type=int, default=4)
    parser.add_argument("--json", type=Path, help="write the numbers there as well")
    given = parser.parse_args()
    V, B, workers = given.vertices, given.boundary, available_cores()
    rng = np.random.default_rng(0)
    F, E = rng.random((B, V), dtype=np.float32), rng.random((B, B), dtype=np.float32)
    to_boundary = np.ascontiguousarray(F.T)

    def threshold(product: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> np.ndarray:
        return product(product(to_boundary, E), F)

    ways: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
        "partwhole": min_plus,
        "NumPy, chunks of 8 rows": numpy_chunks,
        "NumPy, one k at a time in cache": numpy_in_cache,
        "NumPy, one k at a time in cache, on threads": on_threads(numpy_in_cache, workers),
    }
    with contextlib.suppress(ImportError):
        ways["torch.compile"] = torch_compiled()
    expected = threshold(min_plus)
    for name, way in ways.items():  # compiles, too
        assert np.array_equal(threshold(way), expected), name
    # in turn, and each as often as the others, so that other work on the machine favours none
    seconds: dict[str, float | None] = dict.fromkeys([*ways, "torch.compile"])
    for _ in range(given.repeat):
        for name, way in ways.items():
            start = time.perf_counter()
            threshold(way)
            seconds[name] = min(seconds[name] or np.inf, time.perf_counter() - start)
    seconds["loop over boundary pairs (extrapolated)"] = boundary_pair_loop(F, E, 20)
    report(given, seconds, peak_rate(workers), workers)


def report(given: argparse.Namespace, seconds: dict[str, float | None], peak: float, workers: int) -> None:
    V, B = given.vertices, given.boundary
    pairs = V * B**2 + V**2 * B
    ours = seconds["partwhole"]
    assert ours is not None
    print(heading())
    if hasattr(os, "getloadavg"):
        print(f"{os.getloadavg()[0]:.1f} processes at work in the last minute: a quiet machine shows about {workers}")
    print(f"V = {V}, B = {B}, float32, {workers} threads: {pairs / 1e9:.2f}·10⁹ additions with a minimum")
    print(f"peak in registers: {peak / 1e9:.1f}·10⁹ a second\n")
    rows = []
    for name, took in seconds.items():
        measured = (
            [f"{took:.3f}", f"{100 * pairs / took / peak:.1f} %", f"{took / ours:.1f}×"]
            if took
            else ["not installed", "", ""]
        )
        rows.append([name, *measured])
    print(table(["way", "seconds", "of the peak", "partwhole is faster by"], rows))
    numbers = {"threads": workers, "vertices": V, "boundary": B, "peak_pairs_per_second": peak, "seconds": seconds}
    save(given.json, numbers)


if __name__ == "__main__":
    main()
