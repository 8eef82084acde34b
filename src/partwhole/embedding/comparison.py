"""Every method of the paper's Swiss-roll figures on the same sample, with one interface, judged alike."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from partwhole.embedding.agreement import map_stress, procrustes_error
from partwhole.embedding.given import GivenSurface, surface_given
from partwhole.mesh import Mesh

# As in the paper.
_PERPLEXITY = 50
_MIN_DIST = 0.8

# Up to so many points all eigenvectors of a matrix can be computed in seconds.
_DENSE = 3000


@dataclass(frozen=True, eq=False)
class Sample:
    """What all methods are given.

    Attributes
    ----------
    data : (n, d) points, or a `Mesh`, whose vertices are taken for points where a method knows no surfaces
    boundary : as for `WHCIE`
    n_neighbors : of every method that has neighbours
    n_components : dimensions of the map
    seed : of methods with something random in them
    """

    data: Any
    boundary: Any = "auto"
    n_neighbors: int = 15
    n_components: int = 2
    seed: int = 0

    @property
    def points(self) -> Float[np.ndarray, "n d"]:
        return self.data.vertices if isinstance(self.data, Mesh) else np.asarray(self.data, dtype=np.float64)

    @property
    def distances(self) -> Float[np.ndarray, "n n"]:
        """Distances along the surface, those that `WHCIE` and `TCIE` use; infinite between components."""
        return self._measured[0].distances

    @property
    def boundary_points(self) -> Int[np.ndarray, "b"]:
        return self._measured[0].boundary

    @property
    def seconds(self) -> float:
        """How long it took to measure the distances and to find the boundary."""
        return self._measured[1]

    @cached_property
    def guaranteed(self) -> Bool[np.ndarray, "n n"]:
        """The pairs that the wormhole criterion guarantees."""
        from partwhole.criterion.points import criterion_of_points

        return criterion_of_points("wormhole", self.distances, self.boundary_points, self.points).mask

    @cached_property
    def _measured(self) -> tuple[GivenSurface, float]:
        from partwhole.embedding.estimators import WHCIE

        start = time.perf_counter()
        found = surface_given(WHCIE(n_neighbors=self.n_neighbors, boundary=self.boundary), self.data, None)
        return found, time.perf_counter() - start


@dataclass(frozen=True, eq=False)
class Method:
    """A way to make a map.

    Attributes
    ----------
    name : for the command line
    label : for tables and pictures
    make : from a sample to (n, n_components) places
    geodesic : whether it uses `Sample.distances`, whose time then counts as its own
    keeps_scale : False if the method normalises its axes; the affine error is then the one to look at
    """

    name: str
    label: str
    make: Callable[[Sample], Any]
    geodesic: bool = False
    keeps_scale: bool = True


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a method made of a sample.

    Attributes
    ----------
    method : which one
    embedding : (n, k) places; None if it failed
    seconds : wall time; distances along the surface are included where the method uses them
    error : why there is no map, in one line; None if there is one
    skipped : whether that is because a library isn't installed
    notes : what the method warned of
    """

    method: Method
    embedding: Float[np.ndarray, "n k"] | None
    seconds: float
    error: str | None = None
    skipped: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Quality:
    """How good a map is.

    Attributes
    ----------
    similarity, affine : `procrustes_error` against the true coordinates, with each kind of fit
    stress : `map_stress` against all measured distances
    guaranteed_stress : against those that the wormhole criterion guarantees
    """

    similarity: float
    affine: float
    stress: float
    guaranteed_stress: float


def run_method(method: Method, sample: Sample) -> Outcome:
    """The map of one method; a failure is part of the outcome, not an exception."""
    measuring, start = 0.0, time.perf_counter()
    embedding, error, skipped = None, None, False
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            if method.geodesic:
                measuring = sample.seconds
                check_connected(sample)
            start = time.perf_counter()
            embedding = np.asarray(method.make(sample), dtype=np.float64)
        except ImportError as missing:
            error, skipped = _line(missing), True
        except ValueError as refusal:
            error = _line(refusal)
        except Exception as failure:  # whatever a method does, the others go on
            error = f"{type(failure).__name__}: {_line(failure)}"
    seconds = measuring + time.perf_counter() - start
    if embedding is not None and not np.isfinite(embedding).all():
        embedding, error = None, "the map has places that are NaN or infinite"
    notes = tuple(dict.fromkeys(_line(warning.message) for warning in caught))
    return Outcome(method, embedding, seconds, error, skipped, notes)


def compare(
    sample: Sample,
    methods: Iterable[Method] | None = None,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[Outcome, ...]:
    """The maps of several methods, in their order; all of `METHODS` unless given.

    Examples
    --------
    >>> from partwhole.datasets import swiss_roll
    >>> roll = swiss_roll(500, variant="hole", width=20.0)
    >>> for outcome in compare(Sample(roll.points, n_neighbors=8), [named("isomap"), named("whcie")]):
    ...     error = judge(outcome.embedding, roll.flat, Sample(roll.points, n_neighbors=8)).similarity
    ...     print(outcome.method.label, error < 0.1)
    Isomap False
    WHCIE True
    """
    chosen = METHODS if methods is None else tuple(methods)
    outcomes = []
    for done, method in enumerate(chosen):
        if progress is not None:
            progress(done, len(chosen))
        outcomes.append(run_method(method, sample))
    if progress is not None:
        progress(len(chosen), len(chosen))
    return tuple(outcomes)


def judge(embedding: Float[np.ndarray, "n k"], truth: Float[np.ndarray, "n d"], sample: Sample) -> Quality:
    """All numbers about one map of a sample whose true coordinates are known."""
    return Quality(
        similarity=procrustes_error(embedding, truth),
        affine=procrustes_error(embedding, truth, fit="affine"),
        stress=map_stress(embedding, sample.distances),
        guaranteed_stress=map_stress(embedding, sample.distances, mask=sample.guaranteed),
    )


def named(name: str) -> Method:
    """The method of this name.

    >>> named("whcie").label
    'WHCIE'
    """
    for method in METHODS:
        if method.name == name:
            return method
    raise ValueError(f"{name!r} is no method; choose from {', '.join(method.name for method in METHODS)}")


def check_connected(sample: Sample) -> None:
    """Refuse a sample with pairs that no way connects."""
    from partwhole.mesh.topology import connected_labels

    reached = np.isfinite(sample.distances)
    if reached.all():
        return
    sizes = np.sort(np.bincount(connected_labels(len(reached), np.argwhere(reached))))[::-1]
    shown = ", ".join(map(str, sizes[:5].tolist())) + ", …" * (len(sizes) > 5)
    raise ValueError(
        f"the sample falls apart into {len(sizes)} components of {shown} points, with no way from one to the other: "
        f"use more than {sample.n_neighbors} neighbours, or embed each component by itself"
    )


def _line(message: object) -> str:
    return " ".join(str(message).split())


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
        from partwhole.embedding.diffusion import diffusion_map

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
        raise ImportError("UMAP is not installed: pip install 'partwhole[umap]'") from None
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
    from partwhole.embedding.smacof import weighted_smacof

    return weighted_smacof(sample.distances, n_components=sample.n_components).embedding


def _trusted(kind: str) -> Callable[[Sample], Any]:
    def make(sample: Sample) -> Any:
        from partwhole.embedding import estimators

        # what the estimator would measure itself has been measured
        estimator = getattr(estimators, kind)(
            n_components=sample.n_components,
            n_neighbors=sample.n_neighbors,
            metric="precomputed",
            boundary=sample.boundary_points,
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
