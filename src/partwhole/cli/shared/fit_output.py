"""What `partwhole fit` writes: the fitted template, its arrays, a summary, a picture; of many a gallery and statistics."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partwhole.cli.shared.console import write_json, write_text
from partwhole.cli.shared.match_output import MOST_DRAWN, as_options
from partwhole.mesh.formats.common import counted, percent
from partwhole.store.arguments import escaped

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Float, UInt8

    from partwhole.mesh import Mesh
    from partwhole.registration.result import FittedTemplate
    from partwhole.registration.statistics import ShapeStatistics
    from partwhole.viewer.figures.render import Camera
    from partwhole.viewer.gallery import Card, Level, Section

ARRAYS, PICTURE, REPORT, PAGE, SUMMARY = "fit.npz", "fit.png", "summary.md", "report.html", "fit.json"
# fit.json comes last, so where it is the fit is complete
WRITES = ("fitted.ply", ARRAYS, "result.json", PICTURE, REPORT, PAGE, SUMMARY)
GALLERY, STATISTICS = "gallery.html", "statistics"
MODES = "components.png"
_PANEL_HEIGHT = 460
_GREY = 0.72
# components of which meshes are written and drawn, and of which the gallery says how much they explain
_MODES, _LISTED_COMPONENTS = 3, 10


def write_fit(
    folder: Path, fitted: FittedTemplate, asked: Mapping[str, Any], *, picture: bool, page: bool = False
) -> dict[str, Any]:
    """Write everything, and return the summary with the files.

    Parameters
    ----------
    folder : of the result
    fitted : the result
    asked : files and options, for the summary
    picture : whether to draw the scan and the fitted template
    page : whether to write the page of `partwhole view`
    """
    files: dict[str, Path] = {}
    # what shows another fit must not stand beside this one
    for name in (PICTURE, PAGE):
        (folder / name).unlink(missing_ok=True)
    saved = fitted.save(folder)
    if picture:
        files[PICTURE] = folder / PICTURE
        _draw(fitted, files[PICTURE])
    if page:
        from partwhole.viewer.page.export import export_report
        from partwhole.viewer.page.results import scene_of_result

        files[PAGE] = folder / PAGE
        export_report(scene_of_result(fitted).simplified(), files[PAGE])
    files[REPORT] = folder / REPORT
    size = fitted.mesh.area**0.5
    areas = fitted.mesh.vertex_areas / fitted.mesh.area
    summary = {**fitted.summary(), "size": size, "expected_error_of_size": float(areas @ fitted.expected_error) / size}
    # takes the scan to the template
    summary |= {"alignment": fitted.match.alignment.tolist(), **asked}
    for name in ("notes", "warnings"):
        summary[name] = [_as_options(text) for text in summary[name]]
    summary["files"] = {**saved, **files}
    write_text(files[REPORT], markdown(summary))
    write_json(saved[SUMMARY], summary)
    return summary


def summary_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """The most important numbers."""
    shares, expected = summary["shares"], summary["expected_error"]
    rows = [("vertices", str(summary["vertices"]))]
    for name in ("seen", "between", "unseen"):
        error = "" if expected[name] is None else f", expected error {expected[name]:.3g}"
        rows.append((name, f"{percent(shares[name])} of the area{error}"))
    distance = summary["distance"]["seen_mean"]
    if distance is not None:
        rows.append(("distance to the scan, where seen", f"{distance:.3g} on average"))
    rows.append(("scan covered", percent(summary["scan_covered"])))
    rows.append(("triangles turned over", str(summary["flipped_faces"])))
    rows.append(("intersecting pairs of triangles", str(summary["intersecting_pairs"])))
    return rows


def markdown(summary: dict[str, Any]) -> str:
    """The summary as a page."""
    lines = [f"# {escaped(summary['template'])}, fitted to {escaped(summary['scan'])}", "", "| | |", "|---|---|"]
    lines += [f"| {name} | {value} |" for name, value in summary_rows(summary)]
    lines += ["", "Lengths are in the units of the scan.", ""]
    for name in ("warnings", "notes"):
        if summary[name]:
            lines += [f"{name.capitalize()}:", "", *(f"- {escaped(text)}" for text in summary[name]), ""]
    if PICTURE in summary["files"]:
        lines += [
            f"![The scan and the fitted template from two sides: dark where it was seen, pale where it was not]({PICTURE})",
            "",
        ]
    return "\n".join(lines)


def write_fit_gallery(folder: Path, rows: Sequence[Mapping[str, Any]], statistics: Mapping[str, Path]) -> Path:
    """One page with all scans, worst first: those that failed, then those with warnings, each by expected error.

    Parameters
    ----------
    folder : of all results
    rows : of the table of results
    statistics : files of the mean shape and its components, if they were written
    """
    from partwhole.registration.result import SOURCE_COLORS
    from partwhole.viewer.gallery import write_gallery

    ranked = sorted(rows, key=_badness)
    cards = [_card(folder, row) for row in ranked]
    templates = {Path(row["template"]).name for row in rows}
    title = f"{counted(len(rows), 'scan')}, fitted with {', '.join(sorted(templates)) if len(templates) < 4 else 'templates'}"
    levels = Counter(card.level for card in cards)
    said = [f"{levels[level]} {text}" for level, text in _LEVELS.items() if levels[level]]
    names = ("seen", "between what was seen", "made up")
    colors = {name: "#" + bytes(color.tolist()).hex() for name, color in zip(names, SOURCE_COLORS, strict=True)}
    write_gallery(
        folder / GALLERY,
        title,
        f"{', '.join(said)}. Worst first: those that failed, then those with warnings, each by expected error. Errors and "
        "distances are in per cent of √area of the fitted template; distances to the scan are those where it was seen.",
        cards,
        colors=colors,
        sections=[_statistics_section(statistics)] if statistics else (),
    )
    return folder / GALLERY


_LEVELS: dict[Level, str] = {"failed": "failed", "warned": "with warnings", "fine": "without warnings"}


def _badness(row: Mapping[str, Any]) -> tuple[bool, bool, float, str]:
    """Smallest first: failed before warned before fine, then by the larger of the errors that are expected, then by name."""
    error = max(row.get("expected_error") or 0.0, row.get("map_error") or 0.0)
    return "reason" not in row, not row.get("warnings"), -error, row["name"]


def _card(folder: Path, row: Mapping[str, Any]) -> Card:
    from partwhole.viewer.gallery import Card

    if "reason" in row:
        return Card(row["name"], "failed", row["state"], reason=row["reason"])
    summary = _read_summary(folder, row["name"])
    picture = folder / row["name"] / PICTURE
    distance, shares = summary["distance"], summary["shares"]
    facts = [
        ("expected error", _told(summary["expected_error_of_size"])),
        ("expected error of the map", _told(summary["match_expected_error"])),
        ("distance to the scan", _told(distance["seen_mean"], summary["size"])),
        ("scan covered", _told(summary["scan_covered"])),
        ("largest distance", _told(distance["seen_max"], summary["size"])),
        ("triangles turned over", str(summary["flipped_faces"])),
        ("intersecting pairs of triangles", str(summary["intersecting_pairs"])),
        ("√area, in units of the scan", f"{summary['size']:.4g}"),
    ]
    return Card(
        row["name"],
        "warned" if summary["warnings"] else "fine",
        row["state"],
        row["name"],
        shares=dict(zip(("seen", "between what was seen", "made up"), shares.values(), strict=True)),
        facts=facts,
        warnings=summary["warnings"],
        picture=picture if picture.is_file() else None,
        caption=f"{row['name']}: the scan, and the fitted template, from two sides",
    )


def _read_summary(folder: Path, name: str) -> dict[str, Any]:
    """What fit.json says of one of many scans."""
    summary: dict[str, Any] = json.loads((folder / name / SUMMARY).read_text(encoding="utf-8"))
    return summary


def _told(value: float | None, size: float = 1.0) -> str:
    return "–" if value is None else percent(value / size)


def _statistics_section(files: Mapping[str, Path]) -> Section:
    from partwhole.viewer.gallery import Section

    with files["components.csv"].open(encoding="utf-8") as file:
        components = list(csv.DictReader(file))
    head = ("component", "explains", "so far")
    rows = [
        (one["component"], percent(float(one["explained"])), percent(float(one["explained_so_far"])))
        for one in components[:_LISTED_COMPONENTS]
    ]
    return Section(
        "Mean shape and principal components",
        "How the fitted templates differ, apart from position, direction and size. From left to right: the mean, then the "
        "mean less and plus two standard deviations of one component after the other, yellow where the surface moves most.",
        [head, *rows],
        files.get(MODES),
        "the mean shape, and the mean less and plus two standard deviations of the first components",
        STATISTICS,
    )


def write_statistics(folder: Path, names: Sequence[str], *, seen_only: bool) -> dict[str, Path]:
    """The mean shape and the principal components of the fitted templates in these folders, in a folder of their own.

    In the orientation and the units of the template.
    """
    import numpy as np

    from partwhole.mesh import Mesh
    from partwhole.registration import shape_statistics

    meshes, seen = [], []
    for name in names:
        alignment = np.array(_read_summary(folder, name)["alignment"])
        with np.load(folder / name / ARRAYS) as held:
            meshes.append(Mesh(_moved(held["vertices"], alignment), held["faces"], name=name))
            seen.append(held["source"] == 0)
    found = shape_statistics(meshes, seen=np.array(seen) if seen_only else None)
    files = found.save(folder / STATISTICS, names=names, modes=_MODES)
    files[MODES] = folder / STATISTICS / MODES
    _draw_modes(found, files[MODES])
    return files


def _as_options(text: str) -> str:
    """`as_options`, also for arguments of `pw.fit`.

    >>> _as_options("as asked (hold='rest')")
    'as asked (--hold rest)'
    """
    for hold in ("rest", "symmetric"):
        text = text.replace(f"hold={hold!r}", f"--hold {hold}")
    return as_options(text)


def _draw(fitted: FittedTemplate, path: Path) -> None:
    """Scan and fitted template in the same frame, from two sides, in the orientation of the template."""
    import numpy as np

    from partwhole.mesh import Mesh
    from partwhole.store.storage import saved
    from partwhole.viewer.figures.map_figures import side_by_side, two_sides
    from partwhole.viewer.figures.render import automatic_camera

    A = fitted.match.alignment
    scan, template = (Mesh(_moved(mesh.vertices, A), mesh.faces) for mesh in (fitted.match.part, fitted.mesh))
    frame = _frame([scan, template])
    camera = automatic_camera(fitted.match.whole)
    grey = np.full((scan.n_vertices, 3), _GREY)
    panels = [
        (_drawn(mesh, view, coat, frame), name)
        for view, _ in two_sides(camera)
        for name, mesh, coat in (("scan", scan, grey), ("fitted", template, fitted.colors / 255))
    ]
    saved(side_by_side(panels), path)


def _moved(points: Float[np.ndarray, "p 3"], A: Float[np.ndarray, "4 4"]) -> Float[np.ndarray, "p 3"]:
    """The points moved by a similarity, such as an alignment."""
    return points @ A[:3, :3].T + A[:3, 3]


def _draw_modes(found: ShapeStatistics, path: Path) -> None:
    """The mean, and the mean ∓ two standard deviations, coloured by displacement."""
    import numpy as np

    from partwhole.mesh import Mesh
    from partwhole.store.storage import saved
    from partwhole.viewer.figures.map_figures import side_by_side
    from partwhole.viewer.figures.render import automatic_camera, colormap

    assert found.faces is not None
    mean = Mesh(found.mean, found.faces)
    shown = [(mean, np.full((mean.n_vertices, 3), _GREY), "mean")]
    table = colormap("viridis")
    for j in range(min(_MODES, len(found.components))):
        moves = np.linalg.norm(found.components[j], axis=1)
        coat = table[np.rint(moves / moves.max() * (len(table) - 1)).astype(np.int64)]
        for sign, by in (("−", -2.0), ("+", 2.0)):
            shown.append((Mesh(found.mode(j, by), found.faces), coat, f"{sign} {j + 1}"))
    camera, frame = automatic_camera(mean), _frame([mesh for mesh, _, _ in shown])
    saved(side_by_side([(_drawn(mesh, camera, coat, frame), name) for mesh, coat, name in shown]), path)


def _frame(meshes: Sequence[Mesh]) -> Mesh:
    """A mesh whose bounding box holds all of these, to set the frame of the picture."""
    import numpy as np

    from partwhole.mesh import Mesh
    from partwhole.viewer.figures.render import points_with_faces

    points = np.concatenate([points_with_faces(mesh) for mesh in meshes])
    # only its points count; each is in a triangle
    return Mesh(points, np.lib.stride_tricks.sliding_window_view(np.arange(len(points)), 3))


def _drawn(
    mesh: Mesh, view: Camera, coat: Float[np.ndarray, "n 3"], frame: Mesh | None = None
) -> UInt8[np.ndarray, "h w 4"]:
    """One panel; a large mesh with fewer vertices."""
    import numpy as np

    from partwhole.mesh import decimate
    from partwhole.viewer.figures.map_figures import drawn

    shown, rows = mesh, np.arange(mesh.n_vertices)
    if mesh.n_vertices > MOST_DRAWN:
        fewer = decimate(mesh, MOST_DRAWN)
        shown, rows = fewer.mesh, fewer.to_fine
    return drawn(shown, view, _PANEL_HEIGHT, coat[rows], frame=frame)
