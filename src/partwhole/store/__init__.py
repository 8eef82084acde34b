"""Helpers that all packages share: checks of arguments, files written atomically, the cache, cores and kernels, text."""

from partwhole.store.storage import atomic_write

__all__ = ["atomic_write"]
