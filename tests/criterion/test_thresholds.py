from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partwhole.criterion import boundary_criterion, same_loop_criterion, wormhole_criterion
from partwhole.criterion.reference import brute_force_threshold
from partwhole.criterion.result import Criterion
from partwhole.criterion.wormhole_graph import wormhole_graph_distances
from partwhole.datasets.shapes.primitives import plane, torus
from partwhole.geodesics import geodesic_distances, uniform_metric
from partwhole.geodesics.metrics import Metric
from partwhole.mesh import Mesh

CRITERIA: dict[str, Callable[..., Criterion]] = {
    "boundary": boundary_criterion,
    "wormhole": wormhole_criterion,
    "same-loop": same_loop_criterion,
}
SEEDS = [0, 1, 2]


def run(kind: str, mesh: Mesh, D: np.ndarray, **knobs) -> Criterion:
    return CRITERIA[kind](mesh, D, **knobs)


def in_space(mesh: Mesh, c: float) -> Metric:
    """The metric of space, with a bound that is more cautious than needed."""
    return replace(uniform_metric(mesh, 1.0), lower_bound=c)


def straight_lines(mesh: Mesh) -> np.ndarray:
    points = mesh.vertices[mesh.boundary_vertices]
    return np.linalg.norm(points[:, None] - points[None], axis=2)


def half_edges(mesh: Mesh) -> np.ndarray:
    h = dict.fromkeys(mesh.boundary_vertices.tolist(), 0.0)
    for u, v in mesh.boundary_edges.tolist():
        length = float(np.linalg.norm(mesh.vertices[u] - mesh.vertices[v]))
        h[u], h[v] = max(h[u], length / 2), max(h[v], length / 2)
    return np.array(list(h.values()))


# --- three routes to one threshold


@pytest.mark.parametrize("kind", CRITERIA)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("sound", [False, True])
def test_equals_brute_force(torn_sphere, kind: str, seed: int, sound: bool) -> None:
    torn = torn_sphere(seed)
    mesh, D = torn.part, torn.D_part
    c = (1.0, 0.6, 0.0)[seed]
    h = half_edges(mesh) if sound else np.zeros(len(mesh.boundary_vertices))
    expected = brute_force_threshold(kind, D, mesh.boundary_vertices, mesh.boundary_labels, straight_lines(mesh), c, h)
    # with sound=True what rounding can do to differences is taken off too
    double = run(kind, mesh, D, sound=sound, metric_bound=in_space(mesh, c))
    np.testing.assert_allclose(double.threshold, expected, rtol=1e-6, atol=1e-8 if sound else 1e-12)
    single = run(kind, mesh, D.astype(np.float32), sound=sound, metric_bound=in_space(mesh, c))
    assert single.threshold.dtype == np.float32
    np.testing.assert_allclose(single.threshold, expected, rtol=1e-5, atol=1e-5)
    if not sound:
        np.testing.assert_array_equal(run(kind, mesh, D, metric_bound=c).threshold, double.threshold)


@pytest.mark.parametrize("kind", CRITERIA)
@pytest.mark.parametrize("seed", SEEDS)
def test_equals_shortest_paths_through_wormholes(torn_sphere, kind: str, seed: int) -> None:
    torn = torn_sphere(seed, n_vertices=400, n_holes=6, radius=0.3)
    result = run(kind, torn.part, torn.D_part)
    expected = wormhole_graph_distances(torn.part, kind)
    np.testing.assert_allclose(np.minimum(torn.D_part, result.threshold), expected, rtol=1e-6, atol=1e-12)


def test_metric_bound_zero_is_the_boundary_criterion(torn_sphere) -> None:
    torn = torn_sphere(3)
    expected = boundary_criterion(torn.part, torn.D_part).threshold
    wormhole = wormhole_criterion(torn.part, torn.D_part, metric_bound=0.0)
    np.testing.assert_allclose(wormhole.threshold, expected, rtol=1e-12)


# --- what is guaranteed is so


@pytest.mark.parametrize("sound", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", SEEDS)
def test_guaranteed_pairs_are_consistent_and_nested(torn_sphere, seed: int, dtype: type, sound: bool) -> None:
    torn = torn_sphere(seed, n_vertices=700, n_holes=8, radius=0.25)
    results = [run(kind, torn.part, torn.D_part.astype(dtype), sound=sound) for kind in CRITERIA]
    consistent = torn.D_part <= torn.D_whole * (1 + 3 * results[0].rtol)
    assert not consistent.all()
    for result in results:
        assert not np.any(result.mask & ~consistent)
        assert 0 < result.fraction < 1
    for less, more in pairwise(results):
        assert np.all(less.threshold <= more.threshold)
        assert not np.any(less.mask & ~more.mask)
    if not sound:
        assert results[0].n_guaranteed < results[1].n_guaranteed < results[2].n_guaranteed


@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), n_holes=st.integers(1, 7), radius=st.floats(0.15, 0.6), sound=st.booleans())
def test_random_parts(torn_sphere, seed: int, n_holes: int, radius: float, sound: bool) -> None:
    torn = torn_sphere(seed, n_vertices=150, n_holes=n_holes, radius=radius)
    masks = [run(kind, torn.part, torn.D_part, sound=sound).mask for kind in CRITERIA]
    consistent = torn.D_part <= torn.D_whole * (1 + 1e-8)
    assert not np.any(masks[2] & ~consistent)
    assert not np.any(masks[0] & ~masks[1])
    assert not np.any(masks[1] & ~masks[2])


def test_sound_guarantees_less(torn_sphere) -> None:
    torn = torn_sphere(5, n_vertices=400)
    for kind in CRITERIA:
        plain, sound = (run(kind, torn.part, torn.D_part, sound=s) for s in (False, True))
        assert np.all(sound.threshold <= plain.threshold)
        assert sound.n_guaranteed < plain.n_guaranteed


def test_torus_with_a_band_missing_shows_why_the_same_loop_criterion_needs_a_sphere(tear) -> None:
    ring = torus(2.0, 0.5, 900)
    turn = np.arctan2(ring.vertices[:, 1], ring.vertices[:, 0])
    torn = tear(ring, np.abs(turn) > 0.4)
    assert (len(torn.part.boundary_loops), torn.part.genus) == (2, 0)  # from inside, it can't be told from a sphere
    consistent = torn.D_part <= torn.D_whole * (1 + 1e-8)
    assert not np.any(wormhole_criterion(torn.part, torn.D_part).mask & ~consistent)
    wrongly = same_loop_criterion(torn.part, torn.D_part).mask & ~consistent
    assert np.count_nonzero(wrongly) > 100
    with pytest.raises(ValueError, match=r"whole_genus is 1: .* use wormhole_criterion"):
        same_loop_criterion(torn.part, torn.D_part, whole_genus=1)


def test_a_part_that_touches_itself_at_a_vertex(tear) -> None:
    sheet = plane((13, 13), jitter=0.5)
    at = np.rint(sheet.vertices[:, :2] * 12).astype(int)
    holes = {(4, 4), (6, 4)}
    torn = tear(sheet, np.array([tuple(p) not in holes for p in at.tolist()]))
    assert not torn.part.is_manifold
    consistent = torn.D_part <= torn.D_whole * (1 + 1e-8)
    mask = same_loop_criterion(torn.part, torn.D_part).mask
    assert not np.any(mask & ~consistent)
    assert mask.sum() >= wormhole_criterion(torn.part, torn.D_part).mask.sum()


# --- invariance


@pytest.mark.parametrize("kind", CRITERIA)
@pytest.mark.parametrize("sound", [False, True])
def test_masks_do_not_depend_on_position_size_or_vertex_order(torn_sphere, graph_distances, kind, sound) -> None:
    torn = torn_sphere(4, n_vertices=300)
    part = torn.part
    expected = run(kind, part, torn.D_part, sound=sound).mask
    rng = np.random.default_rng(0)
    rotation, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    for moved in (Mesh(part.vertices @ rotation + 5.0, part.faces), part.scaled(37.0), part.scaled(1e-4)):
        np.testing.assert_array_equal(run(kind, moved, graph_distances(moved), sound=sound).mask, expected)
    order = rng.permutation(part.n_vertices)
    shuffled = Mesh(part.vertices[order], np.argsort(order)[part.faces])
    mask = run(kind, shuffled, graph_distances(shuffled), sound=sound).mask
    np.testing.assert_array_equal(mask, expected[np.ix_(order, order)])


# --- chosen rows


@pytest.mark.parametrize("kind", CRITERIA)
@pytest.mark.parametrize("sound", [False, True])
def test_chosen_rows_are_rows_of_all_pairs(torn_sphere, kind: str, sound: bool) -> None:
    torn = torn_sphere(6)
    D, n = torn.D_part, torn.part.n_vertices
    rows = [3, n - 1, 17, 17]
    F = D[torn.part.boundary_vertices]
    every = run(kind, torn.part, D, sound=sound)
    for some in (
        run(kind, torn.part, D[rows], rows=rows, from_boundary=F, sound=sound),
        run(kind, torn.part, D, rows=rows, sound=sound),
        run(kind, torn.part, D, rows=rows, from_boundary=F, sound=sound),
    ):
        np.testing.assert_array_equal(some.distances, D[rows])
        np.testing.assert_array_equal(some.threshold, every.threshold[rows])
        np.testing.assert_array_equal(some.mask, every.mask[rows])
        np.testing.assert_array_equal(some.soft_mask, every.soft_mask[rows])
        assert some.n_guaranteed == every.mask[rows].sum() - len(rows)
        assert some.fraction == some.n_guaranteed / (len(rows) * (n - 1))


def test_as_many_rows_as_vertices_in_another_order(torn_sphere) -> None:
    torn = torn_sphere(6)
    D = torn.D_part
    order = np.random.default_rng(1).permutation(len(D))
    every = wormhole_criterion(torn.part, D)
    some = wormhole_criterion(torn.part, D[order], rows=order, from_boundary=D[torn.part.boundary_vertices])
    np.testing.assert_array_equal(some.threshold, every.threshold[order])
    np.testing.assert_array_equal(wormhole_criterion(torn.part, D, rows=order).mask, every.mask[order])


def test_no_rows(torn_sphere) -> None:
    torn = torn_sphere(6)
    result = wormhole_criterion(torn.part, torn.D_part, rows=[])
    assert result.mask.shape == (0, torn.part.n_vertices)
    assert np.isnan(result.fraction)


# --- several components


def two_sheets() -> Mesh:
    sheet = plane((5, 5))
    above = sheet.vertices + np.array([0, 0, 1])
    return Mesh(np.concatenate([sheet.vertices, above]), np.concatenate([sheet.faces, sheet.faces + sheet.n_vertices]))


def test_components(graph_distances) -> None:
    mesh = two_sheets()
    D = graph_distances(mesh)
    one = Mesh(mesh.vertices[:25], plane((5, 5)).faces)
    for kind in ("boundary", "wormhole"):
        result = run(kind, mesh, D)
        assert not result.mask[:25, 25:].any()
        assert np.all(result.soft_mask[:25, 25:] == 0)
        alone = run(kind, one, D[:25, :25])
        np.testing.assert_allclose(result.threshold[:25, :25], alone.threshold, rtol=1e-12)
        assert result.fraction == pytest.approx(alone.fraction)
    with pytest.raises(ValueError, match=r"has 2 components; .* mesh.largest_component\(\)"):
        same_loop_criterion(mesh, D)


# --- errors


def test_wrong_shapes(torn_sphere) -> None:
    torn = torn_sphere(0)
    part, D = torn.part, torn.D_part
    n, b = len(D), len(part.boundary_vertices)
    with pytest.raises(ValueError, match=rf"D has shape \(3, {n}\), but mesh has {n} vertices: give all pairs"):
        wormhole_criterion(part, D[:3])
    with pytest.raises(ValueError, match=rf"D has shape \(3, {n}\)"):
        wormhole_criterion(part, D[:3], rows=[0, 1], from_boundary=D[part.boundary_vertices])
    with pytest.raises(ValueError, match="as from_boundary"):
        wormhole_criterion(part, D[:3], rows=[0, 1, 2])
    with pytest.raises(ValueError, match=rf"from_boundary must have shape \({b}, {n}\)"):
        wormhole_criterion(part, D[:3], rows=[0, 1, 2], from_boundary=D[:2])
    with pytest.raises(ValueError, match=r"type of D, float64; got .* float32"):
        wormhole_criterion(part, D, from_boundary=D[part.boundary_vertices].astype(np.float32))
    with pytest.raises(ValueError, match=r"float32 or float64, got float64 of shape \(5,\)"):
        wormhole_criterion(part, np.ones(5))
    with pytest.raises(ValueError, match="got int64"):
        wormhole_criterion(part, np.ones((n, n), int))


@pytest.mark.parametrize("bad", [np.nan, -1.0])
def test_wrong_distances(torn_sphere, bad: float) -> None:
    torn = torn_sphere(0)
    D = torn.D_part.copy()
    D[4, 5] = bad
    with pytest.raises(ValueError, match=f"D contains {bad}; distances are at least 0"):
        boundary_criterion(torn.part, D)
    with pytest.raises(ValueError, match=f"from_boundary contains {bad}"):
        boundary_criterion(torn.part, torn.D_part, from_boundary=np.full((2, 2), bad))


def test_wrong_rows(torn_sphere) -> None:
    torn = torn_sphere(0)
    n = torn.part.n_vertices
    with pytest.raises(ValueError, match=f"rows has vertices -1 to {n}, but they are numbered 0 to {n - 1}"):
        boundary_criterion(torn.part, torn.D_part, rows=[-1, n])
    for rows in ([0.5], [[1, 2]]):
        with pytest.raises(ValueError, match="rows must be a list of vertex numbers"):
            boundary_criterion(torn.part, torn.D_part, rows=rows)


@pytest.mark.parametrize("bad", [-1.0, np.inf, np.nan])
def test_wrong_knobs(torn_sphere, bad: float) -> None:
    torn = torn_sphere(0)
    with pytest.raises(ValueError, match="metric_bound must be finite and at least 0"):
        wormhole_criterion(torn.part, torn.D_part, metric_bound=bad)
    with pytest.raises(ValueError, match="rtol must be finite and at least 0"):
        wormhole_criterion(torn.part, torn.D_part, rtol=bad)


def test_a_metric_brings_its_bound_and_its_edge_lengths(torn_sphere) -> None:
    part = torn_sphere(0).part
    metric = uniform_metric(part, 3.0)
    plain = torn_sphere(0).D_part
    for make in (boundary_criterion, wormhole_criterion, same_loop_criterion):
        for sound in (False, True):
            scaled = make(part, 3 * plain, metric_bound=metric, sound=sound)
            np.testing.assert_allclose(scaled.threshold, 3 * make(part, plain, sound=sound).threshold, rtol=1e-12)
    for sound in (False, True):
        with pytest.raises(ValueError, match="make the metric from this mesh"):
            wormhole_criterion(part, plain, metric_bound=uniform_metric(torn_sphere(0).whole, 1.0), sound=sound)


@pytest.mark.parametrize("kind", CRITERIA)
@pytest.mark.parametrize("number", [0.0, 0.5, 100.0])
def test_a_number_does_not_say_how_long_boundary_edges_are(torn_sphere, kind: str, number: float) -> None:
    torn = torn_sphere(0)
    with pytest.raises(
        ValueError, match=f"metric_bound is the number {number:g}, .* give the Metric that D was measured"
    ):
        run(kind, torn.part, torn.D_part, metric_bound=number, sound=True)
    run(kind, torn.part, torn.D_part, metric_bound=number)


# --- distances along edges, if none are given


@pytest.mark.parametrize("kind", CRITERIA)
@pytest.mark.parametrize("sound", [False, True])
def test_without_distances_those_along_edges_are_taken(torn_sphere, kind: str, sound: bool) -> None:
    mesh = torn_sphere(1).part
    D = geodesic_distances(mesh, method="dijkstra")
    expected, found = run(kind, mesh, D, sound=sound), CRITERIA[kind](mesh, sound=sound)
    np.testing.assert_array_equal(found.distances, D)
    np.testing.assert_array_equal(found.threshold, expected.threshold)
    np.testing.assert_array_equal(found.mask, expected.mask)
    assert found.statement == expected.statement
    assert found.statement.startswith("proved for")
    rows = [5, 3, 40]
    chosen = CRITERIA[kind](mesh, rows=rows, sound=sound)
    np.testing.assert_allclose(chosen.threshold, expected.threshold[rows], rtol=1e-12)
    np.testing.assert_array_equal(chosen.mask, expected.mask[rows])


def test_distances_along_edges_are_measured_with_the_metric(torn_sphere) -> None:
    mesh = torn_sphere(1).part
    metric = uniform_metric(mesh, 2.0)
    D = geodesic_distances(mesh, method="dijkstra", metric=metric)
    np.testing.assert_array_equal(
        wormhole_criterion(mesh, metric_bound=metric).mask, wormhole_criterion(mesh, D, metric_bound=metric).mask
    )
    with pytest.raises(ValueError, match=r"metric_bound=0\.5 without D: .* give the Metric, or D"):
        wormhole_criterion(mesh, metric_bound=0.5)


def test_distances_from_the_boundary_alone_are_refused(torn_sphere) -> None:
    torn = torn_sphere(1)
    with pytest.raises(ValueError, match="from_boundary was given without D"):
        wormhole_criterion(torn.part, from_boundary=torn.D_part[torn.part.boundary_vertices])


def test_without_distances_on_a_closed_surface() -> None:
    closed = torus(n_vertices=200)
    assert wormhole_criterion(closed).fraction == 1
    assert wormhole_criterion(closed, rows=[3]).mask.all()
    assert wormhole_criterion(closed, rows=[]).mask.shape == (0, closed.n_vertices)
