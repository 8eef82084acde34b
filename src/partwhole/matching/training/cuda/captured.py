"""The training step as CUDA graphs: recorded once for each size, then replayed without the processor's help.

All surfaces are copied into buffers of a few sizes, filled up with vertices of area 0, which no loss sees and no soft map
reaches. Part and whole go through the network as a batch of two.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
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
from partwhole.matching.training.steps import descend, losses_of_pair
from partwhole.matching.training.stream import PART_SIZES, WHOLE_SIZES, PairStream

# so many sizes of parts and of wholes, at most: more waste less work on vertices that are not there, but take longer
_PART_SIZES, _WHOLE_SIZES = 12, 8
# runs before recording, which let libraries choose their kernels
_WARM_UP = 3
# the same where only a few steps are taken at all
_PLAIN = 2


@dataclass(frozen=True)
class Buffers:
    """Memory that a graph reads from, for parts and wholes up to one size each."""

    both: Surface
    part: Surface
    whole: Surface

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
    ) -> Buffers:
        """Room for m and n vertices; with that of distances, those of the whole in this precision, unless it is None; with
        that of the truth of the part, and of the mask of the whole, if asked for."""
        size = max(m, n)
        options = {"device": like.points.device, "dtype": torch.float32}

        def zeros(*shape: int) -> Tensor:
            return torch.zeros(shape, **options)

        k, d, s = like.values.shape[-1], like.basis.shape[-1], like.signatures.shape[-1]
        both = Surface(
            points=zeros(2, size, 3),
            normals=zeros(2, size, 3),
            signatures=zeros(2, size, s),
            mass=zeros(2, size),
            values=zeros(2, k),
            functions=zeros(2, size, k),
            basis=zeros(2, size, 3, d),
        )
        known = {"truth": zeros(m).long(), "truth_shares": zeros(m)} if truth else {}
        if precision is None:
            return cls(both, _one(both, 0, m, **known), _one(both, 1, n, absent=zeros(n)))
        part = _one(both, 0, m, distances=zeros(m, m), weights=zeros(m, m), **known)
        mask = {"mask": zeros(n, n).to(precision)} if whole_mask else {}
        return cls(both, part, _one(both, 1, n, distances=zeros(n, n).to(precision), absent=zeros(n), **mask))

    def load(self, part: Surface, whole: Surface) -> None:
        """Copy a pair into the buffers. What is left over from another pair has area and weight 0."""
        for number, surface in enumerate((part, whole)):
            n = len(surface)
            for name in ("points", "normals", "signatures", "functions", "basis"):
                getattr(self.both, name)[number, :n].copy_(getattr(surface, name))
            self.both.mass[number].zero_()
            self.both.mass[number, :n].copy_(surface.mass)
            self.both.values[number].copy_(surface.values)
        p, n = len(part), len(whole)
        if self.whole.distances is not None:
            assert self.part.distances is not None
            assert self.part.weights is not None
            self.part.distances[:p, :p].copy_(part.distances)
            self.part.weights.zero_()
            self.part.weights[:p, :p].copy_(part.weights)
            self.whole.distances[:n, :n].copy_(whole.distances)
        if self.whole.mask is not None:
            # no soft map reaches what is left over
            self.whole.mask[:n, :n].copy_(whole.mask)
        assert self.whole.absent is not None
        self.whole.absent.fill_(-torch.inf)
        self.whole.absent[:n].zero_()
        if self.part.truth is not None and self.part.truth_shares is not None:
            # a place that is there, for those that only fill up
            self.part.truth.zero_()
            self.part.truth[:p].copy_(part.truth)
            self.part.truth_shares.zero_()
            self.part.truth_shares[:p].copy_(part.truth_shares)


def _one(both: Surface, number: int, n: int, **more: Tensor) -> Surface:
    per_vertex = ("points", "normals", "signatures", "mass", "functions", "basis")
    views = {name: getattr(both, name)[number, :n] for name in per_vertex}
    return Surface(**views, values=both.values[number], **more)


def captured_steps(
    network: Network,
    optimiser: torch.optim.Optimizer,
    loss: Loss,
    stock: PreparedPairs | PairStream,
    config: TrainingConfig,
) -> Callable[[int, int], Tensor]:
    """`plain_steps`, recorded: for pairs that are known when training begins now, for others when their size first comes.

    Weights and optimiser are as before when it returns.
    """
    pool = torch.cuda.graph_pool_handle()
    recorded: dict[tuple[int, int], tuple[Buffers, torch.cuda.CUDAGraph, Tensor]] = {}

    def record(size: tuple[int, int], part: Surface, whole: Surface) -> None:
        before = {name: tensor.clone() for name, tensor in state_tensors(network, optimiser)}
        precision = None if whole.distances is None else whole.distances.dtype
        buffers = Buffers.of_size(
            *size, part, precision, truth=part.truth is not None, whole_mask=whole.mask is not None
        )
        buffers.load(part, whole)

        def step() -> Tensor:
            terms = losses_of_pair(network, loss, buffers.part, buffers.whole, config, both=buffers.both)
            descend(network, optimiser, terms, config)
            return terms.detach()

        for _ in range(_WARM_UP):
            _on_the_side(step)
        recorded[size] = buffers, *_recorded(step, optimiser, pool)
        for name, tensor in state_tensors(network, optimiser):
            tensor.copy_(before[name])

    if isinstance(stock, PairStream):
        size_of = _rounded_up_to(PART_SIZES, WHOLE_SIZES, stock)
    else:
        part_sizes = rounded_up([len(part) for part in stock.parts], _PART_SIZES)
        whole_sizes = rounded_up([len(whole) for whole in stock.wholes], _WHOLE_SIZES)
        size_of = lambda p, w: (part_sizes[p], whole_sizes[w])  # noqa: E731
        for p, w in sorted(stock.pairs, key=lambda pair: size_of(*pair), reverse=True):
            if size_of(p, w) not in recorded:
                record(size_of(p, w), *stock.surfaces(p, w))

    def replay(part: int, whole: int) -> Tensor:
        surfaces, size = stock.surfaces(part, whole), size_of(part, whole)
        if size not in recorded:
            record(size, *surfaces)
        buffers, graph, terms = recorded[size]
        buffers.load(*surfaces)
        graph.replay()
        return terms.clone()

    # the graphs write to their memory, but do not hold it
    replay.holds = network, optimiser  # type: ignore[attr-defined]
    return replay


def _rounded_up_to(
    part_sizes: tuple[int, ...], whole_sizes: tuple[int, ...], stream: PairStream
) -> Callable[[int, int], tuple[int, int]]:
    def fitting(sizes: tuple[int, ...], size: int) -> int:
        place = bisect_left(sizes, size)
        return sizes[place] if place < len(sizes) else 64 * -(-size // 64)

    return lambda p, w: (fitting(part_sizes, len(stream.parts[p])), fitting(whole_sizes, len(stream.wholes[w])))


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
