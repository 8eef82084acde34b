"""`Matcher`: a trained network and how to read maps from it."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from partwhole.datasets.pairs import Pair
from partwhole.matching.confidence.rule import rule_for
from partwhole.matching.network.built_in import model_path
from partwhole.matching.network.diffusion_net import DiffusionNet
from partwhole.matching.network.surface import CHANNELS, Surface, surface_of
from partwhole.matching.network.weights import read_tensors, write_tensors
from partwhole.matching.readout.lateration import laterated
from partwhole.matching.readout.soft_map import BY_DISTANCES, ReadOut, hard_map, spectral_map
from partwhole.matching.readout.zoomout import less_distorted
from partwhole.matching.search.orientation import rotation_to_vertical
from partwhole.matching.search.score import View, orientations, rigidly_aligned, score, similarity, turned_by
from partwhole.matching.training.config import Axis, TrainingConfig
from partwhole.matching.training.prepared_pairs import prepare_pairs
from partwhole.mesh import Mesh
from partwhole.store.arguments import check_device
from partwhole.store.cache import CacheGiven

# so many of the best views are worth to be aligned, of parts that stand upright and of others
HOPEFUL, HOPEFUL_ANY_WAY_UP = 2, 4


@dataclass(frozen=True, eq=False)
class Match:
    """The map of a part to a whole.

    Attributes
    ----------
    vertex_map : for each vertex of the part its vertex of the whole
    read_out : how it was read from the features
    seconds : that features and map took, operators not counted
    losses : of refinement, at the start and after each step; none if nothing was refined
    """

    vertex_map: Int[np.ndarray, "p"]
    read_out: ReadOut
    seconds: float = field(default=float("nan"), kw_only=True)
    losses: tuple[float, ...] = field(default=(), kw_only=True)


class Matcher:
    """A trained network, the choices it was trained with, and a card that says where it comes from.

    Parameters
    ----------
    network : with its weights
    config : the choices of its training
    card : what else is known: data, protocol, measured errors, versions
    """

    def __init__(self, network: DiffusionNet, config: TrainingConfig, card: Mapping[str, Any] | None = None) -> None:
        if not isinstance(network, DiffusionNet) or not isinstance(config, TrainingConfig):
            given = f"{type(network).__name__} and {type(config).__name__}"
            raise ValueError(
                f"a Matcher is of a DiffusionNet and a TrainingConfig, got {given}; Matcher.load reads one"
            )
        self.network = network.eval().requires_grad_(False)
        self.config = config
        self.card = dict(card or {})

    def __repr__(self) -> str:
        return f"Matcher({self.card.get('name', 'network')!r}, on {self.device})"

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.network.first.weight.device

    @classmethod
    def load(cls, path: str | Path, *, device: str = "cpu") -> Matcher:
        """The matcher that `save` wrote, or one that comes with the library, by its name; see `model_names`.

        Examples
        --------
        >>> import tempfile
        >>> config = TrainingConfig(width=8, blocks=1, features=8)
        >>> path = Path(tempfile.mkdtemp()) / "small.safetensors"
        >>> Matcher(new_network(config), config, {"name": "small"}).save(path)
        >>> Matcher.load(path)
        Matcher('small', on cpu)
        """
        check_device(device)
        path = model_path(path)
        tensors, card = read_tensors(path)
        if "config" not in card:
            raise ValueError(f"{path} holds no model; give a file that Matcher.save or `partwhole train` wrote")
        try:
            config = TrainingConfig.from_json(card.pop("config"))
            # weights that are about to be replaced need neither memory nor random numbers
            with torch.device("meta"):
                network = new_network(config)
            rule_for(card)
        except (TypeError, ValueError, AttributeError, RuntimeError) as fault:
            raise ValueError(f"{path}: its card can't be read ({fault}); was it written by another version?") from None
        bad = next((name for name, tensor in tensors.items() if not torch.isfinite(tensor).all()), None)
        if bad is not None:
            raise ValueError(f"{path}: the weights {bad} are not finite, so its maps would mean nothing; train again")
        try:
            network.load_state_dict(tensors, assign=True)
        except RuntimeError as fault:
            reason = " ".join(str(fault).split())
            raise ValueError(f"{path}: the weights don't fit the network of their card ({reason[:300]})") from None
        return cls(network.to(device, torch.float32), config, card)

    def save(self, path: str | Path) -> None:
        """Weights, choices and card in one safetensors file."""
        write_tensors(path, self.network.state_dict(), {**self.card, "config": self.config.to_json()})

    def standing(self, vertical: Axis) -> Matcher:
        """The same matcher for shapes that stand along another axis: its first layer turns them.

        Examples
        --------
        >>> Matcher.load("default").standing("z").config.vertical
        'z'
        """
        if vertical == self.config.vertical:
            return self
        network = deepcopy(self.network)
        R = torch.as_tensor(
            rotation_to_vertical(vertical, self.config.vertical), dtype=torch.float32, device=self.device
        )
        if "xyz" in self.config.inputs:
            # position and normal come first
            for columns in (slice(0, 3), slice(3, 6)):
                network.first.weight[:, columns] = network.first.weight[:, columns] @ R
        return Matcher(network, self.config.with_changes(vertical=vertical), self.card)

    def features(self, surface: Surface) -> Float[Tensor, "*models n f"]:
        """Features of the vertices."""
        with torch.no_grad():
            return self.network(surface.inputs(self.config.inputs), surface.operators)

    def part_features(self, part: Surface) -> list[Float[Tensor, "*models p f"]]:
        """Features of the vertices of a part, at each heading that is tried."""
        return [self.features(seen) for seen in self._turned_parts(part)]

    def whole_features(self, whole: Surface) -> list[Float[Tensor, "*models n f"]]:
        """Features of the vertices of a whole, at each heading that is tried."""
        return [self.features(seen) for seen in self._turned_wholes(whole)]

    def _turned_parts(self, part: Surface) -> list[Surface]:
        config = self.config
        return _turned(part, orientations(config.yaw_steps, config.vertical, upright=config.upright))

    def _turned_wholes(self, whole: Surface) -> list[Surface]:
        return _turned(whole, orientations(self.config.whole_yaw_steps, self.config.vertical))

    def compared(
        self, of_part: Float[Tensor, "*models p f"], of_whole: Float[Tensor, "*models n f"]
    ) -> list[tuple[Float[Tensor, "p _"], Float[Tensor, "n _"]]]:
        """Features whose cosines make maps, one map each."""
        return [(of_part, of_whole)]

    def vertex_map(
        self,
        part: Surface,
        whole: Surface,
        *,
        read_out: ReadOut = "spectral",
        features: tuple[list[Tensor], list[Tensor]] | None = None,
    ) -> Int[Tensor, "p"]:
        """For each vertex of the part its vertex of the whole.

        Parameters
        ----------
        part, whole : surfaces on the device of the network; with distances and weights if it `needs_distances`, or for
            ZoomOut and lateration
        read_out : "features", the vertex of the most similar features; "spectral", that map smoothed through the
            eigenfunctions of both; "zoomout", the latter smoothed by ZoomOut where that distorts distances less;
            "lateration", the spectral one moved to where guaranteed distances to the places around are right
        features : `part_features` of the part and `whole_features` of the whole, if they have been computed already
        """
        if read_out not in get_args(ReadOut):
            raise ValueError(f"read_out must be one of {', '.join(map(repr, get_args(ReadOut)))}, got {read_out!r}")
        return self.read(self.best_view(part, whole, features=features).nearest, part, whole, read_out)

    def best_view(
        self, part: Surface, whole: Surface, *, features: tuple[list[Tensor], list[Tensor]] | None = None
    ) -> View:
        """Part and whole as they are best shown to the network, of all yaw_steps that are tried, and their map.

        If the choices ask for it, the part of the best views is then laid onto the whole by its map, and matched again.

        Parameters
        ----------
        part, whole, features : see `vertex_map`
        """
        parts, wholes = self._turned_parts(part), self._turned_wholes(whole)
        of_part, of_whole = features or (self.part_features(part), self.whole_features(whole))
        views = [
            view
            for k, one in enumerate(of_part)
            for j, other in enumerate(of_whole)
            for view in self._views((parts[k], wholes[j]), (one, other), (k, j, 0))
        ]
        views.sort(key=lambda view: view.score)
        best = views[0]
        hopeful = HOPEFUL if self.config.upright else HOPEFUL_ANY_WAY_UP
        for view in views[:hopeful] if self.config.alignments else ():
            for step in range(self.config.alignments):
                seen = rigidly_aligned(view.part, view.whole, view.nearest)
                k, j = view.heading, view.whole_heading
                again = self._views((seen, view.whole), (self.features(seen), of_whole[j]), (k, j, step + 1))
                view = min(again, key=lambda found: found.score)
                best = min(best, view, key=lambda found: found.score)
        return best

    def _views(
        self, seen: tuple[Surface, Surface], features: tuple[Tensor, Tensor], numbers: tuple[int, int, int]
    ) -> list[View]:
        """The map of part and whole as they are shown, with its score; of an ensemble that chooses, one of each network."""
        views = []
        for one, other in self.compared(*features):
            nearest = hard_map(one, other)
            value = 0.0
            if self.compares:
                sure = similarity(nearest, one, other, seen[0])
                value = float(score(nearest, *seen, weights=self.config.score_weights, similar=sure))
            views.append(View(*seen, *numbers[:2], nearest, value, numbers[2]))
        return views

    def read(
        self, nearest: Int[Tensor, "p"], part: Surface, whole: Surface, read_out: ReadOut = "spectral"
    ) -> Int[Tensor, "p"]:
        """The map by nearest features, smoothed as the read-out says; see `vertex_map`."""
        if read_out == "features":
            return nearest
        k = min(self.config.map_eigenpairs, part.values.shape[-1], whole.values.shape[-1])
        smooth = spectral_map(nearest, part, whole, k)
        if read_out == "spectral":
            return smooth
        return (less_distorted if read_out == "zoomout" else laterated)(smooth, part, whole)

    def match(
        self,
        part: Mesh,
        whole: Mesh,
        *,
        read_out: ReadOut = "spectral",
        refine: int = 0,
        cache: CacheGiven = None,
    ) -> Match:
        """Match a part to a whole, in any units as long as they are the same.

        Parameters
        ----------
        part, whole : meshes
        read_out : see `vertex_map`
        refine : steps of refinement, see `partwhole.matching.training.refine`; 0: none. These weights stay as they are
        cache : where eigenpairs are kept
        """
        pair = Pair.of(part, whole)
        judged = refine != 0 or self.needs_distances or read_out in BY_DISTANCES
        stock = prepare_pairs([pair], self.config, for_loss=judged, device=self.device.type, cache=cache)
        start = time.perf_counter()
        losses: tuple[float, ...] = ()
        if refine:
            from partwhole.matching.training import refine as refinement

            refined = refinement.refine(self, stock.parts[0], stock.wholes[0], steps=refine, read_out=read_out)
            found, losses = refined.vertex_map, refined.losses
        else:
            found = self.vertex_map(stock.parts[0], stock.wholes[0], read_out=read_out)
        vertex_map = found.cpu().numpy()
        return Match(vertex_map, read_out, seconds=time.perf_counter() - start, losses=losses)

    def surface(self, mesh: Mesh, *, cache: CacheGiven = None) -> Surface:
        """What this network needs of a mesh in the units of `Pair`, on its device; without distances."""
        sizes = {"eigenpairs": self.config.eigenpairs, "diffusion_eigenpairs": self.config.diffusion_eigenpairs}
        return surface_of(mesh, **sizes, cache=cache).to(self.device)

    @property
    def needs_distances(self) -> bool:
        """Whether maps are judged by distances: then surfaces must have them."""
        return self.config.judges_by_distances

    @property
    def compares(self) -> bool:
        """Whether there are several maps of a pair, of which the best is taken."""
        return self.config.tries_several


def _turned(surface: Surface, turns: Float[Tensor, "r 3 3"]) -> list[Surface]:
    """The surface as it is, which is the first of all orientations, and in the other ones."""
    return [surface, *(turned_by(surface, R) for R in turns[1:].to(surface.points))]


def new_network(config: TrainingConfig) -> DiffusionNet:
    """A network with random weights, drawn from torch's generator."""
    return DiffusionNet(
        CHANNELS[config.inputs], config.features, width=config.width, blocks=config.blocks, dropout=config.dropout
    )


def check_matcher(given: object, name: str = "matcher") -> None:
    """Raise ValueError, with the remedy, unless this is a `Matcher`."""
    if not isinstance(given, Matcher):
        remedy = f"use pw.Matcher.load({os.fspath(given)!r})" if isinstance(given, str | os.PathLike) else "train one"
        raise ValueError(f"{name} must be a Matcher, got {type(given).__name__}; {remedy}")
