"""Many tasks that do not depend on each other: one after the other, in processes of this machine, or on a dask cluster.

A task writes its own result, atomically, and looks first whether it is there: whatever is killed, and whenever, the same
call again does what is missing and nothing else. What it returns is small.
"""

from partwhole.engines.options import Engine, EngineOptions, Lost, Shard
from partwhole.engines.run import run_tasks

__all__ = ["Engine", "EngineOptions", "Lost", "Shard", "run_tasks"]
