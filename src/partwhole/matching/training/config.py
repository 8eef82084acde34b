"""`TrainingConfig`: every choice of a training run, and `PRESETS`: the paper's choices for each data set, and ours."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from sys import float_info
from types import MappingProxyType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from partwhole.store.arguments import check_number, check_whole_number

NetworkInputs = Literal["xyz", "signatures", "xyz+signatures"]
MaskedBy = Literal["none", "boundary", "wormhole", "same_loop"]
Mask = Literal["soft", "binary"]
Axis = Literal["x", "y", "z"]
Precision = Literal["float16", "tf32", "float32"]
Distances = Literal["fast_marching", "dijkstra", "exact"]


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    """Every choice of a training run; the defaults are the paper's for PFAUST-H.

    Attributes
    ----------
    inputs : what the network sees of a vertex: its position and normal (the paper), signatures that bending does not
        change, or both
    width, blocks, features : of the network: channels inside, blocks, features it gives each vertex
    diffusion_eigenpairs : frequencies of the diffusion inside the network
    dropout : share of the channels of the MLPs left out in training
    temperature : τ of the soft map, row softmax of cosine / τ
    criterion : which pairs of the part count in the loss: all ("none" = DirectMatchNet), or those of a criterion
    mask : "soft", min(K / D, 1), or "binary", D ≤ K
    low_pass : the loss sees the soft map through so many eigenfunctions of the whole (DirectMatchNet LPF); None: as it is
    distortion_weight, orthogonality_weight : λ_geo and λ_ortho
    correspondence_weight : of the loss that takes the ground truth of the pairs, see `CorrespondenceLoss`; 0: training is
        unsupervised
    map_eigenpairs : size of the functional map in the loss and in the spectral read-out
    iterations : one pair each
    learning_rate, final_learning_rate : of Adam, falling along half a cosine
    cosine_epochs : length of that half cosine in passes over the pairs, as the authors count; None: the whole run
    gradient_norm : the gradient is clipped at
    rotation, vertical : each shape is turned about this axis by an angle drawn between ± so many degrees
    tilt : and then about a horizontal axis in any direction, by an angle drawn between ± so many degrees
    noise, noise_limit : deviation of the noise added to positions, and the value it is clipped at
    scaling : range of the factor that each axis is stretched by
    yaw_steps : the part is matched at so many yaw_steps about the vertical, and the map that bends and distorts least is
        taken; see `partwhole.matching.search.score`. Training is not concerned
    whole_yaw_steps : the same for the whole, where wholes stand any way round; every heading of the part is tried with every
        one of the whole
    upright : False if parts lie any way up: they are then tried at the 24 orientations of a cube in the place of yaw_steps
    alignments : the best views are aligned so often: the part is laid onto the whole, as a rigid body, by its map, and
        matched again
    score_weights : how maps are scored: weights of the logarithm of the distortion, of the agreement of curvature, and of
        the similarity of matched features
    distances : how geodesic distances are measured
    precision : of matrix products on a GPU: "tf32" rounds what is multiplied to 11 bits, "float16" the same and keeps the
        products of the loss so, which is faster on large surfaces, "float32" rounds nothing; sums are float32 always
    evaluate_every : iterations between evaluations
    seed : of every random choice

    Examples
    --------
    >>> TrainingConfig(iterations=500).with_changes(rotation=30.0).rotation
    30.0
    """

    inputs: NetworkInputs = "xyz"
    width: int = 128
    blocks: int = 4
    features: int = 256
    diffusion_eigenpairs: int = 128
    dropout: float = 0.5
    temperature: float = 0.01
    criterion: MaskedBy = "wormhole"
    mask: Mask = "soft"
    low_pass: int | None = None
    distortion_weight: float = 1e3
    orthogonality_weight: float = 1.0
    correspondence_weight: float = 0.0
    map_eigenpairs: int = 200
    iterations: int = 20_000
    learning_rate: float = 1e-3
    final_learning_rate: float = 1e-4
    cosine_epochs: int | None = 300
    gradient_norm: float = 1.0
    rotation: float = 90.0
    vertical: Axis = "y"
    tilt: float = 0.0
    noise: float = 0.01
    noise_limit: float = 0.05
    scaling: tuple[float, float] = (0.9, 1.1)
    yaw_steps: int = 1
    whole_yaw_steps: int = 1
    upright: bool = True
    alignments: int = 0
    score_weights: tuple[float, float, float] = (1.0, 10.0, 0.0)
    distances: Distances = "fast_marching"
    precision: Precision = "tf32"
    evaluate_every: int = 2000
    seed: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "scaling", tuple(self.scaling))
        object.__setattr__(self, "score_weights", tuple(self.score_weights))
        choices = {
            "inputs": NetworkInputs,
            "criterion": MaskedBy,
            "mask": Mask,
            "vertical": Axis,
            "precision": Precision,
            "distances": Distances,
        }
        for name, known in choices.items():
            if getattr(self, name) not in get_args(known):
                listed = ", ".join(map(repr, get_args(known)))
                raise ValueError(f"{name} must be one of {listed}, got {getattr(self, name)!r}")
        for name in (*_COUNTS, "alignments", "seed"):
            check_whole_number(name, getattr(self, name))
        for name in (*_POSITIVE, *_NOT_NEGATIVE):
            check_number(name, getattr(self, name))
        for name in _COUNTS:
            if getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1")
        for name in _POSITIVE:
            if not getattr(self, name) > 0:
                raise ValueError(f"{name}={getattr(self, name)} must be positive")
        for name in _NOT_NEGATIVE:
            if not getattr(self, name) >= 0:
                raise ValueError(f"{name}={getattr(self, name)} must not be negative")
        if not self.dropout < 1:
            raise ValueError(f"dropout={self.dropout} must be below 1: something has to be left")
        if len(self.scaling) != 2 or not 0 < self.scaling[0] <= self.scaling[1]:
            raise ValueError(f"scaling={self.scaling} must be a range of two positive factors, such as (0.9, 1.1)")
        if len(self.score_weights) != 3 or min(self.score_weights) < 0 or not any(self.score_weights):
            raise ValueError(f"score_weights={self.score_weights} must be three weights, none negative and not all 0")
        for name in ("low_pass", "cosine_epochs"):
            check_number(name, getattr(self, name), or_none=True)
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 1, or None")
        for name, most in _MOST.items():
            if (getattr(self, name) or 0) > most:
                raise ValueError(f"{name}={str(getattr(self, name))[:40]} must be at most {most}")

    @property
    def eigenpairs(self) -> int:
        """How many eigenpairs of each surface are needed."""
        return max(self.map_eigenpairs, self.diffusion_eigenpairs, self.low_pass or 0)

    @property
    def tries_several(self) -> bool:
        """Whether several maps of a pair are compared."""
        return self.yaw_steps * self.whole_yaw_steps > 1 or not self.upright or self.alignments > 0

    @property
    def judges_by_distances(self) -> bool:
        """Whether they are compared by how they distort distances, which must then be known."""
        return self.tries_several and self.score_weights[0] > 0

    def with_changes(self, **changes: Any) -> TrainingConfig:
        """The same with some choices changed; unknown names are refused with the nearest known one."""
        known = [field.name for field in fields(self)]
        for name in changes:
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1)
                meant = f"; did you mean {near[0]!r}?" if near else f"; there are {', '.join(known)}"
                raise ValueError(f"there is no choice {name!r} in a training run{meant}")
        return replace(self, **changes)

    def to_json(self) -> dict[str, Any]:
        """As JSON has it: numbers, strings, lists."""
        return {**asdict(self), "scaling": list(self.scaling), "score_weights": list(self.score_weights)}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> TrainingConfig:
        """What `to_json` gave; it may come from a file that somebody else wrote, so each value must be of its kind."""
        known: dict[str, Any] = {}
        for name, value in values.items():
            known[_FORMER.get(name, name)] = value
        for name, kind in get_type_hints(cls).items():
            if name in known and get_origin(kind) is not Literal:
                _check_kind(name, known[name], kind)
        # JSON has no tuples
        tuples = {name: tuple(known[name]) for name in ("scaling", "score_weights") if name in known}
        return cls().with_changes(**{**known, **tuples})


def _check_kind(name: str, value: Any, kind: Any) -> None:
    if kind is bool:
        right, what = isinstance(value, bool), "true or false"
    elif kind in (int, int | None):
        right, what = _is_whole(value) or (value is None and kind is not int), "a whole number"
    elif kind is float:
        right, what = _is_finite(value), "a finite number"
    else:
        right, what = isinstance(value, list | tuple) and all(map(_is_finite, value)), "a list of finite numbers"
    if not right:
        raise ValueError(f"{name}={str(value)[:40]} must be {what}")


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_finite(value: Any) -> bool:
    return (_is_whole(value) or isinstance(value, float)) and abs(value) <= float_info.max


# names in files of earlier versions
_FORMER = {"headings": "yaw_steps", "whole_headings": "whole_yaw_steps", "judged_by": "score_weights"}

_COUNTS = (
    "width",
    "blocks",
    "features",
    "diffusion_eigenpairs",
    "map_eigenpairs",
    "yaw_steps",
    "whole_yaw_steps",
    "iterations",
    "evaluate_every",
)
# far beyond anything of use: what is larger is a mistake, or was made to fill the memory
_MOST = {
    "width": 8192,
    "blocks": 256,
    "features": 8192,
    "diffusion_eigenpairs": 10_000,
    "map_eigenpairs": 10_000,
    "low_pass": 10_000,
    "yaw_steps": 1000,
    "whole_yaw_steps": 1000,
    "alignments": 100,
    "seed": 2**63 - 1,
}
_POSITIVE = ("temperature", "learning_rate", "final_learning_rate", "gradient_norm")
_NOT_NEGATIVE = (
    "dropout",
    "distortion_weight",
    "orthogonality_weight",
    "correspondence_weight",
    "rotation",
    "tilt",
    "noise",
    "noise_limit",
    "alignments",
    "seed",
)

_PAPER = TrainingConfig()

# what changed between the paper's choices and ours, and why, stands in docs/matching.md
_OURS: dict[str, Any] = {
    "rotation": 30.0,
    "cosine_epochs": None,
    "iterations": 10_000,
    "yaw_steps": 8,
    # the unit of scores is that of `default`, which says how much worse a map must be to be given up
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
    }
)


def preset(name: str) -> TrainingConfig:
    """The choices of this name in `PRESETS`.

    Examples
    --------
    >>> preset("shrec16-holes").temperature
    0.07
    """
    if name not in PRESETS:
        near = difflib.get_close_matches(name, PRESETS, n=1)
        meant = f"did you mean {near[0]!r}? " if near else ""
        raise ValueError(f"there is no preset {name!r}; {meant}there are {', '.join(PRESETS)}")
    return PRESETS[name]
