"""Reads what the page opens: the folder that `partwhole match` writes, files of meshes, and ground truth."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from partwhole.datasets.number_files import read_npz, read_vts
from partwhole.datasets.pairs import GroundTruth
from partwhole.matching.parts.result import PartsMatch
from partwhole.matching.result import LandmarkResult
from partwhole.mesh import Mesh, read_mesh
from partwhole.registration.merge import MergedParts
from partwhole.registration.result import FittedTemplate
from partwhole.saved import RESULT, load
from partwhole.viewer.page.scene import DoubtfulPlace, Scene

MAP = "map.npz"


def read_scene(paths: list[Path], *, truth: Path | None = None) -> Scene:
    """The folder of a result, or a part, or a part and a whole; with errors where `truth` is given."""
    if len(paths) == 1 and paths[0].is_dir():
        scene = read_result(paths[0])
    elif 1 <= len(paths) <= 2:
        part, *wholes = (read_mesh(path) for path in paths)
        scene = Scene.of(part, wholes[0] if wholes else None)
    else:
        raise ValueError(f"give the folder of a result, or a part and a whole, not {len(paths)} paths")
    if truth is None:
        return scene
    return replace(scene, truth=read_truth(truth, scene.part.full.n_vertices))


def read_result(folder: Path) -> Scene:
    """What `partwhole match` wrote, map.npz, part.ply, whole.ply and perhaps summary.json; or a result that was saved."""
    if not (folder / MAP).is_file():
        if (folder / RESULT).is_file():
            return scene_of_result(load(folder))
        raise ValueError(
            f"{folder} has neither {MAP} nor {RESULT}; give a folder that `partwhole match` or fit wrote, or two meshes"
        )
    held = read_npz(folder / MAP)
    known: dict[str, Any] = {}
    for name, kind in (("vertex_map", "i"), ("vertex_map_before", "i"), ("confidence", "f"), ("doubtful", "b")):
        values = held.get(name)
        if values is None:
            continue
        if values.ndim != 1 or values.dtype.kind not in ("iu" if kind == "i" else kind):
            raise ValueError(
                f"{folder / MAP}: {name} is of shape {values.shape} and type {values.dtype}; "
                f"it should be a row of {'whole numbers' if kind == 'i' else 'numbers' if kind == 'f' else 'truth values'}"
            )
        known[name] = values.astype({"i": np.int64, "f": np.float64, "b": bool}[kind])
    if "vertex_map" not in known:
        raise ValueError(f"{folder / MAP} has no vertex_map")
    part, whole = (read_mesh(folder / f"{name}.ply", name=name) for name in ("part", "whole"))
    factor = held.get("factor", np.ones(()))
    if factor.size != 1 or factor.dtype.kind != "f" or not 0 < float(factor) < np.inf:
        raise ValueError(f"{folder / MAP}: factor should be one positive number, got {factor.tolist()}")
    try:
        scene = Scene.of(part, whole, known.pop("vertex_map"), factor=float(factor), **known)
        return _with_summary(scene, folder / "summary.json")
    except ValueError as error:
        raise ValueError(f"{folder / MAP}: {error}") from None


def scene_of_result(found: Any) -> Scene:
    """What the page shows of a `MatchResult`, a `PartsMatch`, a `FittedTemplate` or `MergedParts`."""
    if isinstance(found, PartsMatch):
        return scene_of_parts(found)
    if isinstance(found, MergedParts):
        return Scene.of(found.mesh, warnings=found.warnings, notes=found.notes)
    if not isinstance(found, FittedTemplate):
        return with_result(Scene.of(found.part, found.whole), found)
    return replace(
        scene_of_result(found.match),
        fit=found,
        title=f"{found.match.whole.name}, fitted to {found.match.part.name}",
        warnings=found.warnings,
        map_notes=found.notes,
    )


def scene_of_parts(found: PartsMatch) -> Scene:
    """What two parts share, the first laid onto the second, so that both turn together."""
    R, t = found.alignment[:3, :3], found.alignment[:3, 3]
    laid = Mesh(found.a.vertices @ R.T + t, found.a.faces, name=found.a.name)
    return Scene.of(
        laid,
        found.b,
        found.a_to_b.vertex_map,
        confidence=found.a_to_b.confidence,
        parts=found,
        title=f"{found.a.name} | {found.b.name}",
        warnings=found.warnings,
        map_notes=found.notes,
    )


def with_result(scene: Scene, found: Any) -> Scene:
    """The scene of two surfaces with the map between them, a `MatchResult`, and what is known of it; without any fit."""
    return replace(
        scene,
        vertex_map=found.vertex_map,
        confidence=found.confidence,
        doubtful=found.doubtful,
        vertex_map_before=found.vertex_map_before,
        factor=found.factor,
        doubtful_places=tuple(DoubtfulPlace(r.vertex, r.area_share, r.confidence) for r in found.regions),
        warnings=found.warnings,
        map_notes=found.notes,
        landmarks=found.landmarks,
        fit=None,
    )


def _with_summary(scene: Scene, path: Path) -> Scene:
    """With what the summary adds; a summary that can't be read or lacks entries is ignored."""
    n_whole = 0 if scene.whole is None else scene.whole.full.n_vertices
    try:
        summary = json.loads(path.read_text())
        names = [Path(str(summary[key])).name for key in ("part", "whole")]
        said = {key: tuple(str(text) for text in summary.get(key, ())) for key in ("warnings", "notes")}
        places = tuple(
            DoubtfulPlace(int(r["vertex"]), float(r["area_share"]), float(r["confidence"]))
            for r in summary.get("doubtful_regions", ())
            if 0 <= int(r["vertex"]) < scene.part.full.n_vertices
        )
        landmarks = tuple(
            LandmarkResult(int(one["part"]), int(one["whole"]), str(one["label"]), one["before"], one["use"])
            for one in summary.get("landmarks", ())
            if 0 <= int(one["part"]) < scene.part.full.n_vertices and 0 <= int(one["whole"]) < n_whole
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return scene
    return replace(
        scene,
        title=" → ".join(names),
        warnings=said["warnings"],
        map_notes=said["notes"],
        doubtful_places=places,
        landmarks=landmarks,
    )


def read_truth(path: Path, n_part: int) -> GroundTruth:
    """Where vertices of the part truly lie: a .vts file, or an .npz with vertex_map or part_vertices and whole_vertices."""
    if not path.is_file():
        raise ValueError(f"file not found: --truth {path}; give .vts or .npz")
    if path.suffix == ".vts":
        vertex_map = read_vts(path)
    elif path.suffix == ".npz":
        held = read_npz(path)
        if {"part_vertices", "whole_vertices"} <= held.keys():
            return GroundTruth.at_vertices(held["part_vertices"], held["whole_vertices"])
        if "vertex_map" not in held:
            raise ValueError(f"{path} has neither vertex_map nor part_vertices and whole_vertices")
        vertex_map = held["vertex_map"]
    else:
        raise ValueError(
            f"--truth {path}: {path.suffix or 'a file without ending'!r} is not read here; give .vts or .npz"
        )
    if len(vertex_map) != n_part:
        raise ValueError(f"{path} maps {len(vertex_map)} vertices, the part has {n_part}; do they belong together?")
    return GroundTruth.of_map(vertex_map)
