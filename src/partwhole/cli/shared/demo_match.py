"""The second half of `partwhole demo`: the part is matched to its whole in another pose, and compared with the truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from partwhole.cli.shared.console import Console, output_folder
from partwhole.cli.shared.learning import stages
from partwhole.cli.shared.match_output import summary_of, write_map, write_pictures, write_summary
from partwhole.store.arguments import how_to_install

if TYPE_CHECKING:
    from partwhole.datasets.cutting.cuts import Cut
    from partwhole.mesh import Mesh

# a vertex farther from its place than this share of the square root of the whole's area is taken for wrong
WRONG = 0.15


def why_not(model: str) -> str | None:
    """Why nothing can be matched here, with the remedy; None if it can. A model that was named must be there."""
    if model != "default":
        from partwhole.cli.shared.models import model_file

        model_file(model)
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        return f"nothing is matched, since networks need torch: {how_to_install('torch')}"
    from partwhole.matching.network.built_in import model_names

    if model == "default" and model not in model_names():
        return "nothing is matched, since this installation has no model of its own; give one with --model"
    return None


def demo_match(cut: Cut, pose: Mesh, model: str, folder: Path, console: Console) -> dict[str, Any]:
    """Match the part to its whole in another pose; files go to the folder, errors are those of the summary.

    Parameters
    ----------
    cut : the part, and the pose of the whole that it was cut from
    pose : another pose of the same whole, with the same vertices
    model : a name in the box, or a file
    folder : for what `partwhole match` writes
    console : told of progress
    """
    from partwhole.cli.shared.models import named_model
    from partwhole.datasets.ground_truth import GroundTruth
    from partwhole.evaluation import geodesic_errors
    from partwhole.geodesics import geodesic_distances
    from partwhole.matching.pipeline import match

    with stages(console) as report:
        found = match(cut.part, pose, model=named_model(model, "cpu"), progress=report)
    truth = GroundTruth.of_map(cut.vertex_map)
    errors = geodesic_errors(found.vertex_map, truth, geodesic_distances(pose), area=pose.area)
    sure = ~found.doubtful
    files = write_map(output_folder(folder), found) | write_pictures(folder, found)
    files |= {"summary.md": folder / "summary.md", "summary.json": folder / "summary.json"}
    summary = {
        **summary_of(found),
        "part": cut.part.name,
        "whole": pose.name,
        "error": 100 * float(errors.mean()),
        "error_where_sure": 100 * float(errors[sure].mean()) if sure.any() else None,
        "wrong": float((errors > WRONG).mean()),
        "files": files,
    }
    write_summary(folder, summary)
    return summary


def sentences(summary: dict[str, Any]) -> list[str]:
    """What came out, in words."""
    said = [
        f"Matched to its whole in another pose by the model {summary['model']!r}, the part's vertices are off by "
        f"{summary['error']:.1f} % of the square root of the whole's area on average; {100 * summary['wrong']:.0f} % of them "
        f"by more than {100 * WRONG:.0f} %."
    ]
    if summary["doubtful"] and summary["error_where_sure"] is not None:
        said.append(
            f"{100 * summary['doubtful']:.0f} % of the area is called doubtful; the rest is off by "
            f"{summary['error_where_sure']:.1f} %."
        )
    return said + [f"Warning: {text}" for text in summary["warnings"]]
