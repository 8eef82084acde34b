"""How good a method is on pairs with ground truth: each pair is matched as `match` does it, and its error measured."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from partwhole.datasets.pairs import Pair, given_pairs
from partwhole.evaluation import (
    Calibration,
    Evaluation,
    PairResult,
    Protocol,
    calibration,
    evaluate_map,
    geodesic_errors,
)
from partwhole.evaluation.protocol import Truth, Weights
from partwhole.geodesics.distances import DistanceMethod
from partwhole.matching.confidence.constants import LARGEST_ERROR, RIGHT
from partwhole.matching.confidence.fit import fit_of
from partwhole.matching.confidence.rule import NAMES, Cues, cues_of
from partwhole.matching.config import READ_OUT, MatchOptions, ReadOut
from partwhole.matching.matcher import Ensemble
from partwhole.matching.network.surface import SurfacePair, distances_of
from partwhole.matching.pipeline import (
    FoundMap,
    found_map,
    lifted,
    map_from,
    match_scans,
    on_free_cores,
    searched,
    surfaces_of,
)
from partwhole.matching.result import Fit, MatchResult
from partwhole.matching.scans.prepare import MOST_VERTICES, PreparedScans, Scans, Templates, prepare_scans
from partwhole.matching.scans.surface import Lift
from partwhole.matching.search.method import Method, check_method
from partwhole.matching.training.prepared_pairs import filled_cache
from partwhole.mesh import Mesh
from partwhole.store.arguments import Progress, check_device, check_progress, check_whole_number
from partwhole.store.cache import Cache, CacheGiven
from partwhole.store.compute import free_cores

# pairs that calibration looks at, at most
CALIBRATED = 24
# wholes whose surfaces and distances are held, and pairs whose surfaces are held for one matcher after the other
_MOST_WHOLES = 24


class Benchmark:
    """Pairs with ground truth, prepared once, and matched by one method after the other.

    Parameters
    ----------
    pairs : with ground truth
    name : what the pairs are, for tables
    method : how distances on the wholes are measured
    max_vertices : of the wholes as they are matched; see `match`
    keep : hold the surfaces of all pairs in memory, for methods that need the same of them
    most_wholes : so many wholes are kept in memory with what was computed for them
    device : "cpu" or "cuda"
    cache : where eigenpairs are kept: a `Cache`, a folder, True for the default one, or None for nowhere
    workers : processes that compute eigenpairs; default as many as there are cores
    progress : called with (what is done, steps done, steps in all)
    """

    def __init__(
        self,
        pairs: Sequence,
        *,
        name: str | None = None,
        method: DistanceMethod = "fast_marching",
        max_vertices: int = MOST_VERTICES,
        keep: bool = False,
        most_wholes: int = _MOST_WHOLES,
        device: str = "cpu",
        cache: CacheGiven = None,
        workers: int | None = None,
        progress: Progress | None = None,
    ) -> None:
        check_device(device)
        self.pairs = _with_truth(pairs)
        check_progress(progress)
        check_whole_number("max_vertices", max_vertices)
        check_whole_number("workers", workers, or_none=True)
        self.name: str = name or str(getattr(pairs, "name", "pairs"))
        self.method: DistanceMethod = method
        self._cache, self._workers, self._keep = Cache.meant(cache), workers, keep
        self._report = progress or (lambda what, done, total: None)
        self._max_vertices, self._device = max_vertices, device
        self._templates = Templates(most_wholes)
        self._prepare()

    def _prepare(self) -> None:
        """Surfaces as they are matched, and distances on the wholes."""
        self._scans = [self._prepared(pair, self._max_vertices) for pair in self.pairs]
        self._kept: tuple[tuple[Any, ...], dict[int, SurfacePair]] = (), {}
        self._distances: dict[str, np.ndarray] = {}
        wholes = {
            pair.whole.content_hash: (pair.whole, scans.whole_key)
            for pair, scans in zip(self.pairs, self._scans, strict=True)
        }
        for done, (key, (mesh, known_as)) in enumerate(wholes.items()):
            self._report("distances", done, len(wholes))
            self._distances[key] = self._distances_on(mesh, known_as)
        self._report("distances", len(wholes), len(wholes))

    def _distances_on(self, whole: Mesh, known_as: str) -> np.ndarray:
        what = "distances that errors are measured by"
        found: np.ndarray | None = self._templates.get(known_as, what)
        if found is None:
            found = distances_of(whole, method=self.method, device=self._device).cpu().numpy()
            self._templates.put(known_as, what, found)
        return found

    def __len__(self) -> int:
        return len(self.pairs)

    def with_pairs(self, pairs: Sequence) -> Benchmark:
        """The same for other pairs; what is known of their wholes is not computed again."""
        other = copy(self)
        other.pairs = _with_truth(pairs)
        other._prepare()
        return other

    def _prepared(self, pair: Pair, max_vertices: int) -> PreparedScans:
        scans = Scans(pair.part, pair.whole, (), {})
        return prepare_scans(scans, max_vertices=max_vertices, templates=self._templates)

    def of(
        self,
        method: Method,
        *,
        read_out: ReadOut = READ_OUT,
        refine: int = 0,
        weights: Weights = "final",
        thorough: bool = True,
        progress: Progress | None = None,
    ) -> Evaluation:
        """The errors of a method.

        Parameters
        ----------
        method : a `Matcher`, or another one
        read_out, refine : see `match`
        weights : which weights these are, for the protocol
        thorough : False leaves out coverage, roughness and time
        progress : called with ("matching", pairs done, pairs in all)
        """
        knobs: dict[str, Any] = {"refine": refine, "weights": weights, "thorough": thorough, "progress": progress}
        return self.by_read_out(method, [read_out], **knobs)[read_out]

    def by_read_out(
        self,
        method: Method,
        read_outs: Sequence[ReadOut],
        *,
        refine: int = 0,
        weights: Weights = "final",
        thorough: bool = True,
        progress: Progress | None = None,
    ) -> dict[ReadOut, Evaluation]:
        """The errors of a method with each of several read-outs, as `of` gives them; each pair is searched only once.

        Parameters
        ----------
        method : a `Matcher`, or another one
        read_outs : see `match`; at least one
        refine, weights, thorough, progress : see `of`
        """
        if not read_outs:
            raise ValueError("read_outs is empty; name at least one, such as 'lateration'")
        choices = {read_out: MatchOptions(refine=refine, read_out=read_out) for read_out in read_outs}
        results: dict[ReadOut, list[PairResult]] = {read_out: [] for read_out in choices}
        with self._filled_cache(method) as cache, on_free_cores():
            for number in range(len(self.pairs)):
                self._tell(progress, number)
                for read_out, result in self._results(number, method, choices, cache, thorough=thorough):
                    results[read_out].append(result)
        self._tell(progress, len(self.pairs))
        return {
            read_out: Evaluation(results[read_out], self.protocol(method, options, weights))
            for read_out, options in choices.items()
        }

    def of_pair(self, number: int, method: Method, *, read_out: ReadOut = READ_OUT, refine: int = 0) -> PairResult:
        """The errors of a method on one pair, by its number, as `of` has them; for runs that are interrupted and go on.

        Parameters
        ----------
        number : of the pair in `pairs`
        method, read_out, refine : see `of`
        """
        return self.of_pair_by_read_out(number, method, [read_out], refine=refine)[read_out]

    def of_pair_by_read_out(
        self, number: int, method: Method, read_outs: Sequence[ReadOut], *, refine: int = 0
    ) -> dict[ReadOut, PairResult]:
        """The same with each of several read-outs, after one search."""
        choices = {read_out: MatchOptions(refine=refine, read_out=read_out) for read_out in read_outs}
        with on_free_cores():
            return dict(self._results(number, method, choices, self._cache, thorough=True))

    @contextmanager
    def filled_cache(self, method: Method) -> Iterator[None]:
        """In the block, the eigenpairs of all surfaces are there, computed by several processes, for `of_pair`."""
        before = self._cache
        with self._filled_cache(method) as self._cache:
            try:
                yield
            finally:
                self._cache = before

    def results(
        self, method: Method, options: MatchOptions | None = None, *, progress: Progress | None = None
    ) -> Iterator[MatchResult]:
        """What `match` gives for each pair.

        Parameters
        ----------
        method : a `Matcher`, or another one
        options : see `MatchOptions`
        progress : called with ("matching", pairs done, pairs in all)
        """
        cores = free_cores()
        with self._filled_cache(method) as cache:
            for number, scans in enumerate(self._scans):
                self._tell(progress, number)
                yield match_scans(scans, method, options, cache=cache, cores=cores)
            self._tell(progress, len(self.pairs))

    def calibration(self, method: Method, *, most: int = CALIBRATED, progress: Progress | None = None) -> Calibration:
        """How errors go with confidence, over all vertices of some pairs, evenly through the list.

        Parameters
        ----------
        method : a `Matcher`, or another one
        most : so many pairs at most
        progress : called with ("confidence", pairs done, pairs in all)
        """
        chosen = spread_evenly(len(self.pairs), most)
        sure, errors = [], []
        for done, number in enumerate(chosen):
            if progress is not None:
                progress("confidence", done, len(chosen))
            pair = self.pairs[number]
            assert pair.ground_truth is not None
            found = match_scans(self._scans[number], method, cache=self._cache)
            sure.append(found.confidence[pair.ground_truth.part_vertices])
            errors.append(self._errors(pair, found.vertex_map))
        if progress is not None:
            progress("confidence", len(chosen), len(chosen))
        return calibration(np.concatenate(sure), np.concatenate(errors), limit=RIGHT)

    def protocol(self, method: Method, options: MatchOptions, weights: Weights = "final") -> Protocol:
        """How the errors of a method are measured here."""
        return protocol_of(self.pairs, method, options, weights, data=self.name, distances=self.method)

    def _results(
        self,
        number: int,
        method: Method,
        choices: Mapping[ReadOut, MatchOptions],
        cache: Cache | None,
        *,
        thorough: bool,
    ) -> Iterator[tuple[ReadOut, PairResult]]:
        """The errors on one pair with each read-out, after one search."""
        surfaces = self._surfaces(number, method, cache)
        start = time.perf_counter()
        found = searched(method, surfaces, MatchOptions(), scans=self._scans[number])
        search_seconds = time.perf_counter() - start
        for read_out, options in choices.items():
            start = time.perf_counter()
            vertex_map = self._lifted(number, map_from(method, found, options))
            seconds = search_seconds + time.perf_counter() - start
            yield read_out, self._result(number, vertex_map, seconds, thorough=thorough)

    def _lifted(self, number: int, found: FoundMap) -> Int[np.ndarray, "p"]:
        """The map on every vertex of a part."""
        scans = self._scans[number]
        return lifted(Lift.between(scans.part, scans.whole), found)[0]

    def _result(self, number: int, vertex_map: Int[np.ndarray, "p"], seconds: float, *, thorough: bool) -> PairResult:
        pair = self.pairs[number]
        if not thorough:
            return PairResult(pair.name, self._errors(pair, vertex_map))
        return evaluate_map(pair, vertex_map, self._distances[pair.whole.content_hash], seconds=seconds)

    def _surfaces(self, number: int, method: Method, cache: Cache | None) -> SurfacePair:
        held = self._held(method)
        if number not in held:
            found = surfaces_of(self._scans[number], method, cache=cache)
            if not self._keep:
                return found
            held[number] = found
        return held[number]

    def _held(self, method: Method) -> dict[int, SurfacePair]:
        """Surfaces that are held for methods that need the same of them as this one."""
        config = method.config
        needs = (config.eigenpairs, config.network.diffusion_eigenpairs, config.loss, method.device)
        if self._kept[0] != needs:
            self._kept = needs, {}
        return self._kept[1]

    def _errors(self, pair: Pair, vertex_map: np.ndarray) -> np.ndarray:
        assert pair.ground_truth is not None
        distances = self._distances[pair.whole.content_hash]
        return geodesic_errors(vertex_map, pair.ground_truth, distances, area=pair.whole.area)

    def _filled_cache(self, method: Method) -> AbstractContextManager[Cache | None]:
        """A cache with the eigenpairs of all surfaces, unless the surfaces themselves are held."""
        if len(self._held(method)) == len(self.pairs):
            return nullcontext(self._cache)
        meshes = {mesh.content_hash: mesh for scans in self._scans for mesh in scans.meshes}
        k, workers = method.config.eigenpairs, self._workers
        return filled_cache(list(meshes.values()), k, self._cache, workers=workers, progress=self._report)

    def _tell(self, progress: Progress | None, done: int) -> None:
        if progress is not None:
            progress("matching", done, len(self.pairs))


def protocol_of(
    pairs: Sequence[Pair],
    method: Method,
    options: MatchOptions,
    weights: Weights = "final",
    *,
    data: str,
    distances: DistanceMethod,
) -> Protocol:
    """How the errors of a method on pairs are measured.

    Parameters
    ----------
    pairs : with ground truth
    method, options, weights : see `Benchmark.of`
    data : what the pairs are
    distances : how distances on the wholes are measured
    """
    kinds = {pair.ground_truth.kind for pair in pairs if pair.ground_truth is not None}
    truth: Truth = "barycentric" if "barycentric" in kinds else "vertices"
    matchers = method.matchers if isinstance(method, Ensemble) else [method]
    return Protocol(
        data=data,
        distances=distances,
        ground_truth=truth,
        read_out=options.read_out,
        refined=options.refine,
        weights=weights,
        seeds=() if weights == "none" else tuple(one.config.optimisation.seed for one in matchers),
    )


def spread_evenly(count: int, most: int) -> list[int]:
    """Numbers from 0 to count - 1, all or `most` of them.

    >>> spread_evenly(3, 24), spread_evenly(101, 3)
    ([0, 1, 2], [0, 50, 100])
    """
    return [int(k) for k in np.unique(np.linspace(0, count - 1, min(most, count)).round())]


def _with_truth(pairs: Sequence) -> list[Pair]:
    held = list(given_pairs(pairs))
    if not held:
        raise ValueError("there are no pairs; a data set yields at least one part and its whole")
    missing = [pair.name for pair in held if pair.ground_truth is None or len(pair.ground_truth) == 0]
    if missing:
        raise ValueError(
            f"{len(missing)} of {len(held)} pairs have no ground truth ({missing[0]}, for one), so their error "
            "can't be measured; leave them out with pairs.where(...), or match them without evaluation"
        )
    return held


def evaluate(
    matcher: Method,
    pairs: Sequence,
    *,
    read_out: ReadOut = READ_OUT,
    refine: int = 0,
    method: DistanceMethod = "fast_marching",
    weights: Weights = "final",
    cache: CacheGiven = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Match every pair, as `match` does it, and measure the errors: `Benchmark` for one method.

    Parameters
    ----------
    matcher : a `Matcher`, or another `Method`
    pairs : with ground truth
    read_out, refine : see `match`
    method : how distances on the wholes are measured
    weights : which weights of a training run these are, for the protocol
    cache, workers, progress : see `Benchmark`
    """
    check_method(matcher)
    check_progress(progress)
    device = matcher.device.type
    benchmark = Benchmark(pairs, method=method, device=device, cache=cache, workers=workers, progress=progress)
    return benchmark.of(matcher, read_out=read_out, refine=refine, weights=weights, progress=progress)


class MeasuredMap(NamedTuple):
    """A map whose truth is known, and what its confidence is made of.

    Attributes
    ----------
    cues, errors, areas : at the vertices whose truth is known; errors in √area of the whole
    fit : of the map, without an expected error
    """

    cues: Cues
    errors: Float[np.ndarray, "g"]
    areas: Float[np.ndarray, "g"]
    fit: Fit


def cues_and_errors(pair: Pair, method: Method, *, cache: Cache | None = None, wrong: bool = False) -> MeasuredMap:
    """Cues and errors at the vertices of a pair whose truth is known, matched as `match` does it: what the rule of confidence
    is fitted to, see benchmarks/confidence.py.

    Parameters
    ----------
    pair : with ground truth; few enough vertices that nothing is decimated
    method : that matches
    cache : where eigenpairs are kept
    wrong : part and whole belong to different things: there is no truth, and every error is `LARGEST_ERROR`
    """
    truth = pair.ground_truth
    if not wrong and (truth is None or len(truth) == 0):
        raise ValueError(f"{pair.name} has no ground truth, so its errors can't be measured; leave it out")
    scans = prepare_scans(Scans(pair.part, pair.whole, (), {}))
    if scans.part.decimated or scans.whole.decimated:
        raise ValueError(f"{pair.name} is too large: cues are at the vertices as they are matched; decimate it first")
    found = found_map(method, surfaces_of(scans, method, cache=cache), MatchOptions(), scans=scans)
    cues = cues_of(found.vertex_map, found.search, method, moved=found.laterated)
    areas, fit = found.search.pair.meshes[0].vertex_areas, fit_of(found.vertex_map, found.search)
    if wrong or truth is None:
        return MeasuredMap(cues, np.full(len(cues), LARGEST_ERROR), areas, fit)
    distances = found.search.pair.whole.distances
    assert distances is not None
    # specks are left out of what is matched
    matched = np.full(pair.part.n_vertices, -1)
    matched[scans.part.to_given] = np.arange(len(cues))
    rows = matched[truth.part_vertices]
    vertex_map = found.vertex_map.cpu().numpy().astype(np.int64)[np.maximum(matched, 0)]
    errors = geodesic_errors(vertex_map, truth, distances.cpu().numpy(), area=found.search.pair.meshes[1].area)[
        rows >= 0
    ]
    rows = rows[rows >= 0]
    return MeasuredMap(Cues(**{name: getattr(cues, name)[rows] for name in NAMES}), errors, areas[rows], fit)
