"""Refinement: a few more steps of training on the one pair that is to be matched, on a copy of the weights.

The loss needs no ground truth, so it can be made smaller on any pair. It is also what says whether a step was worth taking:
the weights with the lowest loss are kept, and those are the ones it began with if no step lowers it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass

import torch
from jaxtyping import Int
from torch import Tensor

from partwhole.matching.config import ReadOut, choice_types
from partwhole.matching.matcher import Matcher
from partwhole.matching.network.diffusion_net import Network
from partwhole.matching.network.surface import Surface
from partwhole.matching.readout.landmarks import LandmarkDistances
from partwhole.matching.readout.maps import score
from partwhole.matching.training.losses import Loss, loss_of
from partwhole.matching.training.steps import adam, descend, losses_of_pair, random_seed, reproducibly
from partwhole.store.compute import first_smallest

# steps that a GPU takes before it is asked what came of them: to wait for an answer costs as much as a step
STEPS_AT_ONCE = 16


@dataclass(frozen=True, eq=False, repr=False)
class Refined:
    """What refinement made of a matcher for one pair.

    Attributes
    ----------
    vertex_map : for each vertex of the part its vertex of the whole, read with the refined weights
    matcher : with the refined weights, for this pair only; the one that was given is as it was
    losses : of the pair as it is, without augmentation and dropout: at the start and after each step that was taken
    model : which of several matchers it is, by number
    """

    vertex_map: Int[Tensor, "p"]
    matcher: Matcher
    losses: tuple[float, ...]
    model: int = 0

    def __repr__(self) -> str:
        change = f"loss {self.loss_before:.4g} → {self.loss_after:.4g}" if self.improved else "no lower loss was found"
        return f"Refined({change}, {self.steps_taken} steps)"

    @property
    def loss_before(self) -> float:
        """With the weights it began with."""
        return self.losses[0]

    @property
    def loss_after(self) -> float:
        """With the weights that were kept; never above `loss_before`."""
        return self.losses[self.kept_step]

    @property
    def steps_taken(self) -> int:
        """Fewer than were asked for if it stopped early."""
        return len(self.losses) - 1

    @property
    def kept_step(self) -> int:
        """The step whose weights were kept; 0: those it began with."""
        return _lowest(self.losses)

    @property
    def improved(self) -> bool:
        """Whether a step lowered the loss. If not, matcher and map are those of the start."""
        return self.kept_step > 0


def refine(
    matcher: Matcher | Sequence[Matcher],
    part: Surface,
    whole: Surface,
    *,
    steps: int = 15,
    learning_rate: float | None = None,
    augmentation: bool = False,
    dropout: bool = False,
    patience: int | None = 5,
    loss: Loss | None = None,
    read_out: ReadOut = "spectral",
    seed: int = 0,
    landmarks: LandmarkDistances | None = None,
) -> Refined:
    """Adam on the loss of one pair, from the trained weights; the weights with the lowest loss on it are kept.

    The network sees the surfaces as they are given: `match` searches for the orientation first.

    Parameters
    ----------
    matcher : trained; it is not changed. Of several, each is refined, and the map with the best score is taken
    part, whole : surfaces on the device of the matcher, with distances and weights: `prepare_pairs` makes them
    steps : at most so many
    learning_rate : of Adam; by default the one that training ended with
    augmentation, dropout : as in training, in the steps; the loss that weights are kept by is without them
    patience : stop after so many steps in a row without a new lowest loss; None: take all of them
    loss : in the place of the one that the matcher was trained with
    read_out : see `read_map`
    seed : of augmentation and dropout
    landmarks : steer the map that is read in the end

    Examples
    --------
    >>> from partwhole.datasets import Pair, random_cuts, sphere
    >>> from partwhole.matching import TrainingConfig, prepare_pairs
    >>> from partwhole.matching.network.diffusion_net import new_network
    >>> config = TrainingConfig(width=8, blocks=1, features=8, map_eigenpairs=20, diffusion_eigenpairs=20)
    >>> prepared = prepare_pairs([Pair.of_cut(random_cuts(sphere(200), seed=0))], config)
    >>> found = refine(Matcher(new_network(config.network), config), prepared.parts[0], prepared.wholes[0], steps=3)
    >>> found.loss_after <= found.loss_before, found.steps_taken
    (True, 3)
    """
    matchers = [matcher] if isinstance(matcher, Matcher) else list(matcher)
    _check(matchers, part, whole, steps, learning_rate, patience)
    found = []
    for number, start in enumerate(matchers):
        rate = start.config.optimisation.final_learning_rate if learning_rate is None else learning_rate
        config = start.config.with_changes(learning_rate=rate)
        with reproducibly(config, start.device.type), torch.enable_grad():
            adapted, losses = _adapted(
                Matcher(deepcopy(start.network), config),
                (loss or loss_of(config, supervised=False)).exact,
                part,
                whole,
                steps=steps,
                patience=math.inf if patience is None else patience,
                augmentation=augmentation,
                dropout=dropout,
                seed=seed,
                recorded=loss is None and start.network.takes_batches,
            )
        refined = Matcher(adapted, start.config, {**start.card, "refined": _lowest(losses)})
        compared = refined.compare(refined.encode(part), refined.encode(whole))[0]
        nearest = compared.nearest(None if landmarks is None else landmarks.suits)
        vertex_map = refined.read(nearest, part, whole, read_out, landmarks=landmarks)
        found.append(Refined(vertex_map, refined, tuple(losses), number))
    if len(found) == 1:
        return found[0]
    return found[first_smallest([score(one.vertex_map, part, whole) for one in found])]


def _adapted(
    start: Matcher,
    loss: Loss,
    part: Surface,
    whole: Surface,
    *,
    steps: int,
    patience: float,
    augmentation: bool,
    dropout: bool,
    seed: int,
    recorded: bool,
) -> tuple[Network, list[float]]:
    """The network with the weights of the lowest loss, and the loss before and after each step.

    Steps may be recorded with losses that are known to allow it: no value may go to the processor on the way.
    """
    network, config = start.network.requires_grad_(True), start.config
    optimiser = adam(network, config, start.device.type)
    as_it_is = not (augmentation or dropout)
    on_gpu = runs_on_gpu(start)
    together: tuple[Surface, ...] = ()
    if on_gpu and network.takes_batches and part.values.shape == whole.values.shape:
        # a step of a single pair waits for the launch of its kernels: half as many if part and whole are a batch
        from partwhole.matching.training.cuda.captured import Buffers

        assert whole.distances is not None
        masked = whole.mask is not None
        buffers = Buffers.of_size(len(part), len(whole), part, whole.distances.dtype, whole_mask=masked)
        buffers.load((part, whole))
        (part, whole), together = buffers.pairs[0], buffers.together

    def step_as_it_is() -> Tensor:
        terms = losses_of_pair(network, loss, part, whole, config, augment=False, together=together)
        descend(network, optimiser, terms, config)
        return terms.detach()

    take = taken_by_gpu(step_as_it_is, optimiser, start) if on_gpu and as_it_is and recorded else None
    # losses and weights that nobody has asked for yet: a GPU is asked rarely, and steps it took too many are forgotten
    waiting: list[tuple[Tensor, list[Tensor]]] = []
    at_once = STEPS_AT_ONCE if on_gpu else 1
    known: list[float] = []
    kept: list[Tensor] = []
    over = False
    for step in range(steps + 1):
        network.eval()
        weights = [weight.detach().clone() for weight in network.parameters()]
        # without augmentation and dropout the loss of a step is the very loss that the weights before it are scored by
        if take and step < steps:
            terms = take()
        else:
            with torch.set_grad_enabled(as_it_is and step < steps):
                terms = losses_of_pair(network, loss, part, whole, config, augment=False, together=together)
        waiting.append((terms.sum().detach(), weights))
        if len(waiting) == at_once or step == steps:
            for value, before in waiting:
                known.append(float(value))
                if _lowest(known) == len(known) - 1:
                    kept = before
                if over := _over(known, patience):
                    break
            waiting.clear()
        if over or step == steps:
            break
        if not as_it_is:
            torch.manual_seed(random_seed(seed, 1, step))
            trained = network.train(dropout)
            terms = losses_of_pair(trained, loss, part, whole, config, augment=augmentation, together=together)
        if not take:
            descend(network, optimiser, terms, config)
    with torch.no_grad():
        for weight, lowest in zip(network.parameters(), kept, strict=True):
            weight.copy_(lowest)
    return network, known


def runs_on_gpu(matcher: Matcher) -> bool:
    return matcher.device.type == "cuda"


def taken_by_gpu(
    step: Callable[[], Tensor], optimiser: torch.optim.Optimizer, matcher: Matcher
) -> Callable[[], Tensor]:
    """The step, recorded where there is a GPU: its kernels take a quarter of the time that launching them does."""
    if matcher.device.type != "cuda":
        return step
    from partwhole.matching.training.cuda.captured import replayed

    return replayed(step, optimiser)


def _over(losses: Sequence[float], patience: float) -> bool:
    """Whether to stop here: the loss is no number, or none has been lower for so many steps.

    >>> _over([3.0, 2.0, 2.5, 2.4], patience=2), _over([3.0, 2.0, 2.5, 1.0], patience=2), _over([3.0, math.nan], 5)
    (True, False, True)
    """
    return not math.isfinite(losses[-1]) or len(losses) - 1 - _lowest(losses) >= patience


def _lowest(losses: Sequence[float]) -> int:
    """The first of the lowest; the start if it is no number itself, and no later one that is none."""
    return min(
        range(len(losses)), key=lambda step: losses[step] if step == 0 or math.isfinite(losses[step]) else math.inf
    )


def _check(
    matchers: Sequence[Matcher],
    part: Surface,
    whole: Surface,
    steps: int,
    learning_rate: float | None,
    patience: int | None,
) -> None:
    if not matchers:
        raise ValueError("there is no matcher to refine; give one, or several")
    if steps < 1:
        raise ValueError(f"steps={steps} must be at least 1; match without refinement with refine=0")
    if learning_rate is not None and not 0 < learning_rate < math.inf:
        raise ValueError(f"learning_rate={learning_rate} must be positive, such as 1e-4")
    if patience is not None and patience < 1:
        raise ValueError(f"patience={patience} must be at least 1, or None to take all steps")
    if part.distances is None or part.weights is None or whole.distances is None:
        raise ValueError(
            "refinement needs distances of part and whole, and weights of the part; make the surfaces with prepared, or "
            "give them with Surface.with_loss"
        )
    # surfaces are prepared for one loss and one size of the network's input
    first = matchers[0].config.choices
    for matcher in matchers[1:]:
        for name, value in matcher.config.choices.items():
            group, _ = choice_types()[name]
            if (group == "loss" or name == "diffusion_eigenpairs") and value != first[name]:
                raise ValueError(
                    f"the matchers differ in {name} ({first[name]!r} and {value!r}), so they can't share surfaces; refine "
                    "each with its own"
                )
