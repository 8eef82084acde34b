"""Steps that are recorded do what plain steps do. What needs no GPU is tested without."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from partwhole.datasets import Pair, cut_plane, random_cuts
from partwhole.matching import (
    Benchmark,
    Matcher,
    PairStream,
    PreparedPairs,
    TrainingConfig,
    distortion,
    hard_map,
    prepare_pairs,
    train,
)
from partwhole.matching.methods import (
    DPFM,
    DirectMatchNetLPF,
    DPFMHoles,
    GeomFMaps,
    RobustFMNet,
    UnsupervisedDPFM,
    Wormhole,
)
from partwhole.matching.network.diffusion_net import new_network
from partwhole.matching.training.cuda.captured import Buffers, captured_steps, rounded_up
from partwhole.matching.training.data import prepared_for
from partwhole.matching.training.losses import loss_of, pulled_back
from partwhole.matching.training.steps import adam, losses_of_pair, losses_of_pairs, plain_steps, reproducibly

STILL: dict[str, Any] = {"dropout": 0.0, "rotation": 0.0, "noise": 0.0, "scaling": (1.0, 1.0)}


@pytest.fixture(scope="module")
def still(config: TrainingConfig) -> TrainingConfig:
    """Nothing random, and nothing rounded."""
    return config.with_changes(precision="float32", **STILL)


def pairs_of_many_sizes(small: Any) -> list[Pair]:
    made = []
    for number, n in enumerate((300, 150, 520)):
        whole = small.lopsided(n, number)
        made.append(Pair.of_cut(random_cuts(whole, "pfaust-m", seed=number)))
        made.append(Pair.of_cut(cut_plane(whole, (0, 0, 0.1), (1.0, 0.5, 0.2))))
    return made


@pytest.fixture(scope="module")
def on_gpu(small: Any, still: TrainingConfig) -> PreparedPairs:
    return prepare_pairs(pairs_of_many_sizes(small), still, device="cuda")


def gradients_of(network: torch.nn.Module, terms: torch.Tensor) -> list[torch.Tensor]:
    network.zero_grad()
    terms.sum().backward()
    return [weight.grad.clone() for weight in network.parameters()]


def test_sizes_are_rounded_up_to_a_few() -> None:
    assert rounded_up([1, 64, 65, 128, 700], 12) == [64, 64, 128, 128, 704]
    for sizes, count in (([5000, 4999, 3], 4), ([900, 100, 1], 12), ([10_000, 7, 8000], 2)):
        found = rounded_up(sizes, count)
        assert all(size <= rounded for size, rounded in zip(sizes, found, strict=True))
        assert all(rounded % 64 == 0 for rounded in found)
        assert len(set(rounded_up(list(range(1, max(sizes) + 1)), count))) <= count
    assert rounded_up([3000, 3000, 3100, 9000], 3) == [3008, 3008, 3136, 9024], "few sizes stay as they are"
    assert rounded_up([3000, 3000, 3100, 9000], 2) == [3136, 3136, 3136, 9024]


@pytest.mark.parametrize("changes", [{"criterion": "none"}, {"criterion": "wormhole"}, {"masked_sides": "both"}])
def test_what_fills_up_a_buffer_does_not_matter(pairs, still, cache, changes) -> None:
    """Losses and gradients of pairs that were copied one after the other into the same larger memory."""
    chosen = still.with_changes(**changes)
    masked = chosen.loss.masked_sides == "both"
    if masked:
        pairs = [*pairs[:2], Pair.of(pairs[1].part, pairs[0].part)]
    prepared = prepare_pairs(pairs, chosen, cache=cache)
    torch.manual_seed(0)
    network, loss = new_network(still.network), loss_of(chosen)
    for sizes in ((128, 128), (112, 192), (160, 128)):
        buffers = Buffers.of_size(*sizes, prepared.parts[0], torch.float32, whole_mask=masked)
        for p, w in (*prepared.pairs, *reversed(prepared.pairs)):
            part, whole = prepared.parts[p], prepared.wholes[w]
            buffers.load((part, whole))
            found = losses_of_pairs(network, loss, buffers.pairs, still, together=buffers.together)
            expected = losses_of_pair(network, loss, part, whole, still)
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
            ours, theirs = gradients_of(network, found), gradients_of(network, expected)
            size = max(float(gradient.abs().max()) for gradient in theirs)
            for one, two in zip(ours, theirs, strict=True):
                torch.testing.assert_close(one, two, rtol=1e-3, atol=1e-4 * size)


def test_the_truth_goes_into_the_buffers_too(pairs, still, cache) -> None:
    chosen = still.with_changes(correspondence_weight=3.0)
    prepared = prepare_pairs([pair for pair in pairs if pair.ground_truth is not None], chosen, truth=True, cache=cache)
    torch.manual_seed(0)
    network, loss = new_network(chosen.network), loss_of(chosen)
    buffers = Buffers.of_size(128, 192, prepared.parts[0], torch.float32, truth=True)
    for p, w in prepared.pairs:
        buffers.load(prepared.surfaces(p, w))
        found = losses_of_pairs(network, loss, buffers.pairs, chosen, together=buffers.together)
        torch.testing.assert_close(
            found, losses_of_pair(network, loss, *prepared.surfaces(p, w), chosen), rtol=1e-4, atol=1e-4
        )


def test_pairs_of_a_batch_do_not_see_each_other(pairs, still, cache) -> None:
    prepared = prepare_pairs(pairs, still, cache=cache)
    torch.manual_seed(0)
    network, loss = new_network(still.network), loss_of(still)
    buffers = Buffers.of_size(128, 192, prepared.parts[0], torch.float32, count=2)
    for numbers in (prepared.pairs[:2], prepared.pairs[1:3]):
        given = [prepared.surfaces(*pair) for pair in numbers]
        buffers.load(*given)
        found = losses_of_pairs(network, loss, buffers.pairs, still, together=buffers.together)
        expected = torch.stack([losses_of_pair(network, loss, *pair, still) for pair in given]).mean(dim=0)
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


FEATURE_METHODS = [DPFM, DPFMHoles, GeomFMaps, UnsupervisedDPFM, RobustFMNet]


@pytest.mark.parametrize("kind", FEATURE_METHODS)
def test_losses_of_features_do_not_see_what_fills_up_either(pairs, still, cache, kind) -> None:
    method = small_method(kind, still)
    loss, network = method.loss(), method.trainable()
    known = [pair for pair in pairs if pair.ground_truth is not None]
    prepared = prepared_for(known, method.config, loss=loss, cache=cache)
    buffers = Buffers.of_size(128, 192, prepared.parts[0], None, truth=bool(prepared.truths))
    for pair in (*prepared.pairs, *reversed(prepared.pairs)):
        surfaces = prepared.surfaces(*pair)
        buffers.load(surfaces)
        torch.manual_seed(1)
        found = losses_of_pairs(network, loss, buffers.pairs, method.config, together=buffers.together)
        torch.manual_seed(1)
        expected = losses_of_pair(network, loss, *surfaces, method.config)
        # all true matches are drawn, since there are fewer than are asked for
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)
        ours, theirs = gradients_of_used(network, found), gradients_of_used(network, expected)
        size = max(float(gradient.abs().max()) for gradient in theirs)
        for one, two in zip(ours, theirs, strict=True):
            torch.testing.assert_close(one, two, rtol=1e-2, atol=2e-3 * size)


def small_method(kind: Any, still: TrainingConfig, **changes: Any) -> Any:
    sizes = {"width": 8, "blocks": 1, "features": 8, "map_eigenpairs": 20, "diffusion_eigenpairs": 10}
    once = {"iterations": 12, "evaluate_every": 12, "precision": "float32", "distances": "dijkstra", **STILL, **sizes}
    return kind(config=kind.published.with_changes(**{**once, **changes}))


def gradients_of_used(network: torch.nn.Module, terms: torch.Tensor) -> list[torch.Tensor]:
    """Of the weights that the loss depends on."""
    network.zero_grad()
    terms.sum().backward()
    return [weight.grad.clone() for weight in network.parameters() if weight.grad is not None]


@pytest.mark.gpu
@pytest.mark.parametrize("kind", [*FEATURE_METHODS, DirectMatchNetLPF, Wormhole])
def test_methods_are_recorded_as_they_are(small, still, kind) -> None:
    """Recorded steps have the losses of plain ones, and of those on the processor."""
    pairs, method = pairs_of_many_sizes(small), small_method(kind, still)
    runs = {
        (device, capture): train(
            pairs,
            method.config,
            loss=method.loss(),
            network=method.trainable(),
            device=device,
            capture=capture,
        ).losses
        for device, capture in (("cpu", None), ("cuda", False), ("cuda", True))
    }
    np.testing.assert_allclose(runs["cuda", False], runs["cpu", None], rtol=2e-2, atol=1e-2)
    np.testing.assert_allclose(runs["cuda", True], runs["cuda", False], rtol=2e-2, atol=1e-2)


@pytest.mark.gpu
def test_the_synchronous_term_is_recorded(small, still) -> None:
    pairs, method = pairs_of_many_sizes(small), small_method(Wormhole, still, synchronous_weight=1.0)
    given = {"loss": method.loss(), "network": method.trainable(), "device": "cuda"}
    plain, fast = (train(pairs, method.config, capture=capture, **given).losses for capture in (False, True))
    np.testing.assert_allclose(fast, plain, rtol=2e-2, atol=1e-2)


@pytest.mark.gpu
def test_the_truth_is_recorded_too(small, still, cache) -> None:
    pairs = pairs_of_many_sizes(small)
    for alone in (False, True):
        # without distances, if nothing asks for them
        others = {"distortion_weight": 0.0, "orthogonality_weight": 0.0} if alone else {}
        chosen = still.with_changes(correspondence_weight=3.0, **others)
        slow, fast = (train(pairs, chosen, device=device, cache=cache) for device in ("cpu", "cuda"))
        np.testing.assert_allclose(fast.losses, slow.losses, rtol=5e-3, atol=5e-3)


@pytest.mark.gpu
@pytest.mark.parametrize("batch", [1, 3])
def test_streams_are_half_as_large_on_the_gpu_and_train_like_on_the_processor(hands, hand_blocks, still, batch) -> None:
    choices = {
        "correspondence_weight": 1.0,
        "distortion_weight": 0.0,
        "orthogonality_weight": 0.0,
        "cosine_epochs": None,
        "batch": batch,
    }
    sizes = {"map_eigenpairs": 12, "diffusion_eigenpairs": 12, "inputs": "invariants"}
    chosen = still.with_changes(**choices, **sizes)
    losses = []
    for device in ("cpu", "cuda"):
        stream = PairStream(hands, chosen, blocks=3, first=1, every=4, workers=0, folder=hand_blocks, device=device)
        losses.append(train(stream, chosen, device=device).losses)
    assert {surface.basis.dtype for surface in (*stream.parts, *stream.wholes)} == {torch.float16}
    part, whole = stream.surfaces(*stream.pairs[0])
    assert {part.basis.dtype, part.functions.dtype, whole.basis.dtype} == {torch.float32}
    np.testing.assert_allclose(losses[1], losses[0], rtol=5e-3, atol=5e-3)


@pytest.mark.gpu
def test_recorded_steps_are_plain_steps(on_gpu, still) -> None:
    loss, found = loss_of(still), {}
    with reproducibly(still, "cuda"):
        for name, make in (("plain", plain_steps), ("recorded", captured_steps)):
            torch.manual_seed(0)
            network = new_network(still.network).cuda()
            before = torch.cat([weight.detach().flatten() for weight in network.parameters()])
            step = make(network, adam(network, still, "cuda"), loss, on_gpu, still)
            # recording leaves the weights alone
            torch.testing.assert_close(
                torch.cat([weight.detach().flatten() for weight in network.parameters()]), before, rtol=0, atol=0
            )
            losses = torch.stack([step(on_gpu.pairs[number % len(on_gpu)]) for number in range(18)])
            after = torch.cat([weight.detach().flatten() for weight in network.parameters()])
            found[name] = losses.cpu(), (after - before).cpu()
    torch.testing.assert_close(found["recorded"][0], found["plain"][0], rtol=1e-3, atol=1e-3)
    moved = found["plain"][1].norm()
    assert moved > 0.01
    # Adam makes steps of equal length of gradients that are next to nothing, and those are rounding
    assert (found["recorded"][1] - found["plain"][1]).norm() < 0.02 * moved


@pytest.mark.gpu
@pytest.mark.parametrize(("sides", "batch"), [("part", 1), ("both", 1), ("part", 2)])
def test_the_gpu_trains_like_the_processor(small, still, cache, sides, batch) -> None:
    pairs = pairs_of_many_sizes(small)
    if sides == "both":
        pairs = [Pair.of(pair.part, pairs[-1].part) for pair in pairs[:2]] + pairs
    chosen = still.with_changes(masked_sides=sides, batch=batch)
    slow, fast = (train(pairs, chosen, device=device, cache=cache) for device in ("cpu", "cuda"))
    np.testing.assert_allclose(fast.losses, slow.losses, rtol=5e-3, atol=5e-3)
    part, whole = (slow.matcher.surface(mesh) for mesh in (pairs[0].part, pairs[0].whole))
    maps = [
        hard_map(run.matcher.encode(part.to(device)), run.matcher.encode(whole.to(device))).cpu()
        for run, device in ((slow, "cpu"), (fast, "cuda"))
    ]
    same = maps[0] == maps[1]
    assert same.float().mean() > 0.9


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["float16", "tf32", "float32"])
def test_a_seed_decides_everything_on_the_gpu_too(small, config, cache, precision) -> None:
    pairs, chosen = pairs_of_many_sizes(small), config.with_changes(precision=precision)
    one, two, other = (
        train(pairs, chosen.with_changes(seed=seed), device="cuda", cache=cache).losses for seed in (3, 3, 4)
    )
    np.testing.assert_allclose(one, two, rtol=1e-3)
    assert np.abs(one - other).max() > 0.01


@pytest.mark.gpu
@pytest.mark.parametrize("precision", ["float16", "tf32"])
def test_rounded_products_hardly_change_the_loss(small, still, cache, precision) -> None:
    pairs = pairs_of_many_sizes(small)
    exact, rounded = (
        train(pairs, still.with_changes(precision=chosen), device="cuda", cache=cache).losses
        for chosen in ("float32", precision)
    )
    np.testing.assert_allclose(rounded, exact, rtol=0.02, atol=0.02)


@pytest.mark.gpu
def test_masks_in_half_precision() -> None:
    torch.manual_seed(0)
    P = torch.softmax(4 * torch.randn(300, 500, device="cuda"), dim=1)
    M = torch.rand(500, 500, device="cuda")
    found, expected = pulled_back(P, M.half()), pulled_back(P.double(), M.double())
    assert found.dtype == torch.float32
    torch.testing.assert_close(found.double(), expected, rtol=5e-3, atol=5e-3)


@pytest.mark.gpu
def test_distortion_in_half_precision(on_gpu) -> None:
    p, w = on_gpu.pairs[0]
    part, whole = on_gpu.parts[p], on_gpu.wholes[w]
    torch.manual_seed(0)
    P = torch.softmax(5 * torch.randn(len(part), len(whole), device="cuda"), dim=1).requires_grad_()
    found = []
    for D in (whole.distances.double(), whole.distances.half()):
        P.grad = None
        wide = D.dtype == torch.float64
        given = [tensor.double() if wide else tensor for tensor in (P, part.distances, part.weights)]
        value = distortion(given[0], given[1], D, given[2])
        value.backward()
        found.append((value.item(), P.grad.double()))
    (value, gradient), (rough_value, rough_gradient) = found
    assert rough_value == pytest.approx(value, rel=2e-3)
    assert (rough_gradient - gradient).norm() < 5e-3 * gradient.norm()


@pytest.mark.gpu
def test_surfaces_of_any_number_of_eigenpairs(small, still) -> None:
    """A part with fewer vertices than eigenpairs were asked for."""
    few = still.with_changes(map_eigenpairs=40, diffusion_eigenpairs=30, iterations=4)
    ball = small.lopsided(60)
    made = [Pair.of_cut(cut_plane(ball, (0, 0, height), (0, 0, 1))) for height in (0.0, 0.5)]
    np.testing.assert_allclose(train(made, few, device="cuda").losses, train(made, few).losses, rtol=1e-2)


@pytest.mark.gpu
def test_prepared_pairs_without_distances(small, still) -> None:
    prepared = prepare_pairs(pairs_of_many_sizes(small)[:1], still, for_loss=False, device="cuda")
    with pytest.raises(ValueError, match="needs distances of part and whole"):
        train(prepared, still, device="cuda")


@pytest.mark.gpu
def test_a_run_on_the_gpu_goes_on(on_gpu, config, tmp_path) -> None:
    class Stopped(Exception):
        pass

    def stop(state: Any) -> None:
        if state.iteration == 5:
            raise Stopped

    whole = train(on_gpu, config, device="cuda", validation=on_gpu)
    with pytest.raises(Stopped):
        train(on_gpu, config, device="cuda", validation=on_gpu, folder=tmp_path / "run", heartbeat=stop)
    run = train(on_gpu, config, device="cuda", validation=on_gpu, folder=tmp_path / "run", resume=True)
    np.testing.assert_allclose(run.losses, whole.losses, rtol=1e-2)
    assert run.validated is not None
    assert Matcher.load(tmp_path / "run" / "model.safetensors", device="cuda").device.type == "cuda"


@pytest.mark.gpu
def test_an_examination_on_the_gpu_is_that_on_the_processor(small, config, cache) -> None:
    pairs = pairs_of_many_sizes(small)
    torch.manual_seed(0)
    network = new_network(config.network)
    slow = Benchmark(pairs, method="dijkstra", cache=cache).of(Matcher(network, config))
    on_device = Benchmark(pairs, method="dijkstra", cache=cache, device="cuda")
    fast = on_device.of(Matcher(network.cuda(), config))
    assert fast.macro == pytest.approx(slow.macro, rel=0.05)


@pytest.mark.gpu
def test_torch_is_left_as_it_was_on_the_gpu(on_gpu, config) -> None:
    before = torch.get_float32_matmul_precision()
    torch.cuda.manual_seed(1)
    expected = torch.rand(3, device="cuda")
    torch.cuda.manual_seed(1)
    train(on_gpu, config.with_changes(iterations=2), device="cuda")
    assert torch.equal(torch.rand(3, device="cuda"), expected)
    assert torch.get_float32_matmul_precision() == before
