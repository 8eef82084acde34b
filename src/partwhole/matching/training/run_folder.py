"""The folder of a training run: weights, the state to resume from, and logs."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from partwhole.evaluation import Evaluation
from partwhole.matching.config import TrainingConfig
from partwhole.matching.matcher import Matcher
from partwhole.matching.network.diffusion_net import Network, shapes_of
from partwhole.matching.network.weights import read_tensors, versions, write_tensors
from partwhole.matching.training.logs import RunLog
from partwhole.matching.training.losses import Loss
from partwhole.matching.training.prepared_pairs import PreparedPairs
from partwhole.matching.training.steps import learning_rate
from partwhole.matching.training.stream import PairStream
from partwhole.store.arguments import Progress, checked_path
from partwhole.store.storage import atomic_write

# what is recorded of an evaluation; of validation pairs the loss
SHOWN = ("micro", "macro", "median pair", "worst pair", "% above 0.15")

# losses are fetched from the device, and progress is reported, after so many iterations or seconds
FLUSH_ITERATIONS, FLUSH_SECONDS = 250, 2.0
# a run that is killed loses no more than this
SAVE_SECONDS = 30.0

# how the names of tensors begin that `state_tensors` gives
_OF_STATE = ("network.", "adam.")

STATE, MODEL, VALIDATED, CARD = "state.safetensors", "model.safetensors", "validated.safetensors", "run.json"


@dataclass
class RunState:
    """How far a run has come: everything beside weights and optimiser that it needs to go on."""

    iteration: int = 0
    seconds: float = 0.0
    losses: list[list[float]] = field(default_factory=list)
    # what terms report beside their values
    reported: list[list[float]] = field(default_factory=list)
    evaluations: list[dict[str, Any]] = field(default_factory=list)
    best_loss: float = float("inf")
    best_iteration: int = 0
    best_weights: dict[str, Tensor] | None = None

    def add_losses(self, rows: Float[np.ndarray, "r t"], reported: Float[np.ndarray, "r q"] | None = None) -> None:
        """Losses of the iterations since the last time, and what was reported beside them."""
        if not np.isfinite(rows).all():
            first = self.iteration + int(np.argmin(np.isfinite(rows).all(axis=1))) + 1
            raise ValueError(
                f"the loss is not a finite number in iteration {first}; lower learning_rate, or check for damaged surfaces"
            )
        self.losses.extend(rows.tolist())
        self.reported.extend([[]] * len(rows) if reported is None else reported.tolist())
        self.iteration += len(rows)

    def reported_by_name(self, loss: Loss) -> dict[str, Float[np.ndarray, "r"]]:
        """What the terms of this loss have reported, a number an iteration."""
        names = [name for term in loss.terms() for name in term.reported]
        return dict(zip(names, np.array(self.reported).reshape(-1, len(names)).T, strict=True)) if names else {}

    def add_evaluation(self, data: str, found: Evaluation) -> None:
        """Errors of the watched pairs, now."""
        measured = found.measures()
        self.evaluations.append({"iteration": self.iteration, "data": data, **{name: measured[name] for name in SHOWN}})

    def validated(self, loss: float, network: Network) -> None:
        """Keep the weights if the validation pairs have their lowest loss now."""
        self.evaluations.append({"iteration": self.iteration, "data": "validation", "loss": loss})
        if loss < self.best_loss:
            self.best_loss, self.best_iteration = loss, self.iteration
            self.best_weights = {name: value.detach().clone() for name, value in network.state_dict().items()}


class RunFolder:
    """Where a run is recorded; does nothing if there is no folder."""

    def __init__(
        self,
        folder: str | Path | None,
        config: TrainingConfig,
        loss: Loss,
        prepared: PreparedPairs | PairStream,
        *,
        resume: bool,
    ) -> None:
        self.folder = None if folder is None else Path(folder)
        self.config, self.loss, self.prepared = config, loss, prepared
        self.log: RunLog | None = None
        self._logged = 0, 0
        self._resume = resume
        self._state: tuple[dict[str, Tensor], dict[str, Any]] | None = None
        check_folder(folder, resume=resume)
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        state = self.folder / STATE
        # killed before the first checkpoint, a run begins anew
        if resume and state.exists():
            self._state = read_tensors(state)

    def card(self) -> dict[str, Any]:
        """What a reader of the weights wants to know."""
        return {
            "name": self.folder.name if self.folder else "network",
            "loss": repr(self.loss),
            "seed": self.config.optimisation.seed,
            "data": self.prepared.described(),
            "protocol": self.prepared.protocol,
        }

    def resumed(self, network: Network, optimiser: torch.optim.Optimizer) -> RunState:
        """Put weights and optimiser into the state that was saved last, and say how far the run had come."""
        state = RunState()
        if self.folder is None:
            return state
        if self._state is not None:
            tensors, card = self._state
            self._check_same_run(card)
            self._check_same_network(card, tensors, network, optimiser)
            for name, tensor in state_tensors(network, optimiser):
                tensor.copy_(tensors[name])
            state.iteration, state.seconds = card["iteration"], card["seconds"]
            state.losses = tensors["losses"].tolist()
            state.reported = tensors["reported"].tolist() if "reported" in tensors else [[] for _ in state.losses]
            state.evaluations = card["evaluations"]
            kept = {name.removeprefix("best."): value for name, value in tensors.items() if name.startswith("best.")}
            if kept:
                device = next(network.parameters()).device
                state.best_loss, state.best_iteration = card["best_loss"], card["best_iteration"]
                state.best_weights = {name: value.to(device) for name, value in kept.items()}
        self._write_json({**self.card(), "config": self.config.to_json(), "versions": versions()})
        # the log is written before the state, so there may be lines of a run that never came to save one
        self.log = RunLog(self.folder, resume_at=state.iteration if self._resume else None)
        self._logged = len(state.losses), len(state.evaluations)
        self._state = None
        return state

    def save(self, network: Network, optimiser: torch.optim.Optimizer, state: RunState) -> None:
        """Everything that is needed to go on, in one file that replaces the last; and the logs up to here."""
        if self.folder is None:
            return
        tensors = dict(state_tensors(network, optimiser))
        tensors["losses"] = torch.tensor(state.losses, dtype=torch.float64).reshape(-1, len(self.loss.terms()))
        if any(state.reported):
            tensors["reported"] = torch.tensor(state.reported, dtype=torch.float64)
        if state.best_weights is not None:
            tensors.update({f"best.{name}": value for name, value in state.best_weights.items()})
        self._write_logs(state)
        card = {
            "config": self.config.to_json(),
            "loss": repr(self.loss),
            "network": type(network).__name__,
            "data": self.prepared.content_hash,
            "iteration": state.iteration,
            "seconds": state.seconds,
            "evaluations": state.evaluations,
            "best_loss": state.best_loss if state.best_weights is not None else None,
            "best_iteration": state.best_iteration,
        }
        write_tensors(self.folder / STATE, tensors, card)

    def finish(self, matcher: Matcher, validated: Matcher | None) -> None:
        """The weights, for use."""
        if self.folder is None:
            return
        matcher.save(self.folder / MODEL)
        self._write_json({**matcher.card, "config": self.config.to_json()})
        if validated is not None:
            validated.save(self.folder / VALIDATED)

    def close(self) -> None:
        """No more logs; to close twice does no harm."""
        if self.log is not None:
            self.log.close()

    def _write_logs(self, state: RunState) -> None:
        assert self.log is not None
        losses, evaluations = self._logged
        new = np.array(state.losses[losses:]).reshape(-1, len(self.loss.terms()))
        numbers = range(losses, len(state.losses))
        columns = {term.name: new[:, column].tolist() for column, term in enumerate(self.loss.terms())}
        columns |= {name: values[losses:].tolist() for name, values in state.reported_by_name(self.loss).items()}
        rates = [learning_rate(number, len(self.prepared), self.config) for number in numbers]
        iterations = [number + 1 for number in numbers]
        self.log.losses(iterations, {"loss": new.sum(axis=1).tolist(), **columns, "learning_rate": rates})
        for found in state.evaluations[evaluations:]:
            measured = {name: found.get(name, float("nan")) for name in (*SHOWN, "loss")}
            self.log.evaluation(found["iteration"], found["data"], measured)
        self._logged = len(state.losses), len(state.evaluations)

    def _write_json(self, card: dict[str, Any]) -> None:
        assert self.folder is not None
        with atomic_write(self.folder / CARD) as file:
            file.write(json.dumps(card, indent=2, ensure_ascii=False).encode(errors="backslashreplace"))

    def _check_same_run(self, card: dict[str, Any]) -> None:
        if not card.keys() >= {"config", "loss", "data", "iteration", "evaluations"}:
            raise ValueError(f"{self.folder}/{STATE} is not the state of a run; begin another run in another folder")
        ours, theirs = self.config.choices, TrainingConfig.from_json(card["config"]).choices
        changed = [name for name in ours if ours[name] != theirs[name]]
        if changed:
            raise ValueError(
                f"the run in {self.folder} had {changed[0]}={theirs[changed[0]]!r}, now it is {ours[changed[0]]!r}; "
                "resume it with the same settings, or start a new run in another folder"
            )
        if card["loss"] != repr(self.loss):
            raise ValueError(f"the run in {self.folder} had the loss {card['loss']}, now it is {self.loss!r}")
        if card["data"] != self.prepared.content_hash:
            raise ValueError(f"the run in {self.folder} was made with other pairs; give it the same data to go on")

    def _check_same_network(
        self, card: dict[str, Any], tensors: dict[str, Tensor], network: Network, optimiser: torch.optim.Optimizer
    ) -> None:
        saved = {name: tensor for name, tensor in tensors.items() if name.startswith(_OF_STATE)}
        if shapes_of(saved) != shapes_of(dict(state_tensors(network, optimiser))):
            # states of earlier versions do not say, since there was only one kind
            was, now = card.get("network", "DiffusionNet"), type(network).__name__
            sizes = " of another size" if was == now else f", and now it is {now}"
            raise ValueError(
                f"the run in {self.folder} had the network {was}{sizes}; give the same to resume it: network={was}(...)"
            )


class Recorder:
    """Records a run while it is trained: losses, checkpoints and progress, so that the training loop need not.

    Parameters
    ----------
    folder : of the run
    state : how far the run has come
    network, optimiser : that are trained
    progress : called with ("training", iterations done, iterations in all)
    heartbeat : see `train`
    """

    def __init__(
        self,
        folder: RunFolder,
        state: RunState,
        network: Network,
        optimiser: torch.optim.Optimizer,
        *,
        progress: Progress | None = None,
        heartbeat: Callable[[RunState], None] | None = None,
    ) -> None:
        self._folder, self.state, self._network, self._optimiser = folder, state, network, optimiser
        self._progress, self._heartbeat = progress, heartbeat
        self._choices = folder.config.optimisation
        self._pending: list[Tensor] = []
        self._due = self._save = False
        self._started = self._saved = self._flushed = time.perf_counter()

    def record(self, losses: Tensor) -> bool:
        """Take the terms of the loss of one iteration; True if an evaluation is due."""
        self._pending.append(losses)
        done = self.state.iteration + len(self._pending)
        now = time.perf_counter()
        self._due = done % self._choices.evaluate_every == 0 or done == self._choices.iterations
        # whatever is saved has the losses up to here: with fewer, a resumed run would repeat iterations
        self._save = self._due or now - self._saved > SAVE_SECONDS
        if self._save or len(self._pending) >= FLUSH_ITERATIONS or now - self._flushed > FLUSH_SECONDS:
            self._flush(done)
        return self._due

    def end_iteration(self) -> None:
        """Save if it is time to, and let the caller stop the run."""
        if self._due:
            # evaluations are not counted as training
            self._started = time.perf_counter()
        if self._save:
            self.save()
            self._saved = time.perf_counter()
        if self._heartbeat is not None and not self._pending:
            try:
                self._heartbeat(self.state)
            except BaseException:
                self.save()
                raise

    def save(self) -> None:
        """Write a checkpoint."""
        self._folder.save(self._network, self._optimiser, self.state)

    def _flush(self, done: int) -> None:
        found = torch.stack(self._pending).cpu().numpy()
        names, values = self._folder.loss.columns
        self.state.add_losses(found[:, values], np.delete(found, values, axis=1) if len(names) > len(values) else None)
        self._pending.clear()
        self._flushed = time.perf_counter()
        self.state.seconds += self._flushed - self._started
        self._started = self._flushed
        if self._progress is not None:
            self._progress("training", done, self._choices.iterations)


def check_folder(folder: str | Path | None, *, resume: bool) -> None:
    """Raise ValueError unless a run can be recorded there; said before anything that takes time."""
    if folder is None:
        if resume:
            raise ValueError("resume=True needs the folder of the run to resume")
        return
    checked_path("folder", folder)
    if Path(folder).exists() and not Path(folder).is_dir():
        raise ValueError(f"{folder} is a file; a run needs a folder")
    if not resume and (Path(folder) / STATE).exists():
        raise ValueError(f"there is a run in {folder} already; go on with it (resume), or choose another folder")


def state_tensors(network: Network, optimiser: torch.optim.Optimizer) -> Iterator[tuple[str, Tensor]]:
    """Weights, buffers and the optimiser's memory, by name; the tensors themselves, to be read or written to."""
    for name, buffer in network.named_buffers():
        yield f"network.{name}", buffer
    for name, weight in network.named_parameters():
        yield f"network.{name}", weight.detach()
        for what in ("step", "exp_avg", "exp_avg_sq"):
            yield f"adam.{what}.{name}", optimiser.state[weight][what]
