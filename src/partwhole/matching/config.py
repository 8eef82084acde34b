"""Every setting of a training run, in five groups, and `PRESETS`: the paper's settings for each data set, and ours.

Names are unique over all groups, so `TrainingConfig(width=32)` and `config.with_changes(temperature=0.07)` need not name
the group; `loss.temperature` does.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache
from sys import float_info
from types import MappingProxyType, NoneType
from typing import Any, Literal, get_args, get_origin, get_type_hints

import numpy as np

from partwhole.geodesics.distances import DistanceMethod
from partwhole.mesh.landmarks import LandmarkPair
from partwhole.store.arguments import check_number, check_whole_number, in_short

NetworkInputs = Literal["xyz", "signatures", "xyz+signatures", "invariants"]
MaskedBy = Literal["none", "boundary", "wormhole", "same_loop"]
Mask = Literal["soft", "binary"]
MaskedSides = Literal["part", "both"]
Axis = Literal["x", "y", "z"]
Precision = Literal["float16", "tf32", "float32"]
ReadOut = Literal["features", "spectral", "zoomout", "lateration", "registration"]
# the default
READ_OUT: ReadOut = "registration"

UPS = tuple(sign + axis for axis in "yzx" for sign in ("", "-"))

# far beyond anything useful: larger values are a mistake, or were made to fill the memory
_MOST_CHANNELS, _MOST_BLOCKS, _MOST_EIGENPAIRS, _MOST_YAWS, _MOST_ALIGNMENTS = 8192, 256, 10_000, 1000, 100


def _count(default: Any, *, least: int = 1, most: int = 2**63 - 1) -> Any:
    """A whole number; with None as the default, None is allowed too."""
    return field(default=default, metadata={"least": least, "most": most})


def _positive(default: float) -> Any:
    return field(default=default, metadata={"positive": True})


def _not_negative(default: float) -> Any:
    return field(default=default, metadata={"positive": False})


@dataclass(frozen=True, kw_only=True)
class Group:
    """Settings that belong together; each is checked by its type and its limits."""

    def __post_init__(self) -> None:
        for choice in fields(self):
            hint = get_type_hints(type(self))[choice.name]
            if get_origin(hint) is tuple:
                object.__setattr__(self, choice.name, _numbers(choice.name, getattr(self, choice.name)))
            _check(choice.name, getattr(self, choice.name), hint, choice.metadata)


@dataclass(frozen=True, kw_only=True)
class NetworkConfig(Group):
    """The network.

    Attributes
    ----------
    inputs : what the network sees of a vertex: its position and normal (the paper), signatures that bending does not
        change, both, or invariants of positions and normals that no rotation changes, so that no orientation is searched
    width, blocks, features : channels inside, blocks, features it gives each vertex
    diffusion_eigenpairs : eigenpairs of the diffusion inside the network
    dropout : share of the channels of the MLPs left out in training
    """

    inputs: NetworkInputs = "xyz"
    width: int = _count(128, most=_MOST_CHANNELS)
    blocks: int = _count(4, most=_MOST_BLOCKS)
    features: int = _count(256, most=_MOST_CHANNELS)
    diffusion_eigenpairs: int = _count(128, most=_MOST_EIGENPAIRS)
    dropout: float = _not_negative(0.5)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.dropout < 1:
            raise ValueError(f"dropout={self.dropout} must be below 1")


@dataclass(frozen=True, kw_only=True)
class LossConfig(Group):
    """The loss of a soft map.

    Attributes
    ----------
    temperature : τ of the soft map, row softmax of cosine / τ
    criterion : which pairs of the part count: all ("none" = DirectMatchNet), or those of a criterion
    mask : "soft", min(K / D, 1), or "binary", D ≤ K
    masked_sides : "part", pairs count as the criterion says on the part; "both": on the whole too, for wholes that are
        incomplete themselves, see `WormholeLoss`
    distances : how geodesic distances are computed
    low_pass : the loss sees the soft map through so many eigenfunctions of the whole (DirectMatchNet LPF); None: as it is
    map_eigenpairs : size of the functional map, in the loss and in the spectral read-out
    distortion_weight, orthogonality_weight : λ_geo and λ_ortho
    correspondence_weight : of the supervised loss, see `CorrespondenceLoss`; 0: training is unsupervised
    synchronous_weight : of `SynchronousLoss`, which makes maps smooth; may be added to the loss of any method
    rows : the distortion is estimated in each step from the pairs with so many vertices of the part, drawn by area, see
        `SampledWormholeLoss`; None: it is computed from all
    distance_vertices : the loss sees so many vertices of each surface, spread evenly, and distances are kept between these
        only, see `keep_vertices`; it bounds the memory of large surfaces. None: it sees all vertices
    """

    temperature: float = _positive(0.01)
    criterion: MaskedBy = "wormhole"
    mask: Mask = "soft"
    masked_sides: MaskedSides = "part"
    distances: DistanceMethod = "fast_marching"
    low_pass: int | None = _count(None, most=_MOST_EIGENPAIRS)
    map_eigenpairs: int = _count(200, most=_MOST_EIGENPAIRS)
    distortion_weight: float = _not_negative(1e3)
    orthogonality_weight: float = _not_negative(1.0)
    correspondence_weight: float = _not_negative(0.0)
    synchronous_weight: float = _not_negative(0.0)
    rows: int | None = _count(None, least=2)
    distance_vertices: int | None = _count(None, least=4)


@dataclass(frozen=True, kw_only=True)
class OptimisationConfig(Group):
    """How the loss is minimised.

    Attributes
    ----------
    iterations : steps of the optimiser
    batch : pairs a step; the gradient is that of their mean loss
    accumulate : batches a step, one after the other or shared out among processes; the gradient is the mean of theirs
    learning_rate, final_learning_rate : of Adam, falling along half a cosine
    cosine_epochs : length of that half cosine in passes over the pairs, as the authors count; None: the whole run
    gradient_norm : the gradient is clipped at
    precision : of matrix products on a GPU: "tf32" rounds factors to 11 bits, "float16" does the same and stores the
        products of the loss so, which is faster on large surfaces, "float32" rounds nothing; sums are always float32
    evaluate_every : iterations between evaluations
    seed : of every random choice
    """

    iterations: int = _count(20_000)
    batch: int = _count(1)
    accumulate: int = _count(1, most=4096)
    learning_rate: float = _positive(1e-3)
    final_learning_rate: float = _positive(1e-4)
    cosine_epochs: int | None = _count(300)
    gradient_norm: float = _positive(1.0)
    precision: Precision = "tf32"
    evaluate_every: int = _count(2000)
    seed: int = _count(0, least=0)


@dataclass(frozen=True, kw_only=True)
class AugmentationConfig(Group):
    """Random changes of what the network sees in training.

    Attributes
    ----------
    rotation : each shape is turned about the vertical by an angle between ± so many degrees
    tilt : and then about a horizontal axis in any direction, by an angle between ± so many degrees
    noise, noise_limit : standard deviation of the noise added to positions, and the value it is clipped at
    scaling : range of the factor that each axis is stretched by
    bending : standard deviation, at most, of each coefficient of a smooth random displacement, in √area of the whole
    """

    rotation: float = _not_negative(90.0)
    tilt: float = _not_negative(0.0)
    noise: float = _not_negative(0.01)
    noise_limit: float = _not_negative(0.05)
    scaling: tuple[float, float] = (0.9, 1.1)
    bending: float = _not_negative(0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.scaling) != 2 or not 0 < self.scaling[0] <= self.scaling[1]:
            raise ValueError(f"scaling={self.scaling} must be a range of two positive factors, such as (0.9, 1.1)")


@dataclass(frozen=True, kw_only=True)
class SearchConfig(Group):
    """How a trained network is used: the orientations at which a pair is matched. Training does not depend on it, but for
    the vertical.

    Attributes
    ----------
    vertical : the axis that points up in the shapes that the network knows
    yaw_steps : the part is matched at so many angles about the vertical, and the map with the best score is taken
    whole_yaw_steps : the same for the whole; every angle of the part is tried with every one of the whole
    upright : False if parts may point any way up: all six axes are then tried as the part's vertical
    alignments : the best candidates are refined so often: the part is aligned rigidly (Kabsch) to the whole by its map, and
        matched again. At least once in any case
    score_weights : how maps are scored: weights of the logarithm of the distortion, of the agreement of curvature, and of
        the similarity of matched features
    """

    vertical: Axis = "y"
    yaw_steps: int = _count(1, most=_MOST_YAWS)
    whole_yaw_steps: int = _count(1, most=_MOST_YAWS)
    upright: bool = True
    alignments: int = _count(0, least=0, most=_MOST_ALIGNMENTS)
    score_weights: tuple[float, float, float] = (1.0, 10.0, 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        weights = self.score_weights
        if len(weights) != 3 or not all(0 <= weight <= _LARGEST_WEIGHT for weight in weights) or not any(weights):
            raise ValueError(
                f"score_weights={weights} must be three weights from 0 to {_LARGEST_WEIGHT:g}, not all of them 0"
            )


@dataclass(frozen=True)
class MatchOptions:
    """How a pair is matched, once it is prepared.

    Attributes
    ----------
    refine : steps of refinement on the pair, such as 15; 0: none
    read_out : "features", "spectral", "zoomout" or "lateration", see `read_map`; or "registration", see `registered_places`
    up : the axis that points up, such as "z", or "z:y" for part and whole; "auto" tries them all; None: as the model has it,
        and all of them if that fits badly
    yaw_steps : angles about the vertical at which the part is tried; None: as many as the model asks for
    landmarks : vertices of part and whole that are the same place; their numbers are those of the surfaces as they are given
    """

    refine: int = 0
    read_out: ReadOut = READ_OUT
    up: str | None = None
    yaw_steps: int | None = None
    landmarks: tuple[LandmarkPair, ...] = ()

    def __post_init__(self) -> None:
        check_read_out(self.read_out)
        check_up(self.up)
        for name, least in (("refine", 0), ("yaw_steps", 1)):
            value = getattr(self, name)
            check_whole_number(name, value, or_none=name == "yaw_steps")
            if value is not None and value < least:
                raise ValueError(f"{name}={value} must be at least {least}")


def check_read_out(read_out: object) -> None:
    """Raise ValueError unless this is the name of a read-out."""
    if read_out not in get_args(ReadOut):
        raise ValueError(f"read_out must be one of {', '.join(map(repr, get_args(ReadOut)))}, got {read_out!r}")


def check_up(up: str | None) -> None:
    """Raise ValueError unless this says which axis points up."""
    of_part, colon, of_whole = str(up).partition(":")
    if up not in (None, "auto") and (of_part not in UPS or (of_whole if colon else of_part) not in UPS):
        raise ValueError(
            f"up={up!r} must be an axis ({', '.join(UPS)}), those of part and whole such as 'z:y', 'auto', or None"
        )


GROUPS: Mapping[str, type[Group]] = MappingProxyType(
    {
        "network": NetworkConfig,
        "loss": LossConfig,
        "optimisation": OptimisationConfig,
        "augmentation": AugmentationConfig,
        "search": SearchConfig,
    }
)
# scores overflow with larger ones
_LARGEST_WEIGHT = 1e9
# names in files of earlier versions
_FORMER = {"headings": "yaw_steps", "whole_headings": "whole_yaw_steps", "judged_by": "score_weights"}


@cache
def choice_types() -> Mapping[str, tuple[str, Any]]:
    """For each setting its group and its type."""
    return MappingProxyType(
        {
            choice.name: (name, get_type_hints(group)[choice.name])
            for name, group in GROUPS.items()
            for choice in fields(group)
        }
    )


@dataclass(frozen=True, init=False)
class TrainingConfig:
    """Every setting of a training run, and of how the trained network is used; the defaults are the paper's for PFAUST-H.

    Parameters
    ----------
    choices : settings by name, such as `width=32`, or groups, such as `network=NetworkConfig(width=32)`

    Attributes
    ----------
    network : see `NetworkConfig`
    loss : see `LossConfig`
    optimisation : see `OptimisationConfig`
    augmentation : see `AugmentationConfig`
    search : see `SearchConfig`

    Examples
    --------
    >>> TrainingConfig(iterations=500).with_changes(rotation=30.0).augmentation.rotation
    30.0
    """

    network: NetworkConfig
    loss: LossConfig
    optimisation: OptimisationConfig
    augmentation: AugmentationConfig
    search: SearchConfig

    def __init__(self, **choices: Any) -> None:
        self._set({name: group() for name, group in GROUPS.items()}, choices)

    def _set(self, groups: Mapping[str, Group], choices: Mapping[str, Any]) -> None:
        found: dict[str, Any] = dict(groups)
        changes: dict[str, dict[str, Any]] = {}
        for given, value in choices.items():
            if given in GROUPS:
                if not isinstance(value, GROUPS[given]):
                    raise ValueError(f"{given} must be a {GROUPS[given].__name__}, got {type(value).__name__}")
                found[given] = value
            else:
                group, name = group_of(given)
                changes.setdefault(group, {})[name] = value
        for name in GROUPS:
            object.__setattr__(self, name, replace(found[name], **changes.get(name, {})))

    @property
    def eigenpairs(self) -> int:
        """How many eigenpairs of each surface are needed."""
        return max(self.loss.map_eigenpairs, self.network.diffusion_eigenpairs, self.loss.low_pass or 0)

    @property
    def choices(self) -> dict[str, Any]:
        """Every setting by its name."""
        return {name: getattr(getattr(self, group), name) for name, (group, _) in choice_types().items()}

    def with_changes(self, **changes: Any) -> TrainingConfig:
        """The same with some settings, or groups, changed; unknown names are refused with the nearest known one."""
        made = object.__new__(TrainingConfig)
        made._set({name: getattr(self, name) for name in GROUPS}, changes)
        return made

    def to_json(self) -> dict[str, Any]:
        """As JSON has it: numbers, strings, lists, by group."""
        return {
            group: {name: list(v) if isinstance(v, tuple) else v for name, v in asdict(getattr(self, group)).items()}
            for group in GROUPS
        }

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> TrainingConfig:
        """What `to_json` gave, or an earlier version did; others may have written the file, so each value must be of its
        type."""
        flat: dict[str, Any] = {}
        for name, value in values.items():
            if name in GROUPS and isinstance(value, Mapping):
                flat |= {f"{name}.{choice}": held for choice, held in value.items()}
            else:
                flat[_FORMER.get(name, name)] = value
        for given in flat:
            _, name = group_of(given)
            _check_type(name, flat[given], choice_types()[name][1])
        # JSON has no tuples
        return cls(**{name: tuple(value) if isinstance(value, list) else value for name, value in flat.items()})


def group_of(name: str) -> tuple[str, str]:
    """The group of a choice and its name in there; unknown names are refused with the nearest known one.

    >>> group_of("temperature"), group_of("loss.temperature")
    (('loss', 'temperature'), ('loss', 'temperature'))
    """
    known = choice_types()
    group, dot, choice = name.partition(".")
    if not dot and name in known:
        return known[name][0], name
    if dot and choice in known and known[choice][0] == group:
        return group, choice
    if dot and choice in known:
        raise ValueError(f"there is no setting {name!r} in a training run; did you mean {known[choice][0]}.{choice}?")
    near = difflib.get_close_matches(choice or name, known, n=1)
    meant = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(known)}"
    raise ValueError(f"there is no setting {name!r} in a training run{meant}")


def _numbers(name: str, values: Any) -> tuple[float, ...]:
    if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray):
        raise ValueError(f"{name} must be a list of numbers, got {in_short(values)}")
    for value in values:
        check_number(name, value)
    return tuple(values)


def _check(name: str, value: Any, hint: Any, limits: Mapping[str, Any]) -> None:
    """Refuse a value of another type, or outside of its limits."""
    if get_origin(hint) is Literal:
        if value not in get_args(hint):
            raise ValueError(f"{name} must be one of {', '.join(map(repr, get_args(hint)))}, got {in_short(value)}")
    elif "least" in limits:
        or_none = NoneType in get_args(hint)
        check_whole_number(name, value, or_none=or_none)
        if value is not None and value < limits["least"]:
            bound = f"must be at least {limits['least']}" if limits["least"] else "must not be negative"
            raise ValueError(f"{name}={value} {bound}{', or None' * or_none}")
        if value is not None and value > limits["most"]:
            raise ValueError(f"{name}={str(value)[:40]} must be at most {limits['most']}")
    elif "positive" in limits:
        check_number(name, value)
        if limits["positive"] and not value > 0:
            raise ValueError(f"{name}={value} must be positive")
        if not value >= 0:
            raise ValueError(f"{name}={value} must not be negative")


def _check_type(name: str, value: Any, hint: Any) -> None:
    """Refuse a value from a file that is not of its type."""
    if get_origin(hint) is Literal:
        return
    if hint is bool:
        right, what = isinstance(value, bool), "true or false"
    elif hint in (int, int | None):
        right, what = _is_whole(value) or (value is None and hint is not int), "a whole number"
    elif hint is float:
        right, what = _is_finite(value), "a finite number"
    else:
        right, what = isinstance(value, list | tuple) and all(map(_is_finite, value)), "a list of finite numbers"
    if not right:
        raise ValueError(f"{name}={str(value)[:40]} must be {what}")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_finite(value: Any) -> bool:
    return (_is_whole(value) or isinstance(value, float)) and abs(value) <= float_info.max


_PAPER = TrainingConfig()

# docs/matching.md explains what differs between the paper's settings and ours
_OURS: dict[str, Any] = {
    "rotation": 30.0,
    "cosine_epochs": None,
    "iterations": 10_000,
    "yaw_steps": 8,
    # the unit of scores is that of `upright`, which says how much worse a map must be to be given up
    "score_weights": (0.0, 0.0, 30.0),
}

PRESETS: Mapping[str, TrainingConfig] = MappingProxyType(
    {
        "pfaust-m": _PAPER.with_changes(distortion_weight=5e3),
        "pfaust-h": _PAPER,
        "pfaust-m-ours": _PAPER.with_changes(distortion_weight=5e3, **_OURS),
        "pfaust-h-ours": _PAPER.with_changes(**_OURS),
        # these shapes stand along z
        "shrec16-cuts": _PAPER.with_changes(vertical="z"),
        "shrec16-holes": _PAPER.with_changes(temperature=0.07, vertical="z"),
        # how to match was chosen by cross-validation over the training parts; trained on surfaces of at most 5000 vertices
        "shrec16-cuts-ours": _PAPER.with_changes(
            **_OURS | {"iterations": 8_000, "alignments": 2, "score_weights": (1.0, 10.0, 300.0)},
            vertical="z",
            precision="float16",
        ),
        "shrec16-holes-ours": _PAPER.with_changes(
            **_OURS | {"iterations": 8_000, "yaw_steps": 1, "alignments": 2, "score_weights": (0.0, 10.0, 30.0)},
            temperature=0.07,
            vertical="z",
            precision="float16",
        ),
        # for surfaces of about 500 vertices that stand alike: minutes on a processor
        "small": TrainingConfig(
            width=32,
            blocks=2,
            features=32,
            diffusion_eigenpairs=40,
            map_eigenpairs=50,
            dropout=0.0,
            temperature=0.05,
            iterations=500,
            evaluate_every=50,
            learning_rate=4e-3,
            cosine_epochs=None,
            rotation=30.0,
        ),
        # for the pairs of a recipe; no rotation changes what the network sees, so there is nothing to learn from any
        "default": TrainingConfig(
            inputs="invariants",
            width=192,
            blocks=6,
            features=128,
            diffusion_eigenpairs=96,
            map_eigenpairs=96,
            dropout=0.0,
            temperature=0.07,
            distortion_weight=0.0,
            orthogonality_weight=0.0,
            correspondence_weight=1.0,
            iterations=250_000,
            evaluate_every=25_000,
            learning_rate=7e-4,
            final_learning_rate=2e-5,
            cosine_epochs=None,
            rotation=0.0,
            noise=0.003,
            noise_limit=0.02,
            scaling=(0.9, 1.1),
            score_weights=(0.0, 10.0, 30.0),
        ),
    }
)


def preset(name: str) -> TrainingConfig:
    """The choices of this name in `PRESETS`.

    Examples
    --------
    >>> preset("shrec16-holes").loss.temperature
    0.07
    """
    if not isinstance(name, str) or name not in PRESETS:
        near = difflib.get_close_matches(str(name), PRESETS, n=1)
        meant = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"there is no preset {name!r}; {meant}there are {', '.join(PRESETS)}")
    return PRESETS[name]
