"""The published data sets in small, in their layouts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from partwhole.datasets import Cut, cut_balls, cut_plane, sphere
from partwhole.mesh import Mesh
from partwhole.mesh.io import write_mesh

# what a template of FAUST does: rows in any order, some vertices twice, others never
TEMPLATE = np.random.default_rng(0).integers(90, size=120)


def lopsided() -> Mesh:
    """A ball of area 1 that looks different from every side."""
    ball = sphere(90, jitter=0.3)
    x, y, z = ball.vertices.T
    bumps = (1 + 0.2 * x + 0.3 * z * y**2)[:, None]
    return Mesh(ball.vertices * bumps * [1.0, 0.8, 1.4], ball.faces).to_unit_area()[0]


def write_numbers(path: Path, numbers: np.ndarray) -> None:
    path.write_text("\n".join(map(str, numbers.tolist())) + "\n")


def write_pfaust(root: Path) -> Path:
    """The public release: a hundred parts a level, three of them different; whole k numbers its vertices from k on."""
    ball = lopsided()
    for folder in ("faust_r/corres", "pfaust/ground_truth"):
        (root / folder).mkdir(parents=True)
    for k in range(0, 100, 10):
        turned = Mesh(np.roll(ball.vertices, k, axis=0) * 7, (ball.faces + k) % 90)
        write_mesh(turned, root / f"faust_r/tr_reg_{k:03d}.off")
        write_numbers(root / f"faust_r/corres/tr_reg_{k:03d}.vts", (TEMPLATE + k) % 90 + 1)
    for level, radius in (("M", 0.2), ("H", 0.15)):
        (root / f"pfaust/PFAUST-{level}/off").mkdir(parents=True)
        cuts = [cut_balls(ball, [5, 40 + n], radius) for n in range(3)]
        for k in range(100):
            part = root / f"pfaust/PFAUST-{level}/off/tr_reg_{k:03d}.off"
            truth = root / f"pfaust/ground_truth/PFAUST-{level}_tr_reg_{k:03d}.npz"
            if k < 3:
                write_mesh(cuts[k].part, part)
                np.savez(truth, **_release_truth(cuts[k]))
            else:
                part.hardlink_to(part.with_name(f"tr_reg_{k % 3:03d}.off"))
                truth.hardlink_to(truth.with_name(f"PFAUST-{level}_tr_reg_{k % 3:03d}.npz"))
    return root


def _release_truth(cut: Cut) -> dict[str, np.ndarray]:
    rows = np.flatnonzero(np.isin(TEMPLATE, cut.vertex_map))
    on_part = {int(v): i for i, v in enumerate(cut.vertex_map)}
    at_rows = np.array([on_part[int(v)] for v in TEMPLATE[rows]])
    return {"full_vertex": cut.vertex_map, "template_rows": rows, "partial_vertex_at_rows": at_rows}


def write_shrec16(root: Path) -> Path:
    """The training archive, with one class of which two parts of each kind are different."""
    ball = lopsided()
    for folder in ("null", "cuts", "holes"):
        (root / folder).mkdir(parents=True)
    write_mesh(ball, root / "null/wolf.off")
    made = {
        "cuts": (12, [cut_plane(ball, (0, 0, 0), normal) for normal in ((1, 0.5, 0.2), (-1, 0.1, 0.3))]),
        "holes": (8, [cut_balls(ball, [5 + n, 50], 0.15) for n in range(2)]),
    }
    for damage, (count, cuts) in made.items():
        for number in range(1, count + 1):
            cut = cuts[number % 2]
            stem = root / damage / f"{damage}_wolf_shape_{number}"
            write_mesh(cut.part, stem.with_suffix(".off"))
            write_numbers(stem.with_suffix(".vts"), cut.vertex_map + 1)
    return root


@pytest.fixture(scope="session")
def published_sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """PFAUST and SHREC'16, in their layouts."""
    root = write_pfaust(tmp_path_factory.mktemp("published"))
    write_shrec16(root / "shrec16")
    return root
