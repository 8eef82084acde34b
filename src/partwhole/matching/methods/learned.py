"""What methods with a network have in common: it is trained by a loss of their own, and its maps are read as published."""

from __future__ import annotations

from abc import abstractmethod
from copy import deepcopy
from pathlib import Path
from typing import Any, ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from partwhole.matching.config import PRESETS, TrainingConfig
from partwhole.matching.matcher import Matcher
from partwhole.matching.network.diffusion_net import Network, is_made_by, new_network
from partwhole.matching.network.surface import SurfacePair
from partwhole.matching.network.weights import model_path, read_tensors
from partwhole.matching.readout.maps import Comparison, functional_map_of, hard_map, nearest_rows
from partwhole.matching.search.method import PairMethod
from partwhole.matching.training.losses import Loss, SynchronousLoss
from partwhole.matching.training.refine import refine
from partwhole.matching.training.steps import random_seed
from partwhole.matching.training.train import train
from partwhole.store.arguments import check_whole_number
from partwhole.store.storage import hash_of


class LearnedMethod(PairMethod):
    """A network, the loss that it is trained by, and how its map is read. A subclass gives `own_loss` and `functional_map`.

    Parameters
    ----------
    matcher : a trained network with its config; None: one with random weights, to be trained with `fit`
    config : in the place of the published choices, for a network that is to be trained
    adapt : steps of test-time adaptation: so often the loss of the pair is made smaller, on a copy of the weights and with an
        optimiser of its own, so that no pair changes the next one
    """

    # what it is called, and the published choices
    name: ClassVar[str]
    published: ClassVar[TrainingConfig]

    def __init__(self, matcher: Matcher | None = None, *, config: TrainingConfig | None = None, adapt: int = 0) -> None:
        check_whole_number("adapt", adapt)
        if adapt < 0:
            raise ValueError(f"adapt={adapt} must be a number of steps, 0 for none")
        if matcher is not None and config is not None:
            raise ValueError("the matcher has its config already; leave config out")
        if matcher is None:
            matcher = self._untrained(config or self.published)
        self.matcher, self.adapt = matcher, adapt
        named = f"{self.name}, adapted" if adapt else self.name
        super().__init__(matcher.config, {**matcher.card, "name": named})
        if adapt and any(term.takes_truth for term in self.loss().terms()):
            raise ValueError(
                f"adapt={adapt}: the loss of {self.name} needs the ground truth, which a pair to be matched does not have"
            )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.matcher!r})"

    @classmethod
    def load(cls, path: str | Path, *, device: str = "cpu", adapt: int = 0) -> LearnedMethod:
        """The method whose network `fit` and `save` wrote."""
        config = TrainingConfig.from_json(read_tensors(model_path(path))[1].get("config", {}))
        network = cls.network_of(config)
        own = None if is_made_by(config.network, network) else network
        return cls(Matcher.load(path, network=own, device=device), adapt=adapt)

    def save(self, path: str | Path) -> None:
        """The network with its card, in a safetensors file."""
        self.matcher.save(path)

    @classmethod
    def network_of(cls, config: TrainingConfig) -> Network:
        """The network with random weights."""
        return new_network(config.network)

    @classmethod
    def _untrained(cls, config: TrainingConfig) -> Matcher:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(random_seed(config.optimisation.seed))
            return Matcher(cls.network_of(config), config, {"weights": "none"})

    @property
    def device(self) -> torch.device:
        """Where surfaces must be."""
        return self.matcher.device

    def fingerprint(self) -> str:
        return hash_of({"method": self.name, "network": self.matcher.fingerprint(), "adapt": self.adapt})

    def trainable(self) -> Network:
        """A copy of the network whose weights can be trained."""
        return deepcopy(self.matcher.network).requires_grad_(True)

    @classmethod
    def published_for(cls, data: str | None) -> TrainingConfig:
        """The published choices for a data set, by its name in `PRESETS`; its shapes stand as those of the preset do."""
        of_set = PRESETS.get(data or "")
        return cls.published if of_set is None else cls.published.with_changes(vertical=of_set.search.vertical)

    def loss(self) -> Loss:
        """What training and adaptation make small: the published loss, and the synchronous one if it has a weight."""
        weight = self.config.loss.synchronous_weight
        return self.own_loss() + SynchronousLoss(weight) if weight else self.own_loss()

    @abstractmethod
    def own_loss(self) -> Loss:
        """The published loss."""

    def fit(self, pairs: Any, **options: Any) -> LearnedMethod:
        """This method with its network trained on pairs, from the weights that it has; options are those of `train`."""
        run = train(pairs, self.config, loss=self.loss(), network=self.trainable(), method=self.name, **options)
        return type(self)(run.matcher, adapt=self.adapt)

    def compare_pair(self, pair: SurfacePair) -> Comparison:
        matcher = self.matcher
        if self.adapt:
            rate = self.published.optimisation.learning_rate
            knobs: dict[str, Any] = {"steps": self.adapt, "learning_rate": rate, "patience": None}
            matcher = refine(matcher, pair.part, pair.whole, loss=self.loss(), read_out="features", **knobs).matcher
        compared = matcher.compare(matcher.encode(pair.part), matcher.encode(pair.whole))[0]
        with torch.no_grad():
            C = self.functional_map(compared, pair)
        part, whole = pair.part.functions[:, : C.shape[0]], pair.whole.functions[:, : C.shape[1]]
        return Comparison(compared.part, compared.whole, vertex_map=nearest_rows(part, whole @ C.T))

    @abstractmethod
    def functional_map(self, compared: Comparison, pair: SurfacePair) -> Float[Tensor, "r k"]:
        """C, from which the map is read: it takes coefficients on the whole to those on the part."""


def of_nearest_features(compared: Comparison, pair: SurfacePair, k: int) -> Float[Tensor, "k k"]:
    """C = Φ_part†Φ_whole[T], T the map of nearest features."""
    k = min(k, pair.part.values.shape[-1], pair.whole.values.shape[-1])
    return functional_map_of(hard_map(compared.part, compared.whole), pair.part, pair.whole, k)
