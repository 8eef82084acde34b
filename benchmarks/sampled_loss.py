"""The wormhole loss from a sample of rows: cosine of its gradient to the full one, and the error of networks trained with it.

    python benchmarks/sampled_loss.py gradient --data DIR [--vertices 2000] [--samples 5]
    python benchmarks/sampled_loss.py training --data DIR [--vertices 600] [--iterations 1000] [--seeds 3]

DIR holds PFAUST; wholes are decimated to so many vertices. `gradient` takes two training pairs of PFAUST-H and the weights of
the network, at random and as the built-in model has them, without augmentation and dropout. `training` trains the preset
`small` on 160 pairs of 20 parts and 8 wholes, and measures errors on the 40 test pairs, decimated alike (spectral read-out).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

import partwhole as pw
from partwhole.datasets.transforms import with_fewer_vertices
from partwhole.matching import Benchmark, Matcher, PreparedPairs, TrainingConfig, prepare_pairs, preset, soft_map, train
from partwhole.matching.network.diffusion_net import Network, new_network
from partwhole.matching.training.large.sampled_loss import SampledWormholeLoss
from partwhole.matching.training.losses import WormholeLoss
from recording import heading, save, table

SHARES = (0.01, 0.025, 0.05, 0.1, 0.2, 0.4, 1.0)
KEPT = (100, 250, 500, 1000)


def gradient_of(
    network: Network, prepared: PreparedPairs, number: int, temperature: float
) -> Callable[[WormholeLoss], tuple[Tensor, Tensor]]:
    """A function from a loss to what it measures on a pair, and its gradient in the weights of the network."""
    weights = [weight for weight in network.parameters() if weight.requires_grad]
    part, whole = prepared.surfaces(*prepared.pairs[number])
    features = [network.encode(surface) for surface in (part, whole)]
    (of_part, part), (of_whole, whole) = (
        surface.in_loss(of_vertices) for surface, of_vertices in zip((part, whole), features, strict=True)
    )
    P = soft_map(of_part, of_whole, temperature)

    def measured(loss: WormholeLoss) -> tuple[Tensor, Tensor]:
        found = loss.measured(of_part, of_whole, P, part, whole)
        gradient = torch.autograd.grad(found[0], weights, retain_graph=True, allow_unused=True)
        flat = [torch.zeros_like(w) if g is None else g for w, g in zip(weights, gradient, strict=True)]
        return found.detach(), torch.cat([g.flatten() for g in flat])

    return measured


def cosine(one: Tensor, other: Tensor) -> float:
    return float(torch.nn.functional.cosine_similarity(one, other, dim=0))


def networks() -> Iterator[tuple[str, Network, TrainingConfig]]:
    trained = Matcher.load("pfaust-h")
    torch.manual_seed(0)
    yield "random weights", new_network(trained.config.network).eval(), trained.config
    yield "trained weights", trained.network.requires_grad_(True).eval(), trained.config


def measure_gradients(data: Path, vertices: int, samples: int) -> dict[str, list[list[str]]]:
    pairs = with_fewer_vertices(list(pw.datasets.PFaust(data, "H").pairs(range(2), range(10, 20, 10))), vertices)
    found: dict[str, list[list[str]]] = {}
    for name, network, config in networks():
        prepared = prepare_pairs(pairs, config)
        sizes = [(len(part), len(whole)) for part, whole in (prepared.surfaces(*pair) for pair in prepared.pairs)]
        print(f"{name}: vertices of part and whole {sizes}", flush=True)
        rows: dict[float, list[tuple[float, ...]]] = {share: [] for share in SHARES}
        kept: dict[int, list[tuple[float, ...]]] = {count: [] for count in KEPT}
        for number, (size, _) in enumerate(sizes):
            measured = gradient_of(network, prepared, number, config.loss.temperature)
            (value,), full = measured(WormholeLoss())
            for share in SHARES:
                torch.manual_seed(1)
                sampled = SampledWormholeLoss(rows=max(4, round(share * size)))
                estimates, gradients = zip(*(measured(sampled) for _ in range(samples)), strict=True)
                rows[share] += [
                    (
                        cosine(gradient, full),
                        cosine(torch.stack(gradients).sum(dim=0), full),
                        *map(float, (estimate[0] / value, estimate[1], value)),
                    )
                    for estimate, gradient in zip(estimates, gradients, strict=True)
                ]
            for count in KEPT:
                few = prepare_pairs(pairs, config.with_changes(distance_vertices=count))
                (of_kept,), gradient = gradient_of(network, few, number, config.loss.temperature)(WormholeLoss())
                kept[count].append((cosine(gradient, full), float(of_kept / value)))
        found[name] = [_row(share, np.array(rows[share]), samples) for share in SHARES]
        found[f"{name}, kept vertices"] = [
            [str(count), f"{np.mean(kept[count], axis=0)[0]:.4f}", f"{np.mean(kept[count], axis=0)[1]:.3f}"]
            for count in KEPT
        ]
        head = ["rows", "cosine, mean", "lowest", f"of the mean of {samples}", "spread of the value", "as reported"]
        print(f"\n{name}\n\n{table(head, found[name])}\n", flush=True)
        print(table(["kept vertices", "cosine", "value"], found[f"{name}, kept vertices"]), flush=True)
    return found


def _row(share: float, measured: np.ndarray, samples: int) -> list[str]:
    cosines, of_mean, values, variances, exact = measured.T
    spread = values.reshape(-1, samples).std(axis=1, ddof=1).mean()
    reported = np.sqrt(np.maximum(variances.reshape(-1, samples).mean(axis=1), 0)) / exact[::samples]
    numbers = [cosines.mean(), cosines.min(), of_mean.mean(), spread, reported.mean()]
    return [f"{100 * share:g} %", *(f"{number:.3f}" for number in numbers)]


def measure_training(data: Path, vertices: int, iterations: int, seeds: int) -> dict[str, list[float]]:
    pfaust = pw.datasets.PFaust(data, "H")
    learned = with_fewer_vertices(list(pfaust.pairs(range(0, 80, 4), range(0, 80, 10))), vertices)
    tested = with_fewer_vertices(list(pfaust.test_pairs()), vertices)
    base = preset("small").with_changes(iterations=iterations, evaluate_every=iterations)
    prepared = prepare_pairs(learned, base)
    mean = round(np.mean([len(part) for part in prepared.parts]))
    print(f"{len(prepared)} pairs; parts of {mean} vertices in the mean, wholes of {vertices}", flush=True)
    benchmark = Benchmark(tested, name="PFAUST-H, decimated", keep=True)
    found: dict[str, list[float]] = {}
    for share in (None, 0.1):
        name = "all rows" if share is None else f"{100 * share:g} % of the rows"
        for seed in range(seeds):
            config = base.with_changes(seed=seed, rows=None if share is None else round(share * mean))
            start = time.process_time()
            run = train(prepared, config)
            seconds = time.process_time() - start
            error = 100 * benchmark.of(run.matcher, read_out="spectral", thorough=False).macro
            found.setdefault(name, []).append(error)
            print(f"{name}, seed {seed}: error × 100 {error:.2f}; {seconds:.0f} s of the processor", flush=True)
    rows = [[name, *(f"{e:.2f}" for e in errors), f"{np.mean(errors):.2f}"] for name, errors in found.items()]
    print(table(["", *(f"seed {seed}" for seed in range(seeds)), "mean"], rows))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["gradient", "training"])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--vertices", type=int)
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the numbers there as well")
    given = parser.parse_args()
    print(heading())
    if given.what == "gradient":
        found: object = measure_gradients(given.data, given.vertices or 2000, given.samples)
    else:
        found = measure_training(given.data, given.vertices or 600, given.iterations, given.seeds)
    save(given.json, {given.what: found})


if __name__ == "__main__":
    main()
