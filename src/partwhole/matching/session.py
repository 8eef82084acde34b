"""`match`, from two files or meshes to a map; and `MatchSession`, many pairs with one model.

Nothing here needs torch until a map has to be computed: results in the cache are found without it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from partwhole.matching.cache.results import cached_result, model_key, result_key, store_result
from partwhole.matching.confidence.constants import FEW_VERTICES
from partwhole.matching.config import READ_OUT, MatchOptions, ReadOut, check_read_out
from partwhole.matching.network.weights import is_method_name, method_in, model_path
from partwhole.matching.result import MatchResult
from partwhole.matching.scans.prepare import (
    MOST_VERTICES,
    PreparedScans,
    Scans,
    Templates,
    prepare_scans,
    read_scans,
)
from partwhole.mesh.landmarks import LandmarksGiven, given_landmarks
from partwhole.mesh.surface_like import ScanLike
from partwhole.store.arguments import Progress, check_device, check_progress, check_whole_number
from partwhole.store.cache import Cache, CacheGiven

if TYPE_CHECKING:
    from partwhole.matching.search.method import Method


def match(
    part: ScanLike,
    whole: ScanLike,
    *,
    model: str | Path | Method = "default",
    refine: int = 0,
    read_out: ReadOut = READ_OUT,
    units: str | float = "auto",
    up: str | None = None,
    yaw_steps: int | None = None,
    repair: bool | None = None,
    max_vertices: int = MOST_VERTICES,
    device: str = "cpu",
    cache: CacheGiven = None,
    progress: Progress | None = None,
    landmarks: LandmarksGiven | None = None,
) -> MatchResult:
    """Match a part to its whole: for each vertex of the part its vertex of the whole, and how sure that is.

    Reads files, determines units, decimates what is large, matches, refines if asked, and lifts the map to every vertex of
    the input. `notes` says what was assumed or left out, `warnings` what may be wrong with the map.

    Parameters
    ----------
    part, whole : files, meshes, (vertices, faces), or meshes of trimesh, Open3D, PyVista or meshio. Points without faces, in
        a file, an array or a point cloud, are triangulated first
    model : the name of a built-in model or method (see `model_names` and `method_names`), a file of weights, or a `Matcher`
        or other `Method`
    refine : steps of refinement on this pair, such as 15; 0: none
    read_out : "features", "spectral", "zoomout", "lateration" or "registration", see `MatchOptions`
    units : "auto", "same", "any", a factor, or those of part and whole such as "mm:m"; see `scaling_of`
    up : the axis that points up, such as "z", or "z:y" for part and whole; "auto" tries them all; None: as the model has it,
        and all of them if that fits badly
    yaw_steps : angles about the vertical at which the part is tried; None: as many as the model asks for
    repair : True repairs both, False neither; None repairs a file that can't be read otherwise
    max_vertices : of the whole as it is matched; the part gets as many as its area is worth
    device : "cpu" or "cuda"
    cache : where eigenfunctions, encodings of the whole and results are kept: a `Cache`, a folder, True for the default one,
        or None for nowhere. The same pair with the same options is answered from there
    progress : called with (what is done, steps done, steps in all)
    landmarks : pairs (vertex of the part, vertex of the whole) that are the same place, if some are known, with or without a
        label; or their file, or the two files of part and whole, see `partwhole.mesh.read_landmark_pairs`. They steer the
        map; `MatchResult.landmarks` says how far off it was without them, and `warnings` which ones contradict each other
    """
    check_read_out(read_out)
    options = MatchOptions(refine, read_out, up, yaw_steps)
    session = MatchSession(model, options, units=units, max_vertices=max_vertices, device=device, cache=cache)
    return session.match(part, whole, repair=repair, progress=progress, landmarks=landmarks)


class MatchSession:
    """Matches one pair after the other with one model, and reuses what it computed for the last whole.

    Parameters
    ----------
    model : the name of a built-in model or method, a file of weights, or a `Method`
    options : see `MatchOptions`
    units, max_vertices, device, cache : see `match`
    """

    def __init__(
        self,
        model: str | Path | Method = "default",
        options: MatchOptions | None = None,
        *,
        units: str | float = "auto",
        max_vertices: int = MOST_VERTICES,
        device: str = "cpu",
        cache: CacheGiven = None,
    ) -> None:
        check_device(device)
        check_whole_number("max_vertices", max_vertices)
        if max_vertices < FEW_VERTICES:
            raise ValueError(f"max_vertices={max_vertices} must be at least {FEW_VERTICES}")
        self.options = options or MatchOptions()
        self.cache = None if cache is None else Cache.meant(cache)
        self._units, self._max_vertices = units, max_vertices
        self._templates = Templates()
        self._path: Path | None = None
        self._method: Method | None = None
        if isinstance(model, str) and is_method_name(model):
            from partwhole.matching.methods import built_in_method

            model = built_in_method(model, device=device)
        if isinstance(model, str | os.PathLike):
            self._path = model_path(model)
        else:
            self._method = _checked_method(model)
        self._device = device if self._method is None else self._method.device.type
        self._key = ""
        if self.cache is not None:
            self._key = model_key(self._path) if self._path else self._loaded().fingerprint()

    def match(
        self,
        part: ScanLike,
        whole: ScanLike,
        *,
        repair: bool | None = None,
        progress: Progress | None = None,
        landmarks: LandmarksGiven | None = None,
    ) -> MatchResult:
        """The map of a pair: from the cache, if it was matched before. Parameters are those of `match`."""
        check_progress(progress)
        scans = read_scans(part, whole, repair=repair, progress=progress)
        given = self.options.landmarks if landmarks is None else landmarks
        if isinstance(given, tuple) and not given:
            return self._found(scans, self.options, progress)
        pairs, said = given_landmarks(given, scans.part, scans.whole)
        found = self._found(scans, replace(self.options, landmarks=pairs), progress)
        # of how their files were read, which is no part of what is cached
        return replace(found, warnings=(*said, *found.warnings)) if said else found

    def _found(self, scans: Scans, options: MatchOptions, progress: Progress | None) -> MatchResult:
        """From the cache, or computed."""
        if self.cache is None:
            return self._matched(scans, options, progress)
        sizes = {"units": self._units, "max_vertices": self._max_vertices, "device": self._device}
        key = result_key(scans, self._key, {**asdict(options), **sizes})
        found = cached_result(self.cache, key, scans)
        if found is None:
            found = self._matched(scans, options, progress)
            store_result(self.cache, key, found, scans)
        return found

    def _matched(self, scans: Scans, options: MatchOptions, progress: Progress | None) -> MatchResult:
        with _torch_meanwhile():
            prepared = self._prepared(scans, progress)
        from partwhole.matching.pipeline import match_scans

        return match_scans(prepared, self._loaded(), options, cache=self.cache, progress=progress)

    def _prepared(self, scans: Scans, progress: Progress | None) -> PreparedScans:
        prepared = prepare_scans(
            scans,
            units=self._units,
            max_vertices=self._max_vertices,
            templates=self._templates,
            progress=progress,
        )
        if self._device == "cpu":
            # what nearly every network asks for, while torch is imported; another one computes its own
            prepared.distances("fast_marching" if self._method is None else self._method.config.loss.distances)
        return prepared

    def _loaded(self) -> Method:
        if self._method is None:
            assert self._path is not None
            if method_in(self._path) is not None:
                from partwhole.matching.methods import load_method

                self._method = load_method(self._path, device=self._device)
                return self._method
            from partwhole.matching.matcher import Matcher

            self._method = Matcher.load(self._path, device=self._device)
        return self._method


def _checked_method(model: object) -> Method:
    from partwhole.matching.search.method import Method

    if not isinstance(model, Method):
        # says what a model may be
        model_path(model)  # type: ignore[arg-type]
    assert isinstance(model, Method)
    return model


@contextmanager
def _torch_meanwhile() -> Iterator[None]:
    """Imports torch while something else is computed: a second that need not be waited for."""
    thread = threading.Thread(target=_import_torch)
    thread.start()
    try:
        yield
    finally:
        thread.join()


def _import_torch() -> None:
    # whoever needs it says what is wrong with it
    with suppress(Exception):
        import torch  # noqa: F401
