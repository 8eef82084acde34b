"""`partwhole match A B --both-partial`: two parts are matched, and what they share is written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from partwhole.cli.shared.console import Console, plain_memory_errors, write_arrays, write_json, write_text
from partwhole.cli.shared.options import check_file, check_folder, check_torch, output_folder
from partwhole.mesh import Mesh
from partwhole.mesh.formats.common import percent
from partwhole.mesh.io import WRITABLE, write_mesh
from partwhole.saved import ARRAYS, RESULT, save
from partwhole.store.arguments import escaped

if TYPE_CHECKING:
    from partwhole.matching.parts.result import PartnerMap, PartsMatch
    from partwhole.store.cache import Cache

REPORT, MERGED = "report.html", "merged.csv"
SUMMARY = "summary.json"
WRITES = (
    "parts.npz",
    "a_to_b.csv",
    "b_to_a.csv",
    "a.ply",
    "b.ply",
    RESULT,
    ARRAYS,
    "overlap.png",
    MERGED,
    REPORT,
    "summary.md",
    SUMMARY,
)
# what every match writes
_ALWAYS = WRITES[: WRITES.index("overlap.png")]
_GREY = 0.72
_PANEL_HEIGHT = 460


def match_two_parts(
    a: Path,
    b: Path,
    folder: Path,
    *,
    model: str,
    repair: bool | None,
    max_vertices: int | None,
    pictures: bool,
    report: bool,
    merge: Path | None,
    cache: Cache | None,
    console: Console,
) -> None:
    """Match two parts into a folder, and say what they share; with `merge`, write them as one surface into this file."""
    from partwhole.matching.parts.match import MOST_VERTICES, match_parts

    check_folder(folder, WRITES, (a, b), option="--report" if report else "--output")
    if merge is not None:
        check_file(merge, [a, b, *(folder / name for name in WRITES)], option="--merge")
        if (ending := merge.suffix.lower().removeprefix(".")) not in WRITABLE:
            raise ValueError(f"--merge {merge}: unsupported ending {ending!r}; use .{', .'.join(WRITABLE)}")
    check_torch("cpu")
    with plain_memory_errors(), console.stage_progress() as tell:
        tell("matching", 0, 1)
        most = MOST_VERTICES if max_vertices is None else max_vertices
        found = match_parts(a, b, model=model, repair=repair, max_vertices=most, cache=cache)
        tell("matching", 1, 1)
    place = output_folder(folder)
    # an older summary must not stand beside a newer map
    (place / SUMMARY).unlink(missing_ok=True)
    files = _written(place, found, pictures=pictures)
    said = [] if merge is None else _merged(merge, place, found, files)
    if report:
        from partwhole.viewer.page.export import export_report
        from partwhole.viewer.page.results import scene_of_parts

        files[REPORT] = place / REPORT
        export_report(scene_of_parts(found).simplified(), files[REPORT])
    summary = {
        "a": str(a),
        "b": str(b),
        **found.summary(),
        "warnings": [*found.warnings, *said],
        "files": {**files, "summary.md": place / "summary.md", SUMMARY: place / SUMMARY},
    }
    write_text(place / "summary.md", _markdown(summary))
    write_json(place / SUMMARY, summary)
    for text in summary["notes"]:
        console.note(text)
    console.table(_rows(summary), head=("", f"{a.name} | {b.name}"))
    for text in summary["warnings"]:
        console.say(f"warning: {text}")
    if not summary["warnings"]:
        console.say("no warnings")
    console.say_files(summary["files"])
    console.finish({**summary, "notes": console.notes})


def _written(folder: Path, found: PartsMatch, *, pictures: bool) -> dict[str, Path]:
    """Maps, surfaces in colours, the result, and the picture; vertices are in the same order in all of them.

    What is shared has the colour of its place on b, and what only one part has is grey.
    """
    files = {name: folder / name for name in _ALWAYS}
    arrays: dict[str, np.ndarray] = {}
    for name, way in (("a_to_b", found.a_to_b), ("b_to_a", found.b_to_a)):
        arrays |= {
            f"{name}_vertex_map": way.vertex_map.astype(np.int64),
            f"{name}_shared": way.shared,
            f"{name}_overlap": way.overlap.astype(np.float32),
            f"{name}_confidence": way.confidence.astype(np.float32),
            f"{name}_matched": way.matched,
            f"{name}_threshold": np.array(way.threshold),
        }
        write_text(files[f"{name}.csv"], _csv(way, *name.split("_to_")))
    write_arrays(files["parts.npz"], {**arrays, "partners": found.partners, "alignment": found.alignment})
    colors = overlap_colors(found)
    write_mesh(found.a, files["a.ply"], colors=colors[0])
    write_mesh(found.b, files["b.ply"], colors=colors[1])
    save(found, folder, surfaces={"a.ply": found.a, "b.ply": found.b})
    if pictures:
        files["overlap.png"] = folder / "overlap.png"
        _draw(files["overlap.png"], found, colors)
    return files


def _merged(path: Path, folder: Path, found: PartsMatch, files: dict[str, Path]) -> list[str]:
    """Both parts as one surface, and the source of each of its vertices; what to check is returned."""
    from partwhole.registration.merge import merge

    (folder / MERGED).unlink(missing_ok=True)
    one = merge(found.a, found.b, found)
    write_mesh(one.mesh, path)
    rows = zip(one.from_b.tolist(), one.vertex.tolist(), one.moved.tolist(), strict=True)
    body = "\n".join(f"{'b' if of_b else 'a'},{vertex},{moved:.6g}" for of_b, vertex, moved in rows)
    write_text(folder / MERGED, f"part,vertex,moved\n{body}\n")
    files |= {"merged": path, MERGED: folder / MERGED}
    return [f"merged: {text}" for text in one.warnings]


def overlap_colors(found: PartsMatch) -> tuple[np.ndarray, np.ndarray]:
    """Colours of the vertices of both: by the place on b where something is shared, else grey."""
    from partwhole.viewer.figures.map_figures import coordinate_colors

    on_b = coordinate_colors(found.b)
    of_a = np.where(found.a_to_b.shared[:, None], on_b[found.a_to_b.vertex_map], _GREY)
    return of_a, np.where(found.b_to_a.shared[:, None], on_b, _GREY)


def _draw(path: Path, found: PartsMatch, colors: tuple[np.ndarray, np.ndarray]) -> None:
    """Both parts from the same two sides, a as it lies after the alignment."""
    from partwhole.store.storage import saved
    from partwhole.viewer.figures.map_figures import drawn, side_by_side, two_sides
    from partwhole.viewer.figures.render import automatic_camera

    R, t = found.alignment[:3, :3], found.alignment[:3, 3]
    moved = Mesh(found.a.vertices @ R.T + t, found.a.faces, name=found.a.name)
    views = two_sides(automatic_camera(found.b))
    panels = [
        (drawn(mesh, camera, _PANEL_HEIGHT, coat), f"{name}, {side}")
        for mesh, coat, name in ((moved, colors[0], "a"), (found.b, colors[1], "b"))
        for camera, side in views
    ]
    saved(side_by_side(panels), path)


def _csv(way: PartnerMap, here: str, there: str) -> str:
    """A line for each vertex; the partner is empty where there probably is none."""
    columns = zip(
        way.shared.tolist(), way.vertex_map.tolist(), way.overlap.tolist(), way.confidence.tolist(), strict=True
    )
    body = "\n".join(
        f"{number},{place if shared else ''},{p:.4g},{sure:.4g}"
        for number, (shared, place, p, sure) in enumerate(columns)
    )
    return f"{here}_vertex,{there}_vertex,overlap,confidence\n{body}\n"


def _rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """The summary as rows of a table."""
    distortion = summary["distortion"]
    off = "unknown" if np.isnan(distortion) else f"{100 * distortion:.1f} % of √area"
    return [
        ("vertices of a and b", f"{summary['a_vertices']} and {summary['b_vertices']}"),
        ("shared, of the area", f"{percent(summary['shared']['a'])} of a, {percent(summary['shared']['b'])} of b"),
        ("they share something", f"probability {summary['belongs']:.2f}"),
        ("area of the whole", f"{summary['whole_area']:.4g}"),
        ("pairs guaranteed on both", percent(summary["guaranteed"])),
        ("distance error on these", off),
        (
            "partners apart after alignment",
            "unknown" if np.isnan(summary["misfit"]) else f"{100 * summary['misfit']:.1f} % of √area",
        ),
        ("model", summary["model"]),
        ("seconds", f"{summary['seconds']:.1f}"),
    ]


def _markdown(summary: dict[str, Any]) -> str:
    """The summary as Markdown."""
    lines = [f"# {escaped(summary['a'])} | {escaped(summary['b'])}", ""]
    if summary["warnings"]:
        lines += [
            "**Check these before you use the map:**",
            "",
            *(f"- {escaped(text)}" for text in summary["warnings"]),
            "",
        ]
    lines += ["| | |", "|---|---|", *(f"| {name} | {escaped(value)} |" for name, value in _rows(summary)), ""]
    lines += ["Notes:", "", *(f"- {escaped(text)}" for text in summary["notes"]), ""]
    if "overlap.png" in summary["files"]:
        lines += ["![Both parts: partners have the same colour, what is not shared is grey](overlap.png)", ""]
    return "\n".join(lines)
