"""A template fitted to a scan: time and error of partwhole and of other libraries, in one run.

python benchmarks/registration.py [--people bodies_cc0.npz] [--seeds 700 702] [--vertices 1000] [--only partwhole meshmonk]

Scans and templates are those of `fit_accuracy.py`: bipeds, quadrupeds and people in a pose, cut as PFAUST is in both ways,
and their rest pose as the template; the true place of every vertex is known. Each library begins with the raw files, with
our rigid alignment, or with our map. What is not installed is skipped:

    pip install trimesh rtree pycpd libigl meshmonk

Seconds are of processor time; kernels are compiled before.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np

import partwhole as pw
from fit_accuracy import RECIPES, as_rigid_as_possible, generated
from partwhole.datasets.shapes.people import People
from partwhole.matching.result import MatchResult
from partwhole.registration import fit_match
from recording import heading, save, table

# of the slow ones
_STEPS = 50
# meshmonk's lengths are for faces in millimetres
_MILLIMETRES = 300.0
# how our map enters: beside the aligned template, or as the template that the prototype has bent to it
_MARKED, _BENT = "our map, as landmarks", "our map, bent by it"


@dataclass(frozen=True)
class Case:
    """A scan and its template; `moved` is the template where the method begins, `truth` where it belongs."""

    scan: pw.Mesh
    moved: pw.Mesh
    truth: np.ndarray
    seen: np.ndarray
    found: MatchResult

    def errors(self, vertices: np.ndarray) -> tuple[float, float]:
        """Mean distance to the true vertex in % of √area, seen and unseen."""
        off = 100 * np.linalg.norm(vertices - self.truth, axis=1) / self.moved.area**0.5
        return float(off[self.seen].mean()), float(off[~self.seen].mean())


def cases(seeds: range, vertices: int, people: People | None) -> Iterator[tuple[str, dict[str, Case]]]:
    """Pairs of each kind and cut, each with every start."""
    for seed in seeds:
        for kind in ("biped", "quadruped", *(["person"] if people else [])):
            for recipe in RECIPES:
                scan = generated(kind, recipe, seed, people, vertices=vertices)
                found = pw.match(scan.part, scan.template)
                inverse = np.linalg.inv(found.alignment)
                aligned = scan.template.vertices @ inverse[:3, :3].T + inverse[:3, 3]
                starts = {"raw files": scan.template.vertices, "our alignment": aligned, _BENT: prototype(found)}
                yield (
                    f"{kind} {recipe} {seed}",
                    {
                        name: Case(scan.part, pw.Mesh(places, scan.template.faces), scan.truth, scan.seen, found)
                        for name, places in starts.items()
                    },
                )


def prototype(found: MatchResult) -> np.ndarray:
    """As rigid as possible, thirty iterations from our alignment: what a template deformed by the map alone looks like."""
    return as_rigid_as_possible(found)


def ours(case: Case) -> np.ndarray:
    return np.asarray(fit_match(case.found).mesh.vertices)


def nricp_amberg(case: Case, *, landmarks: bool = False) -> np.ndarray:
    """trimesh; our map enters as landmarks, every fifth vertex that is sure."""
    return _nricp("nricp_amberg", case, landmarks)


def nricp_sumner(case: Case, *, landmarks: bool = False) -> np.ndarray:
    return _nricp("nricp_sumner", case, landmarks)


def _nricp(name: str, case: Case, landmarks: bool) -> np.ndarray:
    trimesh = import_module("trimesh")
    registration = import_module("trimesh.registration")
    template, scan = (trimesh.Trimesh(m.vertices, m.faces, process=False) for m in (case.moved, case.scan))
    given = {}
    if landmarks:
        sure = np.flatnonzero(case.found.confidence > 0.7)[::5]
        given = {
            "source_landmarks": case.found.vertex_map[sure],
            "target_positions": case.scan.vertices[sure],
        }
    return np.asarray(getattr(registration, name)(template, scan, **given))


def cpd(case: Case) -> np.ndarray:
    """pycpd, deformable."""
    pycpd = import_module("pycpd")
    scan, template = (np.asarray(mesh.vertices) for mesh in (case.scan, case.moved))
    size = case.moved.area**0.5
    method = pycpd.DeformableRegistration(X=scan / size, Y=template / size, max_iterations=_STEPS, w=0.1)
    return np.asarray(method.register()[0]) * size


def meshmonk(case: Case, *, rigid: bool = False) -> np.ndarray:
    """meshmonk's pyramid; with `rigid`, after a rigid alignment of its own."""
    library = import_module("meshmonk")
    scale = _MILLIMETRES / case.moved.area**0.5
    surfaces = [(np.float32(mesh.vertices * scale), np.int32(mesh.faces)) for mesh in (case.moved, case.scan)]
    template, scan = (library.features_from_vertices(*surface) for surface in surfaces)
    found = library.pyramid_register(
        floating_features=template,
        target_features=scan,
        floating_faces=surfaces[0][1],
        target_faces=surfaces[1][1],
        rigid_params={} if rigid else None,
    )
    return np.asarray(found.aligned_vertices, float) / scale


def libigl_arap(case: Case) -> np.ndarray:
    """libigl, the deformation only: every vertex that our map names is held at the mean of its targets."""
    igl = import_module("igl")
    found = case.found
    targets, counts = np.zeros((len(case.truth), 3)), np.bincount(found.vertex_map, minlength=len(case.truth))
    np.add.at(targets, found.vertex_map, case.scan.vertices)
    held = np.flatnonzero(counts)
    goal = targets[held] / counts[held, None]
    vertices, data = np.array(case.moved.vertices), igl.ARAPData()
    data.max_iter = _STEPS
    igl.arap_precomputation(vertices, np.array(case.moved.faces), 3, held.astype(np.int32), data)
    return np.asarray(igl.arap_solve(goal, data, vertices))


# name, start, the library that it needs, and what it does
Method = tuple[str, str, str | None, Callable[[Case], np.ndarray]]
METHODS: tuple[Method, ...] = (
    ("**partwhole**", "our map", None, ours),
    ("ARAP, the prototype", "our map", None, lambda case: prototype(case.found)),
    ("trimesh nricp_amberg", "raw files", "trimesh", nricp_amberg),
    ("trimesh nricp_amberg", "our alignment", "trimesh", nricp_amberg),
    ("trimesh nricp_amberg", _MARKED, "trimesh", lambda case: nricp_amberg(case, landmarks=True)),
    ("trimesh nricp_amberg", _BENT, "trimesh", nricp_amberg),
    ("trimesh nricp_sumner", "our alignment", "trimesh", nricp_sumner),
    ("trimesh nricp_sumner", _MARKED, "trimesh", lambda case: nricp_sumner(case, landmarks=True)),
    ("libigl ARAP", "our map", "igl", libigl_arap),
    ("pycpd", "raw files", "pycpd", cpd),
    ("pycpd", "our alignment", "pycpd", cpd),
    ("pycpd", _BENT, "pycpd", cpd),
    ("meshmonk", "raw files", "meshmonk", lambda case: meshmonk(case, rigid=True)),
    ("meshmonk", "our alignment", "meshmonk", meshmonk),
    ("meshmonk", _BENT, "meshmonk", meshmonk),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--people", type=Path, help="bodies_cc0.npz")
    parser.add_argument(
        "--seeds", type=int, nargs=2, default=(700, 702), help="from, to; a pair of each kind and cut each"
    )
    parser.add_argument("--vertices", type=int, default=1000)
    parser.add_argument("--only", nargs="*", default=[""], help="methods whose names contain one of these")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    measured: dict[tuple[str, str], list[tuple[float, float, float]]] = {}
    skipped: dict[str, str] = {}
    people = None if chosen.people is None else People(chosen.people)
    for name, starts in cases(range(*chosen.seeds), chosen.vertices, people):
        if not measured:
            ours(starts["our alignment"])
        for label, start, module, method in METHODS:
            if not any(name in label for name in chosen.only):
                continue
            case = starts.get(start, starts["our alignment"])
            try:
                if module:
                    import_module(module)
                begin = time.process_time()
                vertices = method(case)
                seconds = time.process_time() - begin
            except ModuleNotFoundError as missing:
                skipped[label] = f"{missing.name} is not installed"
                continue
            except Exception as failed:
                skipped[f"{label}, {start}"] = f"failed on {name}: {type(failed).__name__} {failed}"
                continue
            measured.setdefault((label, start), []).append((seconds, *case.errors(vertices)))
            print(f"{name}: {label}, {start}: {seconds:.1f} s, seen {measured[label, start][-1][1]:.2f}", flush=True)
    rows = [
        [label, start, str(len(runs)), *(f"{value:.2f}" for value in np.mean(runs, axis=0))]
        for (label, start), runs in measured.items()
    ]
    print(heading())
    print(table(["method", "begins with", "pairs", "seconds", "error seen, % of √area", "unseen"], rows))
    for label, reason in skipped.items():
        print(f"{label}: skipped, {reason}")
    save(chosen.json, {"rows": rows, "skipped": skipped})


if __name__ == "__main__":
    main()
