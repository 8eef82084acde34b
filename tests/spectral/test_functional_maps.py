from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from partwhole.datasets import cut_plane, random_cuts, torus
from partwhole.mesh import Mesh
from partwhole.spectral import (
    eigenpairs,
    functional_map,
    partial_rank,
    vertex_map_from_functional_map,
    zoomout,
)
from partwhole.spectral.functional_maps import nearest_rows

LUMP = torus(n_vertices=300, jitter=0.3)
BASIS = eigenpairs(LUMP, 60)


def corrupted(vertex_map: np.ndarray, share: float, n_whole: int) -> np.ndarray:
    rng = np.random.default_rng(0)
    bad = rng.random(len(vertex_map)) < share
    return np.where(bad, rng.integers(0, n_whole, len(vertex_map)), vertex_map)


# --- from vertices to functions


def test_the_identity_is_the_identity() -> None:
    np.testing.assert_allclose(functional_map(np.arange(300), BASIS, BASIS), np.eye(60), atol=1e-9)


def test_direction_whole_to_part() -> None:
    cut = cut_plane(LUMP, (0, 0, 0), (1, 0.2, 0))
    part, whole = eigenpairs(cut.part, 100), eigenpairs(LUMP, 300)
    C = functional_map(cut.vertex_map, part, whole)
    assert C.shape == (100, 300)
    f = np.sin(2 * LUMP.vertices[:, 0])
    np.testing.assert_allclose(C @ whole.project(f), part.project(f[cut.vertex_map]), atol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_a_soft_map_of_zeros_and_ones_is_a_vertex_map(form) -> None:
    rng = np.random.default_rng(1)
    vertex_map = rng.integers(0, 300, 300)
    soft = np.zeros((300, 300))
    soft[np.arange(300), vertex_map] = 1
    np.testing.assert_allclose(
        functional_map(form(soft), BASIS, BASIS), functional_map(vertex_map, BASIS, BASIS), atol=1e-12
    )


def test_a_soft_map_averages() -> None:
    rng = np.random.default_rng(2)
    one, two = rng.integers(0, 300, (2, 300))
    soft = np.zeros((300, 300))
    np.add.at(soft, (np.arange(300), one), 0.25)
    np.add.at(soft, (np.arange(300), two), 0.75)
    expected = 0.25 * functional_map(one, BASIS, BASIS) + 0.75 * functional_map(two, BASIS, BASIS)
    np.testing.assert_allclose(functional_map(soft, BASIS, BASIS), expected, atol=1e-10)


def test_an_isometry_gives_an_orthogonal_map() -> None:
    order = np.random.default_rng(3).permutation(300)
    shuffled = eigenpairs(Mesh(LUMP.vertices[order], np.argsort(order)[LUMP.faces]), 60)
    C = functional_map(order, shuffled, BASIS)
    np.testing.assert_allclose(C @ C.T, np.eye(60), atol=1e-6)


# --- and back


def test_a_permutation_is_recovered_exactly() -> None:
    order = np.random.default_rng(4).permutation(300)
    shuffled = eigenpairs(Mesh(LUMP.vertices[order], np.argsort(order)[LUMP.faces]), 60)
    C = functional_map(order, shuffled, BASIS)
    np.testing.assert_array_equal(vertex_map_from_functional_map(C, shuffled, BASIS), order)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 5), st.integers(0, 1000))
def test_nearest_rows_by_brute_force(q: int, p: int, d: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    queries, points = rng.standard_normal((q, d)), rng.standard_normal((p, d))
    distances = np.linalg.norm(queries[:, None] - points[None], axis=2)
    np.testing.assert_allclose(distances[np.arange(q), nearest_rows(queries, points)], distances.min(axis=1))


def test_nearest_rows_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    queries, points = rng.standard_normal((50, 3)), rng.standard_normal((30, 3))
    expected = nearest_rows(queries, points)
    monkeypatch.setattr("partwhole.spectral.functional_maps.BLOCK_ENTRIES", 200)
    np.testing.assert_array_equal(nearest_rows(queries, points), expected)


# --- parts


def test_rank_of_a_part_follows_its_area(body) -> None:
    cut = random_cuts(body.rest, "cuts", seed=3)
    rank = partial_rank(eigenpairs(cut.part, 150).values, body.rest_basis.values)
    assert rank == pytest.approx(150 * cut.area_share, rel=0.15)


def test_rank_counts_strictly_and_is_never_zero() -> None:
    assert partial_rank(np.array([0.0, 1.0, 2.0]), np.array([0.0, 2.0])) == 2
    assert partial_rank(np.array([0.0, 1.0]), np.array([0.0])) == 1


def test_the_map_of_a_part_is_orthonormal_up_to_its_rank(body) -> None:
    cut = random_cuts(body.rest, "cuts", seed=3)
    part = eigenpairs(cut.part, 150)
    C = functional_map(cut.vertex_map, part, body.rest_basis)
    product = np.diag(C @ C.T)
    rank = partial_rank(part.values, body.rest_basis.values)
    # not exactly: a vertex on the boundary has less area on the part than on the whole
    assert product[: rank // 2].mean() > 0.9
    assert product[rank + 10 :].mean() < 0.1


# --- ZoomOut


@pytest.mark.parametrize("share", [0.3, 0.6])
def test_zoomout_repairs_the_map_of_a_posed_body(body, share: float) -> None:
    truth = np.arange(body.rest.n_vertices)
    broken = corrupted(truth, share, len(truth))
    refined = zoomout(broken, body.posed_basis, body.rest_basis, step=10)
    assert body.error(refined.vertex_map, truth) < 0.05 * body.error(broken, truth)


@pytest.mark.parametrize("recipe", ["cuts", "pfaust-m"])
def test_zoomout_repairs_the_map_of_a_part(body, recipe: str) -> None:
    cut = random_cuts(body.posed, recipe, seed=3)
    part = eigenpairs(cut.part, 150)
    broken = corrupted(cut.vertex_map, 0.5, body.rest.n_vertices)
    refined = zoomout(broken, part, body.rest_basis, step=10)
    assert body.error(refined.vertex_map, cut.vertex_map) < 0.1 * body.error(broken, cut.vertex_map)
    assert refined.functional_map.shape == (partial_rank(part.values, body.rest_basis.values), 150)


def test_zoomout_from_a_functional_map(body) -> None:
    truth = np.arange(body.rest.n_vertices)
    small = functional_map(truth, body.posed_basis.first(20), body.rest_basis.first(20))
    coarse = vertex_map_from_functional_map(small, body.posed_basis, body.rest_basis)
    refined = zoomout(small, body.posed_basis, body.rest_basis, start=25, stop=130, step=15)
    assert body.error(refined.vertex_map, truth) < 0.5 * body.error(coarse, truth)
    assert refined.functional_map.shape[1] == 130


# --- what can go wrong


@pytest.mark.parametrize(
    ("vertex_map", "message"),
    [
        (np.arange(299), r"shape \(299,\).*300 vertices"),
        (np.arange(300.0), "type float64"),
        (np.arange(300) + 1, "from 1 to 300.*are part and whole swapped"),
        (np.arange(300) - 1, "from -1 to 298"),
    ],
)
def test_vertex_maps_that_are_none(vertex_map: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        functional_map(vertex_map, BASIS, BASIS)
    with pytest.raises(ValueError, match=message):
        zoomout(vertex_map, BASIS, BASIS)


def test_soft_maps_that_are_none() -> None:
    with pytest.raises(ValueError, match=r"soft_map has shape \(300, 299\)"):
        functional_map(np.ones((300, 299)), BASIS, BASIS)
    with pytest.raises(ValueError, match="row 0 of soft_map sums to 300; divide"):
        functional_map(np.ones((300, 300)), BASIS, BASIS)
    with pytest.raises(ValueError, match="row 7 of soft_map sums to nan"):
        functional_map(np.where(np.arange(300)[:, None] == 7, np.nan, np.eye(300)), BASIS, BASIS)


def test_functional_maps_that_are_none() -> None:
    for shape in ((61, 60), (60, 61), (0, 5)):
        with pytest.raises(ValueError, match=r"C has shape .* 60 eigenpairs of the part \(rows\)"):
            vertex_map_from_functional_map(np.ones(shape), BASIS, BASIS)
    with pytest.raises(ValueError, match="not finite"):
        vertex_map_from_functional_map(np.full((5, 5), np.nan), BASIS, BASIS)


@pytest.mark.parametrize("knobs", [{"start": 0}, {"start": 30, "stop": 20}, {"stop": 61}])
def test_zoomout_sizes(knobs: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"must satisfy 1 ≤ start ≤ stop ≤ 60"):
        zoomout(np.arange(300), BASIS, BASIS, **knobs)
    with pytest.raises(ValueError, match="step=0 must be at least 1"):
        zoomout(np.arange(300), BASIS, BASIS, step=0)
