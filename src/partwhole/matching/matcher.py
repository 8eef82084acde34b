"""`Matcher`, a trained network with its choices and its card, and `Ensemble`, several networks that match together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from partwhole.matching.confidence.rule import rule_for
from partwhole.matching.config import Axis, ReadOut, TrainingConfig
from partwhole.matching.network.diffusion_net import DiffusionNet, Network, is_made_by, new_network
from partwhole.matching.network.surface import Surface, surface_of
from partwhole.matching.network.weights import model_path, read_tensors, write_tensors
from partwhole.matching.readout.landmarks import LandmarkDistances
from partwhole.matching.readout.maps import Comparison, read_map
from partwhole.matching.result import MatchResult
from partwhole.matching.search.method import Method
from partwhole.matching.search.placement import rotation_to_vertical
from partwhole.mesh import Mesh
from partwhole.mesh.surface_like import ScanLike
from partwhole.store.arguments import check_device, in_short
from partwhole.store.cache import CacheGiven
from partwhole.store.storage import hash_of

Combine = Literal["average", "choose"]


class _Model(Method):
    """What `Matcher` and `Ensemble` share."""

    def surface(self, mesh: Mesh, *, cache: CacheGiven = None) -> Surface:
        """What this model needs of a mesh in the units of `Pair`, on its device; without distances."""
        return surface_for(self, mesh, cache=cache)

    def read(
        self,
        nearest: Int[Tensor, "p"],
        part: Surface,
        whole: Surface,
        read_out: ReadOut = "lateration",
        *,
        landmarks: LandmarkDistances | None = None,
    ) -> Int[Tensor, "p"]:
        """The map of nearest features, smoothed; see `partwhole.matching.readout.maps.read_map`."""
        k = self.config.loss.map_eigenpairs
        return read_map(nearest, part, whole, read_out, eigenpairs=k, landmarks=landmarks)

    def match(self, part: ScanLike, whole: ScanLike, **options: Any) -> MatchResult:
        """`partwhole.match` with this model.

        Parameters
        ----------
        part, whole : meshes, or files, as in `partwhole.match`
        options : see `partwhole.matching.match`
        """
        from partwhole.matching.session import match

        return match(part, whole, model=self, **options)


def surface_for(method: Method, mesh: Mesh, *, cache: CacheGiven = None) -> Surface:
    """What a method needs of a mesh in the units of `Pair`, on its device; without distances."""
    k, few = method.config.eigenpairs, method.config.network.diffusion_eigenpairs
    found = surface_of(
        mesh, eigenpairs=k, diffusion_eigenpairs=few, with_signatures=method.sees_signatures, cache=cache
    )
    return found.to(method.device)


class Matcher(_Model):
    """A trained network, the choices it was trained with, and a card that says where it comes from.

    Parameters
    ----------
    network : with its weights
    config : the choices of its training, and of the search
    card : what else is known: data, protocol, measured errors, versions
    """

    def __init__(self, network: Network, config: TrainingConfig, card: Mapping[str, Any] | None = None) -> None:
        if not isinstance(network, Network) or not isinstance(config, TrainingConfig):
            given = f"{type(network).__name__} and {type(config).__name__}"
            raise ValueError(f"a Matcher is of a network and a TrainingConfig, got {given}; Matcher.load reads one")
        self.config, self.card = config, dict(card or {})
        self.network = network.eval().requires_grad_(False)

    def __repr__(self) -> str:
        return f"Matcher({self.card.get('name', 'network')!r}, on {self.device})"

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return next(self.network.parameters()).device

    @property
    def sees_orientation(self) -> bool:
        """Whether features depend on how a surface lies in space."""
        return self.config.network.inputs in ("xyz", "xyz+signatures")

    @property
    def sees_signatures(self) -> bool:
        """Whether the network sees heat and wave kernel signatures; a network of one's own may."""
        return not isinstance(self.network, DiffusionNet) or "signatures" in self.config.network.inputs

    @classmethod
    def load(cls, path: str | Path, *, network: Network | None = None, device: str = "cpu") -> Matcher:
        """The matcher that `save` wrote, or a built-in model by its name; see `model_names`.

        Parameters
        ----------
        path : the file, or the name
        network : for a matcher that was trained with `train(network=...)`: such a network, of which a copy gets the weights
        device : "cpu" or "cuda"

        Examples
        --------
        >>> import tempfile
        >>> config = TrainingConfig(width=8, blocks=1, features=8)
        >>> path = Path(tempfile.mkdtemp()) / "small.safetensors"
        >>> Matcher(new_network(config.network), config, {"name": "small"}).save(path)
        >>> Matcher.load(path)
        Matcher('small', on cpu)
        """
        check_device(device)
        if network is not None and not isinstance(network, Network):
            raise ValueError(f"network must be a partwhole.matching.Network, got {in_short(network)}")
        path = model_path(path)
        tensors, card = read_tensors(path)
        if "config" not in card:
            raise ValueError(f"{path} holds no model; give a file that Matcher.save or `partwhole train` wrote")
        try:
            config = TrainingConfig.from_json(card.pop("config"))
            made = _empty_network(config, network, card.pop("network", None))
            rule_for(card)
        except _NoNetworkError as missing:
            raise ValueError(f"{path} {missing}") from None
        except (TypeError, ValueError, AttributeError, RuntimeError) as fault:
            raise ValueError(f"{path}: its card can't be read ({fault}); was it written by another version?") from None
        bad = next((name for name, tensor in tensors.items() if not torch.isfinite(tensor).all()), None)
        if bad is not None:
            raise ValueError(f"{path}: the weights {bad} are not finite, so its maps would mean nothing; train again")
        try:
            made.load_state_dict(tensors, assign=network is None)
        except RuntimeError as fault:
            reason = " ".join(str(fault).split())
            which = "of their card" if network is None else "that was given"
            raise ValueError(f"{path}: the weights don't fit the network {which} ({reason[:300]})") from None
        return cls(made.to(device, torch.float32), config, card)

    def save(self, path: str | Path) -> None:
        """Weights, choices and card in one safetensors file; of a network of one's own also the name of its class."""
        write_tensors(path, self.network.state_dict(), {**self.card, "config": self.config.to_json(), **self._own()})

    def fingerprint(self) -> str:
        weights = {name: tensor.cpu().numpy() for name, tensor in self.network.state_dict().items()}
        held = {"config": self.config.to_json(), "weights": weights, "confidence": self.card.get("confidence")}
        return hash_of({**held, **self._own()})

    def _own(self) -> dict[str, str]:
        """What is to be said of a network that `new_network` does not make from the config."""
        return {} if is_made_by(self.config.network, self.network) else {"network": type(self.network).__name__}

    def with_choices(self, **changes: Any) -> Matcher:
        """The same network, searched in another way; choices are those of `SearchConfig`.

        Examples
        --------
        >>> Matcher.load("upright").with_choices(yaw_steps=8).config.search.yaw_steps
        8
        """
        return Matcher(self.network, self.config.with_changes(**changes), self.card)

    def standing(self, vertical: Axis) -> Matcher:
        """The same matcher for shapes whose vertical is another axis: its first layer turns them.

        Examples
        --------
        >>> Matcher.load("upright").standing("z").config.search.vertical
        'z'
        """
        if vertical == self.config.search.vertical:
            return self
        network = deepcopy(self.network)
        R = rotation_to_vertical(vertical, self.config.search.vertical)
        network.rotate_inputs(torch.as_tensor(R, dtype=torch.float32, device=self.device))
        return Matcher(network, self.config.with_changes(vertical=vertical), self.card)

    def encode(self, surface: Surface) -> Float[Tensor, "n f"]:
        """Features of the vertices."""
        with torch.no_grad():
            return self.network.encode(surface)

    def compare(self, of_part: Float[Tensor, "p f"], of_whole: Float[Tensor, "n f"]) -> list[Comparison]:
        with torch.no_grad():
            return [Comparison(*self.network.pair(of_part, of_whole))]

    def fit(self, pairs: Any, **options: Any) -> Matcher:
        """Trained further on pairs, from these weights; options are those of `train`."""
        from partwhole.matching.training.train import train

        return train(pairs, self.config, start=self, **options).matcher


class _NoNetworkError(Exception):
    """The weights are of a network that has to be given."""


def _empty_network(config: TrainingConfig, given: Network | None, kind: object) -> Network:
    """What weights are to be read into: a copy of the network that is given, or what the config describes."""
    if given is not None:
        return deepcopy(given)
    if kind is not None:
        raise _NoNetworkError(
            f"holds the weights of a network of another kind, {kind}, which must be given: "
            f"Matcher.load(path, network={kind}(...)), with the arguments it was trained with"
        )
    # weights that are about to be replaced need neither memory nor random numbers
    with torch.device("meta"):
        return new_network(config.network)


class Ensemble(_Model):
    """Several matchers with the same choices but for their seeds.

    Networks of different seeds fail on different pairs, and wrong maps have worse scores.

    Parameters
    ----------
    matchers : at least one, on the same device
    combine : "average", similarities are averaged over the networks; "choose", each network gives its own map, and the one
        with the best score is taken, see `partwhole.matching.search`
    """

    def __init__(self, matchers: Sequence[Matcher], *, combine: Combine = "average") -> None:
        if not matchers:
            raise ValueError("an ensemble has at least one matcher")
        if combine not in get_args(Combine):
            raise ValueError(f"combine must be one of {', '.join(map(repr, get_args(Combine)))}, got {combine!r}")
        first = matchers[0]
        for number, other in enumerate(matchers):
            for name, value in other.config.with_changes(seed=first.config.optimisation.seed).choices.items():
                ours = first.config.choices[name]
                if value != ours:
                    raise ValueError(
                        f"the matchers of an ensemble differ in their seeds only; number {number} has {name}={value!r}, "
                        f"the first {ours!r}"
                    )
        self.config, self.card = first.config, {**first.card, "matchers": len(matchers)}
        self.matchers = tuple(matchers)
        self.combine: Combine = combine

    def __repr__(self) -> str:
        return f"Ensemble({len(self.matchers)} matchers, {self.combine}, on {self.device})"

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.matchers[0].device

    @property
    def sees_orientation(self) -> bool:
        """Whether features depend on how a surface lies in space."""
        return self.matchers[0].sees_orientation

    @property
    def sees_signatures(self) -> bool:
        """Whether one of the networks sees signatures."""
        return any(matcher.sees_signatures for matcher in self.matchers)

    def fingerprint(self) -> str:
        return hash_of({"matchers": [one.fingerprint() for one in self.matchers], "combine": self.combine})

    def with_choices(self, **changes: object) -> Ensemble:
        """The same networks, searched in another way; see `Matcher.with_choices`."""
        return Ensemble([one.with_choices(**changes) for one in self.matchers], combine=self.combine)

    def standing(self, vertical: Axis) -> Ensemble:
        """The same for shapes whose vertical is another axis."""
        return Ensemble([matcher.standing(vertical) for matcher in self.matchers], combine=self.combine)

    def encode(self, surface: Surface) -> Float[Tensor, "m n f"]:
        """Features of the vertices by each network."""
        return torch.stack([matcher.encode(surface) for matcher in self.matchers])

    def compare(self, of_part: Float[Tensor, "m p f"], of_whole: Float[Tensor, "m n f"]) -> list[Comparison]:
        """The features of all networks side by side, or of each by itself."""
        each = [m.compare(one, other)[0] for m, one, other in zip(self.matchers, of_part, of_whole, strict=True)]
        if self.combine == "choose":
            return each
        of_parts, of_wholes = (torch.stack([getattr(one, side) for one in each]) for side in ("part", "whole"))
        return [Comparison(_side_by_side(of_parts), _side_by_side(of_wholes))]


def _side_by_side(features: Float[Tensor, "m n f"]) -> Float[Tensor, "n mf"]:
    """Rows whose cosine is the mean of the cosines of the networks' features."""
    return normalize(features, dim=-1).transpose(0, 1).flatten(1)
