"""A step of training of every method that learns, as it is and recorded as CUDA graphs.

    python benchmarks/method_steps.py [--data DIR --set pfaust-m] [--methods NAME,NAME] [--device cuda] [--iterations 50]
                                      [--linalg magma] [--json FILE]

Two pairs, one part on two wholes, with the published settings of each method; without --data parts of generated bodies, of
5000 vertices unless --vertices says otherwise. Milliseconds an iteration, after some that are not counted; seconds that
preparation and recording took. A method that can't be recorded has its error in the table. Peak memory is that of the GPU.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import torch

import partwhole as pw
from partwhole.cli.shared.data_options import pairs_from
from partwhole.datasets import Pair
from partwhole.matching import PreparedPairs
from partwhole.matching.methods import learned_method
from partwhole.matching.network.weights import LEARNED
from partwhole.matching.training.cuda.captured import captured_steps
from partwhole.matching.training.data import prepared_for
from partwhole.matching.training.steps import adam, plain_steps, random_seed, reproducibly
from partwhole.store.cache import Cache
from recording import heading, save, table

_WARM_UP = 3


def given_pairs(data: Path | None, name: str, vertices: int) -> list[Pair]:
    if data is None:
        return list(islice(pw.datasets.body_pairs(1, 2, 1, n_vertices=vertices, wholes="all"), 2))
    return list(islice(pairs_from(data, name, "train"), 2))


def wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def measured(
    method: Any, prepared: PreparedPairs, *, recorded: bool, iterations: int, device: str
) -> tuple[float, float, float]:
    """Milliseconds an iteration, seconds until the first one, and megabytes on the GPU."""
    config, loss = method.config, method.loss()
    if device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    with reproducibly(config, device):
        torch.manual_seed(random_seed(0))
        network = method.trainable().to(device).train()
        optimiser = adam(network, config, device)
        start = time.perf_counter()
        step = (captured_steps if recorded else plain_steps)(network, optimiser, loss, prepared, config)
        wait(device)
        began = time.perf_counter() - start

        def take(count: int) -> None:
            for number in range(count):
                torch.manual_seed(random_seed(0, 1, number))
                terms = step(prepared.pairs[number % len(prepared)])
            if not torch.isfinite(terms).all():
                raise ValueError(f"the loss is {terms.tolist()}")

        take(min(_WARM_UP, iterations))
        wait(device)
        start = time.perf_counter()
        take(iterations)
        wait(device)
        took = time.perf_counter() - start
    held = torch.cuda.max_memory_allocated() / 1e6 if device == "cuda" else float("nan")
    return 1e3 * took / iterations, began, held


def row(name: str, pairs: Sequence[Pair], data: str, given: argparse.Namespace) -> tuple[list[str], dict[str, Any]]:
    """A line of the table, and its numbers."""
    kind = learned_method(name)
    changes = dict(change.split("=") for change in given.changes)
    config = kind.published_for(data).with_changes(**{key: int(value) for key, value in changes.items()})
    method = kind(config=config)
    start = time.perf_counter()
    prepared = prepared_for(pairs, config, loss=method.loss(), cache=Cache.meant(True), device=given.device)
    numbers: dict[str, Any] = {"preparation": time.perf_counter() - start}
    cells = [name, f"{numbers['preparation']:.1f}"]
    for what in ("plain", "recorded") if given.device == "cuda" else ("plain",):
        try:
            knobs = {"iterations": given.iterations, "device": given.device}
            found = measured(method, prepared, recorded=what == "recorded", **knobs)
        except Exception as fault:  # of any kind: the other methods are still to be measured
            numbers[what] = " ".join(f"{type(fault).__name__}: {fault}".split())[:300]
            cells += [numbers[what], "–", "–"]
            continue
        numbers[what] = dict(zip(("ms", "begun after", "MB"), found, strict=True))
        cells += [f"{found[0]:.1f}", f"{found[1]:.1f}", f"{found[2]:.0f}"]
    return cells, numbers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--set", default="pfaust-m", choices=["pfaust-m", "pfaust-h", "shrec16-cuts", "shrec16-holes"])
    # first those that are known to be recorded: one that fails may take the next ones with it
    parser.add_argument("--methods", default=",".join(reversed(LEARNED)))
    parser.add_argument("--vertices", type=int, default=5000)
    parser.add_argument("--iterations", type=int, default=50)
    parser.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    parser.add_argument("--linalg", help="torch.backends.cuda.preferred_linalg_library, such as magma")
    parser.add_argument("--with", dest="changes", action="append", default=[], metavar="NAME=NUMBER")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.linalg:
        torch.backends.cuda.preferred_linalg_library(given.linalg)
    pairs = given_pairs(given.data, given.set, given.vertices)
    sizes = ", ".join(f"{pair.part.n_vertices} → {pair.whole.n_vertices}" for pair in pairs)
    print(heading())
    where = torch.cuda.get_device_name() if given.device == "cuda" else "cpu"
    print(f"on {where}, torch {torch.__version__}; vertices {sizes}\n", flush=True)
    rows, numbers = [], {}
    for name in given.methods.split(","):
        cells, numbers[name] = row(name, pairs, given.set, given)
        print(*cells, flush=True)
        rows.append(cells)
    head = ["method", "prepared, s", "plain, ms", "begun after, s", "MB"]
    head += ["recorded, ms", "begun after, s", "MB"] if given.device == "cuda" else []
    print("\n" + table(head, rows))
    save(given.json, {"where": where, "vertices": sizes, "iterations": given.iterations, "methods": numbers})


if __name__ == "__main__":
    main()
