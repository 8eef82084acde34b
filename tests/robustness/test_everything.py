"""Odd surfaces through every function of the library: right answers, checked by references and invariants, in seconds."""

from __future__ import annotations

import contextlib
import json
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest

import partwhole as pw
from partwhole.cli.main import main
from partwhole.mesh import Mesh
from partwhole.mesh.formats.common import MeshWarning

FORMATS = ("off", "obj", "ply", "stl", "glb")


def test_what_once_hung(checks, soups, within_seconds):
    for case in range(4):
        with within_seconds(soups.FIVE_POINTS_ON_THREE):
            checks.check_everything(soups.FIVE_POINTS_ON_THREE, case)


def test_decimation_beside_an_edge_with_three_faces(checks):
    """Moving one vertex of the tetrahedron onto another would give a face twice, though one of them has more neighbours."""
    points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [2, 2, 2]]
    mesh = Mesh(points, [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3], [1, 2, 4]])
    for keep_boundary in (False, True):
        checks.check_decimation(mesh, keep_boundary=keep_boundary)


def test_surfaces_too_small_to_measure_are_refused():
    corner = np.eye(3)
    with pytest.raises(
        ValueError, match=r"thing: the vertices span 1e-160, which underflows when squared; scale them up"
    ):
        Mesh(corner * 1e-160, [[0, 1, 2]], name="thing")
    assert Mesh(corner * 1e-69, [[0, 1, 2]]).area == pytest.approx(0.75**0.5 * 1e-138, rel=1e-12)
    assert Mesh(corner * 0, [[0, 1, 2]]).area == 0


def test_needles(checks, within_seconds):
    """Rays wind around a needle hundreds of times before a vertex trims them; exact distances once gave up on these."""
    for case, height in enumerate((1e2, 1e4, 1e5, 1e6, 1e9, 1e15, 1e30)):
        points = [[0, height, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
        mesh = Mesh(points, [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]], name=f"needle {height:g}")
        with within_seconds(mesh):
            checks.check_everything(mesh, case)


def test_a_side_too_short_to_be_squared():
    """It counts as none; once, the height of its triangle vanished with it and exact distances came out as 1e-5."""
    needle = Mesh([[0, 0, 0], [1e-160, 1e5, 0], [0, 1e-160, 0], [0, 0, 1e-160]], [[0, 2, 1], [0, 1, 3], [1, 2, 3]])
    D = pw.geodesic_distances(needle, method="exact")
    assert D[1, [0, 2, 3]] == pytest.approx(1e5, rel=1e-12)
    assert D[2, [0, 3]] == pytest.approx(0, abs=1e-90)


def test_normals_are_unit_where_all_corners_are_sharp():
    needle = Mesh([[0, 0, 0], [1e20, 0, 0], [0, 1e-60, 0], [0, 0, 1e-60]], [[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])
    assert np.allclose(np.linalg.norm(needle.vertex_normals, axis=1), 1, rtol=1e-12)


def test_triangle_soups(checks, soups, within_seconds, deep_count, fuzz_seed):
    for case, mesh in enumerate(soups.triangle_soups(deep_count, seed=fuzz_seed)):
        with within_seconds(mesh):
            checks.check_everything(mesh, case)


def test_broken_surfaces(checks, mutations, within_seconds):
    met: set[str] = set()
    for case, (name, arrays) in enumerate(mutations.broken_surfaces().items()):
        for mesh in new(meshes_of(*arrays), met):
            with within_seconds((name, mesh)):
                checks.check_everything(mesh, case)


def test_damaged_arrays(checks, mutations, within_seconds, deep_count, fuzz_seed):
    met: set[str] = set()
    for case, arrays in enumerate(mutations.damaged_arrays(deep_count, seed=10 + fuzz_seed)):
        for mesh in new(meshes_of(*arrays), met):
            with within_seconds(mesh):
                checks.check_everything(mesh, case)
    assert met


@pytest.mark.parametrize("kind", FORMATS)
def test_damaged_files(checks, mutations, within_seconds, tmp_path, deep_count, fuzz_seed, kind):
    met: set[str] = set()
    for case, (name, data) in enumerate(files(mutations, kind, max(deep_count // 5, 15), seed=20 + fuzz_seed)):
        path = tmp_path / name
        path.write_bytes(data)
        for mesh in new(meshes_in(path), met):
            with within_seconds(mesh):
                checks.check_everything(mesh, case)
        path.unlink()


def files(mutations, kind: str, count: int, *, seed: int) -> Iterator[tuple[str, bytes]]:
    """A healthy file, then damaged ones, of which many are refused."""
    yield f"healthy.{kind}", mutations.healthy_files(kind)[-1]
    yield from mutations.mutated_files(kind, count, seed=seed)


def meshes_of(points: np.ndarray, faces: np.ndarray) -> list[Mesh]:
    """The surface as it is and repaired, if it can be."""
    made = []
    for make in (Mesh, lambda p, f: pw.repair(p, f).mesh):
        with contextlib.suppress(ValueError):
            made.append(make(points, faces))
    return made


def meshes_in(path: Path) -> list[Mesh]:
    """The surface in a file, as it is and repaired, if it can be."""
    made = []
    for repair in (False, True):
        with contextlib.suppress(ValueError), warnings.catch_warnings():
            warnings.simplefilter("ignore", MeshWarning)
            made.append(pw.read_mesh(path, repair=repair))
    return made


def new(meshes: Iterable[Mesh], met: set[str]) -> Iterator[Mesh]:
    """Those that did not come before: much damage to a file is harmless."""
    for mesh in meshes:
        if mesh.content_hash not in met:
            met.add(mesh.content_hash)
            yield mesh


@pytest.mark.parametrize("kind", FORMATS)
def test_the_command_on_damaged_files(
    mutations, within_seconds, tmp_path, monkeypatch, capsys, deep_count, fuzz_seed, kind
):
    """`partwhole mask`: exit code 0 and its files, or 2 and one line on stderr."""
    monkeypatch.chdir(tmp_path)
    codes = []
    for case, (name, data) in enumerate(files(mutations, kind, 5 + deep_count // 20, seed=30 + fuzz_seed)):
        Path(name).write_bytes(data)
        out = Path(f"out{case}")
        knobs = ["--repair"] * (case % 2) + ["--sound"] * (case % 3 == 0) + ["--no-figure"] * (case % 8 != 0)
        knobs += ["--method", ("fast_marching", "dijkstra", "exact")[case % 3], "--rows", "7"][
            : 2 + 2 * (case % 5 == 0)
        ]
        with within_seconds((name, data, knobs)):
            codes.append(main(["mask", name, "-o", str(out), "--json", *knobs]))
            check_outcome(codes[-1], *capsys.readouterr(), out, figure="--no-figure" not in knobs)
    assert set(codes) == {0, 2}


def check_outcome(code: int, stdout: str, stderr: str, out: Path, *, figure: bool) -> None:
    if code == 2:
        assert stdout == ""
        assert stderr.startswith("error: ")
        assert stderr.count("\n") == 1
        assert stderr.endswith("\n")
        assert not out.exists() or not any(out.iterdir()), "half a result was left"
        return
    assert (code, stderr) == (0, "")
    summary = json.loads(stdout)
    assert {p.name for p in out.iterdir()} == {"masks.npz", "summary.json"} | ({"trust.png"} if figure else set())
    shares = [share for share in summary["guaranteed"].values() if share is not None]
    assert shares == sorted(shares)
    with np.load(out / "masks.npz") as arrays:
        assert arrays["distances"].shape == (summary["rows"], summary["vertices"])
        assert not np.isnan(arrays["distances"]).any()
