"""Matching: a network that matches a part to its whole, its losses, and its training.

Torch is imported when a name that needs it is first used; `TrainingConfig` and the presets do without.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from partwhole.matching.config import (
    PRESETS,
    AugmentationConfig,
    LossConfig,
    MatchOptions,
    NetworkConfig,
    OptimisationConfig,
    SearchConfig,
    TrainingConfig,
    preset,
)
from partwhole.store.arguments import how_to_install

if TYPE_CHECKING:
    from partwhole.matching.evaluation import Benchmark, evaluate
    from partwhole.matching.matcher import Ensemble, Matcher
    from partwhole.matching.network.diffusion_net import DiffusionNet, Network
    from partwhole.matching.network.surface import Operators, Surface, SurfacePair, pair_weights, surface_of
    from partwhole.matching.network.weights import card_of, method_names, model_names
    from partwhole.matching.parts.match import match_parts
    from partwhole.matching.parts.result import PartnerMap, PartsMatch
    from partwhole.matching.readout.maps import Comparison, hard_map, soft_map, spectral_map
    from partwhole.matching.result import MatchResult
    from partwhole.matching.search.method import Method, PairMethod
    from partwhole.matching.session import MatchSession, match
    from partwhole.matching.training.losses import CorrespondenceLoss, Loss, OrthogonalityLoss, WormholeLoss, distortion
    from partwhole.matching.training.parts_loss import PartsLoss
    from partwhole.matching.training.prepared_pairs import PreparedPairs, prepare_pairs
    from partwhole.matching.training.refine import Refined, refine
    from partwhole.matching.training.steps import augmented
    from partwhole.matching.training.stream import PairStream
    from partwhole.matching.training.train import TrainingRun, train

__all__ = [
    "PRESETS",
    "AugmentationConfig",
    "Benchmark",
    "Comparison",
    "CorrespondenceLoss",
    "DiffusionNet",
    "Ensemble",
    "Loss",
    "LossConfig",
    "MatchOptions",
    "MatchResult",
    "MatchSession",
    "Matcher",
    "Method",
    "Network",
    "NetworkConfig",
    "Operators",
    "OptimisationConfig",
    "OrthogonalityLoss",
    "PairMethod",
    "PairStream",
    "PartnerMap",
    "PartsLoss",
    "PartsMatch",
    "PreparedPairs",
    "Refined",
    "SearchConfig",
    "Surface",
    "SurfacePair",
    "TrainingConfig",
    "TrainingRun",
    "WormholeLoss",
    "augmented",
    "card_of",
    "distortion",
    "evaluate",
    "hard_map",
    "match",
    "match_parts",
    "method_names",
    "model_names",
    "pair_weights",
    "prepare_pairs",
    "preset",
    "refine",
    "soft_map",
    "spectral_map",
    "surface_of",
    "train",
]

_HOMES = {
    "network.weights": ("card_of", "method_names", "model_names"),
    "evaluation": ("Benchmark", "evaluate"),
    "training.losses": ("CorrespondenceLoss", "Loss", "OrthogonalityLoss", "WormholeLoss", "distortion"),
    "result": ("MatchResult",),
    "matcher": ("Ensemble", "Matcher"),
    "network.diffusion_net": ("DiffusionNet", "Network"),
    "training.parts_loss": ("PartsLoss",),
    "training.prepared_pairs": ("PreparedPairs", "prepare_pairs"),
    "training.refine": ("Refined", "refine"),
    "training.stream": ("PairStream",),
    "session": ("MatchSession", "match"),
    "parts.match": ("match_parts",),
    "parts.result": ("PartnerMap", "PartsMatch"),
    "search.method": ("Method", "PairMethod"),
    "readout.maps": ("Comparison", "hard_map", "soft_map", "spectral_map"),
    "network.surface": ("Operators", "Surface", "SurfacePair", "pair_weights", "surface_of"),
    "training.steps": ("augmented",),
    "training.train": ("TrainingRun", "train"),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            try:
                return getattr(import_module(f"partwhole.matching.{module}"), name)
            except ModuleNotFoundError as missing:
                if missing.name != "torch":
                    raise
                raise ModuleNotFoundError(f"{name} needs torch: {how_to_install('torch')}", name="torch") from None
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
