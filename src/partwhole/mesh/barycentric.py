"""`BarycentricMap`: points in triangles of a surface, and what is known at its vertices, at those points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int


@dataclass(frozen=True, eq=False)
class BarycentricMap:
    """Point i lies at Σ_c weights[i, c] · x(triangles[i, c]) of a surface with vertices x.

    Attributes
    ----------
    triangles : three vertices of the surface, for each point
    weights : of these vertices; each row sums to one
    covered : False for points whose place is not known
    """

    triangles: Int[np.ndarray, "p 3"]
    weights: Float[np.ndarray, "p 3"]
    covered: Bool[np.ndarray, "p"]

    def positions(self, vertices: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, "p 3"]:
        """Where the points are, given the vertices of the surface."""
        return self.interpolate(vertices)

    def interpolate(self, values: Float[np.ndarray, "n *rest"]) -> Float[np.ndarray, "p *rest"]:
        """Values at the vertices, at the points."""
        return np.einsum("pc,pc...->p...", self.weights, values[self.triangles])
