"""All methods on one task: what they are known to do, and that a failure of one is not the end."""

from __future__ import annotations

import importlib.util
import sys
import types
from typing import Any

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from partwhole.datasets import sphere, swiss_roll
from partwhole.embedding import TCIE, WHCIE
from partwhole.embedding.methods.comparison import (
    METHODS,
    EmbeddingMethod,
    EmbeddingTask,
    Outcome,
    compare,
    judge,
    named,
    run_method,
)
from partwhole.embedding.methods.task import check_connected
from partwhole.store.arguments import how_to_install

ROLL = swiss_roll(600, variant="hole", width=20.0, seed=1)
HAS_UMAP = importlib.util.find_spec("umap") is not None


@pytest.fixture(scope="module")
def task() -> EmbeddingTask:
    return EmbeddingTask(ROLL.points, n_neighbors=10)


@pytest.fixture(scope="module")
def outcomes(task: EmbeddingTask) -> dict[str, Outcome]:
    # threads of t-SNE that wait for each other on a busy machine take ten times as long as one
    with threadpool_limits(limits=1):
        return {outcome.method.name: outcome for outcome in compare(task)}


def error(outcome: Outcome, task: EmbeddingTask) -> float:
    assert outcome.embedding is not None
    quality = judge(outcome.embedding, ROLL.flat, task)
    return quality.similarity if outcome.method.keeps_scale else quality.affine


def test_every_method_of_the_paper_is_there() -> None:
    assert len(METHODS) == 17
    assert len({method.name for method in METHODS}) == len({method.label for method in METHODS}) == 17


def test_every_method_makes_a_map_or_says_why_not(outcomes: dict[str, Outcome]) -> None:
    for name, outcome in outcomes.items():
        if name.startswith("umap") and not HAS_UMAP:
            assert outcome.skipped
            assert outcome.error == f"UMAP is not installed: {how_to_install('umap')}"
            continue
        assert outcome.error is None
        assert outcome.embedding is not None
        assert outcome.embedding.shape == (len(ROLL.points), 2)
        assert np.isfinite(outcome.embedding).all()
        assert outcome.seconds > 0


def test_errors_are_in_the_order_of_the_paper(outcomes: dict[str, Outcome], task: EmbeddingTask) -> None:
    whcie, tcie = error(outcomes["whcie"], task), error(outcomes["tcie"], task)
    assert max(whcie, tcie) < 0.06
    assert error(outcomes["mds"], task) > whcie
    for name in ("pca", "kernel-pca", "isomap", "laplacian", "tsne", "tsne-geodesic", "diffusion"):
        assert error(outcomes[name], task) > 2 * whcie


def test_plain_scaling_keeps_wrong_distances_best(outcomes: dict[str, Outcome], task: EmbeddingTask) -> None:
    mds, whcie = (judge(outcomes[name].embedding, ROLL.flat, task) for name in ("mds", "whcie"))
    assert mds.stress < whcie.stress
    assert mds.guaranteed_stress > whcie.guaranteed_stress


@pytest.mark.parametrize("estimator", [TCIE, WHCIE])
def test_shared_distances_change_nothing(estimator: Any, outcomes: dict[str, Outcome]) -> None:
    alone = estimator(n_neighbors=10).fit_transform(ROLL.points)
    np.testing.assert_allclose(outcomes[estimator.__name__.lower()].embedding, alone, atol=1e-6)


@pytest.mark.parametrize("name", ["isomap", "lle", "diffusion-geodesic", "kernel-pca", "whcie"])
def test_the_same_seed_gives_the_same_map(name: str, outcomes: dict[str, Outcome]) -> None:
    again = run_method(named(name), EmbeddingTask(ROLL.points, n_neighbors=10))
    np.testing.assert_allclose(again.embedding, outcomes[name].embedding, atol=1e-8)


def test_a_mesh_is_taken_too() -> None:
    cap, _ = sphere(300).submesh(sphere(300).vertices[:, 2] < 0.5)
    for outcome in compare(
        EmbeddingTask(cap, n_neighbors=10, n_components=3), [named("pca"), named("whcie"), named("isomap")]
    ):
        assert outcome.error is None
        assert outcome.embedding is not None
        assert outcome.embedding.shape == (cap.n_vertices, 3)


def test_failures_are_outcomes(task: EmbeddingTask) -> None:
    def singular(task: EmbeddingTask) -> Any:
        raise RuntimeError("Factor is\n exactly singular")

    def refused(task: EmbeddingTask) -> Any:
        raise ValueError("too many components")

    def nowhere(task: EmbeddingTask) -> Any:
        return np.full((len(task.points), 2), np.nan)

    methods = [
        EmbeddingMethod("a", "A", singular),
        EmbeddingMethod("b", "B", refused),
        EmbeddingMethod("c", "C", nowhere),
        named("pca"),
    ]
    seen: list[tuple[int, int]] = []
    outcomes = compare(task, methods, progress=lambda _, done, total: seen.append((done, total)))
    assert [outcome.error for outcome in outcomes] == [
        "RuntimeError: Factor is exactly singular",
        "too many components",
        "the map has places that are NaN or infinite",
        None,
    ]
    assert [outcome.embedding is None for outcome in outcomes] == [True, True, True, False]
    assert not any(outcome.skipped for outcome in outcomes)
    assert seen == [(0, 4), (1, 4), (2, 4), (3, 4), (4, 4)]


def test_warnings_become_notes(task: EmbeddingTask) -> None:
    def doubtful(task: EmbeddingTask) -> Any:
        import warnings

        for _ in range(3):
            warnings.warn("this took\n too long", stacklevel=1)
        return task.points[:, :2]

    assert run_method(EmbeddingMethod("d", "D", doubtful), task).notes == ("this took too long",)


def test_a_real_singular_matrix_is_no_crash() -> None:
    """All points on a line: Hessian LLE has no second direction."""
    line = np.zeros((60, 3))
    line[:, 0] = np.arange(60.0)
    for outcome in compare(EmbeddingTask(line, n_neighbors=8), [named("hessian-lle"), named("mlle"), named("ltsa")]):
        assert (outcome.embedding is None) == (outcome.error is not None)


def test_components_are_named() -> None:
    two = np.concatenate([ROLL.points[:120], ROLL.points[:100] + 1e4])
    outcome = run_method(named("mds"), EmbeddingTask(two, n_neighbors=8))
    assert outcome.embedding is None
    assert outcome.error is not None
    assert "2 components of 120, 100 points" in outcome.error
    assert "more than 8 neighbours" in outcome.error
    with pytest.raises(ValueError, match="falls apart into 2 components"):
        check_connected(EmbeddingTask(two, n_neighbors=8))


def test_points_that_are_no_points() -> None:
    outcome = run_method(named("whcie"), EmbeddingTask(np.full((50, 3), np.nan)))
    assert outcome.error is not None
    assert "NaN" in outcome.error


def test_an_unknown_name() -> None:
    with pytest.raises(ValueError, match=r"'magic' is not a method; choose from pca, .*, whcie"):
        named("magic")


def test_umap_is_given_what_the_paper_says(task: EmbeddingTask, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[dict[str, Any]] = []

    class UMAP:
        def __init__(self, **knobs: Any) -> None:
            told.append(knobs)

        def fit_transform(self, X: np.ndarray) -> np.ndarray:
            told[-1]["shape"] = X.shape
            return np.zeros((len(X), 2))

    monkeypatch.setitem(sys.modules, "umap", types.SimpleNamespace(UMAP=UMAP))
    n = len(ROLL.points)
    for name, shape in (("umap", (n, 3)), ("umap-geodesic", (n, n))):
        assert run_method(named(name), task).error is None
        assert told[-1]["min_dist"] == 0.8
        assert told[-1]["shape"] == shape
        assert told[-1].get("metric", "euclidean") == ("precomputed" if shape == (n, n) else "euclidean")


def test_umap_that_is_not_there(task: EmbeddingTask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "umap", None)
    outcome = run_method(named("umap"), task)
    assert outcome.skipped
    assert outcome.error == f"UMAP is not installed: {how_to_install('umap')}"


def test_more_than_three_dimensions() -> None:
    points = np.random.default_rng(0).standard_normal((70, 6))
    for outcome in compare(EmbeddingTask(points, n_neighbors=20, n_components=4), [named("tsne"), named("pca")]):
        assert outcome.error is None
        assert outcome.embedding is not None
        assert outcome.embedding.shape == (70, 4)
