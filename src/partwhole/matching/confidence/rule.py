"""Confidence: how sure the place of each vertex is, from cues that can be seen without the truth.

Cues are distances, curvature, features and other maps that disagree. Each alone misses something: a body matched back to
front has hardly any distortion, but its curvature disagrees, and other maps score about as well; a limb that slides along
itself keeps its distances, but the network is less sure of it. A small rule, fitted to errors that are known, makes the cues
into an expected error, and that into the probability that the place is right. The rule is monotone: a worse cue never raises
confidence. A second rule, `MapRule`, judges the map as a whole: what its vertices expect on average, and what only all of
them show.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from partwhole.matching.confidence.constants import (
    CLOSE,
    FAR,
    LARGEST_ERROR,
    MOST_UNUSUAL,
    NEAR,
    RIVAL_SHARPNESS,
    SMALLEST_LENGTH,
    SPREAD_TEMPERATURE,
)
from partwhole.matching.network.surface import Surface
from partwhole.matching.readout.maps import curvature_agreement, laterated, nearest_rows, read_map, soft_map
from partwhole.matching.result import Fit
from partwhole.matching.search.method import Method
from partwhole.matching.search.search import SearchResult
from partwhole.store.storage import hash_of

_ROWS = 512


def cues_of(
    vertex_map: Int[Tensor, "p"],
    found: SearchResult,
    method: Method,
    *,
    smooth: Int[Tensor, "p"] | None = None,
    moved: Int[Tensor, "p"] | None = None,
) -> Cues:
    """The cues of a map.

    Parameters
    ----------
    vertex_map : refined and smoothed
    found : the search that found it, with all candidates: what they have in common is sure
    method : whose features are compared
    smooth, moved : the map by the spectral read-out, and by lateration, if they are known
    """
    part, whole = found.pair.part, found.pair.whole
    D = whole.distances
    assert D is not None
    if smooth is None:
        k = method.config.loss.map_eigenpairs
        smooth = read_map(found.chosen.nearest, part, whole, "spectral", eigenpairs=k)
    moved = laterated(smooth, part, whole) if moved is None else moved
    spread, cycle, unlike = _of_features(vertex_map, found, method)
    smoothing = D[found.chosen.nearest, vertex_map].float()
    local = torch.stack([spread, smoothing, D[smooth, moved].float(), cycle, unlike], dim=1)
    distortions, averaged = _around(vertex_map, part, whole, local)
    misfit = max(1 - float(curvature_agreement(vertex_map, part, whole)), 0.0)
    columns = [*distortions.unbind(1), _rivals(vertex_map, found), *averaged.unbind(1)]
    arrays = [column.cpu().double().numpy() for column in columns]
    return Cues(**dict(zip(NAMES, [*arrays, np.full(len(part), misfit)], strict=True)))


def _rivals(vertex_map: Int[Tensor, "p"], found: SearchResult) -> Float[Tensor, "p"]:
    D = found.pair.whole.distances
    assert D is not None
    scores = torch.tensor([candidate.score for candidate in found.candidates])
    shares = torch.softmax((scores.min() - scores) / RIVAL_SHARPNESS, dim=0).tolist()
    away = torch.zeros(len(vertex_map), device=D.device)
    for share, candidate in zip(shares, found.candidates, strict=True):
        away += share * D[candidate.nearest, vertex_map].float()
    return away


def _of_features(
    vertex_map: Int[Tensor, "p"], found: SearchResult, method: Method
) -> tuple[Float[Tensor, "p"], Float[Tensor, "p"], Float[Tensor, "p"]]:
    """Spread, cycle and unlikeness of each vertex."""
    compared = found.chosen.compared
    if compared is None:
        compared = method.compare(*map(method.encode, found.chosen.seen(method.config.search.vertical)))[0]
    one, other = normalize(compared.part, dim=-1), normalize(compared.whole, dim=-1)
    D, D_part = found.pair.whole.distances, found.pair.part.distances
    assert D is not None
    assert D_part is not None
    suits = None if found.landmarks is None else found.landmarks.suits
    spread = torch.cat(
        [
            (_possible(one, other, rows, suits) * D[vertex_map[rows]]).sum(dim=1)
            for rows in torch.arange(len(one), device=one.device).split(_ROWS)
        ]
    )
    there = other[vertex_map]
    back = nearest_rows(there, one)
    return spread, D_part[torch.arange(len(one), device=one.device), back], 1 - (one * there).sum(dim=1)


def _possible(
    one: Float[Tensor, "p f"], other: Float[Tensor, "n f"], rows: Int[Tensor, "r"], suits: Float[Tensor, "p n"] | None
) -> Float[Tensor, "r n"]:
    """The places that features, and landmarks, think possible for some vertices."""
    return soft_map(one[rows], other, SPREAD_TEMPERATURE, suits=None if suits is None else suits[rows])


def _around(
    vertex_map: Int[Tensor, "p"], part: Surface, whole: Surface, local: Float[Tensor, "p s"]
) -> tuple[Float[Tensor, "p 4"], Float[Tensor, "p s"]]:
    """Distortions: close, near, and of guaranteed pairs near and far; and numbers at vertices averaged over what is close."""
    assert part.distances is not None
    assert part.weights is not None
    assert whole.distances is not None
    guaranteed = part.guaranteed
    found, averaged = [], []
    for rows in torch.arange(len(part), device=part.mass.device).split(_ROWS):
        D = part.distances[rows]
        # pairs in different pieces have weight 0, and no distance
        joined = (part.weights[rows] > 0) * part.mass
        off = (whole.distances[vertex_map[rows]][:, vertex_map].float() - D).abs()
        close, near, far = (torch.exp(-((D / reach) ** 2)) * joined for reach in (CLOSE, NEAR, FAR))
        trusted = guaranteed[rows]
        weights = (close, near, near * trusted, far * trusted)
        found.append(torch.stack([_mean(weight, off) for weight in weights], dim=1))
        averaged.append((close @ local) / close.sum(dim=1, keepdim=True).clamp(min=1e-30))
    return torch.cat(found), torch.cat(averaged)


def _mean(weights: Float[Tensor, "r p"], values: Float[Tensor, "r p"]) -> Float[Tensor, "r"]:
    return (weights * values).sum(dim=1) / weights.sum(dim=1).clamp(min=1e-30)


# cues that are not lengths
_NO_LENGTHS = ("unlike", "misfit")
# constants that cues depend on
_OF_CUES = ("RIGHT", "CLOSE", "NEAR", "FAR", "SPREAD_TEMPERATURE", "RIVAL_SHARPNESS", "SMALLEST_LENGTH", "MOST_UNUSUAL")
_OF_LATERATION = ("ANCHORS", "RADIUS", "PLACES", "EVERY", "STEPS")
_OF_REGISTRATION = ("REGISTRATION_LENGTHS", "REGISTRATION_STEPS", "FARTHEST")
FittedReadOut = Literal["lateration", "registration"]
_FITTED_READ_OUTS = get_args(FittedReadOut)
# so that a map without a torn edge has a logarithm
_LEAST_TORN = 0.01
# an error that is expected is not less than this
_LEAST_ERROR = 1e-3
_RULE = "rule.json"
# larger numbers, as in a file that somebody changed, would overflow
_LARGEST, _LARGEST_OF_MAP = 1e6, 100.0
_POSITIVE = ("deviation", "even", "slope")


@dataclass(frozen=True, eq=False)
class Cues:
    """What betrays a wrong place, for each vertex of the part; the larger the worse.

    Distances are in √area of the whole; *around* means averaged over vertices within about 0.06.

    Attributes
    ----------
    distortion_close, distortion : mean |D_whole − D_part| to the vertices within about 0.06, and 0.12
    guaranteed_distortion, guaranteed_distortion_far : the same over guaranteed pairs, within about 0.12, and 0.25
    rivals : mean distance to where other trials put the vertex, these weighed by how well they fit
    spread : mean distance to the places that the network thinks possible, around
    smoothing : distance to the place of the most similar features, around
    lateration : distance by which guaranteed distances move the smoothed place, around
    cycle : distance, on the part, to the vertex whose features are most like those of the place, around
    unlike : 1 − cosine of the features of vertex and place, around
    misfit : 1 − correlation of the curvature of part and whole through the map: the same for all vertices
    """

    distortion_close: Float[np.ndarray, "p"]
    distortion: Float[np.ndarray, "p"]
    guaranteed_distortion: Float[np.ndarray, "p"]
    guaranteed_distortion_far: Float[np.ndarray, "p"]
    rivals: Float[np.ndarray, "p"]
    spread: Float[np.ndarray, "p"]
    smoothing: Float[np.ndarray, "p"]
    lateration: Float[np.ndarray, "p"]
    cycle: Float[np.ndarray, "p"]
    unlike: Float[np.ndarray, "p"]
    misfit: Float[np.ndarray, "p"]

    def __len__(self) -> int:
        return len(self.distortion)


NAMES = tuple(field.name for field in fields(Cues))


def stacked(cues: Cues) -> Float[np.ndarray, "p s"]:
    """The cues as the rule sees them: logarithms of lengths, and the others as they are."""
    columns = []
    for name in NAMES:
        value = np.asarray(getattr(cues, name), np.float64)
        columns.append(value if name in _NO_LENGTHS else np.log(np.maximum(value, 0) + SMALLEST_LENGTH))
    return np.stack(columns, axis=1)


@dataclass(frozen=True)
class MapRule:
    """log e = offset + a log (mean expected error) + b (1 − similarity) + c log (torn + 0.01) + d reversed.

    e is the mean error to be expected of a map, in √area of the whole; similarity, torn and reversed are those of `Fit`. No
    weight is negative: nothing that speaks against a map lowers the error.

    Attributes
    ----------
    expected, similarity, torn, reversed : a, b, c and d
    offset : for vertices that expect 1, and nothing else against the map but log 0.01
    """

    expected: float
    similarity: float
    torn: float
    reversed: float
    offset: float

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not abs(value) <= _LARGEST_OF_MAP or (name != "offset" and value < 0):
                raise ValueError(
                    f"of_map has {name}={value}; weights are at most {_LARGEST_OF_MAP:g}, and not negative"
                )

    def error(self, expected: float, fit: Fit) -> float:
        """The mean error to be expected.

        Parameters
        ----------
        expected : the mean of what the vertices expect
        fit : of the map

        Examples
        --------
        >>> rule = MapRule(expected=1.0, similarity=2.0, torn=0.0, reversed=0.0, offset=0.0)
        >>> fit = Fit(0.5, "wormhole", 0.01, 1.0, 0.9, 0.0, None, None, similarity=0.5)
        >>> round(rule.error(0.1, fit) / 0.1, 3) == round(math.e, 3)
        True
        """
        weights = self.expected, self.similarity, self.torn, self.reversed
        return math.exp(self.offset + float(np.dot(weights, map_cues(expected, fit))))

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> MapRule:
        """What `dataclasses.asdict` gave."""
        return cls(**values)


def map_cues(expected: float, fit: Fit) -> tuple[float, float, float, float]:
    """log (mean expected error), 1 − similarity, log (torn + 0.01) and reversed: the larger, the worse.

    What is not known of a map speaks neither for nor against it: its cue is that of a good one.
    """
    turned = 0.0 if math.isnan(fit.reversed) else fit.reversed
    unlike = 0.0 if math.isnan(fit.similarity) else 1 - fit.similarity
    return math.log(max(expected, _LEAST_ERROR)), unlike, math.log(fit.torn + _LEAST_TORN), turned


@dataclass(frozen=True)
class Rule:
    """log e = offset + Σ_k outer_k tanh(inner_k · z + shift_k), z the cues in deviations from their means, inner, outer ≥ 0.

    e is the error to be expected, in √area of the whole; confidence = 1 / (1 + (e / even)^slope), the probability that the
    error is below `RIGHT`. Where there is a rule for maps as a whole, `of_map`, errors are those that vertices expect times a
    factor that gives them the mean that it expects. `read_out` is that of the maps whose errors it was fitted to: another one
    leaves other errors with the same cues.
    """

    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    inner: tuple[tuple[float, ...], ...]
    shift: tuple[float, ...]
    outer: tuple[float, ...]
    offset: float
    even: float
    slope: float
    presupposes: str | None = None
    of_map: MapRule | None = None
    read_out: FittedReadOut = "lateration"

    def to_json(self) -> dict[str, Any]:
        """As JSON has it, and `from_json` reads it."""
        told = {"cues": list(NAMES), **asdict(self)}
        return told if self.of_map is not None else {k: value for k, value in told.items() if k != "of_map"}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Rule:
        """What `to_json` gave."""
        held = dict(values)
        of_map = held.pop("of_map", None)
        # as earlier versions called them
        cues = held.pop("signs", ())
        if tuple(held.pop("cues", cues)) != NAMES:
            raise ValueError(f"the rule is for other cues than {', '.join(NAMES)}; fit it again")
        # files of earlier versions were fitted to lateration, and do not say so
        read_out = held.get("read_out", "lateration")
        if read_out not in _FITTED_READ_OUTS:
            raise ValueError(
                f"the rule of confidence is for another read-out than {' or '.join(_FITTED_READ_OUTS)}; fit it again"
            )
        if held.get("presupposes") not in (None, presupposed(read_out)):
            raise ValueError("the rule of confidence was fitted with other constants of search and cues; fit it again")
        try:
            held["inner"] = tuple(map(tuple, held["inner"]))
            plain: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in held.items()}
            rule = cls(**plain, of_map=None if of_map is None else MapRule.from_json(of_map))
            fault = rule._fault()
        except (KeyError, TypeError, ValueError) as error:
            fault = str(error)
        if fault:
            raise ValueError(f"the rule of confidence is damaged ({fault}); fit it again")
        return rule

    def _fault(self) -> str:
        """What makes it no rule; empty if nothing does."""
        units, cues = len(self.inner), len(NAMES)
        shapes = {
            "mean": (cues,),
            "deviation": (cues,),
            "inner": (units, cues),
            "shift": (units,),
            "outer": (units,),
        }
        for name, shape in {**shapes, "offset": (), "even": (), "slope": ()}.items():
            values = np.array(getattr(self, name))
            if values.shape != shape or values.dtype.kind not in "fi" or not np.all(np.abs(values) <= _LARGEST):
                return f"{name} should be numbers of shape {shape}, at most {_LARGEST:g}"
            low = 0 if name in ("inner", "outer") else np.finfo(float).tiny if name in _POSITIVE else -np.inf
            if values.size and values.min() < low:
                return f"{name} should not be {'negative' if low == 0 else '0 or less'}, got {values.min():g}"
        return ""


@cache
def presupposed(read_out: FittedReadOut = "lateration") -> str:
    """A hash of the constants that cues, and the maps of a read-out, depend on: a rule that was fitted with others means
    nothing."""
    from partwhole.matching.confidence import constants
    from partwhole.matching.network import surface
    from partwhole.matching.readout import maps
    from partwhole.matching.search import constants as of_search

    told = {
        "cues": {name: getattr(constants, name) for name in _OF_CUES},
        # rules are fitted without landmarks
        "search": {
            name: value
            for name, value in vars(of_search).items()
            if name.isupper() and not name.startswith("LANDMARK_")
        },
        "lateration": {name: getattr(maps, name) for name in _OF_LATERATION},
        "curvature time": surface.CURVATURE_TIME,
        "scored vertices": surface.SCORED_VERTICES,
    }
    # registration begins with lateration
    if read_out == "registration":
        told["registration"] = {name: getattr(maps, name) for name in _OF_REGISTRATION}
    return hash_of(told)


@cache
def fitted_rule() -> Rule:
    """The rule for the model `upright`: from benchmarks/confidence.py, on generated people and bodies that nothing is
    tested on."""
    return Rule.from_json(json.loads((files("partwhole.matching.confidence") / _RULE).read_text(encoding="utf-8")))


def rule_for(card: Mapping[str, Any]) -> Rule:
    """The rule that was fitted with the model of this card, where it has one under "confidence"; else that of `upright`."""
    held = card.get("confidence")
    return fitted_rule() if held is None else Rule.from_json(held)


def remark_on(card: Mapping[str, Any]) -> tuple[str, ...]:
    """What has to be said where confidence was fitted with another model; nothing otherwise.

    >>> remark_on({"name": "mine"})
    ('confidence was fitted with the model upright; with mine its ranking is meaningful, its values less so',)
    """
    name = card.get("name", "another")
    if name == "upright" or "confidence" in card:
        return ()
    return (f"confidence was fitted with the model upright; with {name} its ranking is meaningful, its values less so",)


def expected_error(cues: Cues, rule: Rule | None = None) -> Float[np.ndarray, "p"]:
    """The error to be expected, in √area of the whole."""
    rule = rule or fitted_rule()
    z = (stacked(cues) - np.array(rule.mean)) / np.array(rule.deviation)
    units = np.tanh(np.clip(z, -MOST_UNUSUAL, MOST_UNUSUAL) @ np.array(rule.inner).T + np.array(rule.shift))
    return np.exp(rule.offset + units @ np.array(rule.outer))


def confidence_of(cues: Cues, rule: Rule | None = None) -> Float[np.ndarray, "p"]:
    """The probability that a place is right, nearer to the truth than `RIGHT`, as far as the cues tell.

    Examples
    --------
    >>> lengths = {name: np.array([0.005, 0.3]) for name in NAMES}
    >>> cues = Cues(**{**lengths, "unlike": np.array([0.1, 0.8]), "misfit": np.array([0.1, 0.8])})
    >>> sure, doubtful = confidence_of(cues)
    >>> bool(sure > 0.5 > doubtful)
    True
    """
    rule = rule or fitted_rule()
    return _probability(expected_error(cues, rule), rule)


def _probability(expected: Float[np.ndarray, "p"], rule: Rule) -> Float[np.ndarray, "p"]:
    return 1 / (1 + (expected / rule.even) ** rule.slope)


def judged(cues: Cues, fit: Fit, areas: Float[np.ndarray, "p"], rule: Rule) -> tuple[Float[np.ndarray, "p"], Fit]:
    """The confidence of each vertex, and the fit with the mean error to be expected.

    Parameters
    ----------
    cues : of all vertices of the part
    fit : of the map
    areas : of the vertices
    rule : that was fitted with the model
    """
    expected = np.minimum(expected_error(cues, rule), LARGEST_ERROR)
    mean = float(np.average(expected, weights=areas))
    if rule.of_map is None:
        return confidence_of(cues, rule), replace(fit, expected_error=mean)
    of_map = min(rule.of_map.error(mean, fit), LARGEST_ERROR)
    factor = of_map / max(mean, np.finfo(float).tiny)
    return _probability(expected * factor, rule), replace(fit, expected_error=of_map, judged=True)
