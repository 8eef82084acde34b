"""The folder of a training run: weights, what is needed to go on, and logs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from partwhole.evaluation import Evaluation
from partwhole.matching.matcher import Matcher
from partwhole.matching.network.diffusion_net import DiffusionNet
from partwhole.matching.network.weights import read_tensors, versions, write_tensors
from partwhole.matching.training.config import TrainingConfig
from partwhole.matching.training.logs import RunLog
from partwhole.matching.training.losses import Loss
from partwhole.matching.training.prepared_pairs import PreparedPairs
from partwhole.matching.training.schedule import learning_rate
from partwhole.store.arguments import checked_path
from partwhole.store.atomic import atomic_write

# what is recorded of an evaluation; of validation pairs the loss
SHOWN = ("micro", "macro", "median pair", "worst pair", "% above 0.15")

STATE, MODEL, VALIDATED, CARD = "state.safetensors", "model.safetensors", "validated.safetensors", "run.json"


@dataclass
class Progress:
    """How far a run has come: everything beside weights and optimiser that it needs to go on."""

    iteration: int = 0
    seconds: float = 0.0
    losses: list[list[float]] = field(default_factory=list)
    evaluations: list[dict[str, Any]] = field(default_factory=list)
    best_loss: float = float("inf")
    best_iteration: int = 0
    best_weights: dict[str, Tensor] | None = None

    def add_losses(self, rows: Float[np.ndarray, "r t"]) -> None:
        """Losses of the iterations since the last time."""
        if not np.isfinite(rows).all():
            first = self.iteration + int(np.argmin(np.isfinite(rows).all(axis=1))) + 1
            raise ValueError(
                f"the loss is not a finite number in iteration {first}; lower learning_rate, or look for damaged surfaces"
            )
        self.losses.extend(rows.tolist())
        self.iteration += len(rows)

    def add_evaluation(self, data: str, found: Evaluation) -> None:
        """Errors of the watched pairs, now."""
        measured = found.measures()
        self.evaluations.append({"iteration": self.iteration, "data": data, **{name: measured[name] for name in SHOWN}})

    def validated(self, loss: float, network: DiffusionNet) -> None:
        """Keep the weights if the validation pairs have their lowest loss now."""
        self.evaluations.append({"iteration": self.iteration, "data": "validation", "loss": loss})
        if loss < self.best_loss:
            self.best_loss, self.best_iteration = loss, self.iteration
            self.best_weights = {name: value.detach().clone() for name, value in network.state_dict().items()}


class RunFolder:
    """Where a run is recorded; does nothing if there is no folder."""

    def __init__(
        self, folder: str | Path | None, config: TrainingConfig, loss: Loss, stock: PreparedPairs, *, resume: bool
    ) -> None:
        self.folder = None if folder is None else Path(folder)
        self.config, self.loss, self.stock = config, loss, stock
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
        parts, wholes = self.stock.meshes
        return {
            "name": self.folder.name if self.folder else "network",
            "loss": repr(self.loss),
            "seed": self.config.seed,
            "data": {
                "pairs": len(self.stock),
                "parts": len(parts),
                "wholes": len(wholes),
                "hash": self.data_hash(),
            },
            "protocol": self._protocol(),
        }

    def _protocol(self) -> str:
        if self.stock.teacher is not None:
            return f"taught by the maps of {self.stock.teacher}: no ground truth of these pairs was used in training"
        if self.stock.truths:
            return "supervised: the ground truth of the pairs was used in training"
        return "unsupervised: no ground truth of these pairs was used in training"

    def data_hash(self) -> str:
        """Of the content of every pair, in their order."""
        from partwhole.store.cache import hash_of

        parts, wholes = self.stock.meshes
        return hash_of([[parts[p].content_hash, wholes[w].content_hash] for p, w in self.stock.pairs])

    def resumed(self, network: DiffusionNet, optimiser: torch.optim.Optimizer) -> Progress:
        """Put weights and optimiser into the state that was saved last, and say how far the run had come."""
        state = Progress()
        if self.folder is None:
            return state
        if self._state is not None:
            tensors, card = self._state
            self._check_same_run(card)
            for name, tensor in state_tensors(network, optimiser):
                tensor.copy_(tensors[name])
            state.iteration, state.seconds = card["iteration"], card["seconds"]
            state.losses = tensors["losses"].tolist()
            state.evaluations = card["evaluations"]
            kept = {name.removeprefix("best."): value for name, value in tensors.items() if name.startswith("best.")}
            if kept:
                device = network.first.weight.device
                state.best_loss, state.best_iteration = card["best_loss"], card["best_iteration"]
                state.best_weights = {name: value.to(device) for name, value in kept.items()}
        self._write_json({**self.card(), "config": self.config.to_json(), "versions": versions()})
        # the log is written before the state, so there may be lines of a run that never came to save one
        self.log = RunLog(self.folder, resume_at=state.iteration if self._resume else None)
        self._logged = len(state.losses), len(state.evaluations)
        self._state = None
        return state

    def save(self, network: DiffusionNet, optimiser: torch.optim.Optimizer, state: Progress) -> None:
        """Everything that is needed to go on, in one file that replaces the last; and the logs up to here."""
        if self.folder is None:
            return
        tensors = dict(state_tensors(network, optimiser))
        tensors["losses"] = torch.tensor(state.losses, dtype=torch.float64).reshape(-1, len(self.loss.terms()))
        if state.best_weights is not None:
            tensors.update({f"best.{name}": value for name, value in state.best_weights.items()})
        self._write_logs(state)
        card = {
            "config": self.config.to_json(),
            "loss": repr(self.loss),
            "data": self.data_hash(),
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

    def _write_logs(self, state: Progress) -> None:
        assert self.log is not None
        losses, evaluations = self._logged
        new = np.array(state.losses[losses:]).reshape(-1, len(self.loss.terms()))
        numbers = range(losses, len(state.losses))
        columns = {term.name: new[:, column].tolist() for column, term in enumerate(self.loss.terms())}
        rates = [learning_rate(number, len(self.stock), self.config) for number in numbers]
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
        ours, theirs = self.config.to_json(), card["config"]
        changed = [name for name in ours if ours[name] != theirs.get(name)]
        if changed:
            raise ValueError(
                f"the run in {self.folder} had {changed[0]}={theirs.get(changed[0])!r}, now it is {ours[changed[0]]!r}; "
                "go on with the same choices, or begin another run in another folder"
            )
        if card["loss"] != repr(self.loss):
            raise ValueError(f"the run in {self.folder} had the loss {card['loss']}, now it is {self.loss!r}")
        if card["data"] != self.data_hash():
            raise ValueError(f"the run in {self.folder} was made with other pairs; give it the same data to go on")


def check_folder(folder: str | Path | None, *, resume: bool) -> None:
    """Raise ValueError unless a run can be recorded there; said before anything that takes time."""
    if folder is None:
        if resume:
            raise ValueError("resume=True needs the folder of the run that is to go on")
        return
    checked_path("folder", folder)
    if Path(folder).exists() and not Path(folder).is_dir():
        raise ValueError(f"{folder} is a file; a run needs a folder")
    if not resume and (Path(folder) / STATE).exists():
        raise ValueError(f"there is a run in {folder} already; go on with it (resume), or choose another folder")


def state_tensors(network: DiffusionNet, optimiser: torch.optim.Optimizer) -> Iterator[tuple[str, Tensor]]:
    """Weights and the optimiser's memory, by name; the tensors themselves, to be read or written to."""
    for name, weight in network.named_parameters():
        yield f"network.{name}", weight.detach()
        for what in ("step", "exp_avg", "exp_avg_sq"):
            yield f"adam.{what}.{name}", optimiser.state[weight][what]
