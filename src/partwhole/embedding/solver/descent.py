"""Minimisation of stress: majorisation steps, then a quasi-Newton method. Stress never rises."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from partwhole.embedding.solver.stress import Solve
from partwhole.store.arguments import Progress

Function = Callable[[Float[np.ndarray, "n k"]], tuple[float, Float[np.ndarray, "n k"]]]

# pairs of steps and changes of the gradient that the finish remembers
_MEMORY = 10
# a step must bring this share of the decrease that the slope promises
_ARMIJO = 1e-4
_HALVINGS = 20


class Descent:
    """A place X, the stress σ and half the gradient G there, and the history of the stress.

    `function` gives σ and G; `solve` applies V⁻¹, where V majorises: σ(X − V⁻¹G) ≤ σ(X) − ⟨G, V⁻¹G⟩.
    """

    def __init__(
        self,
        function: Function,
        solve: Solve,
        start: Float[np.ndarray, "n k"],
        *,
        max_iter: int,
        progress: Progress | None = None,
    ) -> None:
        self.function, self.solve = function, solve
        self.max_iter, self.progress = max_iter, progress
        self.points = start - start.mean(axis=0)
        self.stress, self.gradient = function(self.points)
        self.history = [self.stress]

    def majorise(self, enough: float) -> bool:
        """Steps X − V⁻¹G, until the next would save no more stress than `enough`; whether it came to that."""
        while True:
            step = -self.solve(self.gradient)
            if -_dot(self.gradient, step) <= enough:
                return True
            if self._exhausted:
                return False
            if not self._go(step, 0.0):
                return True  # what is left to save is lost in rounding

    def finish(self, enough: float) -> bool:
        """The same with a quasi-Newton (L-BFGS) estimate of the Hessian's inverse that starts from V⁻¹."""
        memory: deque[tuple[np.ndarray, np.ndarray, float]] = deque(maxlen=_MEMORY)
        while True:
            step = self._quasi_newton_step(memory)
            promised = -_dot(self.gradient, step)
            if promised <= enough:
                return True
            if self._exhausted:
                return False
            before, gradient = self.points, self.gradient
            if not self._search(step, promised):
                if not memory:
                    return True  # what is left to save is lost in rounding
                memory.clear()
                continue
            s, y = self.points - before, self.gradient - gradient
            curvature = _dot(s, y)
            if curvature > 1e-10 * np.sqrt(_dot(s, s) * _dot(y, y)):
                memory.append((s, y, 1 / curvature))

    @property
    def _exhausted(self) -> bool:
        return len(self.history) > self.max_iter

    def _quasi_newton_step(self, memory: deque[tuple[np.ndarray, np.ndarray, float]]) -> Float[np.ndarray, "n k"]:
        """−H G by the two-loop recursion."""
        q = self.gradient.copy()
        shares = []
        for s, y, rho in reversed(memory):
            share = rho * _dot(s, q)
            q -= share * y
            shares.append(share)
        z = self.solve(q)
        for (s, y, rho), share in zip(memory, reversed(shares), strict=True):
            z += (share - rho * _dot(y, z)) * s
        return -z

    def _search(self, step: Float[np.ndarray, "n k"], promised: float) -> bool:
        """Go along the step as far as it brings enough of what it promised; False if it does nowhere."""
        share = 1.0
        for _ in range(_HALVINGS):
            # σ falls by twice the slope of its half
            if self._go(share * step, 2 * _ARMIJO * share * promised):
                return True
            share /= 2
        return False

    def _go(self, step: Float[np.ndarray, "n k"], least: float) -> bool:
        """Take the step if stress falls, and by `least` at least."""
        points = self.points + step
        stress, gradient = self.function(points)
        if not (stress < self.stress and self.stress - stress >= least):
            return False
        self.points, self.stress, self.gradient = points, stress, gradient
        self.history.append(stress)
        if self.progress is not None:
            self.progress("embedding", len(self.history) - 1, self.max_iter)
        return True


def _dot(a: Float[np.ndarray, "n k"], b: Float[np.ndarray, "n k"]) -> float:
    return float(np.vdot(a, b))
