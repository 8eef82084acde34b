"""The result cache: maps that were found before, under everything they depend on. Nothing here needs torch.

The key is made of the two surfaces, the weights, the options, the code and the libraries. What comes back is what would be
computed, bit by bit, but for the seconds that it took.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from functools import cache as once
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from partwhole._version import __version__
from partwhole.matching.network.weights import model_path
from partwhole.matching.result import MatchResult
from partwhole.matching.scans.prepare import Scans
from partwhole.mesh import Mesh
from partwhole.saved import Tree
from partwhole.store.cache import Cache

_MADE_BY = ("mesh", "geodesics", "criterion", "spectral", "deformation", "matching", "store")
_LIBRARIES = ("numpy", "scipy", "numba", "robust-laplacian", "torch")


@once
def code_version(*folders: str) -> str:
    """SHA-256 of the version and of the source files in some folders of the package: others for any change of the code."""
    digest = hashlib.sha256(__version__.encode())
    root = Path(str(files("partwhole")))
    # the rule of confidence is a file of numbers
    for file in sorted(
        file for folder in folders for ending in ("py", "json") for file in (root / folder).rglob(f"*.{ending}")
    ):
        digest.update(f"{file.relative_to(root).as_posix()}:{file.stat().st_size}:".encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()


@once
def surroundings() -> dict[str, str]:
    """Code and libraries that make maps."""
    return {"code": code_version(*_MADE_BY), **{name: version_of(name) for name in _LIBRARIES}}


def version_of(library: str) -> str:
    """The version of a library that is installed, or that it is not."""
    try:
        return version(library)
    except PackageNotFoundError:
        return "not installed"


def model_key(model: str | Path) -> str:
    """SHA-256 of the file of a model."""
    path = model_path(model)
    if not path.is_file():
        raise ValueError(f"there is no file {path}; give a file that Matcher.save or `partwhole train` wrote")
    return hashlib.sha256(path.read_bytes()).hexdigest()


def result_key(given: Scans, model: str, choices: Mapping[str, Any]) -> dict[str, Any]:
    """The key of a result.

    Parameters
    ----------
    given : the surfaces as they were read
    model : a hash of the weights, see `model_key`
    choices : all that `match` was told beside, but for progress, cache, and repair, which the surfaces show
    """
    return {
        "what": "map of a part",
        "made by": surroundings(),
        "part": given.part.content_hash,
        "whole": given.whole.content_hash,
        "model": model,
        "choices": dict(choices),
    }


def store_result(cache: Cache, key: Mapping[str, Any], found: MatchResult, given: Scans) -> None:
    """Put a map into the cache."""
    tree = Tree({"part": given.part, "whole": given.whole})
    # how files were read is said anew: they may be others, with the same contents
    held = tree.packed(replace(found, notes=found.notes[len(given.notes) :], seconds={}, from_cache=True))
    arrays = {**tree.arrays, "said": np.frombuffer(json.dumps(held).encode(), np.uint8)}
    cache.put(key, arrays)


def cached_result(cache: Cache, key: Mapping[str, Any], given: Scans) -> MatchResult | None:
    """The map that was found before for these surfaces, or None."""
    arrays = cache.get(key)
    if arrays is None:
        return None
    tree = Tree({"part": given.part, "whole": given.whole}, arrays)
    found: MatchResult = tree.unpacked(json.loads(arrays["said"].tobytes()))
    coarse = replace(
        found.coarse, part=_named(found.coarse.part, given.part), whole=_named(found.coarse.whole, given.whole)
    )
    return replace(found, coarse=coarse, notes=(*given.notes, *found.notes), seconds=dict(given.seconds))


def _named(mesh: Mesh, like: Mesh) -> Mesh:
    """With the name of another surface: what was read from one file may now come from another."""
    return mesh if mesh.name == like.name else Mesh(mesh.vertices, mesh.faces, name=like.name)


def without_times(found: MatchResult) -> MatchResult:
    """The same as if it took no time and came from nowhere: what two results of the same match have in common."""
    return replace(found, seconds={}, from_cache=False)
