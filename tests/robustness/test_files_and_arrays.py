"""Any file and any arrays: a sound mesh with nothing lost, or one clear line; never a crash, a hang or a silent loss."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from partwhole.mesh.formats.common import MeshWarning
from partwhole.mesh.io import read_mesh, write_mesh
from partwhole.mesh.repair import repair
from partwhole.mesh.surface import Mesh

FORMATS = ("off", "obj", "ply", "stl", "glb")
DROPPED = ("out_of_range_faces", "non_finite_faces", "degenerate_faces", "duplicate_faces")


@pytest.mark.parametrize("kind", FORMATS)
def test_healthy_files_are_read(mutations, tmp_path, kind):
    for number, data in enumerate(mutations.healthy_files(kind)):
        path = tmp_path / f"healthy{number}.{kind}"
        path.write_bytes(data)
        assert mutations.read_or_refuse(path) is not None, data[:200]


@pytest.mark.parametrize("kind", FORMATS)
def test_damaged_files(mutations, tmp_path, fuzz_count, kind):
    read = refused = 0
    for name, data in mutations.mutated_files(kind, fuzz_count // 6, seed=1):
        path = tmp_path / name
        path.write_bytes(data)
        mesh = mutations.read_or_refuse(path)
        read, refused = read + (mesh is not None), refused + (mesh is None)
        mended = mutations.read_or_refuse(path, repair=True)
        assert mended is not None or mesh is None
        path.unlink()
    # the damage is neither harmless nor total: both answers are met
    assert read
    assert refused


@pytest.mark.parametrize("kind", FORMATS)
def test_any_bytes(mutations, tmp_path, fuzz_count, kind):
    rng = np.random.default_rng(2)
    for number in range(fuzz_count // 60):
        path = tmp_path / f"noise{number}.{kind}"
        head = {"off": b"OFF ", "obj": b"v ", "ply": b"ply\n", "stl": b"solid ", "glb": b"glTF"}[kind]
        path.write_bytes(head * int(rng.integers(0, 2)) + rng.bytes(int(rng.integers(0, 300))))
        mutations.read_or_refuse(path)


def answer(points: np.ndarray, faces: np.ndarray, make) -> Mesh | None:
    """The mesh that is made of the arrays, or None after one ValueError of one line."""
    try:
        return make(points, faces)
    except ValueError as error:
        text = str(error)
    assert "\n" not in text
    assert "thing" in text  # the name that was given
    return None


def check_arrays(mutations, points: np.ndarray, faces: np.ndarray) -> None:
    with mutations.time_limit(10):
        mesh = answer(points, faces, lambda p, f: Mesh(p, f, name="thing"))
        mended = answer(points, faces, lambda p, f: repair(p, f, name="thing"))
    if mesh is not None:
        mutations.assert_sound(mesh)
        assert np.array_equal(mesh.faces, faces)
        assert mended is not None, "what is a mesh can be repaired"
    if mended is not None:
        mutations.assert_sound(mended.mesh)
        assert mended.mesh.is_manifold
        assert np.array_equal(mended.mesh.vertices, points[mended.vertex_map])
        lost = [count for what, count in vars(mended.report).items() if what in DROPPED]
        assert mended.mesh.n_faces + sum(lost) == len(faces), "every face is in the result or in the report"
        again = repair(mended.mesh)
        assert again.report.is_clean
        assert np.array_equal(again.mesh.faces, mended.mesh.faces)


def test_broken_surfaces(mutations):
    for points, faces in mutations.broken_surfaces().values():
        check_arrays(mutations, points, faces)


def test_damaged_arrays(mutations, fuzz_count):
    for points, faces in mutations.damaged_arrays(fuzz_count // 6, seed=3):
        check_arrays(mutations, points, faces)


@settings(max_examples=60)
@given(
    arrays(np.float64, st.tuples(st.integers(0, 7), st.integers(2, 4)), elements=st.floats(allow_nan=True)),
    arrays(
        st.sampled_from([np.int64, np.int32, np.uint8, np.float64, np.bool_]),
        st.tuples(st.integers(0, 6), st.integers(2, 4)),
        elements=st.integers(0, 1),
    ),
    st.integers(-1, 3),
)
def test_arrays_of_any_shape_and_type(mutations, points, faces, factor):
    if faces.dtype == np.int64:
        faces = faces * factor + np.arange(faces.shape[1])
    check_arrays(mutations, points, faces)


@pytest.mark.parametrize("kind", FORMATS)
def test_broken_surfaces_through_files(mutations, tmp_path, kind):
    """Whatever can be repaired can be written and read again."""
    for name, (points, faces) in mutations.broken_surfaces().items():
        mended = answer(points, faces, lambda p, f: repair(p, f, name="thing"))
        if mended is None or (kind in ("stl", "glb") and np.abs(mended.mesh.vertices).max() > 1e38):
            continue
        path = tmp_path / f"{name}.{kind}"
        write_mesh(mended.mesh, path)
        if kind == "stl":  # corners that coincide become one, so that some surfaces collapse: this must be said
            mutations.read_or_refuse(path)
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("error", MeshWarning)
            again = read_mesh(path)
        assert np.array_equal(again.faces, mended.mesh.faces)
