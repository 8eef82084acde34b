"""Criteria for which geodesic distances on a part are guaranteed to be those on the whole."""

from partwhole.criterion.chosen import distances_among
from partwhole.criterion.result import Criterion
from partwhole.criterion.study import Consistency, Summary, consistency, summarise
from partwhole.criterion.thresholds import boundary_criterion, same_loop_criterion, wormhole_criterion

__all__ = [
    "Consistency",
    "Criterion",
    "Summary",
    "boundary_criterion",
    "consistency",
    "distances_among",
    "same_loop_criterion",
    "summarise",
    "wormhole_criterion",
]
