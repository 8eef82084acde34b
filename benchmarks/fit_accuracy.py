"""How far a fitted template lies from the truth, where the scan saw the surface and where it did not.

python benchmarks/fit_accuracy.py --people bodies_cc0.npz [--seeds 700 706] [--data DIR] [--parts 20] [--json FILE]

Generated: bipeds, quadrupeds and people in a pose, cut as PFAUST is; the template is the rest pose, of people in another
triangulation. FAUST: a test part of one person, and a complete shape of the other as the template. Beside the fit stand
as-rigid-as-possible deformation from the same map (30 iterations from the rigid alignment), and the same with every vertex
that was seen held at its true place: what no better map could improve on.

What was not seen is split: a *limb* reaches farther from the middle of its rim than 1.3 times the rim does; the rest are
*holes*.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

import partwhole as pw
from partwhole.datasets import PFaust, make_body, random_cuts
from partwhole.datasets.number_files import read_vts
from partwhole.datasets.shapes.people import People
from partwhole.deformation.register import ElasticSurface, factorised
from partwhole.matching.result import MatchResult
from partwhole.mesh import decimate
from partwhole.mesh.barycentric import BarycentricMap
from partwhole.mesh.surface import edge_graph
from partwhole.registration import fit_match
from recording import heading, save, table

RECIPES = ("pfaust-m", "pfaust-h")
# people that the model in the box was never trained with
_HELD_OUT = 34
_STICKS_OUT = 1.3


@dataclass(frozen=True)
class Scan:
    """A part, its template, and where each vertex of the template belongs; nan where that is not known."""

    part: pw.Mesh
    template: pw.Mesh
    truth: np.ndarray
    seen: np.ndarray
    complete: pw.Mesh


# --- scans whose truth is known


def generated(kind: str, recipe: str, seed: int, people: People | None, *, vertices: int = 2450) -> Scan:
    """A body of about so many vertices in a pose, cut, and the same at rest; of people both are decimated."""
    if kind == "person":
        assert people is not None
        k = _HELD_OUT + seed % (len(people) - _HELD_OUT)
        fine = people.pose(k, seed=seed, strength=0.8)
        rest, posed = decimate(people.rest(k), vertices + 50), decimate(fine, vertices - 50)
        cut = random_cuts(posed.mesh, recipe, seed=seed)
        kept = np.isin(np.arange(posed.mesh.n_vertices), cut.vertex_map)
        return Scan(cut.part, rest.mesh, fine.vertices[rest.to_fine], kept[posed.to_coarse[rest.to_fine]], fine)
    body = make_body(kind, vertices, seed=seed)
    complete = body.pose(seed=seed + 1000)
    cut = random_cuts(complete, recipe, seed=seed)
    seen = np.isin(np.arange(complete.n_vertices), cut.vertex_map)
    return Scan(cut.part, body.rest, complete.vertices, seen, complete)


def faust(root: Path, level: str, parts: int) -> Iterator[Scan]:
    """So many of the 20 test parts, each with the first shape of the other person as its template."""
    data = PFaust(root, level)
    for k in range(80, 100, 20 // parts):
        other = 90 if k < 90 else 80
        part, complete, template = data.part(k), data.whole(k), data.whole(other)
        mine, theirs = (read_vts(data.root / "faust_r" / "corres" / f"tr_reg_{n:03d}.vts") for n in (k, other))
        truth = np.full((template.n_vertices, 3), np.nan)
        truth[theirs] = complete.vertices[mine]
        # vertices that no row of FAUST's template names are seen if the nearest one that is named was
        named = np.unique(theirs)
        of_named = np.zeros(template.n_vertices, bool)
        of_named[theirs] = np.isin(mine, data.vertex_map(k))
        _, _, nearest = csgraph.dijkstra(edge_graph(template), indices=named, min_only=True, return_predecessors=True)
        seen = of_named[nearest]
        yield Scan(part, template, truth, seen, complete)


def limbs(template: pw.Mesh, seen: np.ndarray) -> np.ndarray:
    """Vertices of regions that were not seen and stick out of what was."""
    graph, found = edge_graph(template), np.zeros(len(seen), bool)
    unseen = np.flatnonzero(~seen)
    count, pieces = csgraph.connected_components(graph[unseen][:, unseen], directed=False)
    for piece in (unseen[pieces == k] for k in range(count)):
        around = np.unique(graph[piece].indices)
        rim = template.vertices[around[seen[around]]]
        if len(rim) == 0:
            found[piece] = True
            continue
        middle = rim.mean(axis=0)
        radius, reach = (np.linalg.norm(points - middle, axis=1).max() for points in (rim, template.vertices[piece]))
        found[piece] = reach > _STICKS_OUT * radius
    return found


# --- what the fit is compared with


def as_rigid_as_possible(
    found: MatchResult, *, held: tuple[np.ndarray, np.ndarray] | None = None, length: float = 0.03, iterations: int = 30
) -> np.ndarray:
    """Σ weight · |place − target|² + length² · (elastic energy), from the rigid alignment.

    Targets are the map's, weighted by confidence; or, with `held`, vertices at places that are known.
    """
    inverse = np.linalg.inv(found.alignment)
    template = pw.Mesh(found.whole.vertices @ inverse[:3, :3].T + inverse[:3, 3], found.whole.faces)
    unit, n = template.area**0.5, template.n_vertices
    if held is None:
        weights = found.part.vertex_areas * np.maximum(found.confidence, 1e-3) ** 2 * found.matched
        rows = sparse.csr_array((weights, (found.vertex_map, np.arange(len(weights)))), shape=(n, len(weights)))
        total, sums = rows.sum(axis=1), rows @ found.part.vertices
    else:
        where, places = held
        total = np.where(where, 1e3 * unit**2, 0.0)
        sums = total[:, None] * np.where(where[:, None], places, 0.0)
    surface, stay = ElasticSurface(template), 1e-7 * unit**2
    stiff = (length * unit) ** 2
    solve = factorised(stiff * surface.laplacian + sparse.diags_array(total + stay))
    y, R = np.array(template.vertices), np.tile(np.eye(3), (n, 1, 1))
    for _ in range(iterations):
        y = solve(stiff * surface.forces(R) + sums + stay * y)
        R = surface.rotations(y, R)
    return y


# --- measuring

HEAD = ["kind, cut", "pairs", "method", "seen", "unseen", "holes", "limbs", "to the surface, seen", "unseen"]


# of each method, in the order of HEAD
Errors = dict[str, list[float]]


def measured(scan: Scan, model: str) -> Errors:
    """For each method mean errors in % of √area: seen, unseen, in holes, of limbs; and to the complete surface."""
    found = pw.match(scan.part, scan.template, model=model)
    known = np.isfinite(scan.truth).all(axis=1)
    limb, unit = limbs(scan.template, scan.seen), scan.complete.area**0.5
    places = {
        "ARAP from the map": as_rigid_as_possible(found),
        "**fit**": fit_match(found).mesh.vertices,
        "ARAP, seen at true places": as_rigid_as_possible(found, held=(scan.seen & known, scan.truth), iterations=60),
    }
    regions = (scan.seen, ~scan.seen, ~scan.seen & ~limb, limb)
    errors = {}
    for name, vertices in places.items():
        off = 100 * np.linalg.norm(vertices - scan.truth, axis=1) / unit
        nearest = BarycentricMap.closest(vertices, scan.complete).positions(scan.complete.vertices)
        to_surface = 100 * np.linalg.norm(vertices - nearest, axis=1) / unit
        errors[name] = [
            *(_mean(off[where & known]) for where in regions),
            *(_mean(to_surface[where & known]) for where in regions[:2]),
        ]
    return errors


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else np.nan


def rows_of(name: str, every: list[Errors]) -> list[list[str]]:
    return [
        [name, str(len(every)), label, *(f"{value:.2f}" for value in np.nanmean([one[label] for one in every], axis=0))]
        for label in every[0]
    ]


def scans(chosen: argparse.Namespace) -> Iterator[tuple[str, Scan]]:
    people = None if chosen.people is None else People(chosen.people)
    for seed in range(*chosen.seeds):
        for kind in ("biped", "quadruped", *(["person"] if people else [])):
            for recipe in RECIPES:
                yield f"{kind}, {recipe}", generated(kind, recipe, seed, people)
    if chosen.data is not None:
        for level in ("M", "H"):
            for scan in faust(chosen.data, level, chosen.parts):
                yield f"FAUST, PFAUST-{level}", scan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=Path, help="bodies_cc0.npz")
    parser.add_argument("--data", type=Path, help="folder with pfaust/ and faust_r/")
    parser.add_argument("--parts", type=int, default=20, help="of each level, evenly through the 20 test parts")
    parser.add_argument(
        "--seeds", type=int, nargs=2, default=(700, 706), help="from, to; a pair of each kind and cut each"
    )
    parser.add_argument("--model", default="default")
    parser.add_argument("--json", type=Path, help="file for the numbers of each pair, written after each")
    chosen = parser.parse_args()
    pairs: dict[str, list[Errors]] = {}
    for name, scan in scans(chosen):
        errors = measured(scan, chosen.model)
        pairs.setdefault(name, []).append(errors)
        told = ", ".join(f"{label} {values[0]:.2f} {values[1]:.1f}" for label, values in errors.items())
        print(f"{name}: {told}", flush=True)
        save(chosen.json, {"head": HEAD, "pairs": pairs})
    print(heading())
    rows = [row for name, every in pairs.items() for row in rows_of(name, every)]
    made = [errors for name, every in pairs.items() if not name.startswith("FAUST") for errors in every]
    print(table(HEAD, rows + (rows_of("all generated", made) if made else [])))


if __name__ == "__main__":
    main()
