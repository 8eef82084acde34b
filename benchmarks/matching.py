"""The training step and the inference of a pair, beside the step as it is published and the plain loop.

    python benchmarks/matching.py [--vertices 5000] [--json FILE]

On a CUDA device if there is one, else on the processor, with smaller surfaces. "As published" is the loss by automatic
differentiation of Σ (M A Aᵀ) ∘ (P D Pᵀ − D)², in float32.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

import partwhole as pw
from partwhole.datasets import GroundTruth, Pair, Pairs, random_cuts
from partwhole.matching import Matcher, Surface, TrainingConfig, distortion, prepare_pairs, refine
from partwhole.matching.config import ReadOut
from partwhole.matching.network.diffusion_net import new_network
from partwhole.matching.training.losses import loss_of
from partwhole.matching.training.steps import adam, plain_steps, random_seed, reproducibly
from recording import heading, save, table

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def milliseconds(work: Callable[[], object], repeat: int = 20) -> float:
    """Mean of several runs after a few that warm up; a device is waited for."""
    for _ in range(3):
        work()
    _wait()
    start = time.perf_counter()
    for _ in range(repeat):
        work()
    _wait()
    return 1e3 * (time.perf_counter() - start) / repeat


def _wait() -> None:
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def random_pair(p: int, n: int) -> tuple[torch.Tensor, ...]:
    """Logits of a soft map, distances and weights of points on a sphere."""
    generator = torch.Generator().manual_seed(0)

    def sphere_distances(k: int) -> torch.Tensor:
        points = torch.nn.functional.normalize(torch.randn(k, 3, generator=generator), dim=1).to(DEVICE)
        return (points @ points.T).clamp(-1, 1).arccos()

    logits = 5 * torch.randn(p, n, generator=generator).to(DEVICE)
    mask = torch.rand(p, p, generator=generator).to(DEVICE)
    return logits, sphere_distances(p), sphere_distances(n), (mask + mask.T) / 2 / p**2


def loss_step(n: int) -> list[list[str]]:
    logits, D_part, D_whole, W = random_pair(n, n)
    logits.requires_grad_()

    def published() -> torch.Tensor:
        P = torch.softmax(logits, dim=1)
        return (W * (P @ (D_whole @ P.T) - D_part).square()).sum()

    def step(loss: Callable[[], torch.Tensor]) -> torch.Tensor:
        logits.grad = None
        loss().backward()
        return logits.grad

    torch.set_float32_matmul_precision("highest")
    exact = step(published).clone()
    base = milliseconds(lambda: step(published), 5)
    rows = [[f"loss step {n} × {n}, as published, float32", f"{base:.2f} ms", "1×", ""]]
    kinds = [("three products, float32", "highest", D_whole)]
    if DEVICE == "cuda":
        kinds += [("three products, TF32", "high", D_whole), ("three products, float16", "high", D_whole.half())]
    for name, precision, D in kinds:
        torch.set_float32_matmul_precision(precision)

        def ours(D: torch.Tensor = D) -> torch.Tensor:
            return distortion(torch.softmax(logits, dim=1), D_part, D, W)

        took = milliseconds(lambda loss=ours: step(loss), 5)
        difference = float((step(ours) - exact).norm() / exact.norm())
        rows.append([f"loss step {n} × {n}, {name}", f"{took:.2f} ms", f"{base / took:.1f}×", f"{difference:.1e}"])
    torch.set_float32_matmul_precision("highest")
    return rows


def body_pairs(n: int) -> Pairs:
    body = pw.datasets.make_body("biped", n, seed=0)
    cuts = [random_cuts(body.pose(seed=k), recipe="pfaust-h", seed=k) for k in range(4)]
    made = [Pair.of(cut.part, body.rest, GroundTruth.of_map(cut.vertex_map)) for cut in cuts]
    return Pairs.from_list(made, name="bodies")


def iterations(pairs: Pairs, count: int) -> list[list[str]]:
    """The loop with and without recorded steps, and the losses of the first iterations by each."""
    rows, curves = [], {}
    kinds = [("plain loop, float32", "float32", plain_steps)]
    if DEVICE == "cuda":
        from partwhole.matching.training.cuda.captured import captured_steps

        kinds += [(f"recorded steps, {kind}", kind, captured_steps) for kind in ("float32", "tf32", "float16")]
    base = np.nan
    for name, precision, steps in kinds:
        config = TrainingConfig(precision=precision, rotation=30.0)
        prepared = prepare_pairs(pairs, config, device=DEVICE)
        with reproducibly(config, DEVICE):
            torch.manual_seed(0)
            network = new_network(config.network).to(DEVICE).train()
            step = steps(network, adam(network, config, DEVICE), loss_of(config), prepared, config)
            numbers = iter(range(10**9))

            def one(step: Callable = step, numbers: object = numbers, prepared: object = prepared) -> torch.Tensor:
                iteration = next(numbers)
                torch.manual_seed(random_seed(0, 1, iteration))
                return step(prepared.pair_at(iteration, 0))

            losses = [one() for _ in range(count)]
            curves[name] = torch.stack(losses).sum(dim=1).cpu().numpy()
            took = milliseconds(one, count)
        base = took if np.isnan(base) else base
        window = max(1, count // 4)
        ends = f"loss {curves[name][:window].mean():.1f} → {curves[name][-window:].mean():.1f}"
        rows.append([f"iteration, {name}", f"{took:.2f} ms", f"{base / took:.1f}×", ends])
    return rows


def inference(pairs: Pairs) -> list[list[str]]:
    config = TrainingConfig()
    matcher = Matcher(new_network(config.network).to(DEVICE), config)
    prepared = prepare_pairs(pairs, config, for_loss=False, device=DEVICE)
    part, whole = prepared.parts[0], prepared.wholes[0]
    rows = []
    for read_out in ("features", "spectral"):

        def once(read_out: ReadOut = read_out) -> object:
            compared = matcher.compare(matcher.encode(part), matcher.encode(whole))[0]
            return matcher.read(compared.nearest(), part, whole, read_out)

        took = milliseconds(once)
        rows.append([f"map of {len(part)} to {len(whole)} vertices, {read_out}", f"{took:.2f} ms", "", ""])
    return rows


def refinement(pairs: Pairs, steps: int) -> list[list[str]]:
    """So many steps on one pair, and its map before and after, as `refine` does it for a user."""
    rows = []
    for precision in ("tf32", "float16") if DEVICE == "cuda" else ("float32",):
        config = TrainingConfig(precision=precision)
        matcher = Matcher(new_network(config.network).to(DEVICE), config)
        prepared = prepare_pairs(pairs[:1], config, device=DEVICE)
        part, whole = prepared.surfaces(0, 0)

        def work(matcher: Matcher = matcher, part: Surface = part, whole: Surface = whole) -> object:
            return refine(matcher, part, whole, steps=steps, patience=None)

        took = milliseconds(work, 3)
        rows.append([f"refinement, {steps} steps, {len(part)} to {len(whole)}, {precision}", f"{took:.0f} ms", "", ""])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vertices", type=int, default=5000 if DEVICE == "cuda" else 1000)
    parser.add_argument("--json", type=Path, help="write the numbers there as well")
    given = parser.parse_args()
    pairs = body_pairs(given.vertices)
    rows = [
        *loss_step(given.vertices),
        *iterations(pairs, 200 if DEVICE == "cuda" else 5),
        *inference(pairs),
        *refinement(pairs, 15 if DEVICE == "cuda" else 3),
    ]
    where = torch.cuda.get_device_name() if DEVICE == "cuda" else f"{torch.get_num_threads()} threads"
    print(f"{where}; torch {torch.__version__}; {heading()}\n")
    print(table(["what", "time", "beside", "difference of the gradient; losses"], rows))
    save(given.json, {"accelerator": where, "rows": rows})


if __name__ == "__main__":
    main()
