"""The training step as CUDA graphs: recorded once for each size, then replayed without the processor's help.

All surfaces are copied into buffers of a few sizes, filled up with vertices of area 0, which no loss sees and no soft map
reaches. The surfaces of a step go through the network together.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor

from partwhole.matching.config import TrainingConfig
from partwhole.matching.network.diffusion_net import Network
from partwhole.matching.network.surface import Surface
from partwhole.matching.training.losses import Loss
from partwhole.matching.training.prepared_pairs import PreparedPairs
from partwhole.matching.training.run_folder import state_tensors
from partwhole.matching.training.steps import Step, descend, losses_of_pairs
from partwhole.matching.training.stream import PairStream

# so many sizes of parts and of wholes, at most: more waste less work on vertices that are not there, but take longer
_PART_SIZES, _WHOLE_SIZES = 12, 8
# runs before recording, which let libraries choose their kernels
_WARM_UP = 3
# the same where only a few steps are taken at all
_PLAIN = 2


@dataclass(frozen=True)
class Buffers:
    """Memory that a graph reads from, for a few pairs of parts and wholes up to one size each."""

    together: tuple[Surface, ...]
    pairs: tuple[tuple[Surface, Surface], ...]

    @classmethod
    def of_size(
        cls,
        m: int,
        n: int,
        like: Surface,
        precision: torch.dtype | None,
        *,
        truth: bool = False,
        whole_mask: bool = False,
        count: int = 1,
    ) -> Buffers:
        """Room for `count` pairs of m and n vertices; with that of distances, those of the whole in this precision, unless it
        is None; with that of the truth of the part, and of the mask of the whole, if asked for."""
        options = {"device": like.points.device, "dtype": torch.float32}

        def zeros(*shape: int) -> Tensor:
            return torch.zeros(shape, **options)

        k, d, s = like.values.shape[-1], like.basis.shape[-1], like.signatures.shape[-1]

        def batch(rows: int, size: int) -> Surface:
            return Surface(
                points=zeros(rows, size, 3),
                normals=zeros(rows, size, 3),
                signatures=zeros(rows, size, s),
                mass=zeros(rows, size),
                values=zeros(rows, k),
                functions=zeros(rows, size, k),
                basis=zeros(rows, size, 3, d),
            )

        # one pair takes least time as a batch of two; for several, what fills up the parts would take more than it saves
        together = (batch(2, max(m, n)),) if count == 1 else (batch(count, m), batch(count, n))
        rows = [(held, row) for held in together for row in range(len(held.mass))]
        pairs = []
        for of_parts, of_wholes in zip(rows[:count], rows[count:], strict=True):
            of_part: dict[str, Tensor] = {"truth": zeros(m).long(), "truth_shares": zeros(m)} if truth else {}
            of_whole = {"absent": zeros(n)}
            if precision is not None:
                of_part |= {"distances": zeros(m, m), "weights": zeros(m, m)}
                of_whole["distances"] = zeros(n, n).to(precision)
                if whole_mask:
                    of_whole["mask"] = zeros(n, n).to(precision)
            pairs.append((_one(*of_parts, m, **of_part), _one(*of_wholes, n, **of_whole)))
        return cls(together, tuple(pairs))

    def load(self, *given: tuple[Surface, Surface]) -> None:
        """Copy pairs into the buffers. What is left over from other pairs has area and weight 0."""
        for held, pair in zip(self.pairs, given, strict=True):
            for buffer, surface in zip(held, pair, strict=True):
                n = len(surface)
                for name in ("points", "normals", "signatures", "functions", "basis"):
                    getattr(buffer, name)[:n].copy_(getattr(surface, name))
                buffer.mass.zero_()
                buffer.mass[:n].copy_(surface.mass)
                buffer.values.copy_(surface.values)
            _load_for_loss(*held, *pair)


def _load_for_loss(held_part: Surface, held_whole: Surface, part: Surface, whole: Surface) -> None:
    p, n = len(part), len(whole)
    if held_whole.distances is not None:
        assert held_part.distances is not None
        assert held_part.weights is not None
        held_part.distances[:p, :p].copy_(part.distances)
        held_part.weights.zero_()
        held_part.weights[:p, :p].copy_(part.weights)
        held_whole.distances[:n, :n].copy_(whole.distances)
    if held_whole.mask is not None:
        # no soft map reaches what is left over
        held_whole.mask[:n, :n].copy_(whole.mask)
    assert held_whole.absent is not None
    held_whole.absent.fill_(-torch.inf)
    held_whole.absent[:n].zero_()
    if held_part.truth is not None and held_part.truth_shares is not None:
        # a place that is there, for those that only fill up
        held_part.truth.zero_()
        held_part.truth[:p].copy_(part.truth)
        held_part.truth_shares.zero_()
        held_part.truth_shares[:p].copy_(part.truth_shares)


def _one(batch: Surface, row: int, n: int, **more: Tensor) -> Surface:
    per_vertex = ("points", "normals", "signatures", "mass", "functions", "basis")
    views = {name: getattr(batch, name)[row, :n] for name in per_vertex}
    return Surface(**views, values=batch.values[row], **more)


def captured_steps(
    network: Network,
    optimiser: torch.optim.Optimizer,
    loss: Loss,
    prepared: PreparedPairs | PairStream,
    config: TrainingConfig,
) -> Step:
    """`plain_steps`, recorded: for pairs that are known when training begins now, for others when their size first comes.

    Weights and optimiser are as before when it returns.
    """
    pool = torch.cuda.graph_pool_handle()
    recorded: dict[tuple[int, int], tuple[Buffers, torch.cuda.CUDAGraph, Tensor]] = {}

    def record(size: tuple[int, int], pairs: Sequence[tuple[Surface, Surface]]) -> None:
        before = {name: tensor.clone() for name, tensor in state_tensors(network, optimiser)}
        part, whole = pairs[0]
        precision = None if whole.distances is None else whole.distances.dtype
        known = {"truth": part.truth is not None, "whole_mask": whole.mask is not None}
        buffers = Buffers.of_size(*size, part, precision, **known, count=len(pairs))
        buffers.load(*pairs)

        def step() -> Tensor:
            terms = losses_of_pairs(network, loss, buffers.pairs, config, together=buffers.together)
            descend(network, optimiser, terms, config)
            return terms.detach()

        for _ in range(_WARM_UP):
            _on_the_side(step)
        recorded[size] = buffers, *_recorded(step, optimiser, pool)
        for name, tensor in state_tensors(network, optimiser):
            tensor.copy_(before[name])

    size_of: Callable[[int, int], tuple[int, int]]
    if isinstance(prepared, PairStream):
        size_of = prepared.buffer_size
    else:
        part_sizes = rounded_up([len(part) for part in prepared.parts], _PART_SIZES)
        whole_sizes = rounded_up([len(whole) for whole in prepared.wholes], _WHOLE_SIZES)
        size_of = lambda p, w: (part_sizes[p], whole_sizes[w])  # noqa: E731
        for pair in sorted(prepared.pairs, key=lambda pair: size_of(*pair), reverse=True):
            if size_of(*pair) not in recorded:
                record(size_of(*pair), [prepared.surfaces(*pair)] * config.optimisation.batch)

    def replay(*pairs: tuple[int, int]) -> Tensor:
        surfaces = [prepared.surfaces(*pair) for pair in pairs]
        parts, wholes = zip(*(size_of(*pair) for pair in pairs), strict=True)
        size = max(parts), max(wholes)
        if size not in recorded:
            record(size, surfaces)
        buffers, graph, terms = recorded[size]
        buffers.load(*surfaces)
        graph.replay()
        return terms.clone()

    # the graphs write to their memory, but do not hold it
    replay.holds = network, optimiser  # type: ignore[attr-defined]
    return replay


def replayed(step: Callable[[], Tensor], optimiser: torch.optim.Optimizer) -> Callable[[], Tensor]:
    """A step that is to be taken a few times on the same pair: as it is at first, then recorded, and replayed."""
    taken = 0
    graph: torch.cuda.CUDAGraph | None = None
    terms: Tensor

    def take() -> Tensor:
        nonlocal taken, graph, terms
        taken += 1
        if taken <= _PLAIN:
            return _on_the_side(step)
        if graph is None:
            graph, terms = _recorded(step, optimiser)
        graph.replay()
        return terms.clone()

    return take


def _on_the_side(step: Callable[[], Tensor]) -> Tensor:
    """On a stream of its own, as a step has to be taken before it can be recorded."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        terms = step()
    torch.cuda.current_stream().wait_stream(side)
    return terms


def _recorded(
    step: Callable[[], Tensor], optimiser: torch.optim.Optimizer, pool: tuple[int, int] | None = None
) -> tuple[torch.cuda.CUDAGraph, Tensor]:
    """The step, and where the graph leaves its terms. Recording takes no step."""
    # gradients then live in the graph's own memory, and need neither zeros nor sums
    optimiser.zero_grad()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, pool=pool):
        terms = step()
    return graph, terms


def rounded_up(sizes: list[int], count: int) -> list[int]:
    """Sizes rounded up to one of at most `count`, all multiples of 64, which matrix products like.

    Of neighbouring sizes those become one that fill up the least.
    """
    multiples = Counter(64 * -(-size // 64) for size in sizes)
    levels = sorted(multiples)
    while len(levels) > count:
        filling = [multiples[low] * (high - low) for low, high in pairwise(levels)]
        least = filling.index(min(filling))
        multiples[levels[least + 1]] += multiples[levels[least]]
        del levels[least]
    return [levels[bisect_left(levels, size)] for size in sizes]
