"""Weighted multidimensional scaling: points whose weighted distances are as close as possible to given ones."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from partwhole.embedding.solver.classical import completed, scaled_from
from partwhole.embedding.solver.components import connected_by_weight, members_of, placed, start_of
from partwhole.embedding.solver.descent import Descent
from partwhole.embedding.solver.pairs import WeightedPairs, checked_n_components, checked_pairs
from partwhole.embedding.solver.result import EmbeddingWarning, MDSResult
from partwhole.embedding.solver.stress import Stress, laplacian_solver
from partwhole.embedding.solver.threads import RowThreads, one_blas_thread
from partwhole.store.arguments import Progress, as_numbers, check_number, check_whole_number

# majorisation hands over to the finish when its steps have come down to this share of the size of the configuration
_NEAR = 1e-3
# what moves points of a start apart that coincide, as a share of its extent
_HAIR = 1e-9


def weighted_smacof(
    distances: ArrayLike,
    weights: Any = None,
    *,
    n_components: int = 2,
    init: Literal["classical"] | ArrayLike = "classical",
    max_iter: int = 1000,
    tol: float = 1e-6,
    finish: bool = True,
    progress: Progress | None = None,
) -> MDSResult:
    """Minimise σ(X) = Σ_{i<j} w_ij (‖x_i − x_j‖ − d_ij)² over X, by majorisation and then a quasi-Newton method.

    Majorisation (SMACOF) goes from X to V⁺B(X)X, with the weighted Laplacian V = diag(W1) − W and B(X) that of w d / r. It
    is written here as X − V⁻¹G, with half the gradient G = VX − B(X)X: V is factored once, and only the accuracy of G
    limits that of the result. When its steps have become small, a quasi-Newton method (L-BFGS, with V⁻¹ as its
    first guess) needs fewer steps to the minimum. Stress never rises from one step to the next. The result doesn't depend on
    random numbers.

    Parameters
    ----------
    distances : (n, n) symmetric, zero on the diagonal; NaN or inf where a distance is not known, which needs weight 0
    weights : (n, n) symmetric, not negative: numbers, a mask, or a SciPy sparse matrix; None weighs all pairs alike.
        The diagonal doesn't matter
    n_components : dimensions of X
    init : X to start from, (n, n_components); "classical" is the classical scaling of all known distances, whatever
        their weight, with unknown ones completed by shortest paths. Points of a given X that coincide are moved apart by
        a hair
    max_iter : most steps to take
    tol : stop when a step is below this share of the size of the configuration, both measured by V: √⟨Z, VZ⟩ for a step Z,
        √(Σ w d²) for the size
    finish : whether to go on with the quasi-Newton method; without it majorisation goes on to the end
    progress : called with ("embedding", steps done, max_iter) after each step

    Warns
    -----
    EmbeddingWarning
        If `max_iter` was reached before `tol`; and if positive weights leave the points in several components, so that
        nothing weighted says where these lie to each other. Each is then embedded on its own. Those which known distances
        of weight 0 connect are moved, as rigid bodies, to where these distances would have them (to the classical scaling
        of all of them, or to the given init); the others are put side by side, so that none lies upon another.

    Examples
    --------
    The corners of a rectangle whose diagonals aren't known, from three of its sides and one diagonal that is right:

    >>> corners = np.array([[0.0, 0.0], [4.0, 0.0], [4.0, 3.0], [0.0, 3.0]])
    >>> distances = np.linalg.norm(corners[:, None] - corners, axis=2)
    >>> distances[0, 2] = distances[2, 0] = np.nan
    >>> found = weighted_smacof(distances, np.isfinite(distances))
    >>> round(float(np.linalg.norm(found.embedding[1] - found.embedding[3])), 4), found.converged
    (5.0, True)
    """
    D, pairs, unit, weight_unit = checked_pairs(distances, weights)
    n = len(pairs)
    checked_n_components(n_components, n)
    options = _Options(max_iter, tol, finish, progress)
    layout = None if isinstance(init, str) else _checked_init(init, n, n_components)
    if isinstance(init, str) and init != "classical":
        raise ValueError(f'init must be "classical" or an array of shape ({n}, {n_components}), got {init!r}')
    labels = connected_by_weight(pairs)
    n_parts = int(labels.max()) + 1
    if n_parts > 1:
        warnings.warn(
            f"positive weights leave {n_parts} components, of {_sizes(labels)} points; each was embedded on its own, and "
            "their places to each other come from distances of weight 0 or, where there are none, are arbitrary: "
            "give weight to pairs between them, or embed the largest alone",
            EmbeddingWarning,
            stacklevel=2,
        )
    with one_blas_thread():
        if n_parts == 1:
            start = scaled_from(completed(D), n_components) if layout is None else layout
            descent, converged, energy = _embed(pairs, start * unit, options)
            points, history = descent.points, np.array(descent.history)
        else:
            points, history, converged, energy = _embed_parts(D, pairs, unit, layout, labels, n_components, options)
    if not converged:
        warnings.warn(
            f"weighted_smacof stopped after max_iter={max_iter} steps, before they were below tol={tol:g}: "
            "raise max_iter, or tol if the map is good enough",
            EmbeddingWarning,
            stacklevel=2,
        )
    scale = 1 / (unit**2 * weight_unit)
    return MDSResult(
        embedding=points / unit,
        stress=float(history[-1]) * scale,
        normalised_stress=float(np.sqrt(history[-1] / energy)) if energy else 0.0,
        n_iter=len(history) - 1,
        converged=converged,
        history=history * scale,
        components=labels,
    )


@dataclass(frozen=True)
class _Options:
    max_iter: int
    tol: float
    finish: bool
    progress: Progress | None

    def __post_init__(self) -> None:
        check_whole_number("max_iter", self.max_iter)
        check_number("tol", self.tol)
        if self.max_iter < 1:
            raise ValueError(f"max_iter={self.max_iter} must be at least 1")
        if not 0 <= self.tol < np.inf:
            raise ValueError(f"tol={self.tol} must be finite and not negative")


def _embed(pairs: WeightedPairs, start: Float[np.ndarray, "n k"], options: _Options) -> tuple[Descent, bool, float]:
    """One component: its descent, whether it converged, and Σ w d²; all in the units of the pairs."""
    with RowThreads(len(pairs), pairs.n_pairs) as threads:
        stress = Stress(pairs, threads)
        energy = stress(np.zeros_like(start))[0]
        descent = Descent(stress, laplacian_solver(pairs), start, max_iter=options.max_iter, progress=options.progress)
        converged = descent.majorise(energy * (max(options.tol, _NEAR) if options.finish else options.tol) ** 2)
        if options.finish and converged:
            converged = descent.finish(energy * options.tol**2)
    return descent, converged, energy


def _embed_parts(
    D: Float[np.ndarray, "n n"],
    pairs: WeightedPairs,
    unit: float,
    layout: Float[np.ndarray, "n k"] | None,
    labels: Int[np.ndarray, "n"],
    n_components: int,
    options: _Options,
) -> tuple[Float[np.ndarray, "n k"], Float[np.ndarray, "steps"], bool, float]:
    """Each component on its own, and then all in their places."""
    parts, histories, converged, energy = [], [], True, 0.0
    for members in members_of(labels):
        start = start_of(D, members, n_components) if layout is None else layout[members]
        descent, ended, own_energy = _embed(pairs.among(members), start * unit, options)
        parts.append((members, descent.points / unit))
        histories.append(descent.history)
        converged, energy = converged and ended, energy + own_energy
    # the steps of all components are taken to go on side by side; one that has ended stays as it is
    history = np.zeros(max(map(len, histories)))
    for own in histories:
        history += np.pad(own, (0, len(history) - len(own)), mode="edge")
    X = placed(parts, D, layout)
    return (X - X.mean(axis=0)) * unit, history, converged, energy


def _sizes(labels: Int[np.ndarray, "n"]) -> str:
    sizes = np.sort(np.bincount(labels))[::-1].tolist()
    return ", ".join(map(str, sizes[:5])) + (", …" if len(sizes) > 5 else "")


def _checked_init(init: Any, n: int, n_components: int) -> Float[np.ndarray, "n k"]:
    X = as_numbers("init", init)
    if X.shape != (n, n_components):
        raise ValueError(
            f"init has shape {X.shape}; give n_components={n_components} coordinates for each of {n} points"
        )
    if not np.isfinite(X).all():
        raise ValueError(
            f"init has {np.count_nonzero(~np.isfinite(X))} entries that are NaN or infinite; give finite ones"
        )
    if n > 1 and not np.ptp(X, axis=0).any():
        raise ValueError("init has all points at one place, from where no direction leads down; spread them out")
    # points at one place have the same gradient and never separate; any direction will do
    again = np.setdiff1d(np.arange(n), np.unique(X, axis=0, return_index=True)[1])
    X[again] += _HAIR * np.ptp(X, axis=0).max() * np.random.default_rng(0).standard_normal((len(again), n_components))
    return X
