"""Repair: each defect alone against what it should become, then any at once: a manifold, mapped back, and stable."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwhole.mesh.repair import Repair, RepairReport, repair
from partwhole.mesh.surface import Mesh
from partwhole.mesh.topology import coincident_points, duplicate_faces

POINTS = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], float)
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])  # outwards


def counts(result: Repair) -> dict[str, int]:
    """What was done, without what was not."""
    return {f.name: n for f in fields(result.report) if (n := getattr(result.report, f.name))}


def signed_volume(mesh: Mesh) -> float:
    a, b, c = (mesh.vertices[mesh.faces[:, i]] for i in range(3))
    return float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6)


def is_consistent(mesh: Mesh) -> bool:
    """No directed edge occurs twice."""
    directed = mesh.faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    return len(np.unique(directed, axis=0)) == len(directed)


class TestEachDefect:
    def test_nothing_to_do(self):
        result = repair(POINTS, FACES)
        assert counts(result) == {}
        assert result.report.is_clean
        assert result.summary() == "nothing to repair"
        assert np.array_equal(result.mesh.faces, FACES)
        assert np.array_equal(result.mesh.vertices, POINTS)
        assert result.vertex_map.tolist() == [0, 1, 2, 3]
        assert result.face_map.tolist() == [0, 1, 2, 3]

    def test_takes_a_mesh_and_keeps_its_name(self):
        mesh = Mesh(POINTS, FACES, name="body")
        assert repair(mesh).mesh.name == "body"
        assert repair(mesh, name="other").mesh.name == "other"
        assert repair(POINTS, FACES).mesh.name == "mesh"

    def test_out_of_range(self):
        result = repair(POINTS, np.concatenate([[[0, 1, 4], [-1, 0, 2]], FACES]))
        assert counts(result) == {"out_of_range_faces": 2}
        assert result.face_map.tolist() == [2, 3, 4, 5]
        assert result.summary() == "2 out-of-range faces dropped"

    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
    def test_not_finite(self, value):
        points = np.concatenate([POINTS, [[0, value, 0], [3, 0, 0]]])
        result = repair(points, [*FACES.tolist(), [0, 1, 4]])
        assert counts(result) == {"non_finite_faces": 1, "unreferenced_vertices": 2}
        assert result.mesh.n_vertices == 4

    def test_degenerate_and_duplicate(self):
        result = repair(POINTS, [*FACES.tolist(), [0, 0, 1], [2, 2, 2], [1, 0, 2], [1, 2, 0]])
        assert counts(result) == {"degenerate_faces": 2, "duplicate_faces": 2}
        assert np.array_equal(result.mesh.faces, FACES)

    def test_unreferenced(self):
        result = repair(np.concatenate([[[9, 9, 9]], POINTS]), FACES + 1)
        assert counts(result) == {"unreferenced_vertices": 1}
        assert result.vertex_map.tolist() == [1, 2, 3, 4]
        assert np.array_equal(result.mesh.faces, FACES)

    def test_flat_triangles_are_kept_and_counted(self):
        result = repair([[0, 0, 0], [1, 0, 0], [2, 0, 0], [0, 1, 0]], [[0, 1, 2], [0, 3, 1]])
        assert counts(result) == {"zero_area_faces": 1}
        assert result.report.is_clean
        assert result.summary() == "1 zero area face kept"

    def test_bow_tie(self):
        result = repair([[0, 0, 0], [1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0]], [[0, 1, 2], [0, 3, 4]])
        assert counts(result) == {"split_vertices": 1}
        assert result.vertex_map.tolist() == [0, 1, 2, 3, 4, 0]
        assert result.mesh.faces.tolist() == [[0, 1, 2], [5, 3, 4]]

    def test_fin_is_cut_off_and_the_surface_goes_on(self):
        points = [[0, 0, 0], [0, 1, 0], [1, 0, 0], [-1, 0, 0], [0, 0, 1]]
        for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
            faces = np.array([[0, 1, 3], [1, 0, 2], [0, 1, 4]])[order]
            result = repair(points, faces)
            assert counts(result) == {"split_edges": 1, "split_vertices": 2}
            assert result.mesh.is_manifold
            labels = result.mesh.component_labels[result.mesh.faces[:, 0]]
            flat = np.flatnonzero((faces != 4).all(axis=1))
            assert labels[flat[0]] == labels[flat[1]] != labels[np.flatnonzero((faces == 4).any(axis=1))[0]]

    def test_two_solids_that_share_an_edge_stay_closed(self):
        points = np.concatenate([POINTS, [[0, -1, 0], [0, 0, -1]]])
        mirror = np.array([0, 1, 4, 5])  # the tetrahedron turned by half a turn about the edge 0-1
        result = repair(points, np.concatenate([FACES, mirror[FACES]]))
        assert counts(result)["split_edges"] == 1
        assert counts(result)["split_vertices"] == 2
        assert result.mesh.is_closed
        assert result.mesh.n_components == 2

    def test_two_solids_that_share_a_vertex(self):
        other = np.where(FACES == 0, 0, FACES + 3)
        result = repair(np.concatenate([POINTS, -POINTS[1:]]), np.concatenate([FACES, other]))
        assert result.mesh.n_components == 2
        assert result.vertex_map.tolist() == [0, 1, 2, 3, 4, 5, 6, 0]

    def test_edge_that_a_fan_comes_back_to(self):
        """The faces at vertex 0 wind round it more than once: no pairing at the edge 0-1 alone can take them apart."""
        faces = [[0, 1, 2], [0, 2, 3], [0, 3, 1], [0, 1, 4], [0, 4, 5], [0, 5, 1], [0, 1, 6]]
        rng = np.random.default_rng(0)
        result = repair(rng.random((7, 3)), faces)
        assert result.mesh.is_manifold
        assert result.mesh.n_faces == 7

    def test_many_faces_at_one_edge(self):
        count = 200
        angle = np.linspace(0, 2 * np.pi, count, endpoint=False)
        points = np.concatenate([[[0, 0, 0], [0, 0, 1]], np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)])
        result = repair(points, [[0, 1, 2 + i] for i in range(count)])
        assert result.mesh.is_manifold
        assert result.report.split_edges == 1
        assert result.mesh.n_faces == count

    def test_faces_are_turned_to_agree(self):
        grid = [[0, 1, 4], [0, 4, 3], [1, 2, 5], [1, 5, 4]]
        points = [[x, y, 0] for y in range(2) for x in range(3)]
        turned = [grid[0], grid[1][::-1], grid[2], grid[3]]
        result = repair(points, turned)
        assert counts(result) == {"flipped_faces": 1}  # the majority stays
        assert is_consistent(result.mesh)
        assert result.mesh.face_normals[:, 2].tolist() == [1, 1, 1, 1]

    def test_closed_pieces_face_outwards(self):
        result = repair(POINTS, FACES[:, ::-1])
        assert counts(result) == {"flipped_faces": 4}
        assert signed_volume(result.mesh) > 0
        far = repair(POINTS * 1e-3 + 1e6, FACES[:, ::-1])
        assert counts(far) == {"flipped_faces": 4}

    def test_open_pieces_stay_as_they_are(self):
        assert counts(repair(POINTS, FACES[:3, ::-1])) == {}

    def test_moebius_strip_is_said(self):
        n = 9
        angle = 2 * np.pi * np.arange(n) / n
        side = 0.3 * np.array([1, -1])[:, None]
        radius = 1 + side * np.cos(angle / 2)
        points = np.stack([radius * np.cos(angle), radius * np.sin(angle), side * np.sin(angle / 2)], axis=-1)
        faces = []
        for i in range(n):
            a, b = i, n + i
            c, d = (i + 1, n + i + 1) if i + 1 < n else (n, 0)
            faces += [[a, c, d], [a, d, b]]
        result = repair(points.reshape(-1, 3), faces)
        assert counts(result) == {"non_orientable_components": 1}
        assert result.summary() == "1 non-orientable component left as found"
        assert np.array_equal(result.mesh.faces, faces)

    def test_small_components_only_if_asked(self):
        points = np.concatenate([POINTS, POINTS * 0.01 + 5, POINTS + 9])
        faces = np.concatenate([FACES, FACES + 4, FACES + 8])
        assert counts(repair(points, faces)) == {}
        result = repair(points, faces, min_component_fraction=0.01)
        assert counts(result) == {"small_components": 1, "small_component_faces": 4, "unreferenced_vertices": 4}
        assert result.vertex_map.tolist() == [0, 1, 2, 3, 8, 9, 10, 11]
        assert repair(points, faces, min_component_fraction=1.0).mesh.n_components == 1

    def test_small_components_without_any_area(self):
        result = repair(np.zeros((7, 3)), [[0, 1, 2], [3, 4, 5], [4, 5, 6]], min_component_fraction=0.5)
        assert result.vertex_map.tolist() == [3, 4, 5, 6]

    def test_coincident_vertices_only_if_asked(self):
        points = np.concatenate([POINTS, POINTS])
        faces = np.array([[0, 2, 1], [4, 5, 3], [1, 6, 7], [6, 4, 7]])
        assert repair(points, faces).mesh.n_components > 1
        result = repair(points, faces, merge_coincident=True)
        assert result.report.merged_vertices == 4
        assert result.report.unreferenced_vertices == 0
        assert np.array_equal(result.mesh.faces, FACES)
        assert result.mesh.is_closed

    def test_extreme_coordinates(self):
        for scale in (1e69, 1e-69):
            assert counts(repair(POINTS * scale, FACES[:, ::-1])) == {"flipped_faces": 4}


class TestRefusals:
    @pytest.mark.parametrize(
        ("vertices", "faces", "message"),
        [
            (POINTS, None, "mesh has no faces; there is nothing to repair"),
            (Mesh(POINTS, FACES), FACES, "faces must not be given together with a Mesh"),
            (POINTS[:, :2], FACES, r"mesh: vertices must have shape \(n, 3\), got \(4, 2\)"),
            (POINTS, FACES[:, :2], r"mesh: faces must have shape \(m, 3\), got \(4, 2\)"),
            (POINTS, FACES.astype(float), "mesh: faces must be integers, got float64"),
            (POINTS, [], "mesh has no faces; there is nothing to repair"),
            (POINTS, [[0, 0, 1], [0, 1, 9]], r"mesh has no usable face \(1 out-of-range face, 1 degenerate face\)"),
            (POINTS * np.nan, FACES, r"mesh has no usable face \(4 non-finite faces\)"),
            (POINTS * 1e200, FACES, "overflow when squared; scale them down"),
            (POINTS * 1e-300, FACES, "span 1e-300, which underflows when squared; scale them up"),
        ],
    )
    def test_bad_arguments(self, vertices, faces, message):
        with pytest.raises(ValueError, match=message) as caught:
            repair(vertices, faces)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("fraction", [-0.1, 1.5, np.nan])
    def test_bad_fraction(self, fraction):
        with pytest.raises(ValueError, match="min_component_fraction must lie between 0 and 1, got"):
            repair(POINTS, FACES, min_component_fraction=fraction)


class TestKernels:
    @settings(max_examples=50)
    @given(st.integers(0, 2**32 - 1))
    def test_coincident_points(self, seed):
        points = np.random.default_rng(seed).integers(-1, 2, (20, 3)).astype(float)
        first, number = coincident_points(points)
        assert (np.diff(first) > 0).all()
        assert np.array_equal(points[first][number], points)
        assert len(np.unique(points, axis=0)) == len(first)

    def test_duplicate_faces(self):
        assert duplicate_faces(np.array([[0, 1, 2], [3, 1, 0], [1, 2, 0], [2, 1, 0]])).tolist() == [0, 0, 1, 1]
        assert duplicate_faces(np.empty((0, 3), np.int64)).tolist() == []


def assert_repaired(result: Repair, points: np.ndarray, faces: np.ndarray) -> None:
    mesh = result.mesh
    assert mesh.is_manifold
    assert np.array_equal(mesh.vertices, points[result.vertex_map])
    assert np.array_equal(np.sort(result.vertex_map[mesh.faces], axis=1), np.sort(faces[result.face_map], axis=1))
    assert len(np.unique(mesh.faces)) == mesh.n_vertices
    report = result.report
    dropped = (
        report.out_of_range_faces
        + report.non_finite_faces
        + report.degenerate_faces
        + report.duplicate_faces
        + report.small_component_faces
    )
    assert mesh.n_faces + dropped == len(faces)  # every face is in the result or in the report
    assert len(np.unique(result.vertex_map)) + report.unreferenced_vertices == len(points)
    if not report.non_orientable_components:
        assert is_consistent(mesh)
    again = repair(mesh)
    assert again.report.is_clean, again.summary()
    assert np.array_equal(again.mesh.faces, mesh.faces)
    assert np.array_equal(again.mesh.vertices, mesh.vertices)
    assert again.vertex_map.tolist() == list(range(mesh.n_vertices))


@settings(max_examples=200)
@given(
    st.integers(0, 2**32 - 1),
    st.integers(3, 12),
    st.integers(1, 60),
    st.sampled_from(["random", "flat", "lattice", "same"]),
)
def test_anything_becomes_a_manifold_and_stays(seed, n_vertices, n_faces, shape):
    rng = np.random.default_rng(seed)
    points = {
        "random": rng.normal(size=(n_vertices, 3)),
        "flat": np.c_[rng.normal(size=(n_vertices, 2)), np.zeros(n_vertices)],
        "lattice": rng.integers(0, 2, (n_vertices, 3)).astype(float),
        "same": np.zeros((n_vertices, 3)),
    }[shape]
    points[rng.random(n_vertices) < 0.05, 1] = np.nan
    faces = rng.integers(-1 if seed % 5 == 0 else 0, n_vertices + (seed % 7 == 0), (n_faces, 3))
    inside = ((faces >= 0) & (faces < n_vertices)).all(axis=1)
    finite = np.isfinite(points[np.where(inside[:, None], faces, 0)]).all(axis=(1, 2))
    distinct = np.array([len(set(face)) == 3 for face in faces.tolist()])
    if not (inside & finite & distinct).any():
        with pytest.raises(ValueError, match="has no usable face"):
            repair(points, faces)
        return
    result = repair(points, faces)
    assert_repaired(result, points, faces)


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_scans_with_a_few_defects(seed):
    """A torn, randomly oriented sheet with fins and repeated faces."""
    rng = np.random.default_rng(seed)
    k = 12
    number = np.arange(k * k).reshape(k, k)
    a, b, c, d = number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]
    sheet = np.concatenate([np.stack(t, axis=-1).reshape(-1, 3) for t in ((a, b, c), (a, c, d))])
    points = np.c_[np.stack(np.divmod(np.arange(k * k), k), axis=1), rng.normal(0, 0.1, k * k)].astype(float)
    faces = rng.permutation(sheet)[: rng.integers(60, len(sheet) + 1)]
    turned = rng.random(len(faces)) < 0.4
    faces[turned] = faces[turned][:, ::-1]
    fins = np.c_[faces[:5, :2], rng.integers(0, k * k, 5)]
    result = repair(points, np.concatenate([faces, fins, faces[:3]]))
    assert_repaired(result, points, np.concatenate([faces, fins, faces[:3]]))


def test_report_without_entries_is_clean():
    assert RepairReport().is_clean
    assert not RepairReport(flipped_faces=1).is_clean
    assert RepairReport(zero_area_faces=3).is_clean
