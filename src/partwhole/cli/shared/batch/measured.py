"""Errors of methods on pairs with ground truth: a folder for each method and pair, on any engine, in any number of runs.

A result holds everything that tables, curves and reports are made of, so these are the same whatever made the results.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from partwhole.cli.shared.batch.kind import WAITING, BatchKind
from partwhole.cli.shared.batch.run import count_states, raise_failures, standing, work_through
from partwhole.cli.shared.console import Console, plain_memory_errors, write_arrays, write_json
from partwhole.cli.shared.options import below, open_cache, output_folder
from partwhole.engines import EngineOptions
from partwhole.evaluation import PairResult
from partwhole.store.memory import peak_memory
from partwhole.store.storage import hash_of

if TYPE_CHECKING:
    from partwhole.datasets.pairs import Pair
    from partwhole.matching.config import ReadOut
    from partwhole.matching.evaluation import Benchmark
    from partwhole.matching.search.method import Method

FOLDER = "measured"
_RESULT, _SUMMARY, _TABLE = "result.npz", "summary.json", "maps.csv"
WRITES = below(FOLDER, (_TABLE, f"*/*/{_RESULT}", f"*/*/{_SUMMARY}", ".failed/*/*.json"))
# of a result, in this order
_NUMBERS = ("coverage", "roughness", "flipped", "seconds")

MEASURES = BatchKind(
    part="part",
    whole="whole",
    noun="map",
    participle="measured",
    done="measured",
    before="measured before",
    result=FOLDER,
    result_of_many=FOLDER,
    writes=(_RESULT, _SUMMARY),
    summary=_SUMMARY,
    table=_TABLE,
    of_all=(),
    columns={"mean_x100": lambda summary: " ".join(f"{mean:.6g}" for mean in summary["mean_x100"])},
    said=lambda row: f"error × 100: {row['mean_x100']}",
    home=f"{__name__}:MEASURES",
    says_each=False,
)


@dataclass(frozen=True)
class MeasureSettings:
    """What is needed to measure a pair in another process, as plain values.

    Attributes
    ----------
    methods : "module:function" that gives the methods by their labels when it is called with `arguments`
    arguments : of that function
    distances : that errors are measured by
    refine : steps of refinement on each pair
    device : where to compute
    cache : whether eigenfunctions are kept for other runs, or where
    """

    methods: str
    arguments: Mapping[str, Any]
    distances: str
    refine: int
    device: str
    cache: bool | str


@dataclass(frozen=True, eq=False)
class MeasureEntry:
    """A pair that is to be matched by a method.

    Attributes
    ----------
    label : of the method
    pair : with its ground truth; it is sent to the process that matches it
    read_outs : how the map is read
    made_of : a hash of everything that the result depends on
    """

    label: str
    pair: Pair
    read_outs: tuple[ReadOut, ...]
    made_of: str

    @property
    def name(self) -> str:
        """The folder of the result."""
        return f"{_folder_name(self.label)}/{_folder_name(self.pair.name)}-{self.made_of[:12]}"

    @property
    def files(self) -> tuple[Path, ...]:
        """None: the hash says whether a pair has changed."""
        return ()

    @property
    def size(self) -> int:
        """Bytes of the two surfaces."""
        return sum(mesh.vertices.nbytes + mesh.faces.nbytes for mesh in (self.pair.part, self.pair.whole))

    def said(self, kind: BatchKind) -> dict[str, Any]:
        """What the summary of a result says of the method and the pair."""
        surfaces = {kind.part: self.pair.part.name, kind.whole: self.pair.whole.name}
        return {"method": self.label, "pair": self.pair.name, **surfaces, "made_of": self.made_of}


class Measured(NamedTuple):
    """The errors of a method on a pair.

    Attributes
    ----------
    results : with each read-out
    megabytes : of memory that it took; nan where that is not known
    """

    results: dict[ReadOut, PairResult]
    megabytes: float


def measured_maps(
    pairs: Sequence[Pair],
    methods: Mapping[str, Method],
    read_outs: Mapping[str, Sequence[ReadOut]],
    settings: MeasureSettings,
    folder: Path,
    console: Console,
    engine: EngineOptions,
) -> dict[str, list[Measured]] | None:
    """For each method the errors on every pair; None if other shards have not measured theirs yet.

    What an earlier run, or another shard, has measured is not measured again. Raises ValueError if a pair can't be measured,
    when all the others are.

    Parameters
    ----------
    pairs : with ground truth
    methods : by their labels, as `settings.methods` gives them
    read_outs : of each method
    settings : for other processes
    folder : of the command; the results are in a folder in it
    console : for progress
    engine : where
    """
    entries = {label: [_entry(label, m, p, read_outs[label], settings) for p in pairs] for label, m in methods.items()}
    # what is known of a whole serves all its pairs, and all methods
    wholes = {pair.whole.content_hash: number for number, pair in reversed(list(enumerate(pairs)))}
    ordered = sorted(
        (entry for of_method in entries.values() for entry in of_method),
        key=lambda entry: wholes[entry.pair.whole.content_hash],
    )
    place = output_folder(folder / FOLDER)
    choices = {"distances": settings.distances, "refine": settings.refine, "device": settings.device}
    work = MeasureWork(settings, methods, console)
    with work.prepared(_missing(ordered, place, choices, engine), engine):
        rows = work_through(ordered, place, MEASURES, choices, work, console, engine)
    if engine.shard is not None:
        rows = standing(ordered, place, MEASURES, choices)
    console.say(count_states(rows, MEASURES))
    raise_failures(rows, MEASURES)
    waiting = sum(row["state"] == WAITING for row in rows)
    if waiting:
        console.note(
            f"{waiting} of {len(rows)} maps are for other shards to measure; the last one writes the tables, and so does the "
            "same command without --shard"
        )
        return None
    return _read(entries, place)


def _missing(
    entries: Sequence[MeasureEntry], place: Path, choices: Mapping[str, Any], engine: EngineOptions
) -> list[MeasureEntry]:
    """The entries of this run that have no result yet."""
    rows = standing(entries, place, MEASURES, choices)
    return [
        entry
        for number, (entry, row) in enumerate(zip(entries, rows, strict=True))
        if engine.has(number) and row["state"] != MEASURES.before
    ]


def _entry(
    label: str, method: Method, pair: Pair, read_outs: Sequence[ReadOut], settings: MeasureSettings
) -> MeasureEntry:
    from partwhole.matching.cache.results import surroundings

    truth = pair.ground_truth
    assert truth is not None
    key = {
        "what": "errors of a map",
        "made by": surroundings(),
        "label": label,
        "method": method.fingerprint(),
        "pair": pair.name,
        "part": pair.part.content_hash,
        "whole": pair.whole.content_hash,
        "truth": (truth.part_vertices, truth.corners, truth.weights),
        "read outs": tuple(read_outs),
        "options": (settings.distances, settings.refine, settings.device),
    }
    return MeasureEntry(label, pair, tuple(read_outs), hash_of(key))


class MeasureWork:
    """Measures one map after the other; in another process it is made once from its settings."""

    def __init__(self, settings: MeasureSettings, methods: Mapping[str, Method], console: Console) -> None:
        self.settings, self.methods, self.console = settings, methods, console
        self.cache = open_cache(settings.cache, console)
        self._benchmark: Benchmark | None = None
        self._numbers: dict[str, int] = {}

    def __reduce__(self) -> Any:
        # the same cache, whatever the variables of the other process are
        place = False if self.cache is None else self.cache.place
        return measure_work, (json.dumps({**self.settings.__dict__, "cache": place}),)

    @contextmanager
    def prepared(self, entries: Sequence[MeasureEntry], engine: EngineOptions) -> Iterator[None]:
        """In the block, these can be measured one after the other in this process: all is computed that they share."""
        if engine.engine != "serial" or not entries:
            yield
            return
        from partwhole.matching.evaluation import Benchmark

        pairs = {_pair_key(entry.pair): entry.pair for entry in entries}
        self._numbers = {key: number for number, key in enumerate(pairs)}
        with ExitStack() as stack:
            report = stack.enter_context(self.console.stage_progress())
            knobs: dict[str, Any] = {"method": self.settings.distances, "device": self.settings.device}
            knobs |= {"cache": self.cache, "workers": engine.workers, "progress": report}
            self._benchmark = Benchmark(list(pairs.values()), **knobs)
            for label in {entry.label: None for entry in entries}:
                stack.enter_context(self._benchmark.filled_cache(self.methods[label]))
            yield

    def __call__(self, entry: MeasureEntry, place: Path) -> dict[str, Any]:
        """Match a pair, write its errors into a folder, and give the summary."""
        settings = self.settings
        with plain_memory_errors():
            benchmark, number = self._benchmark_of(entry.pair)
            with peak_memory(settings.device) as memory:
                found = benchmark.of_pair_by_read_out(
                    number, self.methods[entry.label], entry.read_outs, refine=settings.refine
                )
        output_folder(place)
        (place / _SUMMARY).unlink(missing_ok=True)
        write_arrays(place / _RESULT, _arrays(found, memory.megabytes))
        summary = {
            **entry.said(MEASURES),
            "choices": {"distances": settings.distances, "refine": settings.refine, "device": settings.device},
            "read_outs": list(found),
            "mean_x100": [100 * result.mean for result in found.values()],
            "checksum": _checksum((place / _RESULT).read_bytes()),
        }
        write_json(place / _SUMMARY, summary)
        return summary

    def _benchmark_of(self, pair: Pair) -> tuple[Benchmark, int]:
        """A benchmark that has the pair, and its number there."""
        from partwhole.matching.evaluation import Benchmark

        key = _pair_key(pair)
        if self._benchmark is None:
            knobs: dict[str, Any] = {"method": self.settings.distances, "device": self.settings.device}
            # pairs come whole by whole
            self._benchmark = Benchmark([pair], cache=self.cache, most_wholes=2, **knobs)
            self._numbers = {key: 0}
        elif key not in self._numbers:
            self._benchmark, self._numbers = self._benchmark.with_pairs([pair]), {key: 0}
        return self._benchmark, self._numbers[key]


@lru_cache(maxsize=1)
def measure_work(given: str) -> MeasureWork:
    """The work of another process, of which each process has one."""
    settings = MeasureSettings(**json.loads(given))
    module, _, name = settings.methods.partition(":")
    loaded: Callable[[Mapping[str, Any]], Mapping[str, Method]] = getattr(import_module(module), name)
    return MeasureWork(settings, loaded(settings.arguments), Console(quiet=True))


def _pair_key(pair: Pair) -> str:
    """Tells pairs apart, also those of equal surfaces with other truths."""
    truth = pair.ground_truth
    assert truth is not None
    of_truth = (truth.part_vertices, truth.corners, truth.weights)
    return hash_of({"pair": (pair.name, pair.part.content_hash, pair.whole.content_hash), "truth": of_truth})


def _arrays(found: Mapping[ReadOut, PairResult], megabytes: float) -> dict[str, np.ndarray]:
    arrays: dict[str, np.ndarray] = {"megabytes": np.array(megabytes)}
    for number, result in enumerate(found.values()):
        assert result.vertex_map is not None
        arrays[f"errors_{number}"], arrays[f"vertex_map_{number}"] = result.errors, result.vertex_map
        arrays[f"numbers_{number}"] = np.array([getattr(result, name) for name in _NUMBERS])
    return arrays


def _read(entries: Mapping[str, Sequence[MeasureEntry]], place: Path) -> dict[str, list[Measured]]:
    """All results; one that was damaged since is removed, and counts as missing."""
    found = {label: [_read_one(entry, place / entry.name) for entry in each] for label, each in entries.items()}
    damaged = sum(one is None for each in found.values() for one in each)
    if damaged:
        raise ValueError(
            f"{damaged} of the results in {place} were damaged, and are removed: run the same command again to measure them"
        )
    return {label: [one for one in each if one is not None] for label, each in found.items()}


def _read_one(entry: MeasureEntry, place: Path) -> Measured | None:
    try:
        wanted = json.loads((place / _SUMMARY).read_text(encoding="utf-8"))["checksum"]
        data = (place / _RESULT).read_bytes()
        is_whole = _checksum(data) == wanted
    except (OSError, ValueError, KeyError, TypeError):
        is_whole = False
    if not is_whole:
        (place / _SUMMARY).unlink(missing_ok=True)
        return None
    with np.load(io.BytesIO(data), allow_pickle=False) as held:
        results = {
            read_out: PairResult(
                entry.pair.name,
                held[f"errors_{k}"],
                **dict(zip(_NUMBERS, held[f"numbers_{k}"].tolist(), strict=True)),
                vertex_map=held[f"vertex_map_{k}"],
            )
            for k, read_out in enumerate(entry.read_outs)
        }
        return Measured(results, float(held["megabytes"]))


def _checksum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _folder_name(text: str) -> str:
    """
    >>> _folder_name("part 1 → ball"), _folder_name("…")
    ('part-1-ball', 'map')
    """
    return re.sub(r"[^a-zA-Z0-9_.-]+", "-", text).strip("-.")[:60] or "map"
