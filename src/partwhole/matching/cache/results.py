"""The result cache: maps that were found before, under everything they depend on. Nothing here needs torch.

The key is made of the two surfaces, the weights, the options, the code and the libraries. What comes back is what would be
computed, bit by bit, but for the seconds that it took.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cache as once
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from partwhole._version import __version__
from partwhole.matching.network.weights import model_path
from partwhole.matching.result import CoarseMatch, DoubtfulRegion, Fit, LandmarkResult, MatchResult
from partwhole.matching.scans.prepare import Scans
from partwhole.matching.scans.units import Scaling
from partwhole.mesh import Mesh
from partwhole.store.cache import Cache

_MADE_BY = ("mesh", "geodesics", "criterion", "spectral", "matching", "store")
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
    arrays = {
        "vertex_map": found.vertex_map,
        "confidence": found.confidence,
        "matched": found.matched,
        "functional_map": found.functional_map,
        "matched_map": found.coarse.vertex_map,
        "matched_confidence": found.coarse.confidence,
    }
    if found.vertex_map_before is not None:
        arrays["vertex_map_before"] = found.vertex_map_before
    for role in ("part", "whole"):
        mesh = getattr(found.coarse, role)
        # a surface that was matched as it was given need not be written again
        if mesh is not getattr(found, role):
            arrays |= {f"{role}_vertices": mesh.vertices, f"{role}_faces": mesh.faces}
    recorded = {
        "losses": found.losses,
        "fit": asdict(found.fit),
        "regions": [asdict(region) for region in found.regions],
        "scaling": asdict(found.scaling),
        "factor": found.factor,
        "up": found.up,
        "yaw": found.yaw,
        "read_out": found.read_out,
        "model": found.model,
        # how files were read is said anew: they may be others, with the same contents
        "notes": found.notes[len(given.notes) :],
        "warnings": found.warnings,
        "landmarks": [asdict(one) for one in found.landmarks],
    }
    arrays["said"] = np.frombuffer(json.dumps(recorded).encode(), np.uint8)
    cache.put(key, arrays)


def cached_result(cache: Cache, key: Mapping[str, Any], given: Scans) -> MatchResult | None:
    """The map that was found before for these surfaces, or None."""
    arrays = cache.get(key)
    if arrays is None:
        return None
    recorded = json.loads(arrays["said"].tobytes())

    def surface(role: str) -> Mesh:
        mesh: Mesh = getattr(given, role)
        if f"{role}_vertices" not in arrays:
            return mesh
        return Mesh(arrays[f"{role}_vertices"], arrays[f"{role}_faces"], name=mesh.name)

    regions = [DoubtfulRegion(**{**region, "centre": tuple(region["centre"])}) for region in recorded["regions"]]
    scaling = recorded["scaling"]
    return MatchResult(
        part=given.part,
        whole=given.whole,
        vertex_map=arrays["vertex_map"],
        confidence=arrays["confidence"],
        matched=arrays["matched"],
        functional_map=arrays["functional_map"],
        vertex_map_before=arrays.get("vertex_map_before"),
        losses=tuple(recorded["losses"]),
        fit=Fit(**recorded["fit"]),
        regions=tuple(regions),
        scaling=Scaling(tuple(scaling["factors"]), scaling["reason"], tuple(scaling["others"])),
        factor=recorded["factor"],
        up=None if recorded["up"] is None else (recorded["up"][0], recorded["up"][1]),
        yaw=recorded["yaw"],
        coarse=CoarseMatch(surface("part"), surface("whole"), arrays["matched_map"], arrays["matched_confidence"]),
        read_out=recorded["read_out"],
        model=recorded["model"],
        notes=(*given.notes, *recorded["notes"]),
        warnings=tuple(recorded["warnings"]),
        seconds=dict(given.seconds),
        from_cache=True,
        landmarks=tuple(LandmarkResult(**one) for one in recorded["landmarks"]),
    )


def without_times(found: MatchResult) -> MatchResult:
    """The same as if it took no time and came from nowhere: what two results of the same match have in common."""
    return replace(found, seconds={}, from_cache=False)
