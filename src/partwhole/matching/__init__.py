"""Matching: a network that matches a part to its whole, its losses, and its training.

Torch is imported when a name that needs it is first used; `TrainingConfig` and the presets do without.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from partwhole.matching.config import PRESETS, TrainingConfig, preset
from partwhole.store.extras import how_to_install

if TYPE_CHECKING:
    from partwhole.matching.augmentation import augmented
    from partwhole.matching.box import card_of, model_names
    from partwhole.matching.ensemble import Ensemble
    from partwhole.matching.examination import Examination, evaluate
    from partwhole.matching.losses import CorrespondenceLoss, Loss, OrthogonalityLoss, WormholeLoss, distortion
    from partwhole.matching.matched import MatchedScan
    from partwhole.matching.matcher import Match, Matcher
    from partwhole.matching.network import DiffusionNet, Operators
    from partwhole.matching.preparation import Stock, prepared
    from partwhole.matching.refinement import Refined, refine
    from partwhole.matching.scans import match
    from partwhole.matching.soft_maps import hard_map, soft_map, spectral_map
    from partwhole.matching.surfaces import Surface, pair_weights, surface_of
    from partwhole.matching.training import TrainingRun, train

__all__ = [
    "PRESETS",
    "CorrespondenceLoss",
    "DiffusionNet",
    "Ensemble",
    "Examination",
    "Loss",
    "Match",
    "MatchedScan",
    "Matcher",
    "Operators",
    "OrthogonalityLoss",
    "Refined",
    "Stock",
    "Surface",
    "TrainingConfig",
    "TrainingRun",
    "WormholeLoss",
    "augmented",
    "card_of",
    "distortion",
    "evaluate",
    "hard_map",
    "match",
    "model_names",
    "pair_weights",
    "prepared",
    "preset",
    "refine",
    "soft_map",
    "spectral_map",
    "surface_of",
    "train",
]

_HOMES = {
    "augmentation": ("augmented",),
    "box": ("card_of", "model_names"),
    "ensemble": ("Ensemble",),
    "examination": ("Examination", "evaluate"),
    "losses": ("CorrespondenceLoss", "Loss", "OrthogonalityLoss", "WormholeLoss", "distortion"),
    "matched": ("MatchedScan",),
    "matcher": ("Match", "Matcher"),
    "network": ("DiffusionNet", "Operators"),
    "preparation": ("Stock", "prepared"),
    "refinement": ("Refined", "refine"),
    "scans": ("match",),
    "soft_maps": ("hard_map", "soft_map", "spectral_map"),
    "surfaces": ("Surface", "pair_weights", "surface_of"),
    "training": ("TrainingRun", "train"),
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
