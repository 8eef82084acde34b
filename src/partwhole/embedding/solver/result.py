"""`MDSResult`, the result of multidimensional scaling, and the warning about an embedding that needs attention."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int


class EmbeddingWarning(UserWarning):
    """An embedding was made, but the caller should look at it; the message says why."""


@dataclass(frozen=True, eq=False, repr=False)
class MDSResult:
    """The points that multidimensional scaling found, and how well they fit the given distances.

    Attributes
    ----------
    embedding : a row for each point; their mean is zero
    stress : Σ_{i<j} w_ij (‖x_i − x_j‖ − d_ij)², in the units of the weights and of the squared distances
    normalised_stress : √(stress / Σ_{i<j} w_ij d_ij²); 0 is exact, above 0.1 is poor
    n_iter : steps taken, those of majorisation and those of the quasi-Newton finish together
    converged : whether the last step was below the tolerance; False if `max_iter` came first
    history : stress at the start and after each step; it never rises
    components : for each point the component of the graph of positive weights that it belongs to, counted from 0
    """

    embedding: Float[np.ndarray, "n k"]
    stress: float
    normalised_stress: float
    n_iter: int
    converged: bool
    history: Float[np.ndarray, "steps"]
    components: Int[np.ndarray, "n"]

    def __post_init__(self) -> None:
        for array in (self.embedding, self.history, self.components):
            array.setflags(write=False)

    def __repr__(self) -> str:
        n, k = self.embedding.shape
        end = "converged" if self.converged else "not converged"
        return f"MDSResult({n} points in R^{k}, normalised stress {self.normalised_stress:.4g}, {end} in {self.n_iter} steps)"
