"""The criteria on a part for `mask`, `demo` and `reproduce`: all of them at once, a figure, and what they prove."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int

from partwhole.cli.shared.options import DistanceMethod
from partwhole.criterion.loops import check_piece_of_sphere
from partwhole.criterion.result import Criterion
from partwhole.criterion.thresholds import boundary_criterion, same_loop_criterion, wormhole_criterion
from partwhole.datasets.cutting.cuts import Cut
from partwhole.geodesics.metrics import Metric
from partwhole.mesh import Mesh
from partwhole.store.arguments import Progress
from partwhole.store.text import as_text
from partwhole.viewer.figures.render import Axis

NAMES = {"boundary": "boundary C_T", "wormhole": "wormhole C_W", "same-loop": "same-loop C_L"}
# the same in figures
SYMBOLS = {"boundary": "boundary $C_T$", "wormhole": "wormhole $C_W$", "same-loop": "same loop $C_L$"}


@dataclass(frozen=True)
class Trust:
    """The criteria that apply to a part, and why another does not."""

    criteria: list[Criterion]
    not_applied: dict[str, str]

    @property
    def unproved(self) -> str | None:
        """The reason why nothing is proved, if the part or its distances give one."""
        return next((criterion.unproved for criterion in self.criteria if criterion.unproved), None)

    @property
    def by_kind(self) -> dict[str, Criterion]:
        return {criterion.kind: criterion for criterion in self.criteria}


def all_criteria(
    mesh: Mesh,
    distances: Float[np.ndarray, "_ n"],
    *,
    rows: Int[np.ndarray, "_"] | None = None,
    from_boundary: Float[np.ndarray, "b n"] | None = None,
    sound: bool = False,
    metric_bound: float | Metric = 1.0,
    device: Literal["cpu", "cuda"] = "cpu",
    no_sphere: str | None = None,
) -> Trust:
    """C_T, C_W and, unless the part (or `no_sphere`, a reason) forbids it, C_L."""
    reason = no_sphere
    if reason is None:
        try:
            check_piece_of_sphere(mesh)
        except ValueError as error:
            reason = str(error)
    common: dict[str, Any] = {"rows": rows, "from_boundary": from_boundary, "metric_bound": metric_bound}
    common |= {"sound": sound, "device": device}
    criteria = [boundary_criterion(mesh, distances, **common), wormhole_criterion(mesh, distances, **common)]
    if reason is None:
        criteria.append(same_loop_criterion(mesh, distances, **common))
    return Trust([c.on_host() for c in criteria], {} if reason is None else {"same-loop": reason})


def true_distances(
    cut: Cut, *, method: DistanceMethod, progress: Progress | bool = False, threads: int | None = None
) -> Float[np.ndarray, "n n"]:
    """Distances on the whole between the vertices of the part, symmetric as those on the part are."""
    from partwhole.geodesics.distances import geodesic_distances, symmetrise

    rows = geodesic_distances(cut.whole, cut.vertex_map, method=method, progress=progress, threads=threads)
    distances = rows[:, cut.vertex_map]
    symmetrise(distances, mean=method == "fast_marching")
    return distances


def example_vertex(criteria: Sequence[Criterion]) -> int:
    """The vertex for a figure, where the criteria differ most: the first guarantees some pairs, each next one more."""
    few, more, most = (criteria[k].mask.sum(axis=1) - 1.0 for k in (0, 1, -1))
    row = int((np.sqrt(few) * (2 * most - more - few)).argmax())
    rows = criteria[0].rows
    return row if rows is None else int(rows[row])


def draw_trust(
    mesh: Mesh,
    vertex: int,
    criteria: Sequence[Criterion],
    path: Path | None,
    *,
    soft: Path | None = None,
    up: Axis | None = None,
) -> None:
    """Draw the guaranteed regions, and the soft masks, each if a path for it is given."""
    if path is None and soft is None:
        return
    from partwhole.viewer.figures.render import automatic_camera
    from partwhole.viewer.figures.trust_figures import TITLES, Region, heat_figure, row_of, trust_figure

    camera = automatic_camera(mesh, vertex=vertex, up=up)
    if path is not None:
        title = f"{as_text(mesh.name)}: distances to vertex {vertex} that are guaranteed"
        regions = [Region.of(criterion, vertex) for criterion in criteria]
        trust_figure(mesh, vertex, regions, title=title, camera=camera, path=path)
    if soft is not None:
        values = [criterion.soft_mask[row_of(criterion, vertex)] for criterion in criteria]
        titles = [TITLES[criterion.kind] for criterion in criteria]
        heat_figure(mesh, vertex, values, titles, label=f"soft mask with vertex {vertex}", camera=camera, path=soft)


def guarantee(method: DistanceMethod, sound: bool, unproved: str | None = None) -> str:
    """Whether guaranteed pairs are proved consistent with these distances; `unproved` is a reason why not.

    >>> guarantee("dijkstra", False).partition(", provided ")[0]
    'proved: a guaranteed pair has the same distance along edges on the whole'
    """
    if method == "fast_marching":
        remedy = "--method dijkstra, or --method exact --sound, gives a proof"
        allowed = "boundary edges are allowed for, " if sound else ""
        return (
            f"not proved: {allowed}fast marching is approximate, and wrong where its error exceeds the margin; {remedy}"
        )
    if unproved is not None:
        return f"not proved: {unproved}"
    provided = "provided the whole is a manifold and the part consists of some of its faces"
    if method == "dijkstra":
        return f"proved: a guaranteed pair has the same distance along edges on the whole, {provided}"
    if sound:
        return f"proved: a guaranteed pair has the same geodesic distance on the whole, {provided}"
    return "not proved: a path may leave inside a boundary edge; --sound gives the proof, --method dijkstra too"


def percent(value: float) -> str:
    """A share as a percentage, with one decimal.

    >>> percent(0.4261), percent(float("nan"))
    ('42.6 %', '–')
    """
    return "–" if np.isnan(value) else f"{100 * value:.1f} %"
