"""Eigenpairs that are computed once and kept in files."""

from __future__ import annotations

import os
from importlib.metadata import version
from typing import Any

from partwhole.mesh.surface import Mesh
from partwhole.spectral.eigen import Eigenpairs, eigenpairs
from partwhole.store.cache import Cache

# raised with every change of the code that changes the numbers
_SCHEMA = 1


def cached_eigenpairs(mesh: Mesh, k: int, cache: Cache) -> Eigenpairs:
    """`eigenpairs(mesh, k)`, from the cache if it was computed before with the same libraries, else put there.

    Examples
    --------
    >>> import tempfile
    >>> from partwhole.datasets import sphere
    >>> cache = Cache(tempfile.mkdtemp())
    >>> first = cached_eigenpairs(sphere(200), 10, cache)
    >>> again = cached_eigenpairs(sphere(200), 10, cache)
    >>> bool((first.functions == again.functions).all())
    True
    """
    key = _key(mesh, k)
    found = cache.get(key)
    if found is not None:
        return Eigenpairs(found["values"], found["functions"], found["mass"])
    computed = eigenpairs(mesh, k)
    cache.put(key, {"values": computed.values, "functions": computed.functions, "mass": computed.mass})
    return computed


def is_cached(mesh: Mesh, k: int, cache: Cache) -> bool:
    """Whether there is a file for them; `cached_eigenpairs` still makes sure that it is whole."""
    # not Path.exists, which fails where a folder is closed to us
    return os.path.exists(cache.path(_key(mesh, k)))


def _key(mesh: Mesh, k: int) -> dict[str, Any]:
    return {
        "what": "eigenpairs",
        "schema": _SCHEMA,
        "libraries": {name: version(name) for name in ("numpy", "scipy", "robust-laplacian")},
        "mesh": mesh.content_hash,
        "k": k,
    }
