"""The methods that the paper compares, each as a function from a sample to a map."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
from jaxtyping import Float

from partwhole.embedding.methods.sample import Method, Sample
from partwhole.store.arguments import how_to_install

# As in the paper.
_PERPLEXITY = 50
_MIN_DIST = 0.8

# Up to so many points all eigenvectors of a matrix can be computed in seconds.
_DENSE = 3000


def named(name: str) -> Method:
    """The method of this name.

    >>> named("whcie").label
    'WHCIE'
    """
    for method in METHODS:
        if method.name == name:
            return method
    raise ValueError(f"{name!r} is no method; choose from {', '.join(method.name for method in METHODS)}")


def _isomap(sample: Sample) -> Any:
    from sklearn.manifold import Isomap

    return Isomap(n_neighbors=sample.n_neighbors, n_components=sample.n_components).fit_transform(sample.points)


def _locally_linear(kind: str) -> Callable[[Sample], Any]:
    def make(sample: Sample) -> Any:
        from sklearn.manifold import LocallyLinearEmbedding

        return LocallyLinearEmbedding(
            n_neighbors=sample.n_neighbors,
            n_components=sample.n_components,
            method=kind,
            # the smallest eigenvalues are nearly zero, and the iterative solver may lose them
            eigen_solver="dense" if len(sample.points) <= _DENSE else "arpack",
            random_state=sample.seed,
        ).fit_transform(sample.points)

    return make


def _laplacian_eigenmaps(sample: Sample) -> Any:
    from sklearn.manifold import SpectralEmbedding

    return SpectralEmbedding(
        n_components=sample.n_components, n_neighbors=sample.n_neighbors, random_state=sample.seed
    ).fit_transform(sample.points)


def _diffusion(geodesic: bool) -> Callable[[Sample], Any]:
    def make(sample: Sample) -> Any:
        from partwhole.embedding.methods.diffusion import diffusion_map

        D = sample.distances if geodesic else _euclidean(sample.points)
        return diffusion_map(D, n_components=sample.n_components)

    return make


def _tsne(geodesic: bool) -> Callable[[Sample], Any]:
    def make(sample: Sample) -> Any:
        from sklearn.manifold import TSNE

        knobs: dict[str, Any] = {
            "n_components": sample.n_components,
            "perplexity": _PERPLEXITY,
            "random_state": sample.seed,
            # trees work in up to three dimensions
            "method": "barnes_hut" if sample.n_components <= 3 else "exact",
        }
        if geodesic:
            return TSNE(metric="precomputed", init="random", **knobs).fit_transform(sample.distances)
        return TSNE(init="pca", **knobs).fit_transform(sample.points)

    return make


def _umap(geodesic: bool) -> Callable[[Sample], Any]:
    def make(sample: Sample) -> Any:
        with warnings.catch_warnings():
            # it speaks of tensorflow, and of transformations of new points, neither of which is asked for
            warnings.simplefilter("ignore")
            return _umap_places(sample, geodesic)

    return make


def _umap_places(sample: Sample, geodesic: bool) -> Any:
    try:
        umap: Any = import_module("umap")
    except ImportError:
        raise ImportError(f"UMAP is not installed: {how_to_install('umap')}") from None
    knobs: dict[str, Any] = {
        "n_components": sample.n_components,
        "n_neighbors": sample.n_neighbors,
        "min_dist": _MIN_DIST,
        "random_state": sample.seed,
        "n_jobs": 1,  # with a seed it works on one thread in any case
    }
    if geodesic:
        return umap.UMAP(metric="precomputed", **knobs).fit_transform(sample.distances)
    return umap.UMAP(**knobs).fit_transform(sample.points)


def _pca(sample: Sample) -> Any:
    from sklearn.decomposition import PCA

    return PCA(n_components=sample.n_components, random_state=sample.seed).fit_transform(sample.points)


def _kernel_pca(sample: Sample) -> Any:
    from sklearn.decomposition import KernelPCA

    # as wide as the sample: a kernel as narrow as its spacing sees clusters, one much wider gives back PCA
    squares = _euclidean(sample.points) ** 2
    gamma = 1 / np.median(squares[np.triu_indices(len(squares), 1)])
    return KernelPCA(n_components=sample.n_components, kernel="rbf", gamma=gamma, eigen_solver="dense").fit_transform(
        sample.points
    )


def _scaling(sample: Sample) -> Any:
    from partwhole.embedding.solver.smacof import weighted_smacof

    return weighted_smacof(sample.distances, n_components=sample.n_components).embedding


def _trusted(kind: str) -> Callable[[Sample], Any]:
    def make(sample: Sample) -> Any:
        from partwhole.embedding.estimators import whcie as estimators

        # what the estimator would measure itself has been measured
        estimator = getattr(estimators, kind)(
            n_components=sample.n_components,
            n_neighbors=sample.n_neighbors,
            metric="precomputed",
            boundary=sample.boundary_points,
            falloff=sample.chosen_falloff,
        )
        return estimator.fit_transform(sample.distances, points=sample.points)

    return make


def _euclidean(points: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n n"]:
    from sklearn.metrics import euclidean_distances

    return euclidean_distances(points)


METHODS = (
    Method("pca", "PCA", _pca),
    Method("kernel-pca", "kernel PCA", _kernel_pca, keeps_scale=False),
    Method("lle", "LLE", _locally_linear("standard"), keeps_scale=False),
    Method("hessian-lle", "Hessian LLE", _locally_linear("hessian"), keeps_scale=False),
    Method("mlle", "MLLE", _locally_linear("modified"), keeps_scale=False),
    Method("ltsa", "LTSA", _locally_linear("ltsa"), keeps_scale=False),
    Method("laplacian", "Laplacian eigenmaps", _laplacian_eigenmaps, keeps_scale=False),
    Method("diffusion", "diffusion maps", _diffusion(False), keeps_scale=False),
    Method("diffusion-geodesic", "diffusion maps, geodesic", _diffusion(True), geodesic=True, keeps_scale=False),
    Method("tsne", "t-SNE", _tsne(False), keeps_scale=False),
    Method("tsne-geodesic", "t-SNE, geodesic", _tsne(True), geodesic=True, keeps_scale=False),
    Method("umap", "UMAP", _umap(False), keeps_scale=False),
    Method("umap-geodesic", "UMAP, geodesic", _umap(True), geodesic=True, keeps_scale=False),
    Method("isomap", "Isomap", _isomap),
    Method("mds", "MDS on geodesics", _scaling, geodesic=True),
    Method("tcie", "TCIE", _trusted("TCIE"), geodesic=True),
    Method("whcie", "WHCIE", _trusted("WHCIE"), geodesic=True),
)
