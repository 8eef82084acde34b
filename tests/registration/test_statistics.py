"""Shapes that differ by what is known have that as their components, however each of them stands."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from partwhole.datasets import sphere
from partwhole.mesh import Mesh, read_mesh
from partwhole.registration.statistics import shape_statistics


def egg() -> Mesh:
    ball = sphere(120)
    x, y, z = ball.vertices.T
    vertices = np.stack([1.5 * x + 0.2 * z, y + 0.2 * x * x, 0.8 * z + 0.1 * y], axis=1)
    return Mesh(vertices - vertices.mean(axis=0), ball.faces)


def not_a_motion(directions: np.ndarray) -> np.ndarray:
    """The directions without what a shift, a turn or another size of the egg does, as long as 1 in the mean."""
    x = EGG.vertices
    turns = [np.cross(axis, x) for axis in np.eye(3)]
    shifts = [np.broadcast_to(axis, x.shape) for axis in np.eye(3)]
    basis = np.linalg.qr(np.stack([part.reshape(-1) for part in (x, *turns, *shifts)], axis=1))[0]
    flat = directions.reshape(-1)
    left: np.ndarray = (flat - basis @ (basis.T @ flat)).reshape(-1, 3)
    return left / np.sqrt((left**2).sum(axis=1).mean())


def turned(seed: int) -> np.ndarray:
    Q: np.ndarray = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))[0]
    return Q * np.sign(np.linalg.det(Q))


EGG = egg()
X, Y, Z = EGG.vertices.T
MODE = not_a_motion(np.stack([0 * X, X**2, Z * Y], axis=1))
OTHER = not_a_motion(np.stack([Y * Z, 0 * X, X * X - X], axis=1))
AMOUNTS = np.array([-0.1, 0.02, 0.03, 0.05])
SHAPES = EGG.vertices + AMOUNTS[:, None, None] * MODE


def test_one_known_mode_is_the_only_component() -> None:
    found = shape_statistics(SHAPES)
    assert found.settled
    assert found.explained[0] > 1 - 1e-3
    sign = np.sign(np.sum(found.components[0] * MODE))
    assert sign * np.sum(found.components[0] * MODE) / len(MODE) == pytest.approx(1, abs=1e-3)
    assert sign * found.scores[:, 0] == pytest.approx(AMOUNTS, abs=2e-3)
    assert found.deviations[0] == pytest.approx(np.std(AMOUNTS, ddof=1), rel=2e-2)
    assert found.mean == pytest.approx(EGG.vertices, abs=2e-3)
    assert found.mode(0, sign * 0.05 / found.deviations[0]) == pytest.approx(SHAPES[3], abs=5e-3)


def test_two_modes_come_by_their_variance() -> None:
    other = OTHER - (OTHER * MODE).sum() / (MODE**2).sum() * MODE
    amounts = np.array([[0.1, 0.0], [-0.1, 0.0], [0.0, 0.03], [0.0, -0.03]])
    found = shape_statistics(EGG.vertices + np.einsum("ij,jvc->ivc", amounts, np.stack([MODE, other])))
    assert found.explained[:2].sum() > 0.998
    cosine = np.sum(found.components[1] * other) / np.linalg.norm(found.components[1]) / np.linalg.norm(other)
    assert abs(cosine) > 0.99
    gram = np.einsum("v,jvc,lvc->jl", found.weights, found.components, found.components)
    assert gram == pytest.approx(np.eye(len(gram)), abs=1e-9)


@pytest.mark.parametrize("as_meshes", [False, True])
def test_where_how_large_and_how_turned_a_shape_is_does_not_matter(as_meshes: bool) -> None:
    moved = np.stack([(10.0**k) * shape @ turned(k).T + 5 * k for k, shape in enumerate(SHAPES)])
    given: list[Any] = [
        [Mesh(shape, EGG.faces) for shape in shapes] if as_meshes else shapes for shapes in (SHAPES, moved)
    ]
    plain, found = map(shape_statistics, given)
    size = np.sqrt(1000)
    assert found.explained == pytest.approx(plain.explained, abs=1e-8)
    assert np.abs(found.scores[:, 0]) / size == pytest.approx(np.abs(plain.scores[:, 0]), rel=1e-6)
    assert found.distances / size == pytest.approx(plain.distances, rel=1e-6)
    assert found.scales / size == pytest.approx(plain.scales * 10.0 ** -np.arange(4), rel=1e-6)
    # as the first one stands
    assert found.mean / size == pytest.approx(plain.mean @ turned(0).T, abs=1e-6)
    assert (found.faces is None) == (not as_meshes)


def test_shapes_are_the_mean_and_their_scores() -> None:
    meshes = [Mesh(shape, EGG.faces) for shape in SHAPES]
    found = shape_statistics(meshes)
    for scores, aligned in zip(found.scores, found.aligned, strict=True):
        assert found.shape(scores) == pytest.approx(aligned, abs=1e-9)
    assert found.variances.sum() == pytest.approx(found.total_variance)
    assert (found.distances**2).sum() / 3 == pytest.approx(found.total_variance)
    fewer = shape_statistics(meshes, n_components=1)
    assert fewer.explained == pytest.approx(found.explained[:1])
    assert repr(fewer) == "ShapeStatistics(4 shapes, 120 vertices, components 100 %)"


def test_sizes_are_kept_if_asked() -> None:
    found = shape_statistics(np.stack([k * EGG.vertices for k in (1.0, 1.2, 0.8)]), alignment="rigid")
    assert found.explained == pytest.approx([1.0])
    assert found.scales.tolist() == [1, 1, 1]
    assert found.mean == pytest.approx(EGG.vertices)
    size = np.sqrt((EGG.vertices**2).sum(axis=1).mean())
    assert np.abs(found.scores[:, 0]) == pytest.approx([0, 0.2 * size, 0.2 * size], abs=1e-9)


def test_shapes_that_do_not_differ_have_no_components() -> None:
    found = shape_statistics(np.stack([EGG.vertices, 3 * EGG.vertices @ turned(1).T - 7]))
    assert found.components.shape == (0, 120, 3)
    assert found.explained.tolist() == []
    assert repr(found).endswith("components none)")


def test_only_what_was_seen_counts() -> None:
    seen = np.ones((4, 120), bool)
    seen[1, X > 0.5] = False
    seen[:, 7] = False
    found = shape_statistics(np.where(seen[:, :, None], SHAPES, 9.0), seen=seen)
    rows = np.flatnonzero(seen.any(axis=0))
    assert found.settled
    assert found.mean[rows] == pytest.approx(EGG.vertices[rows], abs=0.05)
    assert np.flatnonzero(found.never_seen).tolist() == [7]
    assert (np.abs(found.components[:, 7]) < 1e-12).all()
    # the same as without a mask, where all is seen
    plain, all_seen = shape_statistics(SHAPES), shape_statistics(SHAPES, seen=np.ones((4, 120), bool))
    assert all_seen.scores == pytest.approx(plain.scores)
    assert not plain.never_seen.any()


def test_everything_is_written(tmp_path: Path) -> None:
    meshes = [Mesh(shape, EGG.faces) for shape in SHAPES]
    found = shape_statistics(meshes, seen=np.ones((4, 120), bool))
    files = found.save(tmp_path / "s", names=["a", "b", "c", "d"])
    assert {path.name for path in (tmp_path / "s").iterdir()} == set(files)
    assert np.allclose(read_mesh(files["component-1-plus.ply"]).vertices, found.mode(0))
    assert np.array_equal(read_mesh(files["mean.ply"]).faces, EGG.faces)
    with files["scores.csv"].open() as file:
        rows = list(csv.DictReader(file))
    assert [row["name"] for row in rows] == ["a", "b", "c", "d"]
    assert [float(row["1"]) for row in rows] == pytest.approx(found.scores[:, 0])
    with np.load(files["components.npz"]) as held:
        assert np.array_equal(held["components"], found.components)
        assert held["names"].tolist() == ["a", "b", "c", "d"]
    # fewer components leave no mesh of the others; arrays have no meshes
    shape_statistics(meshes, n_components=1).save(tmp_path / "s")
    left = {path.name for path in (tmp_path / "s").glob("*.ply")}
    assert left == {"mean.ply", "component-1-minus.ply", "component-1-plus.ply"}
    assert set(shape_statistics(SHAPES).save(tmp_path / "t")) == {"scores.csv", "components.csv", "components.npz"}


LINE = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 0, 0], [0, 0, 0]])


@pytest.mark.parametrize(
    ("given", "options", "said"),
    [
        (SHAPES[:1], {}, "shapes has 1 entry; statistics need at least two"),
        ([], {}, "shapes has 0 entries; statistics need at least two"),
        (SHAPES[0], {}, r"shapes must be an array \(shapes, vertices, 3\)"),
        (SHAPES[:, :2], {}, "shapes have 2 vertices each; give at least three"),
        (np.where(np.arange(3) == 1, np.nan, SHAPES), {}, "shapes must be finite"),
        (SHAPES * np.array([1, 1, 0, 1])[:, None, None], {}, r"shapes\[2\] has all its vertices in one place"),
        (np.stack([LINE, LINE[::-1]]), {}, r"shapes\[1\] does not fit the others at any size"),
        ([EGG, sphere(121)], {}, r"shapes\[1\] has another triangulation than shapes\[0\]"),
        (SHAPES, {"n_components": 4}, "n_components=4 must be from 0 to 3"),
        (SHAPES, {"seen": np.ones((4, 3), bool)}, "seen must be True or False for each of 120 vertices of 4 shapes"),
        (SHAPES, {"seen": np.arange(120) < np.array([[9], [2], [9], [9]])}, r"seen\[1\] has fewer than three vertices"),
    ],
)
def test_what_can_not_be_done_is_told(given: Any, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        shape_statistics(given, **options)


def test_an_alignment_that_there_is_not() -> None:
    with pytest.raises(ValueError, match='alignment must be "similarity" or "rigid", got \'affine\''):
        shape_statistics.__wrapped__(SHAPES, alignment="affine")  # type: ignore[attr-defined]


def test_results_are_asked_for_what_they_have() -> None:
    found = shape_statistics(SHAPES, n_components=2)
    with pytest.raises(ValueError, match="component=3 must be from 0 to"):
        found.mode(3)
    with pytest.raises(ValueError, match="scores has 9 entries for"):
        found.shape(np.zeros(9))
    with pytest.raises(ValueError, match="names has 1 entries for 4 shapes"):
        found.save("nowhere", names=["a"])


def test_statistics_are_saved_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match="file is a file; statistics are saved in a folder"):
        shape_statistics(SHAPES).save(tmp_path / "file")
