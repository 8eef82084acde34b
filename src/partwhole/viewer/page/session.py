"""The state behind an open page: the scene, the trust explorer, and a match that is being computed.

HTTP is handled in `server`.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

import numpy as np

from partwhole.geodesics.distances import DistanceMethod, distances_from_each
from partwhole.mesh import Mesh
from partwhole.mesh.io import decode_mesh
from partwhole.mesh.landmarks import checked_landmarks
from partwhole.store.cache import Cache
from partwhole.viewer.page.displayed import middle_of
from partwhole.viewer.page.distortion import distortions
from partwhole.viewer.page.matching import NoModel, matched
from partwhole.viewer.page.packing import pack
from partwhole.viewer.page.scene import Scene
from partwhole.viewer.page.trust_explorer import TrustExplorer, TrustRow, check_vertex, why_no_sphere

_LONGEST_NAME = 80
_LARGEST_UPLOAD = 256 << 20  # a scan of several million faces


@dataclass(frozen=True)
class BackgroundJob:
    """A background computation, a match or a simplification: its stage, its start, and how it ended."""

    stage: str
    began: float
    state: str = "running"  # or "done", "failed"
    took: float | None = None  # seconds, once it is done

    def to_json(self) -> dict[str, Any]:
        seconds = round(time.monotonic() - self.began, 1)
        return {"stage": self.stage, "state": self.state, "seconds": seconds, "took": self.took}


@dataclass(eq=False)
class Session:
    """One page, or several windows of it.

    Parameters
    ----------
    scene : what is shown; None until files are dropped
    method, sound : how distances are measured, and whether boundary edges are allowed for
    model : what to match with, the name of a built-in model or a file of weights
    match : whether to look for a map where there is none
    largest_upload : bytes of a dropped file
    cache : keeps large surfaces as they are drawn, which take long to simplify
    """

    scene: Scene | None
    method: DistanceMethod = "fast_marching"
    sound: bool = False
    model: str | Path = "default"
    match: bool = True
    largest_upload: int = _LARGEST_UPLOAD
    cache: Cache | None = None
    number: int = 0
    job: BackgroundJob | None = None
    _last_row: tuple[TrustExplorer, TrustRow] | None = None
    _uploads: dict[str, Mesh] = field(default_factory=dict)
    _measured: dict[str, tuple[int, Any]] = field(default_factory=dict)
    _locks: dict[tuple[int, str], threading.Lock] = field(default_factory=dict)
    _busy: threading.RLock = field(default_factory=threading.RLock)
    _matching: threading.Lock = field(default_factory=threading.Lock)

    # --- what the page asks for

    def scene_bytes(self) -> bytes:
        """The scene, with the number that later answers refer to; an empty one if there is none yet."""
        common: dict[str, Any] = {"live": True, "method": self.method, "sound": self.sound}
        common["largest_upload"] = self.largest_upload
        if self.scene is None:
            return pack({"number": self.number, **common}, {})
        return self._once("scene", lambda scene, number: scene.to_bytes(number=number, **common))

    def trust_bytes(self, vertex: int, method: str | None = None) -> bytes:
        """Distances and thresholds of the pairs of one vertex, measured by the method of the session, or by another one."""
        explorer = self.explorer(method)
        row = self._row_of(explorer, vertex)
        arrays = {"distances": row.distances}
        arrays |= {kind.replace("-", "_"): threshold for kind, threshold in row.thresholds.items()}
        return pack({"vertex": vertex, "no_same_loop": explorer.no_same_loop}, arrays)

    def pair_bytes(self, vertex: int, other: int, method: str | None = None) -> bytes:
        """The wormhole that decides a pair, and the shortest path on the part."""
        explorer = self.explorer(method)
        wormhole = explorer.wormhole(vertex, other)
        distances = self._row_of(explorer, vertex).distances
        arrays = {"geodesic": self._centred(explorer.path(distances, other))}
        meta: dict[str, Any] = {"vertex": vertex, "other": other, "wormhole": None}
        if wormhole is not None and np.isfinite(wormhole.length):
            meta["wormhole"] = {
                "leaves": wormhole.leaves,
                "returns": wormhole.returns,
                "to_boundary": wormhole.to_boundary,
                "across": wormhole.across,
                "from_boundary": wormhole.from_boundary,
            }
            arrays["out"] = self._centred(explorer.path_from_boundary(wormhole.leaves, vertex))
            arrays["back"] = self._centred(explorer.path_from_boundary(wormhole.returns, other))
        return pack(meta, arrays)

    def rings_bytes(self, vertex: int) -> bytes:
        """Distances on the part from a vertex, and on the whole from its match."""
        scene = self.shown()
        check_vertex(scene.part.mesh, vertex)
        part, whole = self._once("rings", self._prepared_rings)
        arrays = {"part": part(vertex)}
        if whole is not None and scene.vertex_map is not None:
            arrays["whole"] = whole(int(scene.shown_map(scene.vertex_map)[vertex]))
        return pack({"vertex": vertex}, arrays)

    def _prepared_rings(self, scene: Scene, number: int) -> list[Callable[[int], np.ndarray] | None]:
        surfaces = (scene.part, scene.whole if scene.vertex_map is not None else None)
        return [None if s is None else distances_from_each(s.mesh, method=self.method) for s in surfaces]

    def errors_bytes(self) -> bytes:
        """Geodesic errors, where the truth is known."""
        return pack({}, {"errors": self._once("errors", lambda scene, _: scene.errors[scene.part.to_full])})

    def distortion_bytes(self) -> bytes:
        return pack({}, self._once("distortion", lambda scene, _: distortions(scene)))

    # --- what is computed once for a scene

    def explorer(self, method: str | None = None) -> TrustExplorer:
        """The trust explorer; boundary edges are allowed for only with the method that was chosen together with that."""
        chosen = self.method if method is None else _known(method)
        sound = self.sound and chosen == self.method
        return self._once(f"explorer, {chosen}", lambda scene, _: explorer_of(scene, method=chosen, sound=sound))

    def _row_of(self, explorer: TrustExplorer, vertex: int) -> TrustRow:
        """The last row is kept: after a vertex was chosen, its pairs are asked for one after the other."""
        last = self._last_row
        if last is None or last[0] is not explorer or last[1].vertex != vertex:
            self._last_row = last = (explorer, explorer.row(vertex))
        return last[1]

    def _once(self, name: str, measure: Callable[[Scene, int], Any]) -> Any:
        """Measured when it is first asked for, and kept as long as the scene is shown."""
        with self._busy:
            scene, number = self.shown(), self.number
            # one for each, so that what is quick does not wait for what is slow, nor for what is no longer shown
            lock = self._locks.setdefault((number, name), threading.Lock())
        with lock:
            kept = self._measured.get(name)
            if kept is None or kept[0] != number:
                kept = (number, measure(scene, number))
                with self._busy:
                    if self.number == number:
                        self._measured[name] = kept
            return kept[1]

    def warm_up(self) -> threading.Thread:
        """Measure in the background what the first click will need, and match if there is no map."""

        def work() -> None:
            # what goes wrong here is told when the page asks for it; and at the end of the program nothing is
            with suppress(Exception):
                self.scene_bytes()
                self.rings_bytes(0)
                self.explorer().distances_from(0)

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        if self.match:
            self.begin_match()
        return thread

    # --- files that are dropped on the page

    def upload(self, role: str, name: str, data: bytes) -> dict[str, Any]:
        """Read a dropped file with the reader that all files go through; its name serves for its ending and to show."""
        if role not in ("part", "whole"):
            raise ValueError(f"a file is dropped as part or as whole, not as {role!r}")
        shown = "".join(c for c in Path(name.replace("\\", "/")).name if c.isprintable())[-_LONGEST_NAME:] or "mesh"
        try:
            # straight from memory: nothing of it ever lies on the disk
            mesh, notes = decode_mesh(data, Path(shown))
        except ValueError as error:
            remedy = "; repair it with `partwhole mask --repair` or pw.repair"
            raise ValueError(str(error).replace("; read_mesh(path, repair=True) removes them", remedy)) from None
        # a new part begins a new pair
        self._uploads = {"part": mesh} if role == "part" else {**self._uploads, "whole": mesh}
        return {
            "name": shown,
            "vertices": mesh.n_vertices,
            "area": mesh.area,
            "loops": len(mesh.boundary_loops),
            "notes": notes,
        }

    def open_uploads(self, *, swapped: bool = False) -> dict[str, Any]:
        """Show what was dropped: the part, and the whole if there are two."""
        part, whole = self._uploads.get("part"), self._uploads.get("whole")
        if part is None and whole is None:
            raise ValueError("no file was dropped yet")
        if part is None or whole is None:
            given = whole if part is None else part
            assert given is not None
            scene = Scene.of(given)
        else:
            scene = Scene.of(whole, part) if swapped else Scene.of(part, whole)
        self.open(scene)
        return {"title": scene.title}

    def swap(self) -> dict[str, Any]:
        """Show the whole as the part and the part as the whole, and match them again."""
        scene = self.shown()
        if scene.whole is None:
            raise ValueError("there is no whole to swap the part with; drop two meshes on the page")
        if scene.parts is not None:
            raise ValueError("two parts are the same either way round")
        swapped = Scene(scene.whole, scene.part, title=f"{scene.whole.full.name} → {scene.part.full.name}")
        self.show(swapped)
        self.warm_up()
        return {"title": swapped.title}

    def open(self, scene: Scene) -> None:
        """Show a scene and measure in the background; one with very many vertices is simplified there first."""
        if not scene.is_large:
            self.show(scene)
            self.warm_up()
            return
        with self._busy:
            number, began = self.number, time.monotonic()
            self.job = BackgroundJob("simplifying large surfaces for display", began)

        def work() -> None:
            try:
                simpler = scene.simplified(cache=self.cache)
            except Exception as fault:  # whatever it is, the page says it
                self.job = BackgroundJob(f"can't be simplified: {_in_words(fault)}", began, "failed")
                return
            with self._busy:
                if self.number != number:
                    return  # something else was opened meanwhile
                self.show(simpler)
            self.warm_up()

        threading.Thread(target=work, daemon=True).start()

    def show(self, scene: Scene) -> None:
        with self._busy:
            self.scene = scene
            self.number += 1
            self.job = None
            self._locks.clear()  # those who wait hold theirs; what is shown now gets its own

    # --- matching

    def match_again(self, data: bytes) -> dict[str, Any]:
        """Look for the map again, with landmarks: JSON, a list of [vertex of the part, vertex of the whole, label]."""
        scene = self.shown()
        if scene.whole is None:
            raise ValueError("there is no whole to match to; drop two meshes on the page")
        if scene.parts is not None:
            raise ValueError("two parts are matched without landmarks; drop a part and its whole on the page")
        try:
            given = [(part, whole, str(label)) for part, whole, label in json.loads(data)]
        except (ValueError, TypeError):
            raise ValueError("landmarks should be a list of [vertex of the part, vertex of the whole, label]") from None
        landmarks = checked_landmarks(given, scene.part.full, scene.whole.full)
        self._begin(replace(scene, landmarks=landmarks))
        return {"landmarks": len(landmarks)}

    def begin_match(self) -> None:
        """Look for the map in the background, if there is none and a whole to map to."""
        scene = self.scene
        if scene is None or scene.whole is None or scene.vertex_map is not None:
            return
        self._begin(scene)

    def _begin(self, scene: Scene) -> None:
        number = self.number
        began = time.monotonic()
        self.job = BackgroundJob("matching", began)

        def tell(stage: str) -> None:
            if self.number != number:
                raise _NoLongerShown  # ends the match
            self.job = BackgroundJob(stage, began)

        given = scene, number, began, tell
        threading.Thread(target=self._match, args=given, name=f"match of scene {number}", daemon=True).start()

    def _match(self, scene: Scene, number: int, began: float, tell: Callable[[str], None]) -> None:
        try:
            # one at a time: what was dropped since is matched when the match before has noticed
            with self._matching:
                tell("matching")
                with_map = matched(scene, model=self.model, tell=tell)
        except NoModel as missing:
            if self.number == number:
                self.job = BackgroundJob(str(missing), began, "failed")
        except Exception as fault:  # whatever it is, the page says it and goes on without a map
            if self.number == number:
                self.job = BackgroundJob(f"no map was found: {_in_words(fault)}", began, "failed")
        else:
            with self._busy:
                if self.number == number:
                    self.show(with_map)
                    self.job = BackgroundJob("matched", began, "done", round(time.monotonic() - began, 1))

    def shown(self) -> Scene:
        """The scene that is shown; a ValueError if there is none."""
        if self.scene is None:
            raise ValueError("nothing is shown yet; drop a mesh on the page")
        return self.scene

    def _centred(self, points: np.ndarray) -> np.ndarray:
        return points - middle_of(self.shown().part.mesh)


class _NoLongerShown(Exception):
    """Something else was opened while a match was being looked for."""


def _in_words(fault: Exception) -> str:
    return " ".join(str(fault).split()) or type(fault).__name__


def _known(method: str) -> DistanceMethod:
    for known in get_args(DistanceMethod):
        if known == method:
            return known
    raise ValueError(f"method must be one of {', '.join(get_args(DistanceMethod))}, got {method[:40]!r}")


def explorer_of(scene: Scene, *, method: DistanceMethod, sound: bool) -> TrustExplorer:
    """The trust explorer of a scene; what its whole is says whether the same-loop criterion applies."""
    # two parts don't show what their whole is
    whole = None if scene.whole is None or scene.parts is not None else scene.whole.full
    return TrustExplorer.of(scene.part.mesh, method=method, sound=sound, no_same_loop=why_no_sphere(whole))
