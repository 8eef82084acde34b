"""`Mesh`: topology, measures and curvature against known surfaces, and every error."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwhole.datasets import cut_plane, cylinder, plane, sphere, torus
from partwhole.mesh import Mesh
from partwhole.mesh.surface import integrated_mean_curvature
from partwhole.mesh.topology import connected_labels, trace_loops, unique_edges

TETRAHEDRON = ([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])
SQUARE = ([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])


def grid(rows: int, columns: int, *, wrap_rows: bool = False, wrap_columns: bool = False) -> Mesh:
    """A plane, cylinder or torus (as a set of faces; in space it lies flat) of rows × columns vertices."""
    i, j = np.meshgrid(np.arange(rows), np.arange(columns), indexing="ij")
    vertices = np.stack([i, j, np.zeros_like(i)], axis=-1).reshape(-1, 3).astype(float)
    number = np.arange(rows * columns).reshape(rows, columns)
    number = np.pad(number, ((0, wrap_rows), (0, wrap_columns)), mode="wrap")
    a, b, c, d = number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]
    faces = np.concatenate([np.stack(t, axis=-1).reshape(-1, 3) for t in ((a, b, c), (a, c, d))])
    return Mesh(vertices, faces, name="grid")


def octahedron_sphere(levels: int) -> Mesh:
    vertices = [[1, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]]
    faces = [[0, 2, 4], [2, 1, 4], [1, 3, 4], [3, 0, 4], [2, 0, 5], [1, 2, 5], [3, 1, 5], [0, 3, 5]]
    mesh = Mesh(vertices, faces)
    for _ in range(levels):
        middle = mesh.vertices[mesh.edges].mean(axis=1)
        points = np.concatenate([mesh.vertices, middle])
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        a, b, c = mesh.faces.T
        p, q, r = (mesh.n_vertices + mesh.opposite_edges).T
        split = [np.stack(t, axis=1) for t in ((a, r, q), (b, p, r), (c, q, p), (p, q, r))]
        mesh = Mesh(points, np.concatenate(split))
    return mesh


class TestTopology:
    @pytest.mark.parametrize(
        ("mesh", "loops", "genus", "euler"),
        [
            (Mesh(*TETRAHEDRON), [], 0, 2),
            (Mesh(*SQUARE), [4], 0, 1),
            (octahedron_sphere(2), [], 0, 2),
            (grid(5, 7), [20], 0, 1),
            (grid(4, 6, wrap_columns=True), [6, 6], 0, 0),
            (grid(4, 6, wrap_rows=True, wrap_columns=True), [], 1, 0),
        ],
    )
    def test_known_surfaces(self, mesh, loops, genus, euler):
        assert [len(loop) for loop in mesh.boundary_loops] == loops
        assert mesh.genus == genus
        assert mesh.euler_characteristic == euler
        assert mesh.n_components == 1
        assert mesh.is_manifold
        assert mesh.is_closed == (not loops)
        assert len(mesh.boundary_vertices) == sum(loops)

    def test_pierced_torus_keeps_its_genus(self):
        torus = grid(6, 6, wrap_rows=True, wrap_columns=True)
        pierced = Mesh(torus.vertices, torus.faces[1:])
        assert pierced.genus == 1
        assert [len(loop) for loop in pierced.boundary_loops] == [3]

    def test_edges_are_sorted_and_counted(self):
        mesh = Mesh(*SQUARE)
        assert mesh.edges.tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [2, 3]]
        assert mesh.faces_per_edge.tolist() == [1, 2, 1, 1, 1]
        for face, opposite in zip(mesh.faces, mesh.opposite_edges, strict=True):
            for corner in range(3):
                assert set(mesh.edges[opposite[corner]]) == set(np.delete(face, corner))

    def test_boundary_runs_along_the_faces(self):
        mesh = Mesh(*SQUARE)
        assert {tuple(e) for e in mesh.boundary_edges.tolist()} == {(0, 1), (1, 2), (2, 3), (3, 0)}
        loop = mesh.boundary_loops[0].tolist()
        at = loop.index(0)
        assert loop[at:] + loop[:at] == [0, 1, 2, 3]

    def test_loops_are_sorted_by_length(self):
        mesh = grid(8, 9)
        pierced = Mesh(mesh.vertices, np.delete(mesh.faces, 30, axis=0))
        assert [len(loop) for loop in pierced.boundary_loops] == [30, 3]
        assert len(set(pierced.boundary_labels.tolist())) == 2

    def test_loops_that_touch_share_a_label(self):
        bow_tie = Mesh(np.eye(5, 3) * 2 + np.arange(5)[:, None], [[0, 1, 2], [0, 3, 4]])
        assert sorted(len(loop) for loop in bow_tie.boundary_loops) == [3, 3]
        assert set(bow_tie.boundary_labels.tolist()) == {0}

    def test_loops_that_all_touch_at_one_vertex(self):
        # 20 000 triangles with one vertex in common: minutes, if each step looked at all the edges there
        boundary = np.arange(1, 40_001).reshape(-1, 2)
        faces = np.concatenate([np.zeros((20_000, 1), np.int64), boundary], axis=1)
        fans = Mesh(np.random.default_rng(0).random((40_001, 3)), faces)
        assert [len(loop) for loop in fans.boundary_loops] == [3] * 20_000

    def test_components(self):
        two = Mesh(np.random.default_rng(0).random((7, 3)), [[0, 1, 2], [3, 4, 5]])
        assert two.component_labels.tolist() == [0, 0, 0, 1, 1, 1, 2]
        assert two.n_components == 3  # the loose vertex is one of its own

    def test_bow_tie_is_no_manifold(self):
        bow_tie = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 0]], [[0, 1, 2], [0, 3, 4]])
        assert (bow_tie.faces_per_edge <= 2).all()
        assert not bow_tie.is_manifold

    def test_three_faces_at_an_edge_are_no_manifold(self):
        fins = Mesh([[0, 0, 0], [0, 0, 1], [1, 0, 0], [-1, 1, 0], [-1, -1, 0]], [[0, 1, 2], [0, 1, 3], [0, 1, 4]])
        assert not fins.is_manifold

    def test_two_tetrahedra_at_a_vertex_are_no_manifold(self):
        points, faces = np.array(TETRAHEDRON[0], float), np.array(TETRAHEDRON[1])
        other = np.where(faces == 0, 0, faces + 3)
        assert not Mesh(np.concatenate([points, points[1:] + 5]), np.concatenate([faces, other])).is_manifold

    def test_trace_loops_covers_every_edge_when_orientation_disagrees(self):
        edges = np.array([[0, 1], [2, 1], [2, 3], [0, 3], [5, 6], [6, 7]])
        chains = trace_loops(edges)
        assert sorted(v for chain in chains for v in chain.tolist()) == [0, 1, 2, 3, 5, 6, 7]

    def test_kernels_take_nothing(self):
        edges, opposite, count = unique_edges(np.empty((0, 3), np.int64))
        assert (edges.shape, opposite.shape, count.shape) == ((0, 2), (0, 3), (0,))
        assert connected_labels(3, np.empty((0, 2), np.int64)).tolist() == [0, 1, 2]

    @settings(deadline=None, max_examples=40)
    @given(st.integers(0, 2**32 - 1))
    def test_topology_ignores_the_order_of_vertices_and_faces(self, seed):
        rng = np.random.default_rng(seed)
        mesh = grid(4, 5, wrap_columns=True)
        mesh = Mesh(mesh.vertices, rng.permutation(mesh.faces)[: rng.integers(10, mesh.n_faces)])
        new = rng.permutation(mesh.n_vertices)
        other = Mesh(mesh.vertices[np.argsort(new)], new[rng.permutation(mesh.faces)])
        for name in ("euler_characteristic", "n_components", "is_manifold", "is_closed"):
            assert getattr(mesh, name) == getattr(other, name)
        assert len(mesh.boundary_edges) == len(other.boundary_edges)
        assert sum(map(len, mesh.boundary_loops)) == sum(map(len, other.boundary_loops))


class TestMeasures:
    def test_square(self):
        mesh = Mesh(*SQUARE)
        assert mesh.area == pytest.approx(1)
        assert mesh.face_areas.tolist() == [0.5, 0.5]
        assert mesh.vertex_areas == pytest.approx([1 / 3, 1 / 6, 1 / 3, 1 / 6])
        assert mesh.edge_lengths == pytest.approx([1, np.sqrt(2), 1, 1, 1])
        assert mesh.vertex_normals == pytest.approx(np.tile([0, 0, 1], (4, 1)))
        assert mesh.corner_angles[0] == pytest.approx([np.pi / 4, np.pi / 2, np.pi / 4])

    def test_sphere(self):
        mesh = octahedron_sphere(4)
        assert mesh.area == pytest.approx(4 * np.pi, rel=5e-3)
        assert np.einsum("ni,ni->n", mesh.vertex_normals, mesh.vertices).min() > 0.999
        # a third of the triangles is not the true share of a vertex with four faces, so the median speaks
        assert np.median(mesh.angle_defects / mesh.vertex_areas) == pytest.approx(1, rel=0.02)

    @pytest.mark.parametrize(
        "mesh",
        [
            Mesh(*TETRAHEDRON),
            octahedron_sphere(2),
            grid(5, 7),
            grid(4, 6, wrap_columns=True),
            grid(5, 6, wrap_rows=True, wrap_columns=True),
        ],
    )
    @pytest.mark.parametrize("seed", range(3))
    def test_gauss_bonnet(self, mesh, seed):
        """Whatever the positions: the angle defects sum to 2π χ."""
        bent = Mesh(mesh.vertices + np.random.default_rng(seed).normal(size=mesh.vertices.shape), mesh.faces)
        assert bent.angle_defects.sum() == pytest.approx(2 * np.pi * mesh.euler_characteristic, abs=1e-9)

    def test_triangles_without_area_have_zero_normals(self):
        mesh = Mesh([[0, 0, 0], [1, 0, 0], [2, 0, 0]], [[0, 1, 2]])
        assert mesh.area == 0
        assert not mesh.face_normals.any()
        assert not mesh.vertex_normals.any()
        assert np.isfinite(mesh.corner_angles).all()

    def test_loose_vertices_have_no_area_and_no_normal(self):
        mesh = Mesh([*SQUARE[0], [9, 9, 9]], SQUARE[1])
        assert mesh.vertex_areas[4] == 0
        assert not mesh.vertex_normals[4].any()

    @settings(deadline=None, max_examples=25)
    @given(st.integers(0, 2**32 - 1), st.floats(0.01, 100))
    def test_rotation_and_scale(self, seed, factor):
        rng = np.random.default_rng(seed)
        mesh = Mesh(rng.normal(size=(4, 3)), TETRAHEDRON[1])
        rotation, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        rotation *= np.sign(np.linalg.det(rotation))
        turned = Mesh(factor * mesh.vertices @ rotation.T, mesh.faces)
        assert turned.face_areas == pytest.approx(factor**2 * mesh.face_areas)
        assert turned.corner_angles == pytest.approx(mesh.corner_angles)
        assert turned.vertex_normals == pytest.approx(mesh.vertex_normals @ rotation.T, abs=1e-9)


class TestDerived:
    def test_submesh_maps_back(self):
        mesh = grid(4, 5)
        part, vertex_map = mesh.submesh(mesh.vertices[:, 0] > 0.5)
        assert part.n_vertices == 15
        assert np.array_equal(part.vertices, mesh.vertices[vertex_map])
        kept = {tuple(f) for f in vertex_map[part.faces].tolist()}
        assert kept == {tuple(f) for f in mesh.faces.tolist() if min(f) >= 5}

    def test_submesh_leaves_out_vertices_that_lose_their_faces(self):
        part, vertex_map = Mesh(*SQUARE).submesh(np.array([True, True, True, False]))
        assert vertex_map.tolist() == [0, 1, 2]
        assert part.n_faces == 1

    def test_largest_component_is_by_area(self):
        points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [9, 0, 0], [19, 0, 0], [9, 10, 0]], float)
        mesh = Mesh(points, [[0, 1, 2], [1, 3, 2], [4, 5, 6]])
        largest, vertex_map = mesh.largest_component()
        assert vertex_map.tolist() == [4, 5, 6]
        assert largest.n_faces == 1

    def test_largest_component_without_any_area(self):
        mesh = Mesh(np.zeros((7, 3)), [[0, 1, 2], [3, 4, 5], [4, 5, 6]])
        assert mesh.largest_component()[1].tolist() == [3, 4, 5, 6]

    def test_unit_area(self):
        mesh, factor = Mesh(*TETRAHEDRON).to_unit_area()
        assert mesh.area == pytest.approx(1)
        assert mesh.vertices.mean(axis=0) == pytest.approx(0, abs=1e-12)
        assert mesh.scaled(1 / factor).area == pytest.approx(Mesh(*TETRAHEDRON).area)

    def test_content_hash_sees_contents_only(self):
        mesh = Mesh(*SQUARE, name="a")
        assert mesh.content_hash == Mesh(*SQUARE, name="b").content_hash
        assert mesh.content_hash != Mesh(SQUARE[0], SQUARE[1][::-1]).content_hash
        assert mesh.content_hash != mesh.scaled(2).content_hash

    def test_frozen(self):
        given = np.array(SQUARE[0], float)
        mesh = Mesh(given, SQUARE[1])
        given[0] = 7
        assert mesh.vertices[0].tolist() == [0, 0, 0]
        with pytest.raises(ValueError, match="read-only"):
            mesh.vertices[0] = 1
        with pytest.raises(ValueError, match="read-only"):
            mesh.faces[0] = 1
        with pytest.raises(dataclasses.FrozenInstanceError):
            mesh.name = "other"

    def test_repr_says_what_matters(self):
        assert repr(Mesh(*SQUARE, name="s")) == "Mesh('s': 4 vertices, 2 faces, 1 boundary loops, 1 components)"


class TestRefusals:
    @pytest.mark.parametrize(
        ("vertices", "faces", "message"),
        [
            (np.empty((0, 3)), [[0, 1, 2]], "x has no vertices"),
            (np.zeros((4, 2)), [[0, 1, 2]], r"x: vertices must have shape \(n, 3\), got \(4, 2\)"),
            (np.zeros(6), [[0, 1, 2]], r"vertices must have shape \(n, 3\), got \(6,\)"),
            ([[0, 0, 0], [0, np.nan, 0], [1, 0, 0]], [[0, 1, 2]], r"x: vertex 1 is \[0.0, nan, 0.0\] \(1 vert"),
            ([[0, 0, 0], [0, 1, 0], [-np.inf, 0, 0]], [[0, 1, 2]], r"x: vertex 2 is \[-inf"),
            (SQUARE[0], [], "x has no faces; a point cloud is not a surface"),
            (SQUARE[0], [[0, 1, 2, 3]], r"x: faces must have shape \(m, 3\), got \(1, 4\)"),
            (SQUARE[0], [[0.0, 1.0, 2.0]], "x: faces must be integers, got float64"),
            (SQUARE[0], [[0, 1, 2], [0, 1, 4]], r"x: face 1 is \[0, 1, 4\], but vertices are numbered 0 to 3"),
            (SQUARE[0], [[0, 1, -1]], r"x: face 0 is \[0, 1, -1\]"),
            (SQUARE[0], np.array([[0, 1, 2**64 - 1]], np.uint64), "x: face 0 is"),
            (SQUARE[0], [[0, 1, 2], [3, 3, 1]], r"x: face 1 uses a vertex twice: \[3, 3, 1\].*repair"),
            (SQUARE[0], [[0, 1, 2], [0, 2, 3], [2, 0, 1]], r"x: face 2 occurs twice: \[2, 0, 1\].*repair"),
        ],
    )
    def test_bad_arrays(self, vertices, faces, message):
        with pytest.raises(ValueError, match=message) as caught:
            Mesh(vertices, faces, name="x")
        assert "\n" not in str(caught.value)

    def test_overflow(self):
        with pytest.raises(ValueError, match="overflow when squared; scale them down"):
            Mesh(np.array(SQUARE[0]) * 1e200, SQUARE[1])

    def test_genus_of_two_pieces(self):
        with pytest.raises(ValueError, match="x has 2 components and is a manifold; genus is defined"):
            _ = Mesh(np.random.default_rng(0).random((6, 3)), [[0, 1, 2], [3, 4, 5]], name="x").genus

    def test_genus_of_no_manifold(self):
        with pytest.raises(ValueError, match="is not a manifold"):
            _ = Mesh(np.random.default_rng(0).random((5, 3)), [[0, 1, 2], [0, 3, 4]]).genus

    def test_unit_area_of_nothing(self):
        with pytest.raises(ValueError, match="has area 0; it can't be scaled to area 1"):
            Mesh(np.zeros((3, 3)), [[0, 1, 2]]).to_unit_area()


@pytest.mark.parametrize("radius", [0.1, 1.0, 30.0])
def test_sphere(radius):
    ball = sphere(2000, radius=radius)
    found = integrated_mean_curvature(ball)
    assert found.sum() == pytest.approx(4 * np.pi * radius, rel=2e-3)
    assert np.median(found / ball.vertex_areas) == pytest.approx(1 / radius, rel=0.02)


def test_cylinder_bends_in_one_direction_only():
    tube = cylinder(1.0, 2.0, 2000)
    # the rings at both ends have edges of one triangle only, which count nothing
    assert integrated_mean_curvature(tube).sum() == pytest.approx(np.pi * 2.0, rel=0.02)


def test_plane_is_flat():
    assert not integrated_mean_curvature(plane(200)).any()


def test_inside_out_is_the_negative():
    ball = sphere(500)
    turned = Mesh(ball.vertices, ball.faces[:, ::-1])
    assert integrated_mean_curvature(turned) == pytest.approx(-integrated_mean_curvature(ball))


def test_saddles_and_hills_of_a_torus():
    ring = torus(2.0, 0.5, 3000)
    found = integrated_mean_curvature(ring)
    assert found.sum() == pytest.approx(2 * np.pi**2 * 2.0, rel=0.01)
    out = np.hypot(*ring.vertices[:, :2].T) > 2.0
    density = found / ring.vertex_areas
    assert np.median(density[out]) > np.median(density[~out]) > 0


def test_where_nothing_is_missing_a_part_has_the_whole_ones_curvature():
    ball = sphere(1500)
    cut = cut_plane(ball, (0, 0, 0.2), (0, 0, 1))
    inside = np.ones(cut.part.n_vertices, bool)
    inside[cut.part.boundary_vertices] = False
    expected = integrated_mean_curvature(ball)[cut.vertex_map]
    assert integrated_mean_curvature(cut.part)[inside] == pytest.approx(expected[inside])


def test_edges_that_say_nothing_count_nothing():
    # three triangles at one edge, and two whose orientations disagree
    points = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1]]
    book = Mesh(points, [[0, 1, 2], [1, 0, 3], [0, 1, 4]])
    assert not integrated_mean_curvature(book).any()
    folded = Mesh([*points[:4], [0, -1, 1]], [[0, 1, 2], [0, 1, 4]])
    assert not integrated_mean_curvature(folded).any()
    hinge = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, -1]], [[0, 1, 2], [1, 0, 3]])
    assert integrated_mean_curvature(hinge)[:2] == pytest.approx([np.pi / 8, np.pi / 8])
