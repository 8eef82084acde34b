"""Part and whole as a network, and the measures of a map, need them: in common units, with operators and distances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from partwhole.criterion.loops import check_piece_of_sphere, twice_genus
from partwhole.matching.matcher import Matcher
from partwhole.matching.network.surface import Surface, distances_of, pair_weights
from partwhole.matching.readout.lateration import guaranteed_pairs
from partwhole.matching.scans.prepare import placed
from partwhole.matching.training.config import MaskedBy
from partwhole.matching.training.prepared_pairs import low_passed
from partwhole.mesh import Mesh
from partwhole.store.cache import Cache


@dataclass(frozen=True, eq=False, repr=False)
class SurfacePair:
    """Two surfaces ready to be matched.

    Attributes
    ----------
    part, whole : with distances, and the part with weights
    meshes : of the part and of the whole, in the same units
    criterion : by which pairs count
    notes : what is unusual
    """

    part: Surface
    whole: Surface
    meshes: tuple[Mesh, Mesh]
    criterion: MaskedBy
    notes: tuple[str, ...] = ()

    @property
    def guaranteed(self) -> Bool[Tensor, "p p"]:
        """Pairs of the part whose distances are guaranteed by the criterion."""
        return guaranteed_pairs(self.part)

    def for_loss(self, matcher: Matcher) -> Surface:
        """The whole as the loss of a matcher sees it."""
        assert self.whole.distances is not None
        if matcher.config.low_pass is None:
            return self.whole
        return replace(self.whole, distances=low_passed(self.whole.distances, self.whole, matcher.config.low_pass))


def surface_pair(
    part: Mesh,
    whole: Mesh,
    factor: float,
    matcher: Matcher,
    *,
    cache: Cache | None = None,
    distances: tuple[Float[np.ndarray, "p p"], Float[np.ndarray, "n n"]] | None = None,
    known: Callable[[Callable[[], Surface]], Surface] | None = None,
) -> SurfacePair:
    """Operators, distances and weights of two surfaces, in units in which the whole has area 1.

    Parameters
    ----------
    part, whole : each in its own units
    factor : from lengths of the part to those of the whole
    matcher : for which they are shown
    cache : where eigenpairs are kept
    distances : on both, as `placed` has them, if they are known
    known : gives the operators of the whole if they are known, or else what the function gives that computes them
    """
    piece, unit = placed(part, whole, factor)
    device, config = matcher.device.type, matcher.config
    criterion, notes = _criterion(config.criterion, piece, unit)
    of_part = matcher.surface(piece, cache=cache)
    of_whole = known(lambda: matcher.surface(unit, cache=cache)) if known else matcher.surface(unit, cache=cache)
    if distances is None:
        on_part, on_whole = (distances_of(mesh, method=config.distances, device=device) for mesh in (piece, unit))
    else:
        on_part, on_whole = (torch.from_numpy(known).to(device) for known in distances)
    weights = pair_weights(piece, on_part, of_part.mass, criterion=criterion, mask=config.mask)
    # weights are 0 at infinite distances, but 0 · inf is not
    with_loss = of_part.with_loss(torch.where(on_part.isfinite(), on_part, 0), weights)
    return SurfacePair(with_loss, of_whole.with_loss(on_whole), (piece, unit), criterion, notes)


def _criterion(wanted: MaskedBy, part: Mesh, whole: Mesh) -> tuple[MaskedBy, tuple[str, ...]]:
    """The criterion of the network, or the wormhole criterion where that one is not proved."""
    if wanted != "same_loop":
        return wanted, ()
    try:
        check_piece_of_sphere(part)
    except ValueError:
        return "wormhole", ("the wormhole criterion is used: the part is no connected piece of a sphere",)
    if not whole.is_closed or twice_genus(whole):
        return "wormhole", ("the wormhole criterion is used: the whole is no sphere",)
    return wanted, ()
