"""Which distances on a part can be trusted."""

from partwhole.criterion.result import Criterion
from partwhole.criterion.thresholds import boundary_criterion, same_loop_criterion, wormhole_criterion

__all__ = ["Criterion", "boundary_criterion", "same_loop_criterion", "wormhole_criterion"]
