from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_iris
from sklearn.exceptions import SkipTestWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from partwhole.embedding import EmbeddingWarning, WeightedMDS, weighted_smacof


@pytest.mark.filterwarnings("ignore::partwhole.embedding.solver.result.EmbeddingWarning")
@pytest.mark.filterwarnings(f"ignore::{SkipTestWarning.__module__}.{SkipTestWarning.__name__}")
@parametrize_with_checks([WeightedMDS(), WeightedMDS(metric="precomputed"), WeightedMDS(init="random", random_state=0)])
def test_manners_of_scikit_learn(estimator: BaseEstimator, check) -> None:
    check(estimator)


def iris() -> np.ndarray:
    return load_iris().data[::5]


def test_points_are_embedded_by_their_distances() -> None:
    X = iris()
    mds = WeightedMDS()
    found = mds.fit_transform(X)
    expected = weighted_smacof(squareform(pdist(X)))
    assert found is mds.embedding_
    np.testing.assert_allclose(found, expected.embedding, atol=1e-5)
    np.testing.assert_allclose(mds.dissimilarity_matrix_, squareform(pdist(X)), atol=1e-7)
    assert mds.stress_ == pytest.approx(expected.stress)
    assert mds.normalised_stress_ == pytest.approx(expected.normalised_stress)
    assert mds.n_iter_ == expected.n_iter
    assert mds.n_features_in_ == 4
    assert mds.embedding_.flags.writeable


def test_other_metrics_and_their_parameters() -> None:
    X = iris()
    mds = WeightedMDS(metric="minkowski", metric_params={"p": 1}).fit(X)
    np.testing.assert_allclose(mds.dissimilarity_matrix_, squareform(pdist(X, "cityblock")))


def test_precomputed_distances_with_weights_and_a_start() -> None:
    rng = np.random.default_rng(0)
    points = rng.normal(size=(40, 2))
    mask = squareform(rng.random(40 * 39 // 2) < 0.6)
    D = np.where(mask | np.eye(40, dtype=bool), squareform(pdist(points)), np.nan)
    start = points + 0.1 * rng.normal(size=points.shape)
    mds = WeightedMDS(metric="precomputed", tol=1e-9).fit(D, weights=mask, init=start)
    assert mds.normalised_stress_ < 1e-6
    np.testing.assert_array_equal(mds.embedding_, weighted_smacof(D, mask, init=start, tol=1e-9).embedding)
    np.testing.assert_array_equal(mds.fit_transform(D, weights=mask), mds.fit(D, weights=mask).embedding_)


def test_a_random_start_follows_its_seed() -> None:
    X = iris()
    one, again, other = (WeightedMDS(init="random", random_state=seed, tol=1e-3).fit_transform(X) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert not np.array_equal(one, other)


def test_clone_pipeline_and_output_as_a_table() -> None:
    mds = clone(WeightedMDS(3, max_iter=50, tol=1e-4))
    assert (mds.n_components, mds.max_iter, mds.tol) == (3, 50, 1e-4)
    pipeline = make_pipeline(StandardScaler(), mds)
    assert pipeline.fit_transform(iris()).shape == (30, 3)
    assert mds.get_feature_names_out().tolist() == ["weightedmds0", "weightedmds1", "weightedmds2"]


def test_set_output() -> None:
    pandas = pytest.importorskip("pandas")
    table = WeightedMDS().set_output(transform="pandas").fit_transform(iris())
    assert isinstance(table, pandas.DataFrame)
    assert table.columns.tolist() == ["weightedmds0", "weightedmds1"]


def test_distances_that_were_taken_for_points() -> None:
    D = squareform(pdist(iris()))
    with pytest.warns(EmbeddingWarning, match=r'if it holds distances, use WeightedMDS\(metric="precomputed"\)'):
        WeightedMDS().fit(D)


def test_errors_in_the_manner_of_scikit_learn() -> None:
    D = squareform(pdist(iris()))
    with pytest.raises(
        ValueError, match='init must be "classical" or "random", got \'isomap\'; an array is given to fit'
    ):
        WeightedMDS(init="isomap").fit(iris())
    with pytest.raises(ValueError, match="n_components=31 must be a whole number from 1 to n_samples=30"):
        WeightedMDS(31).fit(iris())
    with pytest.raises(ValueError, match="Negative values in data"):
        WeightedMDS(metric="precomputed").fit(-D)
    with pytest.raises(ValueError, match="not symmetric"):
        WeightedMDS(metric="precomputed").fit(np.triu(D))
    with pytest.raises(ValueError, match="square matrix"):
        WeightedMDS(metric="precomputed").fit(D[:5])
    D[3, 4] = D[4, 3] = np.nan
    with pytest.raises(ValueError, match="contains NaN"):
        WeightedMDS(metric="precomputed").fit(D)
    with pytest.raises(ValueError, match=r"distances\[3, 4\] is nan but its weight is not zero"):
        WeightedMDS(metric="precomputed").fit(D, weights=np.ones_like(D))
