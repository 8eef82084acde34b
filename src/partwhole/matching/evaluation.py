"""How good a matcher is on a set of pairs: everything that does not depend on the matcher is prepared once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from partwhole.datasets.pairs import Pair, given_pairs
from partwhole.evaluation import Evaluation, PairResult, Protocol, evaluate_map, geodesic_errors
from partwhole.evaluation.protocol import Truth, Weights
from partwhole.geodesics.distances import Method
from partwhole.matching.ensemble import Ensemble
from partwhole.matching.matcher import Matcher, check_matcher
from partwhole.matching.network.surface import Surface, distances_of
from partwhole.matching.readout.soft_map import BY_DISTANCES, ReadOut
from partwhole.matching.training.config import TrainingConfig
from partwhole.matching.training.prepared_pairs import PreparedPairs, Report, prepare_pairs
from partwhole.store.arguments import check_function, check_whole_number
from partwhole.store.cache import CacheGiven


class Benchmark:
    """Pairs with ground truth, ready to be matched by one network after the other.

    Parameters
    ----------
    pairs : with ground truth
    config : of the networks that will be examined: how many eigenpairs they need
    name : what the pairs are, for tables
    method : how distances on the wholes are measured
    for_loss : prepare what the loss needs even if nothing is judged by it: for refinement, lateration and ZoomOut
    device, cache, workers, progress : see `prepare_pairs`
    """

    def __init__(
        self,
        pairs: Sequence,
        config: TrainingConfig,
        *,
        name: str | None = None,
        method: Method = "fast_marching",
        for_loss: bool = False,
        device: str = "cpu",
        cache: CacheGiven = None,
        workers: int | None = None,
        progress: Report | None = None,
    ) -> None:
        self.pairs: list[Pair] = list(given_pairs(pairs))
        missing = [pair.name for pair in self.pairs if pair.ground_truth is None or len(pair.ground_truth) == 0]
        if missing:
            raise ValueError(
                f"{len(missing)} of {len(self.pairs)} pairs have no ground truth ({missing[0]}, for one), so their error "
                "can't be measured; leave them out with pairs.where(...), or match them without evaluation"
            )
        self.name: str = name or str(getattr(pairs, "name", "pairs"))
        self.method: Method = method
        options: dict[str, Any] = {"device": device, "cache": cache, "workers": workers, "progress": progress}
        judged = for_loss or config.judges_by_distances
        self.stock = prepare_pairs(self.pairs, config, for_loss=judged, **options)
        wholes = self.stock.meshes[1]
        self.distances = []
        for done, mesh in enumerate(wholes):
            if progress is not None:
                progress("distances", done, len(wholes))
            self.distances.append(distances_of(mesh, method=method, device=device).cpu().numpy())
        if progress is not None:
            progress("distances", len(wholes), len(wholes))

    @staticmethod
    def needs(config: TrainingConfig, *, for_loss: bool = False) -> tuple[Any, ...]:
        """Equal for choices that can share an examination: all that it prepares of the surfaces."""
        judged = (config.criterion, config.mask, config.distances, config.low_pass, config.precision)
        return (
            config.eigenpairs,
            config.diffusion_eigenpairs,
            judged if for_loss or config.judges_by_distances else None,
        )

    def __len__(self) -> int:
        return len(self.pairs)

    def of(
        self,
        matcher: Matcher,
        *,
        read_out: ReadOut = "spectral",
        refine: int = 0,
        weights: Weights = "final",
        thorough: bool = True,
        progress: Report | None = None,
    ) -> Evaluation:
        """The errors of a matcher.

        Parameters
        ----------
        matcher : on the device of the examination
        read_out : see `Matcher.vertex_map`
        refine : steps of refinement on each pair, see `partwhole.matching.training.refine`; 0: none
        weights : which weights these are, for the protocol
        thorough : False leaves out coverage and roughness, and time
        progress : called with ("matching", pairs done, pairs in all)
        """
        stock = self.stock
        if read_out in BY_DISTANCES and stock.parts[0].weights is None:
            raise ValueError(f"read_out={read_out!r} needs distances; make the examination with for_loss=True")
        maps = self._refined_maps(matcher, read_out, refine) if refine else maps_of(matcher, stock, read_out)
        results = []
        for done, (pair, (_, w)) in enumerate(zip(self.pairs, stock.pairs, strict=True)):
            if progress is not None:
                progress("matching", done, len(self.pairs))
            found, seconds = next(maps)
            vertex_map = found.cpu().numpy().astype(np.int64)
            if thorough:
                results.append(evaluate_map(pair, vertex_map, self.distances[w], seconds=seconds))
            else:
                assert pair.ground_truth is not None
                area = pair.whole.area
                errors = geodesic_errors(vertex_map, pair.ground_truth, self.distances[w], area=area)
                results.append(PairResult(pair.name, errors))
        if progress is not None:
            progress("matching", len(self.pairs), len(self.pairs))
        return Evaluation(results, self.protocol(matcher, read_out, weights, refine=refine))

    def _refined_maps(self, matcher: Matcher, read_out: ReadOut, steps: int) -> Iterator[tuple[Tensor, float]]:
        """The same with weights that are refined for each pair."""
        from partwhole.matching.training import refine as refinement

        if self.stock.parts[0].weights is None:
            raise ValueError("refinement needs what the loss needs; make the examination with for_loss=True")

        # of several, each is refined by itself
        refinable = matcher.matchers if isinstance(matcher, Ensemble) else matcher

        def refined(part: Surface, whole: Surface) -> Tensor:
            return refinement.refine(refinable, part, whole, steps=steps, read_out=read_out).vertex_map

        for p, w in self.stock.pairs:
            yield _timed(refined, self.stock.parts[p], self.stock.wholes[w])

    def protocol(self, matcher: Matcher, read_out: ReadOut, weights: Weights, *, refine: int = 0) -> Protocol:
        """How the errors of a matcher are measured here."""
        kinds = {pair.ground_truth.kind for pair in self.pairs if pair.ground_truth is not None}
        truth: Truth = "barycentric" if "barycentric" in kinds else "vertices"
        return Protocol(
            data=self.name,
            distances=self.method,
            ground_truth=truth,
            read_out=read_out,
            refined=refine,
            weights=weights,
            seeds=tuple(m.config.seed for m in (matcher.matchers if isinstance(matcher, Ensemble) else [matcher])),
        )


def maps_of(matcher: Matcher, stock: PreparedPairs, read_out: ReadOut) -> Iterator[tuple[Tensor, float]]:
    """The map of each pair, and the seconds it took; features of a surface are computed once."""
    of_wholes = [_timed(matcher.whole_features, surface) for surface in stock.wholes]
    known = -1
    of_part: tuple[Any, float] = ([], 0.0)
    for p, w in stock.pairs:
        if p != known:
            # parts come with all their wholes, one after the other
            known, of_part = p, _timed(matcher.part_features, stock.parts[p])
        features = of_part[0], of_wholes[w][0]
        found, took = _timed(matcher.vertex_map, stock.parts[p], stock.wholes[w], read_out=read_out, features=features)
        yield found, of_part[1] + of_wholes[w][1] + took


def _timed(work: Callable[..., Any], *given: Surface, **knobs: Any) -> tuple[Any, float]:
    """What comes out, and the seconds until the device has done it."""
    start = time.perf_counter()
    found = work(*given, **knobs)
    if given[0].points.is_cuda:
        torch.cuda.synchronize()
    return found, time.perf_counter() - start


def evaluate(
    matcher: Matcher,
    pairs: Sequence,
    *,
    read_out: ReadOut = "spectral",
    refine: int = 0,
    method: Method = "fast_marching",
    weights: Weights = "final",
    cache: CacheGiven = None,
    workers: int | None = None,
    progress: Report | None = None,
) -> Evaluation:
    """Match every pair and measure the errors: `Benchmark` for one matcher.

    Parameters
    ----------
    matcher : trained
    pairs : with ground truth
    read_out : see `Matcher.vertex_map`
    refine : steps of refinement on each pair; 0: none
    method : how distances on the wholes are measured
    weights : which weights of a training run these are, for the protocol
    cache, workers, progress : see `prepare_pairs`
    """
    check_matcher(matcher)
    check_whole_number("refine", refine)
    check_function("progress", progress, called_with="(what is done, how much is done, how much there is)")
    examination = Benchmark(
        pairs,
        matcher.config,
        method=method,
        for_loss=refine != 0 or read_out in BY_DISTANCES,
        device=matcher.device.type,
        cache=cache,
        workers=workers,
        progress=progress,
    )
    return examination.of(matcher, read_out=read_out, refine=refine, weights=weights, progress=progress)
