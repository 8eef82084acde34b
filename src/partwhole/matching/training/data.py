"""What a run is trained on, validated on and watched with: pairs, prepared as its loss and its teacher ask for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from partwhole.datasets.synthetic.recipe import PairRecipe
from partwhole.matching.config import MatchOptions, ReadOut, TrainingConfig
from partwhole.matching.evaluation import Benchmark
from partwhole.matching.network.surface import SurfacePair
from partwhole.matching.pipeline import found_map
from partwhole.matching.search.method import Method
from partwhole.matching.training.losses import Loss, loss_of
from partwhole.matching.training.prepared_pairs import PreparedPairs, prepare_pairs
from partwhole.matching.training.stream import PairStream
from partwhole.store.arguments import Progress


@dataclass(frozen=True, eq=False)
class TrainingData:
    """The pairs of a run.

    Attributes
    ----------
    prepared : to train on
    held_out : to validate on; None: nothing is validated
    watched : whose errors are recorded, by name
    own_stream : the pairs are a stream that was opened here, and ends with the run
    """

    prepared: PreparedPairs | PairStream
    held_out: PreparedPairs | None
    watched: Mapping[str, Benchmark]
    own_stream: bool = False

    def close(self) -> None:
        """End what was opened for the run."""
        if self.own_stream and isinstance(self.prepared, PairStream):
            self.prepared.close()


def training_data(
    pairs: Sequence | PreparedPairs | PairStream | PairRecipe,
    config: TrainingConfig,
    *,
    loss: Loss | None = None,
    teacher: Method | None = None,
    validation: Sequence | PreparedPairs | None = None,
    watch: Mapping[str, Any] | None = None,
    **options: Any,
) -> TrainingData:
    """All pairs of a run, prepared; prepared pairs are used as they are.

    Parameters
    ----------
    pairs, config, loss, teacher, validation, watch : see `train`
    options : of `prepare_pairs`: device, cache, workers, progress
    """
    if pairs is None:
        raise ValueError("pairs must be a data set or a list of pw.datasets.Pair, got None")
    if teacher is not None and not config.loss.correspondence_weight:
        raise ValueError("a teacher has no effect with correspondence_weight=0; give it a weight, such as 3")

    def prepared(given: Sequence | PreparedPairs) -> PreparedPairs:
        if not isinstance(given, PreparedPairs):
            given = prepared_for(given, config, loss=loss, teacher=teacher, **options)
        return given if teacher is None else with_teacher_maps(given, teacher, progress=options.get("progress"))

    own = isinstance(pairs, PairRecipe)
    if isinstance(pairs, PairRecipe | PairStream):
        check_streamed(config, loss=loss, teacher=teacher)
    if isinstance(pairs, PairRecipe):
        knobs: dict[str, Any] = {name: options[name] for name in ("device", "workers", "progress")}
        pairs = PairStream(pairs, config, **knobs)
    if isinstance(pairs, PairStream):
        check_stream(pairs, config, options["device"])
    return TrainingData(
        pairs if isinstance(pairs, PairStream) else prepared(pairs),
        None if validation is None else prepared(validation),
        {
            name: given if isinstance(given, Benchmark) else Benchmark(given, name=name, keep=True, **options)
            for name, given in (watch or {}).items()
        },
        own,
    )


def check_streamed(config: TrainingConfig, *, loss: Loss | None = None, teacher: Method | None = None) -> None:
    """Raise ValueError unless a run can be trained on a stream, whose blocks have operators and ground truth only."""
    wanted = next((term.name for term in (loss or loss_of(config)).terms() if term.takes_distances), None)
    if teacher is not None:
        raise ValueError("the pairs of a recipe bring their ground truth; leave the teacher out")
    if wanted is not None:
        raise ValueError(
            f"the term {wanted!r} of the loss needs distances, which the pairs of a recipe do not have; use "
            "preset('default'), or distortion_weight=0 and correspondence_weight=1"
        )
    if "signatures" in config.network.inputs:
        raise ValueError(
            f"inputs={config.network.inputs!r} needs signatures, which the pairs of a recipe do not have; use 'invariants' "
            "or 'xyz'"
        )
    if config.optimisation.cosine_epochs is not None:
        raise ValueError(
            f"cosine_epochs={config.optimisation.cosine_epochs} counts passes over all pairs, and a recipe has new ones "
            "always; use cosine_epochs=None"
        )


def check_stream(stream: PairStream, config: TrainingConfig, device: str) -> None:
    """Raise ValueError unless the surfaces of a stream are those that a run takes."""
    if stream.device != device:
        raise ValueError(
            f"the surfaces of the stream are on {stream.device!r}, and the run is on {device!r}; use the same"
        )
    if not stream.fits(config):
        raise ValueError("the stream was made for another number of eigenpairs; make it with the config of the run")


def takes_distances(config: TrainingConfig, *, loss: Loss | None = None, teacher: Method | None = None) -> bool:
    """Whether distances on the surfaces must be known: for a term of the loss, or for the maps of the teacher."""
    return teacher is not None or any(term.takes_distances for term in (loss or loss_of(config)).terms())


def prepared_for(
    pairs: Sequence,
    config: TrainingConfig,
    *,
    loss: Loss | None = None,
    teacher: Method | None = None,
    **options: Any,
) -> PreparedPairs:
    """The pairs as training needs them: with distances and ground truth where something uses them.

    Parameters
    ----------
    pairs, config, loss, teacher : see `train`
    options : of `prepare_pairs`
    """
    distances = takes_distances(config, loss=loss, teacher=teacher)
    supervised = any(term.takes_truth for term in (loss or loss_of(config)).terms()) and teacher is None
    if config.loss.distance_vertices is not None and (supervised or teacher is not None):
        needs = "the correspondence loss takes the ground truth" if supervised else "a teacher takes distances"
        raise ValueError(
            f"distance_vertices={config.loss.distance_vertices} keeps some vertices, and {needs} at all of them; set "
            "distance_vertices to None, and decimate large surfaces instead"
        )
    return prepare_pairs(pairs, config, for_loss=distances, truth=supervised, **options)


def with_teacher_maps(
    prepared: PreparedPairs, teacher: Method, *, read_out: ReadOut = "spectral", progress: Progress | None = None
) -> PreparedPairs:
    """The same pairs, with the maps of another network in the place of the ground truth, which is not used.

    Distances can't tell front from back; a teacher that searches several orientations is right for most pairs, and a network
    that learns from all of its maps at once follows the majority.

    Parameters
    ----------
    prepared : prepared for the loss, on the device of the teacher
    teacher : gives a map for each pair
    read_out : see `read_map`
    progress : called with ("teacher's maps", pairs done, pairs in all)
    """
    truths = {}
    for done, (p, w) in enumerate(prepared.pairs):
        if progress is not None and done % 20 == 0:
            progress("teacher's maps", done, len(prepared))
        meshes = prepared.meshes[0][p], prepared.meshes[1][w]
        pair = SurfacePair(prepared.parts[p], prepared.wholes[w], meshes, teacher.config.loss.criterion)
        mass = prepared.parts[p].mass
        found = found_map(teacher, pair, MatchOptions(read_out=read_out))
        truths[p, w] = found.vertex_map.to(torch.int64), mass / mass.sum()
    if progress is not None:
        progress("teacher's maps", len(prepared), len(prepared))
    return replace(prepared, truths=truths, teacher=str(teacher.card.get("name", "network")))
