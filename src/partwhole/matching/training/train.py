"""Training, from top to bottom: one pair an iteration, the loss of its soft map, a step of Adam.

If the process has joined others (`torch.distributed`), they share out the batches of a step; see `large/shared_steps.py`.

Everything random in iteration t is a function of (seed, t) alone, so a run that was interrupted goes on as if it had not
been: on a processor it ends with the same weights, bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch

from partwhole.datasets.synthetic.recipe import PairRecipe
from partwhole.matching.config import TrainingConfig
from partwhole.matching.matcher import Matcher
from partwhole.matching.network.diffusion_net import Network, is_made_by, new_network, shapes_of
from partwhole.matching.network.weights import versions
from partwhole.matching.search.method import Method, check_method
from partwhole.matching.training.data import TrainingData, training_data
from partwhole.matching.training.losses import Loss, configured_by, loss_of
from partwhole.matching.training.prepared_pairs import PreparedPairs
from partwhole.matching.training.run_folder import Recorder, RunFolder, RunState, check_folder
from partwhole.matching.training.steps import (
    Step,
    adam,
    learning_rate,
    losses_of_pair,
    plain_steps,
    random_seed,
    reproducibly,
    set_rate,
)
from partwhole.matching.training.stream import PairStream
from partwhole.store.arguments import Progress, check_device, check_function, check_progress, in_short
from partwhole.store.cache import Cache, CacheGiven

# vertices of surfaces that one thread trains on as fast as several
_SMALL = 1000


@dataclass(frozen=True, eq=False, repr=False)
class TrainingRun:
    """What came out of training.

    Attributes
    ----------
    matcher : with the final weights
    validated : with the weights of the lowest loss on the validation pairs; None without such pairs
    losses : a row an iteration, a column a term of the loss
    terms : their names
    evaluations : of the watched pairs, in the order they were made
    seconds : that the iterations took, preparation and evaluations left out; waiting for the pairs of a recipe counts
    reported : what terms report beside their value, a number an iteration, by name; that of a `SampledWormholeLoss` is the
        estimated variance of its value
    """

    matcher: Matcher
    validated: Matcher | None
    losses: np.ndarray
    terms: tuple[str, ...]
    evaluations: tuple[dict[str, Any], ...] = ()
    seconds: float = field(default=float("nan"), kw_only=True)
    reported: Mapping[str, np.ndarray] = field(default_factory=dict, kw_only=True)

    def __repr__(self) -> str:
        return f"TrainingRun({len(self.losses)} iterations, {len(self.evaluations)} evaluations)"


def train(
    pairs: Sequence | PreparedPairs | PairStream | PairRecipe,
    config: TrainingConfig | None = None,
    *,
    loss: Loss | None = None,
    network: Network | None = None,
    method: str | None = None,
    start: Matcher | None = None,
    teacher: Method | None = None,
    validation: Sequence | PreparedPairs | None = None,
    watch: Mapping[str, Any] | None = None,
    folder: str | Path | None = None,
    resume: bool = False,
    device: str = "cpu",
    cache: CacheGiven = None,
    workers: int | None = None,
    progress: Progress | None = None,
    heartbeat: Callable[[RunState], None] | None = None,
    capture: bool | None = None,
) -> TrainingRun:
    """Train a network to match parts to wholes, without ground truth unless the loss needs it.

    In a process of torchrun that has called `torch.distributed.init_process_group`, batches of a step (`accumulate`) are
    shared out among the processes. All end with the same weights; the first one reads and writes the folder, and evaluates.

    Parameters
    ----------
    pairs : of any data set; or what `prepare_pairs` made of them; or a recipe such as `DefaultRecipe`, whose pairs are made
        while training goes on, or a `PairStream` of one; `preset("default")` has the choices for these
    config : every choice; `preset("pfaust-h")` has the paper's
    loss : in the place of λ_geo WormholeLoss + λ_ortho OrthogonalityLoss
    network : in the place of the `DiffusionNet` that `config.network` describes; a copy is trained, from the weights it has.
        To go on with a run, or to `Matcher.load` what came of it, such a network must be given again
    method : name of the `LearnedMethod` that this is the training of, for the card of the weights
    start : begin with these weights instead of random ones, of a network of the same size
    teacher : its maps stand in the place of the ground truth, for `correspondence_weight`; on the same device
    validation : pairs that are not trained on; the weights with the lowest loss on them are kept beside the final ones
    watch : pairs with ground truth, by name, whose errors are recorded at each evaluation; nothing is chosen by them.
        Pairs, or an `Benchmark` of them
    folder : where the run is recorded: weights, state, logs
    resume : go on with the run in the folder
    device : "cpu" or "cuda"
    cache, workers : for eigenpairs, see `prepare_pairs`; for a recipe, see `PairStream`
    progress : called with (what is done, steps done, steps in all)
    heartbeat : called between iterations, every few seconds, with how far the run has come; what it raises ends the run,
        which is saved first and can go on from there
    capture : whether steps on a GPU are recorded as CUDA graphs, which is faster; None: if every term of the loss says that
        it can be

    Examples
    --------
    >>> from partwhole.datasets import Pair, Pairs, random_cuts, sphere
    >>> pairs = Pairs.from_list([Pair.of_cut(random_cuts(sphere(200), seed=k)) for k in range(2)], name="balls")
    >>> small = TrainingConfig(iterations=5, width=8, blocks=1, features=8, map_eigenpairs=20, diffusion_eigenpairs=20)
    >>> run = train(pairs, small)
    >>> run.terms, run.losses.shape
    (('distortion', 'orthogonality'), (5, 2))
    """
    config = TrainingConfig() if config is None else config
    _check_kinds(config, loss, watch, network, start=start, teacher=teacher)
    check_device(device)
    check_progress(progress)
    check_function("heartbeat", heartbeat, called_with="the state of the run")
    check_folder(folder, resume=resume)
    options: dict[str, Any] = {"device": device, "cache": Cache.meant(cache), "workers": workers, "progress": progress}
    if loss is not None:
        config = configured_by(loss, config)
    data = training_data(pairs, config, loss=loss, teacher=teacher, validation=validation, watch=watch, **options)
    loss = loss or loss_of(config)
    prepared, seed = data.prepared, config.optimisation.seed
    rank, count = processes = _processes()
    # the first process reads and writes for all
    record = RunFolder(None if rank else folder, config, loss, prepared, resume=resume and not rank)

    with reproducibly(config, device), _threads_for(prepared, device), closing(record), closing(data):
        torch.manual_seed(random_seed(seed))
        network = _network(config, network, start).to(device)
        optimiser = adam(network, config, device)
        state = record.resumed(network, optimiser)
        step_at = _steps(network, optimiser, loss, prepared, config, device, processes, capture=capture)
        if count > 1:
            from partwhole.matching.training.large.shared_steps import share_state

            share_state(network, optimiser, state)
        recorder = Recorder(record, state, network, optimiser, progress=progress, heartbeat=heartbeat)
        for iteration in range(state.iteration, config.optimisation.iterations):
            set_rate(optimiser, learning_rate(iteration, len(prepared), config))
            losses = step_at(iteration)
            if recorder.record(losses) and not rank:
                _evaluate(network, loss, config, state, data)
            recorder.end_iteration()
    return _finished(network, config, loss, state, record, start, method)


def _finished(
    network: Network,
    config: TrainingConfig,
    loss: Loss,
    state: RunState,
    record: RunFolder,
    start: Matcher | None,
    method: str | None,
) -> TrainingRun:
    """What came of it, which is written into the folder of the run as well."""
    card = {**record.card(), "iterations": state.iteration, "versions": versions()}
    if method is not None:
        card["method"] = method
    if start is not None:
        card["start"] = str(start.card.get("name", "network"))
    matcher = Matcher(network, config, {**card, "weights": "final"})
    validated = None
    if state.best_weights is not None:
        best = deepcopy(network)
        best.load_state_dict(state.best_weights)
        validated = Matcher(best, config, {**card, "weights": "validated", "iterations": state.best_iteration})
    record.finish(matcher, validated)
    return TrainingRun(
        matcher,
        validated,
        np.array(state.losses).reshape(-1, len(loss.terms())),
        tuple(term.name for term in loss.terms()),
        tuple(state.evaluations),
        seconds=state.seconds,
        reported=state.reported_by_name(loss),
    )


def _network(config: TrainingConfig, given: Network | None, start: Matcher | None) -> Network:
    """The network to train: of the config, or a copy of the one that is given; with the weights to start with."""
    if given is not None:
        network = deepcopy(given)
    elif start is not None and not is_made_by(start.config.network, start.network):
        # a matcher brings its network, frozen, where no config can describe it
        network = deepcopy(start.network).requires_grad_(True)
    else:
        network = new_network(config.network)
    if start is not None:
        begin_with(network, start.standing(config.search.vertical))
    return network


def begin_with(network: Network, start: Matcher) -> None:
    """Give the network the weights of a matcher."""
    if shapes_of(network.state_dict()) != shapes_of(start.network.state_dict()):
        raise ValueError(
            f"the weights to start with ({start.card.get('name', 'network')}) are of a network of another size; take its "
            "inputs, width, blocks and features as choices of the run"
        )
    network.load_state_dict(start.network.state_dict())


def _steps(
    network: Network,
    optimiser: torch.optim.Optimizer,
    loss: Loss,
    prepared: PreparedPairs | PairStream,
    config: TrainingConfig,
    device: str,
    processes: tuple[int, int],
    *,
    capture: bool | None,
) -> Callable[[int], torch.Tensor]:
    """What an iteration does: a step, which gives the terms of its loss."""
    network.train()
    choices = config.optimisation
    if choices.accumulate > 1 or processes[1] > 1:
        from partwhole.matching.training.large.shared_steps import accumulated_steps

        return accumulated_steps(network, optimiser, loss, prepared, config, processes)
    step = _step_of_batch(network, optimiser, loss, prepared, config, device, capture=capture)

    def step_at(iteration: int) -> torch.Tensor:
        torch.manual_seed(random_seed(choices.seed, 1, iteration))
        return step(*prepared.batch_at(iteration, choices.seed, choices.batch))

    return step_at


def _step_of_batch(
    network: Network,
    optimiser: torch.optim.Optimizer,
    loss: Loss,
    prepared: PreparedPairs | PairStream,
    config: TrainingConfig,
    device: str,
    *,
    capture: bool | None,
) -> Step:
    # surfaces with fewer vertices than eigenpairs were asked for don't fit the buffers of the others; streams have none
    ragged = len({surface.values.shape[-1] for surface in (*prepared.parts, *prepared.wholes)}) > 1
    allowed = all(term.can_be_recorded for term in loss.terms()) if capture is None else capture
    # nor do those of which the loss sees some vertices only
    ragged = ragged or any(surface.kept is not None for surface in (*prepared.parts, *prepared.wholes))
    if device == "cpu" or ragged or not (allowed and network.takes_batches):
        return plain_steps(network, optimiser, loss, prepared, config)
    from partwhole.matching.training.cuda.captured import captured_steps

    return captured_steps(network, optimiser, loss, prepared, config)


def _processes() -> tuple[int, int]:
    """The number of this process and how many there are, if the caller has joined them."""
    distributed = torch.distributed
    if not (distributed.is_available() and distributed.is_initialized()):
        return 0, 1
    return distributed.get_rank(), distributed.get_world_size()


@contextmanager
def _threads_for(prepared: PreparedPairs | PairStream, device: str) -> Iterator[None]:
    """One thread for small surfaces: several would wait for each other longer than they work."""
    before = torch.get_num_threads()
    # of a stream nobody knows yet how large its surfaces are
    known = (*prepared.parts, *prepared.wholes) if isinstance(prepared, PreparedPairs) else ()
    if device == "cpu" and known and max(map(len, known)) <= _SMALL:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _evaluate(network: Network, loss: Loss, config: TrainingConfig, state: RunState, data: TrainingData) -> None:
    network.eval()
    try:
        if data.held_out is not None:
            state.validated(mean_loss(network, loss, data.held_out, config), network)
        examined = Matcher(deepcopy(network), config)
        for name, benchmark in data.watched.items():
            state.add_evaluation(name, benchmark.of(examined, read_out="spectral", thorough=False))
    finally:
        network.train()


def mean_loss(network: Network, loss: Loss, prepared: PreparedPairs, config: TrainingConfig) -> float:
    """The mean loss of all pairs and rows, without augmentation and dropout, for validation without ground truth."""
    loss = loss.exact
    with torch.no_grad():
        terms = [
            losses_of_pair(network, loss, *prepared.surfaces(p, w), config, augment=False).sum()
            for p, w in prepared.pairs
        ]
    return float(torch.stack(terms).mean())


def _check_kinds(config: object, loss: object, watch: object, network: object, **matchers: object) -> None:
    if not isinstance(config, TrainingConfig):
        remedy = f"; use partwhole.matching.preset({config!r})" if isinstance(config, str) else ""
        raise ValueError(f"config must be a TrainingConfig, got {in_short(config)}{remedy}")
    if loss is not None and not isinstance(loss, Loss):
        raise ValueError(f"loss must be a Loss such as pw.WormholeLoss(1e3), got {in_short(loss)}")
    if watch is not None and not isinstance(watch, Mapping):
        raise ValueError(f"watch must be pairs by name, such as {{'test': pairs}}, got {in_short(watch)}")
    if network is not None and not isinstance(network, Network):
        raise ValueError(f"network must be a partwhole.matching.Network, got {in_short(network)}")
    if network is not None and not any(weight.requires_grad for weight in network.parameters()):
        raise ValueError(
            f"{type(network).__name__} has no weights that can be trained; if they are frozen, network.requires_grad_(True)"
        )
    for name, given in matchers.items():
        if given is not None:
            check_method(given, name)
