"""What `partwhole fit` writes: the fitted template, its arrays, a summary, and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from partwhole.cli.shared.console import write_json, write_text
from partwhole.cli.shared.match_output import MOST_DRAWN, as_options
from partwhole.matching.scans.units import percent
from partwhole.store.arguments import escaped

if TYPE_CHECKING:
    from partwhole.registration.result import FittedTemplate

PICTURE, REPORT = "fit.png", "summary.md"
# fit.json comes last, so where it is the fit is complete
WRITES = ("fitted.ply", "fit.npz", "result.json", PICTURE, REPORT, "fit.json")
_PANEL_HEIGHT = 460


def write_fit(folder: Path, fitted: FittedTemplate, *, picture: bool) -> dict[str, Any]:
    """Write everything, and return the summary with the files."""
    files: dict[str, Path] = {}
    # a picture of another fit must not stand beside this one
    (folder / PICTURE).unlink(missing_ok=True)
    saved = fitted.save(folder)
    if picture:
        files[PICTURE] = folder / PICTURE
        _draw(fitted, files[PICTURE])
    files[REPORT] = folder / REPORT
    summary = fitted.summary()
    for name in ("notes", "warnings"):
        summary[name] = [_as_options(text) for text in summary[name]]
    summary["files"] = {**saved, **files}
    write_text(files[REPORT], markdown(summary))
    write_json(saved["fit.json"], summary)
    return summary


def summary_rows(summary: dict[str, Any]) -> list[tuple[str, str]]:
    """The numbers that a user looks at first."""
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
        lines += [f"![The scan, and the fitted template: dark where it was seen, pale where it was not]({PICTURE})", ""]
    return "\n".join(lines)


def _as_options(text: str) -> str:
    """As `as_options`, for arguments of `pw.fit` too.

    >>> _as_options("as asked (hold='rest')")
    'as asked (--hold rest)'
    """
    for hold in ("rest", "symmetric"):
        text = text.replace(f"hold={hold!r}", f"--hold {hold}")
    return as_options(text)


def _draw(fitted: FittedTemplate, path: Path) -> None:
    import numpy as np

    from partwhole.mesh import decimate
    from partwhole.store.atomic import saved
    from partwhole.viewer.figures.map_figures import drawn, side_by_side, two_sides
    from partwhole.viewer.figures.render import automatic_camera

    panels = []
    camera = automatic_camera(fitted.mesh)
    grey = np.full((fitted.match.part.n_vertices, 3), 0.72)
    for name, mesh, coat in (
        ("scan", fitted.match.part, grey),
        ("fitted template", fitted.mesh, fitted.colors / 255),
    ):
        shown, rows = mesh, np.arange(mesh.n_vertices)
        if mesh.n_vertices > MOST_DRAWN:
            fewer = decimate(mesh, MOST_DRAWN)
            shown, rows = fewer.mesh, fewer.to_fine
        for view, side in two_sides(camera):
            panels.append((drawn(shown, view, _PANEL_HEIGHT, coat[rows]), f"{name}, {side}"))
    saved(side_by_side(panels), path)
