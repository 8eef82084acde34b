"""The embedding methods that the paper compares, each as a function from a task to a map."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from jaxtyping import Float

from partwhole.embedding.methods.task import EmbeddingMethod, EmbeddingTask
from partwhole.store.arguments import how_to_install

# As in the paper.
_PERPLEXITY = 50
_MIN_DIST = 0.8

# Up to so many points all eigenvectors of a matrix can be computed in seconds.
_DENSE = 3000


def named(name: str) -> EmbeddingMethod:
    """The method of this name.

    >>> named("whcie").label
    'WHCIE'
    """
    for method in METHODS:
        if method.name == name:
            return method
    raise ValueError(f"{name!r} is not a method; choose from {', '.join(method.name for method in METHODS)}")


def _isomap(task: EmbeddingTask) -> Any:
    from sklearn.manifold import Isomap

    return Isomap(n_neighbors=task.n_neighbors, n_components=task.n_components).fit_transform(task.points)


def _locally_linear(kind: str) -> Callable[[EmbeddingTask], Any]:
    def make(task: EmbeddingTask) -> Any:
        from sklearn.manifold import LocallyLinearEmbedding

        return LocallyLinearEmbedding(
            n_neighbors=task.n_neighbors,
            n_components=task.n_components,
            method=kind,
            # the smallest eigenvalues are nearly zero, and the iterative solver may lose them
            eigen_solver="dense" if len(task.points) <= _DENSE else "arpack",
            random_state=task.seed,
        ).fit_transform(task.points)

    return make


def _laplacian_eigenmaps(task: EmbeddingTask) -> Any:
    from sklearn.manifold import SpectralEmbedding

    return SpectralEmbedding(
        n_components=task.n_components, n_neighbors=task.n_neighbors, random_state=task.seed
    ).fit_transform(task.points)


def _diffusion(geodesic: bool) -> Callable[[EmbeddingTask], Any]:
    def make(task: EmbeddingTask) -> Any:
        from partwhole.embedding.methods.diffusion import diffusion_map

        D = task.distances if geodesic else _euclidean(task.points)
        return diffusion_map(D, n_components=task.n_components)

    return make


def _tsne(geodesic: bool) -> Callable[[EmbeddingTask], Any]:
    def make(task: EmbeddingTask) -> Any:
        from sklearn.manifold import TSNE

        options: dict[str, Any] = {
            "n_components": task.n_components,
            "perplexity": _PERPLEXITY,
            "random_state": task.seed,
            # trees work in up to three dimensions
            "method": "barnes_hut" if task.n_components <= 3 else "exact",
        }
        if geodesic:
            return TSNE(metric="precomputed", init="random", **options).fit_transform(task.distances)
        return TSNE(init="pca", **options).fit_transform(task.points)

    return make


def _umap(geodesic: bool) -> Callable[[EmbeddingTask], Any]:
    def make(task: EmbeddingTask) -> Any:
        with warnings.catch_warnings():
            # about tensorflow and the transformation of new points, neither of which is used
            warnings.simplefilter("ignore")
            return _umap_places(task, geodesic)

    return make


def _umap_places(task: EmbeddingTask, geodesic: bool) -> Any:
    try:
        umap: Any = import_module("umap")
    except ImportError:
        raise ImportError(f"UMAP is not installed: {how_to_install('umap')}") from None
    options: dict[str, Any] = {
        "n_components": task.n_components,
        "n_neighbors": task.n_neighbors,
        "min_dist": _MIN_DIST,
        "random_state": task.seed,
        "n_jobs": 1,  # with a seed it works on one thread in any case
    }
    if geodesic:
        return umap.UMAP(metric="precomputed", **options).fit_transform(task.distances)
    return umap.UMAP(**options).fit_transform(task.points)


def _pca(task: EmbeddingTask) -> Any:
    from sklearn.decomposition import PCA

    return PCA(n_components=task.n_components, random_state=task.seed).fit_transform(task.points)


def _kernel_pca(task: EmbeddingTask) -> Any:
    from sklearn.decomposition import KernelPCA

    # as wide as the data: a kernel as narrow as its spacing sees clusters, one much wider gives back PCA
    squares = _euclidean(task.points) ** 2
    gamma = 1 / np.median(squares[np.triu_indices(len(squares), 1)])
    return KernelPCA(n_components=task.n_components, kernel="rbf", gamma=gamma, eigen_solver="dense").fit_transform(
        task.points
    )


def _mds(task: EmbeddingTask) -> Any:
    from partwhole.embedding.solver.smacof import weighted_smacof

    return weighted_smacof(task.distances, n_components=task.n_components).embedding


def _criterion_embedding(kind: str) -> Callable[[EmbeddingTask], Any]:
    def make(task: EmbeddingTask) -> Any:
        from partwhole.embedding.estimators import whcie as estimators

        # what the estimator would measure itself has been measured
        estimator = getattr(estimators, kind)(
            n_components=task.n_components,
            n_neighbors=task.n_neighbors,
            metric="precomputed",
            boundary=task.boundary_points,
            falloff=task.chosen_falloff,
        )
        return estimator.fit_transform(task.distances, points=task.points)

    return make


def _euclidean(points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n n"]:
    from sklearn.metrics import euclidean_distances

    return euclidean_distances(points)


METHODS = (
    EmbeddingMethod("pca", "PCA", _pca),
    EmbeddingMethod("kernel-pca", "kernel PCA", _kernel_pca, keeps_scale=False),
    EmbeddingMethod("lle", "LLE", _locally_linear("standard"), keeps_scale=False),
    EmbeddingMethod("hessian-lle", "Hessian LLE", _locally_linear("hessian"), keeps_scale=False),
    EmbeddingMethod("mlle", "MLLE", _locally_linear("modified"), keeps_scale=False),
    EmbeddingMethod("ltsa", "LTSA", _locally_linear("ltsa"), keeps_scale=False),
    EmbeddingMethod("laplacian", "Laplacian eigenmaps", _laplacian_eigenmaps, keeps_scale=False),
    EmbeddingMethod("diffusion", "diffusion maps", _diffusion(False), keeps_scale=False),
    EmbeddingMethod(
        "diffusion-geodesic", "diffusion maps, geodesic", _diffusion(True), geodesic=True, keeps_scale=False
    ),
    EmbeddingMethod("tsne", "t-SNE", _tsne(False), keeps_scale=False),
    EmbeddingMethod("tsne-geodesic", "t-SNE, geodesic", _tsne(True), geodesic=True, keeps_scale=False),
    EmbeddingMethod("umap", "UMAP", _umap(False), keeps_scale=False),
    EmbeddingMethod("umap-geodesic", "UMAP, geodesic", _umap(True), geodesic=True, keeps_scale=False),
    EmbeddingMethod("isomap", "Isomap", _isomap),
    EmbeddingMethod("mds", "MDS on geodesics", _mds, geodesic=True),
    EmbeddingMethod("tcie", "TCIE", _criterion_embedding("TCIE"), geodesic=True),
    EmbeddingMethod("whcie", "WHCIE", _criterion_embedding("WHCIE"), geodesic=True),
)
