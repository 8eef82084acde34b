"""The base class of WHCIE and TCIE: distances, weights, the solver and new points; a subclass chooses the criterion."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Literal

import numpy as np
from jaxtyping import Bool, Float, Int
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, check_non_negative

from partwhole.criterion import Criterion, same_loop_criterion
from partwhole.criterion.points import RTOL, criterion_of_points, new_point_guarantees
from partwhole.embedding.estimators.inputs import SurfaceInput, checked_input
from partwhole.embedding.estimators.placement import place, steps_to
from partwhole.embedding.estimators.sklearn_versions import checked_data
from partwhole.embedding.estimators.weights import (
    check_tolerance,
    chosen_falloff,
    fade_detours,
    pair_weights,
    unit_distance,
    with_joined_pieces,
)
from partwhole.embedding.graph.point_clouds import neighbour_spacing
from partwhole.embedding.solver.result import EmbeddingWarning, MDSResult
from partwhole.embedding.solver.smacof import weighted_smacof
from partwhole.mesh import as_mesh
from partwhole.mesh.surface_like import is_surface
from partwhole.store.arguments import check_number

# Points of a mesh step onto it at the corners of a face, as it were.
_MESH_ENTRIES = 3

# This share of all far pairs is hardly any.
_FEW = 0.01

# New points whose distances are held at a time, in entries of their matrix.
_BLOCK_ENTRIES = 1 << 24


class CriterionEmbedding(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Minimise Σ w_ij (‖x_i − x_j‖ − d_ij)², with weights from the criterion that a subclass names and from distance."""

    _kind: ClassVar[Literal["boundary", "wormhole"]]

    # a parameter of WHCIE only
    whole_genus: Any = None

    _points: Any

    embedding_: np.ndarray
    weights_: np.ndarray
    boundary_: np.ndarray
    dist_matrix_: np.ndarray

    # scikit-learn requires that any value is accepted here; fit validates them
    def __init__(
        self,
        n_components: Any = 2,
        *,
        n_neighbors: Any = 15,
        path_neighbors: Any = None,
        longest_step: Any = 1.2,
        steepest_step: Any = 40.0,
        metric: Any = "euclidean",
        boundary: Any = "auto",
        small_radius: Any = 1.2,
        small_distance: Any = None,
        falloff: Any = "auto",
        detour_tolerance: Any = 3.0,
        soft: Any = False,
        mesh_distances: Any = "fast_marching",
        init: Any = "classical",
        max_iter: Any = 1000,
        tol: Any = 1e-6,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.path_neighbors = path_neighbors
        self.longest_step = longest_step
        self.steepest_step = steepest_step
        self.metric = metric
        self.boundary = boundary
        self.small_radius = small_radius
        self.small_distance = small_distance
        self.falloff = falloff
        self.detour_tolerance = detour_tolerance
        self.soft = soft
        self.mesh_distances = mesh_distances
        self.init = init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, *, points: Any = None) -> Any:
        """Embed.

        Parameters
        ----------
        X : (n_samples, n_features) points, a surface as `as_mesh` takes it, or with metric="precomputed" (n_samples,
            n_samples) distances along a surface
        y : ignored
        points : with metric="precomputed", where the samples lie in space, (n_samples, d): the straight lines that the
            wormhole criterion needs are drawn there
        """
        given = checked_input(self, X, points)
        criterion = self._criterion(given)
        D = given.distances
        self.dist_matrix_, self.boundary_ = D, given.boundary
        self.boundary_score_ = given.boundary_score
        self.falloff_ = chosen_falloff(self.falloff, given)
        check_tolerance(self.detour_tolerance)
        self.small_distance_ = self._small_distance(D)
        self._unit = unit_distance(D, small=self.small_distance_, n_neighbors=self.n_neighbors)
        guaranteed = criterion.soft_mask if self.soft else criterion.mask
        if criterion.kind == "same-loop":  # its products are rounded in another order for (j, i)
            guaranteed = np.maximum(guaranteed, guaranteed.T)
        self.weights_ = with_joined_pieces(
            self._weights(guaranteed, D), D, largest=self.n_neighbors, count=self.n_components + 1
        )
        self._warn_if_apart(given)
        self._warn_if_only_local(criterion.mask, D)
        self._points, self._mesh = given.points, given.mesh
        del criterion, guaranteed  # their matrices are as large as D, and the solver needs room
        found = self._solved(self._start(D))
        self.n_iter_, self.n_detours_ = found.n_iter, 0
        if self.detour_tolerance is not None and self.falloff_ > 0 and found.converged:
            small, tolerance = self.small_distance_, float(self.detour_tolerance)
            self.n_detours_ = fade_detours(self.weights_, D, found.embedding, small=small, tolerance=tolerance)
        if self.n_detours_:
            found = self._solved(found.embedding)
            self.n_iter_ += found.n_iter
        self.embedding_ = found.embedding.copy()
        self.stress_, self.normalised_stress_ = found.stress, found.normalised_stress
        return self

    def fit_transform(self, X: Any, y: Any = None, *, points: Any = None) -> np.ndarray:
        """Embed and return the embedding; see `fit`."""
        return self.fit(X, y, points=points).embedding_

    def transform(self, X: Any) -> np.ndarray:
        """Embed new points, each by itself, so that Σ_j w_j (‖y − x_j‖ − d_j)² to the fitted points x_j is least.

        d_j is the length of the shortest path over the point's neighbours among the fitted points, w_j comes from the same
        criterion and falloff, and the fitted points stay where they are. A point that was fitted gets its own place again.

        Parameters
        ----------
        X : (m, n_features) points; (m, 3) points near the surface, or a surface, if one was fitted; with
            metric="precomputed" (m, n_samples) distances to the fitted points
        """
        check_is_fitted(self)
        X = as_mesh(X, name="X").vertices if self._mesh and is_surface(X) else checked_data(self, X, reset=False)
        height = max(1, _BLOCK_ENTRIES // len(self.embedding_))
        places = [self._placed(X[start : start + height]) for start in range(0, len(X), height)]
        return np.concatenate(places)

    def _placed(self, X: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "m k"]:
        D, entry = self._new_distances(X)
        B = self.boundary_
        from_boundary = self.dist_matrix_[B].astype(np.float64)
        guaranteed = new_point_guarantees(self._kind, D, from_boundary, B, self._points, soft=self.soft)
        weights = self._weights(guaranteed, D).astype(np.float64)
        # a point keeps its nearest neighbour, however far that is
        largest = weights.max(axis=1)
        at_entry = np.maximum(weights[np.arange(len(D)), entry], 1e-6 * np.where(largest > 0, largest, 1))
        weights[np.arange(len(D)), entry] = at_entry
        return place(np.where(weights > 0, D, D.max(initial=1.0, where=np.isfinite(D))), weights, self.embedding_)

    def _new_distances(self, X: Float[np.ndarray, "m d"]) -> tuple[Float[np.ndarray, "m n"], Int[np.ndarray, "m"]]:
        if self._precomputed:
            check_non_negative(X, f'{type(self).__name__} (metric="precomputed")')
            return X.astype(np.float64), X.argmin(axis=1)
        from scipy.spatial import KDTree

        k = _MESH_ENTRIES if self._mesh else self.n_neighbors
        lengths, neighbours = KDTree(self._points).query(X, k=range(1, min(k, len(self._points)) + 1))
        return steps_to(lengths, neighbours, self.dist_matrix_, detour=2.0), neighbours[:, 0]

    def _criterion(self, given: SurfaceInput) -> Criterion:
        if self.whole_genus is None:
            return criterion_of_points(self._kind, given.distances, given.boundary, given.points)
        if given.mesh is None or not isinstance(self.boundary, str):
            raise ValueError(
                f"whole_genus={self.whole_genus} is about boundary loops, which only a mesh has: "
                'give a Mesh with boundary="auto", or whole_genus=None'
            )
        return same_loop_criterion(given.mesh, given.distances, whole_genus=self.whole_genus, rtol=RTOL)

    def _small_distance(self, D: Float[np.ndarray, "n n"]) -> float:
        check_number("small_distance", self.small_distance, or_none=True)
        if self.small_distance is not None:
            if not 0 <= self.small_distance < np.inf:
                raise ValueError(f"small_distance must be finite and at least 0, got {self.small_distance}")
            return float(self.small_distance)
        check_number("small_radius", self.small_radius)
        if not 0 <= self.small_radius < np.inf:
            raise ValueError(f"small_radius must be finite and at least 0, got {self.small_radius}")
        return self.small_radius * neighbour_spacing(D, n_neighbors=self.n_neighbors)

    def _solved(self, start: Any) -> MDSResult:
        return weighted_smacof(
            self.dist_matrix_,
            self.weights_,
            n_components=self.n_components,
            init=start,
            max_iter=self.max_iter,
            tol=self.tol,
        )

    def _weights(self, guaranteed: np.ndarray, D: Float[np.ndarray, "m n"]) -> np.ndarray:
        return pair_weights(guaranteed, D, small=self.small_distance_, unit=self._unit, falloff=self.falloff_)

    def _warn_if_apart(self, given: SurfaceInput) -> None:
        """Paths that don't reach all points have a remedy of their own, beside those of the solver."""
        if given.points is None or self._precomputed or np.isfinite(given.distances[0]).all():
            return
        pieces = len(np.unique(np.isfinite(given.distances).argmax(axis=1)))  # by the first point of each
        again = len(given.points) - len(np.unique(given.points, axis=0))
        remedy = "embed the components one by one" if given.mesh else f"use more than n_neighbors={self.n_neighbors}"
        warnings.warn(
            f"no path connects the {pieces} components: {remedy}"
            + (f"; {again} points lie where others do, leave these out" if again else ""),
            EmbeddingWarning,
            stacklevel=3,
        )

    def _warn_if_only_local(self, mask: Bool[np.ndarray, "n n"], distances: Float[np.ndarray, "n n"]) -> None:
        far = np.isfinite(distances) & (distances > self.small_distance_)
        guaranteed, n_far = np.count_nonzero(far & mask), np.count_nonzero(far)
        # fewer than one a point can't hold a map together, unless there are no more to be had
        if guaranteed >= min(len(mask), max(1, _FEW * n_far)) or not n_far:
            return
        warnings.warn(
            f"{'hardly any' if guaranteed else 'no'} pair farther apart than {self.small_distance_:.3g} is guaranteed, with "
            f"{len(self.boundary_)} of {len(mask)} points on the boundary: the map is made of local distances alone and may "
            "bend; check boundary_ and give boundary= if it was detected wrongly, or sample the surface more densely",
            EmbeddingWarning,
            stacklevel=3,
        )

    def _start(self, D: Float[np.ndarray, "n n"]) -> Any:
        if not isinstance(self.init, str):
            return self.init
        if self.init == "classical":
            return "classical"
        if self.init != "random":
            raise ValueError(f'init must be "classical", "random" or an array of places, got {self.init!r}')
        size = float(D.max(initial=0.0, where=np.isfinite(D)))
        return size * check_random_state(self.random_state).uniform(-0.5, 0.5, (len(D), self.n_components))

    @property
    def _precomputed(self) -> bool:
        return self.metric == "precomputed"

    @property
    def _n_features_out(self) -> int:
        return self.embedding_.shape[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = tags.input_tags.positive_only = self._precomputed
        return tags

    def _more_tags(self) -> dict[str, Any]:  # before scikit-learn 1.6
        return {"pairwise": self._precomputed, "requires_positive_X": self._precomputed}
