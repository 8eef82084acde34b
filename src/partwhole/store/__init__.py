"""Writing files so that none is ever left half-written."""

from partwhole.store.atomic import atomic_write

__all__ = ["atomic_write"]
