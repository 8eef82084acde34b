"""Studies: several series of settings, each trained with several seeds, and the errors of the trained networks.

    folder/SERIES/seed-K    a run: finished ones are read, interrupted ones resumed, the others started

Surfaces are prepared once for all runs that need them prepared in the same way, whatever their seeds.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from partwhole.datasets.pairs import Pair
from partwhole.evaluation import Evaluation
from partwhole.matching.config import ReadOut, TrainingConfig
from partwhole.matching.evaluation import Benchmark
from partwhole.matching.matcher import Matcher
from partwhole.matching.methods import LearnedMethod, learned_method, load_method
from partwhole.matching.network.surface import Surface, pair_weights
from partwhole.matching.network.weights import read_tensors
from partwhole.matching.training.data import takes_distances
from partwhole.matching.training.losses import Loss, loss_of
from partwhole.matching.training.prepared_pairs import PreparedPairs, prepare_pairs
from partwhole.matching.training.run_folder import MODEL, STATE, RunState
from partwhole.matching.training.train import train
from partwhole.mesh import Mesh
from partwhole.store.arguments import Progress
from partwhole.store.cache import Cache
from partwhole.store.storage import hash_of

READ_OUTS: tuple[ReadOut, ...] = ("spectral", "features")

Heartbeat = Callable[[RunState], None]

# characters of the reason of a failure: that about memory can be long
_REASON = 300


@dataclass(frozen=True)
class Source:
    """Pairs that are read when they are needed.

    Attributes
    ----------
    name : what the pairs are, for tables
    read : gives the pairs
    """

    name: str
    read: Callable[[], Sequence]


@dataclass(frozen=True, kw_only=True)
class Series:
    """A row of a study: settings, the pairs to train on, and the pairs to test on.

    Attributes
    ----------
    name : of the folder of its runs
    label : name in tables
    config : all settings but the seed
    trained_on : key of the training pairs
    tested_on : keys of the test pairs
    method : name of the `LearnedMethod` that is trained; None: the network and the loss that the settings describe
    """

    name: str
    label: str
    config: TrainingConfig
    trained_on: str
    tested_on: tuple[str, ...]
    method: str | None = None

    def trained_by(self, config: TrainingConfig) -> dict[str, Any]:
        """What `train` takes beside settings and pairs: loss, network and name of the method."""
        if self.method is None:
            return {"loss": None}
        made = learned_method(self.method)(config=config)
        return {"loss": made.loss(), "network": made.trainable(), "method": self.method}


@dataclass(frozen=True)
class Planned:
    """One run of a series."""

    series: Series
    seed: int
    folder: Path

    @property
    def name(self) -> str:
        return f"{self.series.label}, seed {self.seed}"

    @property
    def config(self) -> TrainingConfig:
        return self.series.config.with_changes(seed=self.seed)

    def check(self) -> None:
        """Raise ValueError if the folder holds a run with other settings."""
        for file in (self.folder / MODEL, self.folder / STATE):
            if file.exists():
                card = read_tensors(file)[1]
                ours, theirs = self.config.choices, TrainingConfig.from_json(card["config"]).choices
                for name in ours:
                    if ours[name] != theirs[name]:
                        raise ValueError(
                            f"the run in {self.folder} had {name}={theirs[name]!r}, now it is {ours[name]!r}; use the same "
                            "settings, or choose another folder"
                        )


@dataclass(frozen=True, eq=False)
class Run:
    """A trained run and its errors.

    Attributes
    ----------
    series, seed : which run it is
    errors : by key of the test pairs and read-out, of the final weights
    evaluations : recorded during training; "data" is the key of the test pairs
    seconds : that its iterations took
    trained : whether it was trained now; False if it was finished before
    """

    series: Series
    seed: int
    errors: Mapping[tuple[str, str], Evaluation]
    evaluations: tuple[dict[str, Any], ...] = ()
    seconds: float = field(default=float("nan"), kw_only=True)
    trained: bool = field(default=False, kw_only=True)

    def of(self, test: str) -> list[dict[str, Any]]:
        """The recorded evaluations of these test pairs."""
        return [found for found in self.evaluations if found["data"] == test]

    def best_on_test(self, test: str) -> dict[str, Any] | None:
        """The recorded evaluation with the lowest micro error, selected with the test pairs; None without any."""
        return min(self.of(test), key=lambda found: found["micro"], default=None)


@dataclass(frozen=True)
class Failed:
    """A run that was not completed, and why."""

    planned: Planned
    reason: str


class Examiner:
    """Test pairs, prepared once for all matchers that need the same of them.

    Parameters
    ----------
    tests : by key
    options : `device`, `cache`, `workers` and `progress` of `prepare_pairs`
    """

    def __init__(self, tests: Mapping[str, Source], **options: Any) -> None:
        self.tests, self.options = tests, options
        self._held: dict[str, Benchmark] = {}

    def benchmark(self, test: str) -> Benchmark:
        """The benchmark on these test pairs."""
        if test not in self._held:
            source = self.tests[test]
            self._held[test] = Benchmark(list(source.read()), name=source.name, keep=True, **self.options)
        return self._held[test]

    def errors(self, matcher: Matcher, tests: Iterable[str]) -> dict[tuple[str, str], Evaluation]:
        """Errors of a matcher on these test pairs, with every read-out."""
        known = matcher.card.get("weights")
        weights: Any = known if known in ("final", "validated", "best-on-test") else "final"
        knobs: dict[str, Any] = {"weights": weights, "progress": self.options.get("progress")}
        return {
            (test, read_out): found
            for test in tests
            for read_out, found in self.benchmark(test).by_read_out(matcher, READ_OUTS, **knobs).items()
        }


class Study:
    """Several series, each trained with the same seeds.

    Parameters
    ----------
    series : the rows
    seeds : of the runs of each
    folder : where the runs are
    train, test : pairs by the keys that the series name
    check : called with training pairs before distances on them are prepared; if it raises, the run fails
    capture : see `train`
    device, cache, workers, progress : see `prepare_pairs`; progress is also told of "all runs", in iterations

    `notes` says what is unusual about the surfaces, once they are prepared.
    """

    def __init__(
        self,
        series: Sequence[Series],
        seeds: Sequence[int],
        folder: str | Path,
        *,
        train: Mapping[str, Source],
        test: Mapping[str, Source],
        check: Callable[[list[Pair]], None] | None = None,
        capture: bool | None = None,
        device: str = "cpu",
        cache: Cache | None = None,
        workers: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.planned = [Planned(s, seed, Path(folder) / s.name / f"seed-{seed}") for s in series for seed in seeds]
        self._report = progress or (lambda what, done, total: None)
        self._train, self._check, self._device, self._capture = train, check, device, capture
        self._options: dict[str, Any] = {"device": device, "cache": cache, "workers": workers}
        self._examiner = Examiner(test, progress=progress, **self._options)
        self.notes: list[str] = []
        self._pairs: tuple[str, list[Pair]] | None = None
        self._prepared: tuple[dict[str, Any], PreparedPairs] | None = None
        # before anything that takes time
        for planned in self.planned:
            planned.check()

    def results(self, heartbeat: Callable[[str], Heartbeat] | None = None) -> Iterator[Run | Failed]:
        """The runs, one after the other; one that fails does not stop the others.

        Parameters
        ----------
        heartbeat : gives the heartbeat of `train` for the name of a run; if that raises, the study ends, and can be resumed
        """
        todo = [planned for planned in self.planned if not (planned.folder / MODEL).exists()]
        total, done = sum(planned.config.optimisation.iterations for planned in todo), 0
        for planned in self.planned:

            def report(what: str, now: int, of: int, before: int = done) -> None:
                self._report(what, now, of)
                if what == "training":
                    self._report("all runs", before + now, total)

            result: Run | Failed
            try:
                result = self._result(planned, report, heartbeat)
            except Exception as fault:
                # a ValueError says what is wrong and what to do; others say what they are
                kind = "" if isinstance(fault, ValueError) else f"{type(fault).__name__}: "
                result = Failed(planned, kind + " ".join(str(fault).split())[:_REASON])
            if isinstance(result, Failed):
                # memory may have run out
                self._prepared = None
                self._free()
            done += planned.config.optimisation.iterations * (planned in todo)
            yield result

    def _result(self, planned: Planned, report: Progress, heartbeat: Callable[[str], Heartbeat] | None) -> Run:
        series, config = planned.series, planned.config
        pairs = self._pairs_of(series.trained_on)
        found = read_run(planned.folder, pairs, device=self._device)
        trained = found is None
        if found is None:
            trained_by = series.trained_by(config)
            run = train(
                self._prepared_for(series.trained_on, pairs, config, trained_by["loss"]),
                config,
                **trained_by,
                watch={test: self._examiner.benchmark(test) for test in series.tested_on},
                folder=planned.folder,
                resume=True,
                progress=report,
                heartbeat=None if heartbeat is None else heartbeat(planned.name),
                capture=self._capture,
                **self._options,
            )
            found = run.matcher, run.evaluations, run.seconds
            # memory that a captured step held on the device
            self._free()
        matcher, evaluations, seconds = found
        errors = self._examiner.errors(matcher, series.tested_on)
        return Run(series, planned.seed, errors, evaluations, seconds=seconds, trained=trained)

    def _pairs_of(self, key: str) -> list[Pair]:
        if self._pairs is None or self._pairs[0] != key:
            self._pairs = key, list(self._train[key].read())
        return self._pairs[1]

    def _prepared_for(
        self, trained_on: str, pairs: list[Pair], config: TrainingConfig, loss: Loss | None
    ) -> PreparedPairs:
        # what surfaces depend on; the weights of the loss and its temperature do not matter to them
        names = ("criterion", "mask", "masked_sides", "distances", "low_pass", "precision")
        choices = {name: config.choices[name] for name in names}
        supervised = any(term.takes_truth for term in (loss or loss_of(config)).terms())
        distances = takes_distances(config, loss=loss)
        sizes = {"eigenpairs": config.eigenpairs, "diffusion_eigenpairs": config.network.diffusion_eigenpairs}
        wanted = {"pairs": trained_on, "supervised": supervised, "with distances": distances, **sizes, **choices}
        held = self._prepared
        if held is not None:
            different = {name for name in wanted if wanted[name] != held[0][name]}
            if not different:
                return held[1]
            if distances and different <= {"criterion", "mask"} and config.loss.masked_sides == "part":
                self._prepared = wanted, reweighted(held[1], config)
                return self._prepared[1]
        # two of them may not fit on the device
        self._prepared = held = None
        self._free()
        if self._check is not None and distances:
            self._check(pairs)
        knobs: dict[str, Any] = {"for_loss": distances, "truth": supervised, "progress": self._report}
        prepared = prepare_pairs(pairs, config, **knobs, **self._options)
        self.notes += [note for note in prepared.notes if note not in self.notes]
        self._prepared = wanted, prepared
        return prepared

    def _free(self) -> None:
        """Free unused memory of the device."""
        if self._device == "cuda":
            gc.collect()
            torch.cuda.empty_cache()


def read_run(
    folder: Path, pairs: Sequence[Pair], *, device: str = "cpu"
) -> tuple[Matcher, tuple[dict[str, Any], ...], float] | None:
    """Final weights, evaluations and seconds of the finished run in a folder; None if there is none yet.

    Parameters
    ----------
    folder : of the run
    pairs : that it must have been trained on
    device : for the matcher
    """
    if not (folder / MODEL).exists():
        return None
    loaded = load_method(folder / MODEL, device=device)
    matcher = loaded.matcher if isinstance(loaded, LearnedMethod) else loaded
    assert isinstance(matcher, Matcher)
    if matcher.card.get("data", {}).get("hash") != pairs_hash(pairs):
        raise ValueError(f"the run in {folder} was made with other pairs; use the same data, or another folder")
    card = read_tensors(folder / STATE)[1] if (folder / STATE).exists() else {}
    return matcher, tuple(card.get("evaluations", ())), float(card.get("seconds", float("nan")))


def pairs_hash(pairs: Iterable[Pair]) -> str:
    """Hash of the content of all pairs, in their order, which a run records about its data."""
    return hash_of([[pair.part.content_hash, pair.whole.content_hash] for pair in pairs])


def reweighted(prepared: PreparedPairs, config: TrainingConfig) -> PreparedPairs:
    """The same surfaces with weights by another criterion or mask; distances are not measured again."""

    def weighed(part: Surface, mesh: Mesh) -> Surface:
        D = part.distances
        if D is None:
            raise ValueError("the prepared pairs have no distances to weigh them by; prepare them with for_loss=True")
        if mesh.n_components > 1:
            # a surface keeps 0 where the distance is infinite
            labels = torch.as_tensor(mesh.component_labels, device=D.device)
            D = torch.where(labels[:, None] == labels, D, float("inf"))
        W = pair_weights(mesh, D, part.mass, criterion=config.loss.criterion, mask=config.loss.mask)
        return part.with_loss(part.distances, W)

    parts = tuple(weighed(part, mesh) for part, mesh in zip(prepared.parts, prepared.meshes[0], strict=True))
    return replace(prepared, parts=parts)
