"""Embeddings of Swiss rolls for `swiss_roll`: each is measured and stored as soon as it is there, so runs can be resumed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float

from partwhole._version import __version__
from partwhole.datasets.shapes.swiss_roll import SwissRoll, Variant, swiss_roll
from partwhole.store.arguments import Progress
from partwhole.store.storage import atomic_write


@dataclass(frozen=True)
class Roll:
    """The parameters of a sample of the Swiss roll."""

    shape: Variant
    noise: float
    seed: int
    samples: int
    neighbors: int
    falloff: float | None

    def make(self) -> SwissRoll:
        return swiss_roll(self.samples, variant=self.shape, noise=self.noise, seed=self.seed)


@dataclass(frozen=True)
class Result:
    """The `Quality` of the embedding of a roll by a method, or why there is none."""

    roll: Roll
    method: str
    seconds: float
    quality: dict[str, float] | None
    error: str | None = None
    skipped: bool = False
    notes: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        return _key(self.roll, self.method)


class StoredResults:
    """Results in a file with one JSON object per line, and embeddings beside it; no file is ever half-written."""

    def __init__(self, folder: Path) -> None:
        self.path, self._maps = folder / "results.jsonl", folder / "maps"
        self._results: dict[str, Result] = {}
        if self.path.exists():
            for number, line in enumerate(self.path.read_text().splitlines(), start=1):
                try:
                    record = json.loads(line)
                    key, roll, notes = record.pop("key"), Roll(**record.pop("roll")), tuple(record.pop("notes"))
                    self._results[key] = Result(roll=roll, notes=notes, **record)
                except (ValueError, KeyError, TypeError, AttributeError):
                    raise ValueError(
                        f"{self.path}, line {number} is not a result of this command; delete it or choose another --output"
                    ) from None

    def get(self, roll: Roll, method: str) -> Result | None:
        return self._results.get(_key(roll, method))

    def places(self, roll: Roll, method: str) -> Float[np.ndarray, "n k"] | None:
        """The embedding by a method, if it is stored."""
        path = self._maps / f"{_key(roll, method)}.npy"
        return np.load(path, allow_pickle=False) if path.exists() else None

    def add(self, result: Result, places: Float[np.ndarray, "n k"] | None) -> None:
        if places is not None:
            self._maps.mkdir(exist_ok=True)
            with atomic_write(self._maps / f"{result.key}.npy") as file:
                np.save(file, places.astype(np.float32))
        self._results[result.key] = result
        # skipped ones are not stored, since the missing library may be installed later
        lines = [{"key": key, **asdict(held)} for key, held in self._results.items() if not held.skipped]
        with atomic_write(self.path) as file:
            file.write("".join(json.dumps(line) + "\n" for line in lines).encode())


def run_all(
    rolls: Sequence[Roll], methods: Sequence[str], stored: StoredResults, *, keep_maps_of: int, progress: Progress
) -> list[Result]:
    """Results of all methods on all rolls; maps are kept for the rolls with the seed `keep_maps_of`."""
    results: list[Result] = []
    total = len(rolls) * len(methods)
    for roll in rolls:
        made = None
        for name in methods:
            progress("maps", len(results), total)
            known = stored.get(roll, name)
            keep = roll.seed == keep_maps_of
            if known is None or (keep and known.quality is not None and stored.places(roll, name) is None):
                made = made or _Prepared(roll)
                known, places = made.run(name)
                stored.add(known, places if keep else None)
            results.append(known)
    progress("maps", total, total)
    return results


class _Prepared:
    """A roll and its distances, which the methods share."""

    def __init__(self, roll: Roll) -> None:
        from partwhole.embedding.methods.comparison import EmbeddingTask

        self.roll, self.made = roll, roll.make()
        falloff: float | Literal["auto"] = "auto" if roll.falloff is None else roll.falloff
        self.sample = EmbeddingTask(self.made.points, n_neighbors=roll.neighbors, seed=roll.seed, falloff=falloff)

    def run(self, name: str) -> tuple[Result, Float[np.ndarray, "n k"] | None]:
        from partwhole.embedding.methods.comparison import judge, named, run_method

        outcome = run_method(named(name), self.sample)
        result = Result(self.roll, name, outcome.seconds, None, outcome.error, outcome.skipped, outcome.notes)
        if outcome.embedding is None:
            return result, None
        quality = judge(outcome.embedding, self.made.flat, self.sample)
        return replace(result, quality=asdict(quality)), outcome.embedding


def _key(roll: Roll, method: str) -> str:
    """A hash of everything that a result depends on."""
    import sklearn

    knobs: list[Any] = ["swiss roll 2", __version__, sklearn.__version__, asdict(roll), method]
    return hashlib.sha256(json.dumps(knobs).encode()).hexdigest()[:24]
