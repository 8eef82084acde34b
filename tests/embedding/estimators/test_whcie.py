from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import KDTree
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.manifold import Isomap
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_limits

from partwhole.datasets import annulus, cut_balls, plane, sphere, swiss_roll
from partwhole.embedding import TCIE, WHCIE, EmbeddingWarning, graph_distances, neighbour_graph
from partwhole.embedding.estimators.placement import steps_to
from partwhole.geodesics import geodesic_distances

ESTIMATORS = [
    WHCIE(n_neighbors=5),
    TCIE(n_neighbors=5),
    WHCIE(n_neighbors=5, soft=True),
    WHCIE(n_neighbors=5, falloff=0),
    WHCIE(metric="precomputed", boundary=()),
    TCIE(metric="precomputed", boundary=()),
]


@pytest.mark.filterwarnings("ignore::partwhole.embedding.solver.result.EmbeddingWarning")
@pytest.mark.filterwarnings(f"ignore::{SkipTestWarning.__module__}.{SkipTestWarning.__name__}")
@parametrize_with_checks(ESTIMATORS)
def test_manners_of_scikit_learn(estimator: BaseEstimator, check) -> None:
    check(estimator)


def procrustes_error(found: np.ndarray, flat: np.ndarray) -> float:
    """√(Σ ‖s R x + t − y‖² / Σ ‖y − ȳ‖²), the best similarity taken: residual relative to the size of what is true."""
    found, flat = found - found.mean(axis=0), flat - flat.mean(axis=0)
    left, sizes, right = np.linalg.svd(found.T @ flat)
    moved = sizes.sum() / (found**2).sum() * found @ left @ right
    return float(np.sqrt(((moved - flat) ** 2).sum() / (flat**2).sum()))


@pytest.fixture(scope="module")
def roll():
    return swiss_roll(700, variant="hole", width=20.0, seed=0)


@pytest.fixture(scope="module")
def fitted(roll):
    return WHCIE(n_neighbors=10).fit(roll.points)


@pytest.fixture(scope="module")
def by_criterion(roll):
    """With the weights that the criterion and the distance give, and no second map."""
    return WHCIE(n_neighbors=10, detour_tolerance=None).fit(roll.points)


def test_a_hole_does_not_bend_the_map(roll, fitted) -> None:
    isomap = Isomap(n_neighbors=10).fit_transform(roll.points)
    assert procrustes_error(isomap, roll.flat) > 0.3
    assert procrustes_error(fitted.embedding_, roll.flat) < 0.05


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.2])
@pytest.mark.parametrize(("variant", "largest"), [("hole", 0.03), ("cut", 0.06)])
def test_errors_of_the_swiss_roll_are_small_and_not_above_those_of_tcie(variant, noise, largest) -> None:
    rolls = [swiss_roll(variant=variant, noise=noise, seed=seed) for seed in range(300, 305)]
    errors = [procrustes_error(WHCIE().fit_transform(roll.points), roll.flat) for roll in rolls]
    assert max(errors) <= largest
    fewer_pairs = [procrustes_error(TCIE().fit_transform(roll.points), roll.flat) for roll in rolls]
    assert np.mean(errors) <= np.mean(fewer_pairs)


def test_a_flat_surface_with_a_hole_comes_back() -> None:
    mesh = annulus(1.0, 3.0, 250, jitter=0.5)
    for estimator in (WHCIE(mesh_distances="exact"), WHCIE(mesh_distances="exact", whole_genus=0)):
        assert procrustes_error(estimator.fit_transform(mesh), mesh.vertices[:, :2]) < 1e-3
    bent = Isomap(n_neighbors=10, metric="precomputed").fit_transform(geodesic_distances(mesh, method="exact"))
    assert procrustes_error(bent, mesh.vertices[:, :2]) > 0.03


def test_a_flat_rectangle_with_a_hole_comes_back() -> None:
    part = cut_balls(plane(300, width=2.0), [150], 0.25).part
    D, flat = geodesic_distances(part, method="exact"), part.vertices[:, :2]
    by_mesh = WHCIE(mesh_distances="exact").fit(part)
    by_distances = WHCIE(metric="precomputed", boundary=part.boundary_vertices).fit(D, points=part.vertices)
    assert not by_mesh.weights_.all()
    for found in (by_mesh, by_distances):
        assert procrustes_error(found.embedding_, flat) < 1e-3
    # the same distances, fewer pairs
    few = TCIE(metric="precomputed", boundary=part.boundary_vertices).fit(D)
    assert procrustes_error(by_distances.embedding_, flat) <= procrustes_error(few.embedding_, flat)


@pytest.mark.parametrize("cls", [WHCIE, TCIE])
def test_same_numbers_again_whatever_the_number_of_threads(cls, roll, monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    for cores in (1, 2, 3):
        for module in ("criterion.distances", "embedding.solver.threads", "geodesics.distances"):
            monkeypatch.setattr(f"partwhole.{module}.available_cores", lambda cores=cores: cores)
        with threadpool_limits(limits=cores):
            found.append(cls(n_neighbors=10).fit(roll.points))
    for other in found[1:]:
        np.testing.assert_array_equal(other.weights_, found[0].weights_)
        np.testing.assert_array_equal(other.embedding_, found[0].embedding_)
    np.testing.assert_array_equal(found[2].transform(roll.points[:9] + 0.1), found[0].transform(roll.points[:9] + 0.1))


def test_attributes_fit_together(roll, fitted) -> None:
    n = len(roll.points)
    i, j = np.triu_indices(n, 1)
    apart = np.linalg.norm(fitted.embedding_[i] - fitted.embedding_[j], axis=1)
    w, d = fitted.weights_[i, j], fitted.dist_matrix_[i, j]
    assert fitted.stress_ == pytest.approx((w * (apart - d) ** 2).sum(), rel=1e-6)
    assert fitted.normalised_stress_ == pytest.approx(np.sqrt(fitted.stress_ / (w * d**2).sum()), rel=1e-6)
    assert fitted.weights_.dtype == np.float32
    assert (fitted.weights_[fitted.dist_matrix_ <= fitted.small_distance_] == 1).all()
    assert fitted.n_iter_ > 1
    assert fitted.boundary_score_.shape == (n,)
    assert (fitted.boundary_score_[fitted.boundary_] > 0.1).all()


def test_every_pair_of_tcie_is_one_of_whcie(roll, by_criterion) -> None:
    tcie = TCIE(n_neighbors=10, detour_tolerance=None).fit(roll.points)
    trusted = tcie.weights_ > 0
    np.testing.assert_array_equal(by_criterion.weights_[trusted], tcie.weights_[trusted])
    assert trusted.sum() < (by_criterion.weights_ > 0).sum()


def test_far_pairs_count_less_unless_all_are_to_count_alike(roll, by_criterion) -> None:
    alike = WHCIE(n_neighbors=10, falloff=0).fit(roll.points)
    assert alike.weights_.dtype == bool
    np.testing.assert_array_equal(alike.weights_, by_criterion.weights_ > 0)
    d, s = alike.dist_matrix_[alike.weights_], alike.small_distance_
    falling = (s / np.maximum(d, s)) ** by_criterion.falloff_
    np.testing.assert_allclose(by_criterion.weights_[alike.weights_], falling, rtol=1e-5)
    assert procrustes_error(alike.embedding_, roll.flat) < 0.05
    np.testing.assert_array_equal(alike.transform(roll.points[:5]), alike.embedding_[:5])


def test_what_is_longer_than_on_the_map_loses_weight(roll, fitted, by_criterion) -> None:
    before, after = by_criterion.weights_, fitted.weights_
    np.testing.assert_array_equal(after, after.T)
    np.testing.assert_array_equal(after > 0, before > 0)
    less = after < before
    assert less.sum() == 2 * fitted.n_detours_ > 0 == by_criterion.n_detours_
    assert (after <= before).all()
    d, r = fitted.dist_matrix_, np.linalg.norm(by_criterion.embedding_[:, None] - by_criterion.embedding_, axis=2)
    assert (d[less] > r[less]).all()
    assert (d[less] > fitted.small_distance_).all()
    assert fitted.n_iter_ > by_criterion.n_iter_
    assert procrustes_error(fitted.embedding_, roll.flat) < procrustes_error(by_criterion.embedding_, roll.flat)


def test_the_way_of_the_paper_makes_one_map(roll) -> None:
    alike, one_map = (WHCIE(n_neighbors=10, falloff=0, detour_tolerance=t).fit(roll.points) for t in (3.0, None))
    assert alike.n_detours_ == 0
    np.testing.assert_array_equal(alike.embedding_, one_map.embedding_)


def test_weights_fall_where_distances_are_the_less_exact_the_longer(roll, fitted) -> None:
    part = cut_balls(plane(200, width=2.0), [100], 0.25).part
    assert fitted.falloff_ == TCIE(n_neighbors=10).fit(roll.points).falloff_ == 5
    assert WHCIE(mesh_distances="dijkstra").fit(part).falloff_ == 5
    assert WHCIE().fit(part).falloff_ == 0
    assert WHCIE(metric="precomputed", boundary=[]).fit(SQUARE).falloff_ == 0


def test_weights_fall_from_the_neighbour_spacing_on_where_no_distance_is_small(roll) -> None:
    found = WHCIE(n_neighbors=10, small_radius=0).fit(roll.points)
    assert found.small_distance_ == 0
    beyond = found.weights_[(found.weights_ > 0) & (found.weights_ < 1)]
    assert len(beyond)
    assert (found.weights_ == 1).sum() > len(roll.points)


def test_a_boundary_can_be_given(roll, fitted) -> None:
    by_number = WHCIE(n_neighbors=10, boundary=fitted.boundary_.tolist()).fit(roll.points)
    mask = np.zeros(len(roll.points), bool)
    mask[fitted.boundary_] = True
    by_mask = WHCIE(n_neighbors=10, boundary=mask).fit(roll.points)
    for other in (by_number, by_mask):
        np.testing.assert_array_equal(other.boundary_, fitted.boundary_)
        np.testing.assert_array_equal(other.embedding_, fitted.embedding_)
        assert other.boundary_score_ is None
    whole = WHCIE(n_neighbors=10, boundary=None, max_iter=3000).fit(roll.points)
    assert whole.weights_.all()


def test_precomputed_distances_give_the_same(roll, fitted) -> None:
    D = fitted.dist_matrix_
    for cls in (WHCIE, TCIE):
        of_points = cls(n_neighbors=10).fit(roll.points)
        given = cls(n_neighbors=10, metric="precomputed", boundary=of_points.boundary_, falloff=of_points.falloff_)
        found = given.fit_transform(D, points=roll.points)
        np.testing.assert_array_equal(found, of_points.embedding_)
    without_points = TCIE(n_neighbors=10, metric="precomputed", boundary=fitted.boundary_, falloff=5).fit(D)
    np.testing.assert_array_equal(without_points.embedding_, found)


def test_steps_of_isomap_are_an_option(roll) -> None:
    plain = WHCIE(n_neighbors=10, path_neighbors=10, longest_step=None, steepest_step=None).fit(roll.points)
    np.testing.assert_array_equal(plain.dist_matrix_, graph_distances(neighbour_graph(roll.points, n_neighbors=10)))


def test_small_distances(roll, fitted) -> None:
    absolute = WHCIE(n_neighbors=10, small_distance=3.0).fit(roll.points)
    assert absolute.small_distance_ == 3.0
    assert absolute.weights_[absolute.dist_matrix_ <= 3].all()
    scaled = WHCIE(n_neighbors=10).fit(128 * roll.points)
    assert scaled.small_distance_ == pytest.approx(128 * fitted.small_distance_, rel=1e-5)
    np.testing.assert_array_equal(scaled.weights_, fitted.weights_)


def test_soft_weights_fall_off(roll, by_criterion) -> None:
    soft = WHCIE(n_neighbors=10, soft=True, falloff=0).fit(roll.points)
    assert soft.weights_.dtype == np.float32
    assert (soft.weights_[by_criterion.weights_ > 0] > 0.9999).all()
    assert 0 < soft.weights_.min() < 0.9
    both = WHCIE(n_neighbors=10, soft=True, detour_tolerance=None).fit(roll.points)
    assert (both.weights_ <= soft.weights_).all()
    assert (both.weights_ >= by_criterion.weights_ * 0.9999).all()


def test_turning_and_order_do_not_matter(roll, fitted) -> None:
    rng = np.random.default_rng(1)
    turn, order = np.linalg.qr(rng.normal(size=(5, 5)))[0], rng.permutation(len(roll.points))
    turned = np.pad(roll.points, ((0, 0), (0, 2)))[order] @ turn
    boundary = np.flatnonzero(np.isin(order, fitted.boundary_))
    found = WHCIE(n_neighbors=10, boundary=boundary).fit_transform(turned)
    assert procrustes_error(found, fitted.embedding_[order]) < 1e-3


def test_fitted_points_get_their_places_again(roll, fitted) -> None:
    np.testing.assert_array_equal(fitted.transform(roll.points), fitted.embedding_)
    soft = WHCIE(n_neighbors=10, soft=True).fit(roll.points)
    np.testing.assert_array_equal(soft.transform(roll.points[:5]), soft.embedding_[:5])


@pytest.mark.parametrize("cls", [WHCIE, TCIE])
def test_new_points_come_where_they_belong(cls) -> None:
    roll = swiss_roll(900, variant="hole", width=20.0, seed=3)
    new = np.arange(len(roll.points)) % 8 == 0
    estimator = cls(n_neighbors=10).fit(roll.points[~new])
    places = np.concatenate([estimator.embedding_, estimator.transform(roll.points[new])])
    flat = np.concatenate([roll.flat[~new], roll.flat[new]])
    old, flat_old = places[: (~new).sum()], roll.flat[~new]
    left, sizes, right = np.linalg.svd((old - old.mean(axis=0)).T @ (flat_old - flat_old.mean(axis=0)))
    scale = sizes.sum() / ((old - old.mean(axis=0)) ** 2).sum()
    off = np.linalg.norm(scale * (places - old.mean(axis=0)) @ left @ right + flat_old.mean(axis=0) - flat, axis=1)
    assert off[len(old) :].mean() < 1.5 * off[: len(old)].mean() + 0.3


def test_new_points_by_their_distances(roll, fitted) -> None:
    new = roll.points[:20] + 0.1
    given = WHCIE(n_neighbors=10, metric="precomputed", boundary=fitted.boundary_, falloff=fitted.falloff_)
    given.fit(fitted.dist_matrix_, points=roll.points)
    lengths, neighbours = KDTree(roll.points).query(new, k=range(1, 11))
    D = steps_to(lengths, neighbours, fitted.dist_matrix_, detour=2.0)
    np.testing.assert_allclose(given.transform(D), fitted.transform(new), atol=1e-6)


def test_meshes() -> None:
    part = cut_balls(plane(500, width=2.0), [250], 0.25).part
    estimator = WHCIE().fit(part)
    np.testing.assert_array_equal(estimator.boundary_, part.boundary_vertices)
    assert procrustes_error(estimator.embedding_, part.vertices[:, :2]) < 0.02
    np.testing.assert_array_equal(estimator.transform(part), estimator.embedding_)
    middles = part.vertices[part.faces[::20]].mean(axis=1)
    places = np.concatenate([estimator.embedding_, estimator.transform(middles)])
    assert procrustes_error(places, np.concatenate([part.vertices, middles])[:, :2]) < 0.03
    assert TCIE(boundary=part.boundary_vertices[::2]).fit(part).weights_.shape == (part.n_vertices, part.n_vertices)


def test_a_piece_of_a_sphere_has_more_guaranteed_pairs() -> None:
    part = cut_balls(sphere(400), [0, 200], 0.5).part
    one, more = WHCIE().fit(part), WHCIE(whole_genus=0).fit(part)
    assert ((more.weights_ > 0) | (one.weights_ == 0)).all()
    np.testing.assert_array_equal(more.weights_, more.weights_.T)


def test_pieces_apart_are_put_side_by_side_and_it_is_said(roll) -> None:
    X = np.concatenate([roll.points[:200], roll.points[:200] + 1000])
    with pytest.warns(EmbeddingWarning, match="2 components"):
        found = WHCIE(n_neighbors=10).fit(X)
    assert np.isinf(found.dist_matrix_[0, 200])
    one, other = found.embedding_[:200], found.embedding_[200:]
    assert one[:, 0].max() < other[:, 0].min() or other[:, 0].max() < one[:, 0].min()
    np.testing.assert_array_equal(found.transform(X), found.embedding_)


def test_points_that_coincide_may_be_why_pieces_are_apart() -> None:
    few = np.random.default_rng(0).random((6, 3))
    with pytest.warns(EmbeddingWarning, match="6 components") as caught:
        WHCIE(n_neighbors=5).fit(np.repeat(few, 6, axis=0))
    told = [str(warning.message) for warning in caught]
    assert any("use more than n_neighbors=5; 30 points lie where others do" in line for line in told)


def test_a_point_by_itself_stays_with_its_nearest(roll) -> None:
    X = np.concatenate([roll.points, roll.points[:1] + np.array([0, 0, 40])])
    found = WHCIE(n_neighbors=10).fit(X)
    assert np.count_nonzero(found.weights_[-1, :-1]) >= 2
    np.testing.assert_array_equal(found.weights_, found.weights_.T)


def test_it_is_said_when_the_solver_stops_early(roll) -> None:
    with pytest.warns(EmbeddingWarning, match="max_iter=2"):
        WHCIE(n_neighbors=10, max_iter=2).fit(roll.points)


def test_it_is_said_when_only_local_pairs_are_guaranteed() -> None:
    line = np.stack([np.arange(40.0), np.zeros(40)], axis=1)
    with pytest.warns(EmbeddingWarning, match="40 of 40 points on the boundary: the map is made of local distances"):
        TCIE(n_neighbors=3).fit(line)


def test_it_is_said_when_hardly_any_other_pair_is_guaranteed() -> None:
    line = np.stack([np.arange(100.0), np.zeros(100)], axis=1)
    inside = np.arange(47, 53)
    with pytest.warns(EmbeddingWarning, match="hardly any pair farther apart than .* 94 of 100 points on the boundary"):
        TCIE(n_neighbors=3, boundary=np.delete(np.arange(100), inside)).fit(line)


def test_starts(roll, fitted) -> None:
    found = WHCIE(n_neighbors=10, init=fitted.embedding_).fit(roll.points)
    assert procrustes_error(found.embedding_, fitted.embedding_) < 1e-3
    few = roll.points[:60]
    one, other = (WHCIE(init="random", random_state=3, max_iter=3000).fit_transform(few) for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_clones_pipelines_and_names(roll, fitted) -> None:
    assert clone(fitted).get_params() == fitted.get_params()
    pipeline = make_pipeline(StandardScaler(), WHCIE(n_neighbors=10, n_components=3))
    assert pipeline.fit_transform(roll.points[:150]).shape == (150, 3)
    assert pipeline.get_feature_names_out().tolist() == ["whcie0", "whcie1", "whcie2"]


def test_coinciding_points_get_one_place(roll) -> None:
    X = np.concatenate([roll.points[:200], roll.points[:3]])
    found = WHCIE(n_neighbors=10).fit_transform(X)
    np.testing.assert_allclose(found[:3], found[200:], atol=0.05)


def test_all_points_at_one_place_stay_there() -> None:
    np.testing.assert_array_equal(WHCIE().fit_transform(np.ones((30, 3))), 0)


def test_places_need_a_fit_first(roll) -> None:
    with pytest.raises(NotFittedError):
        WHCIE().transform(roll.points)


SQUARE = np.array([[0, 1, 2, 1], [1, 0, 1, 2], [2, 1, 0, 1], [1, 2, 1, 0.0]])


@pytest.mark.parametrize(
    ("knobs", "X", "message"),
    [
        ({}, np.zeros((10, 3)), "n_neighbors=15, n_samples=10"),
        ({"n_neighbors": 0}, np.eye(20), "n_neighbors=0"),
        ({"n_neighbors": 7.5}, np.eye(20), "n_neighbors must be a whole number, got 7.5"),
        ({"n_neighbors": None}, np.eye(20), "n_neighbors must be a whole number, got None"),
        ({"path_neighbors": "few"}, np.eye(20), "path_neighbors must be a whole number or None"),
        ({}, np.full((30, 3), np.nan), "contains NaN"),
        ({"n_components": 40}, np.random.default_rng(0).normal(size=(30, 3)), "n_components=40"),
        ({"metric": "cosine"}, np.eye(20), 'metric must be "euclidean" or "precomputed"'),
        ({"metric": "precomputed"}, SQUARE, "can't be found from distances"),
        ({"metric": "precomputed", "boundary": [0]}, SQUARE, "give fit the places of the samples as points="),
        ({"metric": "precomputed", "boundary": []}, -SQUARE, "Negative values"),
        ({"metric": "precomputed", "boundary": []}, np.triu(SQUARE), "not symmetric"),
        ({"metric": "precomputed", "boundary": []}, SQUARE[:3], "shape"),
        ({"metric": "precomputed", "boundary": []}, np.where(SQUARE == 2, np.nan, SQUARE), "contains NaN"),
        ({"metric": "precomputed", "boundary": [], "n_components": 5}, SQUARE, "n_components=5"),
        ({"metric": "precomputed", "boundary": []}, np.where(SQUARE == 2, np.inf, SQUARE), "infinity"),
        ({"metric": "precomputed", "boundary": []}, plane(9), 'X is a mesh, so metric must be "euclidean"'),
        ({"boundary": "edge"}, np.eye(20), 'boundary must be "auto"'),
        ({"boundary": "edge"}, plane(9), 'boundary must be "auto"'),
        ({"boundary": [20]}, np.eye(20), "numbered 0 to 19"),
        ({"boundary": [0.5]}, np.eye(20), "list of point numbers"),
        ({"boundary": [True]}, np.eye(20), "mask of 20 points"),
        ({"small_radius": -1}, np.eye(20), "small_radius must be finite"),
        ({"small_distance": np.nan}, np.eye(20), "small_distance must be finite"),
        ({"falloff": -1}, np.eye(20), "falloff must be"),
        ({"falloff": np.inf}, np.eye(20), "falloff must be"),
        ({"falloff": "steep"}, np.eye(20), "falloff must be"),
        ({"falloff": None}, np.eye(20), "falloff must be"),
        ({"detour_tolerance": 0}, np.eye(20), "detour_tolerance must be"),
        ({"detour_tolerance": "wide"}, np.eye(20), "detour_tolerance must be"),
        ({"init": "spectral"}, np.eye(20), 'init must be "classical"'),
        ({"longest_step": 0}, np.eye(20), "longest_step must be at least 1"),
        ({"whole_genus": 0}, np.eye(20), "is about boundary loops"),
        ({"whole_genus": 1}, annulus(1.0, 2.0, 60), "whole_genus is 1"),
    ],
)
def test_bad_input_is_named(knobs, X, message) -> None:
    with pytest.raises(ValueError, match=message):
        WHCIE(**knobs).fit(X)
    if "whole_genus" not in knobs and "points=" not in message:
        with pytest.raises(ValueError, match=message):
            TCIE(**knobs).fit(X)


def test_points_go_with_distances_and_are_as_many(roll) -> None:
    with pytest.raises(ValueError, match='points goes with metric="precomputed"'):
        WHCIE().fit(roll.points, points=roll.points)
    with pytest.raises(ValueError, match="points must be 4 finite places"):
        WHCIE(metric="precomputed", boundary=[0]).fit(SQUARE, points=np.zeros((3, 2)))


def test_new_distances_are_not_negative() -> None:
    estimator = WHCIE(metric="precomputed", boundary=[]).fit(SQUARE)
    with pytest.raises(ValueError, match="Negative values"):
        estimator.transform(-SQUARE)
