"""`Order`: what `partwhole train` was asked for, kept in the folder of the run so that it can go on by itself."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, get_args

from partwhole.cli.shared.console import to_json, write_text
from partwhole.cli.shared.learning import Device
from partwhole.cli.shared.pairs import SetName
from partwhole.matching.config import TrainingConfig

FILE = "command.json"
# by a run of training; the names of weights and records are those of `matching.run_folder`, which would bring torch
WRITES = (
    FILE,
    *("model.safetensors", "validated.safetensors", "state.safetensors", "run.json"),
    *("losses.csv", "evaluations.csv", "notes.txt"),
)


@dataclass(frozen=True, kw_only=True)
class Order:
    """Which pairs, every choice, and what is measured on the way.

    Attributes
    ----------
    data : folder of the set; None for generated bodies
    set : which set it is
    preset : that the choices began with; None: the defaults
    config : every choice
    validate : hold out a tenth of the parts
    watch_test : measure errors on the test pairs
    device : where to compute
    start, teacher : files of weights to begin with, and of a network whose maps stand for the truth
    vertices : of a whole, at most, that is trained on; None: as they are
    """

    data: str | None
    set: SetName
    preset: str | None
    config: TrainingConfig
    validate: bool
    watch_test: bool
    device: Device
    start: str | None = None
    teacher: str | None = None
    vertices: int | None = None

    @property
    def label(self) -> str:
        """What to call the run: the set, or the folder of one's own pairs."""
        return Path(self.data).name if self.data and self.set == "folder" else self.set

    def to_json(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**vars(self), "config": self.config.to_json()}

    def write(self, folder: Path) -> None:
        """Keep it in the folder of the run."""
        write_text(folder / FILE, to_json(self.to_json()) + "\n")

    @classmethod
    def read(cls, folder: Path) -> Order:
        """What was asked for in the folder of a run."""
        path = folder / FILE
        if not path.is_file():
            raise ValueError(f"{folder} is not the folder of a run: it has no {FILE}, which `partwhole train` writes")
        try:
            held = json.loads(path.read_text(encoding="utf-8"))
            config = TrainingConfig.from_json(held.pop("config"))
            order = cls(config=config, **held)
        except (ValueError, TypeError, KeyError, AttributeError) as fault:
            raise ValueError(f"{path} is damaged ({fault}); begin the run anew, in another folder") from None
        if order.set not in get_args(SetName) or order.device not in get_args(Device):
            raise ValueError(f"{path} is damaged (set {order.set!r}, device {order.device!r}); begin the run anew")
        return order

    def moved(self, data: Path | None, device: Device | None) -> Order:
        """The same with data that lie elsewhere now, or on another device."""
        place = self.data if data is None else str(data.resolve())
        return replace(self, data=place, device=device or self.device)
