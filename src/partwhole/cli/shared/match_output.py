"""What `partwhole match` writes: the map in three formats, both surfaces in colours, pictures, and a summary."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from partwhole.cli.shared.console import write_arrays, write_json, write_text
from partwhole.matching.cache.results import code_version, version_of
from partwhole.mesh import Mesh
from partwhole.mesh.formats.common import counted
from partwhole.mesh.formats.common import percent as share
from partwhole.saved import ARRAYS, RESULT, load, save
from partwhole.store.arguments import escaped
from partwhole.store.storage import atomic_write

if TYPE_CHECKING:
    from partwhole.matching.result import CoarseMatch, MatchResult
    from partwhole.store.cache import Cache
    from partwhole.transfer import Correspondence

MAP, SUMMARY = "map.npz", "summary.json"
WRITES = (
    *(MAP, "map.csv", "map.vts", "part.ply", "whole.ply", ARRAYS, RESULT, "map.png", "confidence.png"),
    *("summary.md", SUMMARY, "report.html"),
)
# vertices; larger surfaces are drawn as they were matched, since more vertices don't show in the picture
MOST_DRAWN = 30_000
# pixels; larger pictures take as long as the network
_PANEL_HEIGHT = 460
_LISTED_REGIONS = 20


def write_map(folder: Path, found: MatchResult) -> dict[str, Path]:
    """Write map.npz, map.csv, map.vts, part.ply and whole.ply; the order of the vertices is the same in all of them.

    result.json and result.npz hold all of the result, but for the surfaces, which `partwhole.load` reads from the .ply files.

    map.npz holds vertex_map, confidence, doubtful and matched, one entry for each vertex of the part, and vertex_map_before
    if the map was refined. In map.csv vertices are counted from 0, in map.vts from 1, as is customary.
    """
    from partwhole.mesh.io import write_mesh
    from partwhole.viewer.figures.map_figures import coordinate_colors

    files = {name: folder / name for name in (MAP, "map.csv", "map.vts", "part.ply", "whole.ply", RESULT, ARRAYS)}
    arrays: dict[str, np.ndarray] = {
        "vertex_map": found.vertex_map.astype(np.int64),
        "confidence": found.confidence.astype(np.float32),
        "doubtful": found.doubtful,
        "matched": found.matched,
        "functional_map": found.functional_map.astype(np.float32),
        "factor": np.float64(found.factor),  # type: ignore[dict-item]
        "distortion": np.float64(found.fit.distortion),  # type: ignore[dict-item]
        "guaranteed": np.float64(found.fit.guaranteed),  # type: ignore[dict-item]
    }
    if found.vertex_map_before is not None:
        arrays["vertex_map_before"] = found.vertex_map_before.astype(np.int64)
    if found.places is not None:
        places = found.places
        arrays |= {"triangles": places.triangles, "weights": places.weights, "covered": places.covered}
    write_arrays(files[MAP], arrays)
    write_text(files["map.csv"], _csv(found))
    write_text(files["map.vts"], "\n".join(map(str, (found.vertex_map + 1).tolist())) + "\n")
    colors = coordinate_colors(found.whole)
    write_mesh(found.whole, files["whole.ply"], colors=colors)
    write_mesh(found.part, files["part.ply"], colors=found.barycentric.all_covered().interpolate(colors))
    save(found, folder, surfaces={"part.ply": found.part, "whole.ply": found.whole})
    return files


def read_correspondence(folder: Path, *, reach: float | None = None) -> Correspondence:
    """Part, whole and the map between them, from the folder of a result: what a fit saved, or map.npz and two surfaces.

    In map.npz the map is `vertex_map`, with `matched` if not all vertices are; or `triangles`, `weights` and `covered` of a
    map between vertices.

    Parameters
    ----------
    folder : of the result
    reach : see `Correspondence`
    """
    from partwhole.datasets.number_files import read_npz
    from partwhole.mesh.barycentric import BarycentricMap
    from partwhole.mesh.io import read_mesh
    from partwhole.transfer import Correspondence

    if not (folder / MAP).is_file():
        if (folder / RESULT).is_file():
            return replace(load(folder).correspondence, reach=reach)
        raise ValueError(f"{folder} has neither {MAP} nor {RESULT}; give a folder that `partwhole match` or fit wrote")
    held = read_npz(folder / MAP)
    part, whole = (read_mesh(folder / f"{name}.ply", name=name) for name in ("part", "whole"))
    try:
        if {"triangles", "weights", "covered"} <= held.keys():
            places = BarycentricMap(held["triangles"], held["weights"], held["covered"])
        elif "vertex_map" in held:
            places = BarycentricMap.at_vertices(held["vertex_map"], held.get("matched"))
        else:
            raise ValueError("it has no vertex_map")
        return Correspondence(part, whole, places, reach)
    except ValueError as error:
        raise ValueError(f"{folder / MAP}: {error}") from None


def write_pictures(folder: Path, found: MatchResult, cache: Cache | None = None) -> dict[str, Path]:
    """Write map.png, part and whole in the same colours, and confidence.png, from the cache if they were drawn before."""
    files = {name: folder / name for name in ("map.png", "confidence.png")}
    shown: MatchResult | CoarseMatch = found
    matched: Any = found.matched
    if max(found.part.n_vertices, found.whole.n_vertices) > MOST_DRAWN:
        shown, matched = found.coarse, None
    up: Any = found.up
    if up is None:
        # both in the orientation of the whole
        shown = _aligned(shown, found.alignment)
    elif any(axis.startswith("-") for axis in up):
        up = None
    key = None if cache is None else _picture_key(shown, matched, up)
    held = None if cache is None or key is None else cache.get(key)
    if held is None:
        _draw(files, shown, matched, up)
        if cache is not None and key is not None:
            cache.put(key, {path.stem: np.frombuffer(path.read_bytes(), np.uint8) for path in files.values()})
        return files
    for path in files.values():
        with atomic_write(path) as file:
            file.write(held[path.stem].tobytes())
    return files


def _aligned(shown: MatchResult | CoarseMatch, alignment: np.ndarray) -> CoarseMatch:
    """The same with the part turned as the whole is."""
    from partwhole.matching.result import CoarseMatch

    part = shown.part
    R = alignment[:3, :3] / np.linalg.det(alignment[:3, :3]) ** (1 / 3)
    turned = Mesh(part.vertices @ R.T, part.faces, name=part.name)
    return CoarseMatch(turned, shown.whole, shown.vertex_map, shown.confidence)


def _draw(files: dict[str, Path], shown: MatchResult | CoarseMatch, matched: Any, up: Any) -> None:
    from partwhole.viewer.figures.map_figures import confidence_figure, map_figure

    sizes = {"panel_height": _PANEL_HEIGHT}
    map_figure(shown.part, shown.whole, shown.vertex_map, matched=matched, up=up, path=files["map.png"], **sizes)
    axis = up[0] if up else None
    confidence_figure(shown.part, shown.confidence, up=axis, path=files["confidence.png"], **sizes)


def _picture_key(shown: MatchResult | CoarseMatch, matched: Any, up: Any) -> dict[str, Any]:
    """Cache key: everything that the pictures depend on."""
    return {
        "what": "pictures of a map",
        "code": code_version("cli", "viewer", "mesh"),
        "libraries": [version_of(name) for name in ("matplotlib", "pillow", "numpy", "numba")],
        "part": shown.part.content_hash,
        "whole": shown.whole.content_hash,
        "map": shown.vertex_map,
        "confidence": shown.confidence,
        "matched": matched,
        "up": up,
    }


def write_summary(folder: Path, summary: dict[str, Any]) -> None:
    """Write summary.md, then summary.json: it comes last, so where it is the result is complete."""
    write_text(folder / "summary.md", markdown(summary))
    write_json(folder / SUMMARY, summary)


def summary_of(found: MatchResult) -> dict[str, Any]:
    """The result as plain numbers and text, for summary.json."""
    fit = found.fit
    return {
        "part_vertices": found.part.n_vertices,
        "part_faces": found.part.n_faces,
        "whole_vertices": found.whole.n_vertices,
        "whole_faces": found.whole.n_faces,
        "matched_with_vertices": dict(zip(("part", "whole"), found.coarse.sizes, strict=True)),
        "area_share": found.part.area * found.factor**2 / found.whole.area,
        "model": found.model,
        "read_out": found.read_out,
        "units": found.scaling.reason,
        "factor": found.factor,
        "up": None if found.up is None else {"part": found.up[0], "whole": found.up[1]},
        "yaw": found.yaw,
        # takes the part to the whole
        "alignment": found.alignment.tolist(),
        "guaranteed": fit.guaranteed,
        "criterion": fit.criterion,
        "distortion": fit.distortion,
        "stretch": fit.stretch,
        "curvature_agreement": fit.curvature,
        "reversed": fit.reversed,
        "mirrored": fit.mirrored,
        "expected_error": fit.expected_error,
        "similarity": fit.similarity,
        "torn": fit.torn,
        "alike_elsewhere": fit.alike_elsewhere,
        "perhaps_turned": fit.perhaps_turned,
        "rival_angle": fit.rival_angle,
        "rival_margin": fit.rival_margin,
        "poor": fit.poor,
        "confidence": {
            "mean": float(found.confidence.mean()),
            # a fifth of the vertices is below
            "quantile_20": float(np.quantile(found.confidence, 0.2)),
        },
        "doubtful": found.doubtful_share,
        "unmatched_vertices": int((~found.matched).sum()),
        "doubtful_regions": [
            {
                "vertices": region.vertices,
                "area_share": region.area_share,
                "confidence": region.confidence,
                "vertex": region.vertex,
                "centre": list(region.centre),
            }
            for region in found.regions[:_LISTED_REGIONS]
        ],
        "refinement": {
            "steps": max(len(found.losses) - 1, 0),
            "loss_before": found.losses[0] if found.losses else None,
            "loss_after": min(found.losses) if found.losses else None,
        },
        "landmarks": [
            {"label": one.label, "part": one.part, "whole": one.whole, "before": one.before, "use": one.use}
            for one in found.landmarks
        ],
        "warnings": [as_options(text) for text in found.warnings],
        "notes": [as_options(text) for text in found.notes],
        "from_cache": found.from_cache,
        "seconds": found.seconds,
    }


def as_options(text: str) -> str:
    """Replace arguments of `pw.match` in a text by options of the command line.

    >>> as_options("another way up (up='auto'); units='mm:m' would be 0.001")
    'another way up (--up auto); --units mm:m would be 0.001'
    """
    return re.sub(r"\b(up|units)='([^']*)'", r"--\1 \2", text)


def summary_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """The summary as rows of a table."""
    matched = summary["matched_with_vertices"]
    of_part, of_whole = summary["part_vertices"], summary["whole_vertices"]
    rows = [
        ("vertices of the part", _size(of_part, matched["part"])),
        ("vertices of the whole", _size(of_whole, matched["whole"])),
        ("area of the part", f"{share(summary['area_share'])} of the whole's"),
        ("model, read-out", f"{summary['model']}, {summary['read_out']}"),
        ("guaranteed pairs", f"{share(summary['guaranteed'])} ({summary['criterion']})"),
        ("distance error on guaranteed pairs", f"{100 * summary['distortion']:.1f} % of √area"),
        ("curvature correlation", f"{summary['curvature_agreement']:.2f}"),
        ("expected error", f"{100 * summary['expected_error']:.1f} % of √area"),
        ("orientation reversed", "unknown" if math.isnan(summary["reversed"]) else share(summary["reversed"])),
        (
            "doubtful",
            f"{share(summary['doubtful'])} of the area, {counted(len(summary['doubtful_regions']), 'region')}",
        ),
    ]
    if summary["landmarks"]:
        rows.append(("landmarks", _landmarks_in_short(summary["landmarks"])))
    if summary["unmatched_vertices"]:
        rows.append(("unmatched vertices", str(summary["unmatched_vertices"])))
    steps = summary["refinement"]
    if steps["steps"]:
        rows.append(
            ("refinement", f"{steps['steps']} steps, loss {steps['loss_before']:.4g} → {steps['loss_after']:.4g}")
        )
    if summary["from_cache"]:
        rows.append(("result", "from the cache"))
    if summary["seconds"]:
        rows.append(("seconds", ", ".join(f"{name} {seconds:.1f}" for name, seconds in summary["seconds"].items())))
    return rows


def markdown(summary: dict[str, Any]) -> str:
    """The summary as Markdown."""
    lines = [f"# {escaped(summary['part'])} → {escaped(summary['whole'])}", ""]
    if summary["warnings"]:
        warnings = (f"- {escaped(text)}" for text in summary["warnings"])
        lines += ["**Check these before you use the map:**", "", *warnings, ""]
    lines += ["| | |", "|---|---|", *(f"| {name} | {escaped(value)} |" for name, value in summary_rows(summary)), ""]
    if summary["doubtful_regions"]:
        lines += [
            "Doubtful regions, largest first:",
            "",
            "| vertices | area | confidence | least certain vertex |",
            "|---|---|---|---|",
        ]
        lines += [
            f"| {region['vertices']} | {share(region['area_share'])} | {region['confidence']:.2f} | {region['vertex']} |"
            for region in summary["doubtful_regions"]
        ]
        lines += [""]
    lines += ["Notes:", "", *(f"- {escaped(text)}" for text in summary["notes"]), ""]
    if "map.png" in summary["files"]:
        lines += ["![Part and whole: corresponding points have the same colour](map.png)", ""]
        lines += ["![Confidence](confidence.png)", ""]
    return "\n".join(lines)


def _csv(found: MatchResult) -> str:
    rows = zip(
        found.vertex_map.tolist(), found.confidence.round(4).tolist(), found.doubtful.astype(int).tolist(), strict=True
    )
    body = "\n".join(f"{number},{place},{sure:g},{doubt}" for number, (place, sure, doubt) in enumerate(rows))
    return f"part_vertex,whole_vertex,confidence,doubtful\n{body}\n"


def _landmarks_in_short(landmarks: list[dict[str, Any]]) -> str:
    """How many, and how far off the map was without them."""
    off = [one["before"] for one in landmarks if one["before"] is not None]
    used = sum(one["use"] == "sure" for one in landmarks)
    told = f"; without them the error of the map there is {', '.join(f'{100 * value:.1f}' for value in off)} % of √area"
    return f"{used} of {len(landmarks)} used{told if off else ''}"


def _size(given: int, matched: int) -> str:
    return f"{given}" if given == matched else f"{given}, matched with {matched}"
