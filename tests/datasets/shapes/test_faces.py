"""Heads, read from a file of the published layout that is made here from half a ball."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from partwhole.datasets import cut_plane, sphere
from partwhole.datasets.shapes.faces import FILE, Faces


def face_arrays(n_vertices: int = 900) -> dict[str, np.ndarray]:
    """Half an ellipsoid, open below, that grows wider or taller, and can frown or blow its cheeks up."""
    half = cut_plane(sphere(n_vertices), (0, -0.3, 0), (0, 1, 0)).part
    x = half.vertices * [0.8, 1.2, 1.0]
    return {
        "neutral": x.astype(np.float32),
        "faces": half.faces.astype(np.int32),
        "identities": np.stack([x * [0.1, 0, 0], x * [0, 0.1, 0], x * [0, 0, 0.1]]).astype(np.float16),
        "expressions": np.stack([0.1 * np.cos(3 * x), 0.1 * half.vertex_normals]).astype(np.float16),
        "expression_names": np.array(["frown", "cheekPuff"]),
    }


@pytest.fixture(scope="module")
def faces(tmp_path_factory: pytest.TempPathFactory) -> Faces:
    folder = tmp_path_factory.mktemp("faces")
    np.savez(folder / FILE, **face_arrays())
    return Faces(folder)


def test_weights_add_up(faces: Faces) -> None:
    held = face_arrays()
    assert repr(faces).endswith("3 identities, 2 expressions)")
    np.testing.assert_array_equal(faces.head().vertices, held["neutral"].astype(float))
    made = faces.head([0, 2.0, 0], [0, 0.5], name="ann")
    expected = held["neutral"] + 2.0 * held["identities"][1].astype(float) + 0.5 * held["expressions"][1].astype(float)
    np.testing.assert_allclose(made.vertices, expected, atol=1e-12)
    assert (made.name, len(made.boundary_loops)) == ("ann", 1)
    assert faces.expression_names == ("frown", "cheekPuff")


def test_random_weights(faces: Faces) -> None:
    drawn = np.array([faces.random_identity(seed) for seed in range(300)])
    assert np.abs(drawn).max() == 2
    assert drawn.std() == pytest.approx(1, abs=0.1)
    weights = np.array([faces.random_expression(seed, 0.5) for seed in range(100)])
    assert 0 == weights.min() < weights.max() <= 0.5
    with pytest.raises(ValueError, match="strength=2 must lie between 0"):
        faces.random_expression(strength=2)
    with pytest.raises(ValueError, match=r"identities take 3 weights, got shape \(2,\)"):
        faces.head([1.0, 2.0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"identities": None}, "has no identities; it should hold the heads"),
        ({"expressions": np.zeros((2, 3, 3))}, r"expressions has shape \(2, 3, 3\), expected \(2, "),
        ({"faces": np.array([[0, 1, 10**6]])}, "face 0 is"),
    ],
)
def test_files_that_are_refused(tmp_path: Path, changes, message) -> None:
    np.savez(tmp_path / FILE, **{k: v for k, v in (face_arrays() | changes).items() if v is not None})
    with pytest.raises(ValueError, match=message):
        Faces(tmp_path)


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"holds no faces_mit\.npz"):
        Faces(tmp_path)
    with pytest.raises(FileNotFoundError, match=r"there is no file .*other\.npz"):
        Faces(tmp_path / "other.npz")


@pytest.mark.real_data
def test_the_published_heads(data_root: Path) -> None:
    if not (data_root / FILE).is_file():
        pytest.skip(f"PARTWHOLE_DATA holds no {FILE}")
    faces = Faces(data_root)
    head = faces.head(faces.random_identity(1), faces.random_expression(1))
    assert (head.n_components, head.is_manifold, head.genus) == (1, True, 0)
    assert [len(loop) for loop in head.boundary_loops] == [74, 54, 42, 42]
