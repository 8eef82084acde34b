"""The Swiss roll, whole, with a hole, or cut: points in space whose exact flat coordinates are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from jaxtyping import Bool, Float

from partwhole.store.arguments import check_number, check_whole_number

Variant = Literal["whole", "hole", "cut"]

# The rectangle that is missing, in shares of the sheet's length and width; a cut goes on to the outer end.
_ALONG = (0.1, 0.9)
_ACROSS = (0.4, 0.6)

# A point whose nearest neighbours, this many, would not all be there lies on the boundary.
_NEIGHBOURS = 6

# How far the sheet is thought to go on beyond its boundary, in shares of its sides: more than the neighbours reach.
_BEYOND = 0.2


@dataclass(frozen=True, eq=False, repr=False)
class SwissRoll:
    """A sample of the Swiss roll.

    Attributes
    ----------
    points : positions in space, noise included
    flat : where each point lies on the unrolled sheet, before noise: arc length along the roll, and width. The map
        from the sheet to the roll keeps all lengths, so this is what an embedding in the plane should give back
    boundary : True for points on the boundary of the sheet or of what is missing: they lie within half a spacing of it (the
        spacing is the square root of the area that a sample has to itself), or at least one of the six nearest points,
        were the sheet complete and endless, is not there
    variant, noise : as asked for
    """

    points: Float[np.ndarray, "n 3"]
    flat: Float[np.ndarray, "n 2"]
    boundary: Bool[np.ndarray, "n"]
    variant: Variant
    noise: float

    def __repr__(self) -> str:
        return f"SwissRoll({self.variant}, {len(self.points)} points, {self.boundary.sum()} on the boundary)"


def swiss_roll(
    n_samples: int = 2000,
    *,
    variant: Variant = "whole",
    noise: float = 0.0,
    width: float = 30.0,
    seed: int | np.random.Generator = 0,
) -> SwissRoll:
    """(t cos t, y, t sin t), t uniform between 3π/2 and 9π/2, y uniform between 0 and `width`.

    As in Bracha, Dagès and Kimmel (2024): the sheet is 1.5 times as wide as the usual 20. With `variant="hole"` the
    samples in the middle (four fifths of the roll's length by one fifth of its width) are taken away; with
    `variant="cut"` the missing strip goes on to the outer end of the roll. For one seed, the three variants have the
    same samples otherwise.

    Parameters
    ----------
    n_samples : samples of the complete sheet; about a sixth of them is missing from the other variants
    variant : "whole", "hole" or "cut"
    noise : standard deviation of Gaussian noise on each coordinate of `points`; `flat` has none
    width : of the sheet
    seed : of everything random

    Examples
    --------
    >>> roll = swiss_roll(variant="hole", seed=0)
    >>> roll.points.shape, roll.flat.shape
    ((1668, 3), (1668, 2))
    >>> t = np.hypot(roll.points[:, 0], roll.points[:, 2])
    >>> bool(np.allclose(roll.flat[:, 0], arc_length(t) - arc_length(1.5 * np.pi)))
    True
    """
    check_whole_number("n_samples", n_samples)
    if n_samples <= _NEIGHBOURS:
        raise ValueError(f"n_samples must be at least {_NEIGHBOURS + 1}, got {n_samples}")
    check_number("noise", noise)
    check_number("width", width)
    if not 0 <= noise < np.inf:
        raise ValueError(f"noise must be finite and at least 0, got {noise}")
    if not 0 < width < np.inf:
        raise ValueError(f"width must be positive and finite, got {width}")
    if variant not in get_args(Variant):
        raise ValueError(f'variant must be "whole", "hole" or "cut", got {variant!r}')
    rng = np.random.default_rng(seed)
    place = rng.random((n_samples, 2))
    shift = noise * rng.standard_normal((n_samples, 3))
    missing = _missing(place, variant)
    present = _flat(place[~missing], width)
    absent = _flat(np.concatenate([place[missing], _outside(n_samples, rng)]), width)
    t, y = _angle(place[~missing, 0]), width * place[~missing, 1]
    return SwissRoll(
        points=np.stack([t * np.cos(t), y, t * np.sin(t)], axis=1) + shift[~missing],
        flat=present,
        boundary=_lacks_a_neighbour(present, absent) | _at_the_edge(place[~missing], n_samples, width, variant),
        variant=variant,
        noise=noise,
    )


def arc_length(t: Float[np.ndarray, "*n"] | float) -> Float[np.ndarray, "*n"] | float:
    """∫₀ᵗ √(1 + τ²) dτ = (t √(1 + t²) + arsinh t) / 2, the length of the spiral (t cos t, t sin t)."""
    return (t * np.sqrt(1 + t**2) + np.arcsinh(t)) / 2


def _angle(share: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
    return 1.5 * np.pi * (1 + 2 * share)


def _flat(place: Float[np.ndarray, "n 2"], width: float) -> Float[np.ndarray, "n 2"]:
    along = arc_length(_angle(place[:, 0])) - arc_length(1.5 * np.pi)
    return np.stack([along, width * place[:, 1]], axis=1)


def _missing(place: Float[np.ndarray, "n 2"], variant: Variant) -> Bool[np.ndarray, "n"]:
    along, across = place.T
    strip = (across > _ACROSS[0]) & (across < _ACROSS[1]) & (along > _ALONG[0])
    if variant == "whole":
        return np.zeros(len(place), bool)
    return strip if variant == "cut" else strip & (along < _ALONG[1])


def _at_the_edge(
    place: Float[np.ndarray, "n 2"], n_samples: int, width: float, variant: Variant
) -> Bool[np.ndarray, "n"]:
    """Whether the edge of the sheet, or of what is missing, is nearer than half a spacing."""
    along, across = _flat(place, width).T
    length, begin, end = _flat(np.array([[1.0, 0], [_ALONG[0], 0], [_ALONG[1], 0]]), width)[:, 0]
    distance = np.minimum.reduce([along, length - along, across, width - across])
    if variant != "whole":
        beside = np.maximum(begin - along, 0.0 if variant == "cut" else along - end).clip(0)
        beyond = np.maximum(_ACROSS[0] * width - across, across - _ACROSS[1] * width).clip(0)
        distance = np.minimum(distance, np.hypot(beside, beyond))
    t = _angle(place[:, 0])
    area_of_a_sample = 3 * np.pi * np.sqrt(1 + t**2) * width / n_samples
    return distance < np.sqrt(area_of_a_sample) / 2


def _outside(n_samples: int, rng: np.random.Generator) -> Float[np.ndarray, "m 2"]:
    """Samples, equally dense, of the sheet's continuation beyond its boundary."""
    side = 1 + 2 * _BEYOND
    place = side * rng.random((round(n_samples * side**2), 2)) - _BEYOND
    return place[np.any((place < 0) | (place > 1), axis=1)]


def _lacks_a_neighbour(present: Float[np.ndarray, "n 2"], absent: Float[np.ndarray, "m 2"]) -> Bool[np.ndarray, "n"]:
    """Whether one of the nearest neighbours among all, the point itself not counted, is absent."""
    from scipy.spatial import KDTree

    _, nearest = KDTree(np.concatenate([present, absent])).query(present, k=_NEIGHBOURS + 1)
    return np.any(nearest >= len(present), axis=1)
