"""Weighted multidimensional scaling as a scikit-learn estimator."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics import pairwise_distances
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_non_negative

from partwhole.embedding.estimators.sklearn_versions import checked_data
from partwhole.embedding.solver.result import EmbeddingWarning
from partwhole.embedding.solver.smacof import weighted_smacof


class WeightedMDS(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Minimise Σ_{i<j} w_ij (‖x_i − x_j‖ − d_ij)²: multidimensional scaling with weights and missing distances.

    Parameters
    ----------
    n_components : dimensions of the embedding
    metric : how distances are computed from points, as for `sklearn.metrics.pairwise_distances`; "precomputed" if X
        holds distances itself
    metric_params : further arguments of the metric
    init : "classical", classical scaling; or "random", which needs more steps and may end in a worse minimum. An array is
        given to `fit`
    max_iter, tol, finish : see `weighted_smacof`
    random_state : of init="random"; nothing else is random

    Attributes
    ----------
    embedding_ : (n_samples, n_components) points
    stress_ : the minimum that was found
    normalised_stress_ : √(stress / Σ w d²)
    n_iter_ : number of steps
    dissimilarity_matrix_ : the distances d; the caller's own array where it was given
    n_features_in_ : number of columns of X
    feature_names_in_ : their names, if X has names

    See Also
    --------
    partwhole.embedding.weighted_smacof : the function behind it

    Examples
    --------
    The corners of a rectangle, one of whose distances isn't known:

    >>> corners = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 3.0], [0.0, 3.0]])
    >>> distances = np.linalg.norm(corners[:, None] - corners, axis=2)
    >>> distances[0, 2] = distances[2, 0] = np.nan
    >>> mds = WeightedMDS(metric="precomputed")
    >>> found = mds.fit_transform(distances, weights=np.isfinite(distances))
    >>> round(float(np.linalg.norm(found[0] - found[2])), 4)
    5.0
    """

    embedding_: np.ndarray
    dissimilarity_matrix_: np.ndarray

    # scikit-learn requires that any value is accepted here; fit validates them
    def __init__(
        self,
        n_components: Any = 2,
        *,
        metric: Any = "euclidean",
        metric_params: Any = None,
        init: Any = "classical",
        max_iter: Any = 1000,
        tol: Any = 1e-6,
        finish: Any = True,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.metric = metric
        self.metric_params = metric_params
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.finish = finish
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, weights: Any = None, init: ArrayLike | None = None) -> WeightedMDS:
        """Embed.

        Parameters
        ----------
        X : (n_samples, n_features) points; with metric="precomputed" (n_samples, n_samples) distances, which may be
            NaN or inf where their weight is 0
        y : ignored
        weights : (n_samples, n_samples), as for `weighted_smacof`; None weighs all pairs alike
        init : (n_samples, n_components) points to start from, in place of the parameter `init`
        """
        precomputed = self.metric == "precomputed"
        X = checked_data(self, X, finite=not (precomputed and weights is not None))
        if precomputed:
            check_non_negative(X, f'{type(self).__name__} (metric="precomputed")')
            self.dissimilarity_matrix_ = X
        else:
            if _looks_like_distances(X):
                warnings.warn(
                    f"X is symmetric with a zero diagonal, and its rows were taken for points: if it holds distances, use "
                    f'{type(self).__name__}(metric="precomputed")',
                    EmbeddingWarning,
                    stacklevel=2,
                )
            self.dissimilarity_matrix_ = pairwise_distances(X, metric=self.metric, **(self.metric_params or {}))
        found = weighted_smacof(
            self.dissimilarity_matrix_,
            weights,
            n_components=self.n_components,
            init=self._start(len(X)) if init is None else init,
            max_iter=self.max_iter,
            tol=self.tol,
            finish=self.finish,
        )
        self.embedding_ = found.embedding.copy()
        self.stress_ = found.stress
        self.normalised_stress_ = found.normalised_stress
        self.n_iter_ = found.n_iter
        return self

    def fit_transform(self, X: Any, y: Any = None, weights: Any = None, init: ArrayLike | None = None) -> np.ndarray:
        """Embed and return the embedding; see `fit`."""
        return self.fit(X, y, weights=weights, init=init).embedding_

    def _start(self, n: int) -> Any:
        if self.init not in ("classical", "random"):
            raise ValueError(f'init must be "classical" or "random", got {self.init!r}; an array is given to fit')
        if self.init == "classical":
            return self.init
        D = self.dissimilarity_matrix_
        size = float(np.max(D, where=np.isfinite(D), initial=0.0))
        return size * check_random_state(self.random_state).uniform(-0.5, 0.5, (n, self.n_components))

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = tags.input_tags.positive_only = self.metric == "precomputed"
        return tags

    def _more_tags(self) -> dict[str, Any]:  # before scikit-learn 1.6
        precomputed = self.metric == "precomputed"
        return {"pairwise": precomputed, "requires_positive_X": precomputed}


def _looks_like_distances(X: np.ndarray) -> bool:
    return X.shape[0] == X.shape[1] > 1 and bool(X.any() and not X.diagonal().any() and np.array_equal(X, X.T))
