"""WHCIE and TCIE: maps of surfaces with missing pieces, made from the distances that a criterion guarantees."""

from __future__ import annotations

from inspect import cleandoc
from textwrap import dedent
from typing import Any, TypeVar

from partwhole.embedding.estimators.criterion_embedding import CriterionEmbedding

Estimator = TypeVar("Estimator", bound=CriterionEmbedding)

# the sections that the docstrings of both estimators have in common, by the names that stand for them there
_SHARED_SECTIONS = {
    "parameters": """
    n_components : dimensions of the map
    n_neighbors : size of a neighbourhood: the distance to the neighbour of this number is the unit of `small_radius`, and
        new points step onto the surface at one of so many
    path_neighbors : neighbours that the next step of a path may lead to; default `n_neighbors`, and up to four times as
        many where a path of shorter steps confirms a longer one. Longer steps make paths straighter, and with that
        distances more accurate: a path that zigzags more at the boundary than inside bends the map
    longest_step, steepest_step : which steps are dropped, and how the others are measured along a bent surface, see
        `partwhole.embedding.neighbour_graph`. `path_neighbors=n_neighbors` and None for both gives the graph of Isomap
    metric : "euclidean" for points and meshes; "precomputed" if X holds distances along a surface
    boundary : "auto", numbers of points, or a mask. "auto" is detected (`boundary_points`, with a low threshold: a point
        too many costs some pairs, one that is missed costs the proof) or, for a mesh, its boundary. Distances alone have
        none: it must be given then. Empty if nothing is missing; every pair counts then
    small_radius : pairs nearer than this many neighbour spacings count whatever the criterion says, so that points on
        the boundary keep their neighbours
    small_distance : the same as an absolute distance, in place of `small_radius`; 3 on the Swiss roll in the paper
    falloff : p of the weights (s / d)^p of guaranteed pairs whose distance d is larger than the small one, s; 0 weighs
        all alike, as the paper does. "auto" is 5 for points and for a mesh with mesh_distances="dijkstra", since paths
        from point to point are the less exact the longer, and 0 for other meshes and precomputed distances
    detour_tolerance : where weights fall, pairs beyond s whose distance exceeds that on the map by more than so many
        deviations of all of them lose weight, w (t / e)² for an excess e above the tolerance t, and the map is made again,
        from where it is: a detour that slipped through can only have lengthened a distance. None makes one map
    soft : weigh a pair that is not guaranteed by min(K/D, 1) in place of 0
    mesh_distances : method of `geodesic_distances` where X is a mesh
    init : "classical", classical scaling of all distances; "random"; or an array of places to start from
    max_iter, tol : see `weighted_smacof`
    random_state : of init="random"; nothing else is random
""",
    "attributes": """
    embedding_ : (n_samples, n_components) places
    stress_ : Σ w (‖x_i − x_j‖ − d_ij)² over pairs i < j
    normalised_stress_ : √(stress / Σ w d²)
    n_iter_ : number of steps of the solver, for both maps where two are made; each has `max_iter`
    n_detours_ : how many pairs lost weight for the second map; 0 if there is but one
    weights_ : (n_samples, n_samples) w of the map; a mask if `falloff_` is 0 and not `soft`, else in single precision
    boundary_ : numbers of the boundary points
    boundary_score_ : the score of each point where the boundary was detected, else None
    dist_matrix_ : distances along the surface, in single precision unless they were given
    small_distance_ : distances up to this one count whatever the criterion says
    falloff_ : the number that was used
    n_features_in_ : number of columns of X; 3 for a mesh
""",
    "warnings": """
    EmbeddingWarning
        If the weights leave the points in several components (each is embedded on its own, see `weighted_smacof`), if the
        solver stopped early, and if nothing but local pairs is guaranteed.
""",
}


def _with_shared_sections(estimator: type[Estimator]) -> type[Estimator]:
    """Fill the shared sections into the docstring of an estimator."""
    text = cleandoc(estimator.__doc__ or "")  # python -OO leaves none
    for name, section in _SHARED_SECTIONS.items():
        text = text.replace(f"{{{name}}}", dedent(section).strip("\n"))
    estimator.__doc__ = text
    return estimator


@_with_shared_sections
class WHCIE(CriterionEmbedding):
    """Wormhole-criterion isometric embedding: minimise Σ w_ij (‖x_i − x_j‖ − d_ij)², w = [d ≤ K] (s / d)^p.

    d are distances along a surface with missing pieces; K is the threshold of the wormhole criterion (Bracha, Dagès,
    Kimmel 2024), min over boundary points b₁, b₂ of d(i, b₁) + |b₁ − b₂| + d(b₂, j). Only distances that what is missing
    can't have changed take part, so a hole or a cut doesn't bend the map, as it does with Isomap. Up to a small distance
    s every pair has weight 1; from there on weights fall by the power p, unless it is 0.

    Parameters
    ----------
    {parameters}
    whole_genus : 0 states that the surface is a sphere with pieces missing. The same-loop criterion is then
        applied to a connected mesh, which guarantees more pairs; None makes no such assumption

    Attributes
    ----------
    {attributes}

    Warns
    -----
    {warnings}

    Notes
    -----
    For distances along a graph the guarantee is proved whatever the dimension of the surface, if `boundary_` has every
    point that lost a neighbour (see `partwhole.criterion.points`). Detection looks for the boundary of surfaces, of two
    dimensions in a space of any; for data of a higher dimension nothing is proved about it: give `boundary`.

    Steps of a path are arcs, which are never shorter than the straight line that the proof needs.

    Examples
    --------
    >>> from partwhole.datasets import swiss_roll
    >>> roll = swiss_roll(400, variant="hole", width=20.0)
    >>> WHCIE(n_components=2, n_neighbors=8).fit_transform(roll.points).shape
    (330, 2)
    """

    _kind = "wormhole"

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
        whole_genus: Any = None,
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
        super().__init__(
            n_components,
            n_neighbors=n_neighbors,
            path_neighbors=path_neighbors,
            longest_step=longest_step,
            steepest_step=steepest_step,
            metric=metric,
            boundary=boundary,
            small_radius=small_radius,
            small_distance=small_distance,
            falloff=falloff,
            detour_tolerance=detour_tolerance,
            soft=soft,
            mesh_distances=mesh_distances,
            init=init,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
        )
        self.whole_genus = whole_genus


@_with_shared_sections
class TCIE(CriterionEmbedding):
    """Topologically constrained isometric embedding: minimise Σ w_ij (‖x_i − x_j‖ − d_ij)², w = [d ≤ K] (s / d)^p.

    d are distances along a surface with missing pieces; K is the threshold of the boundary criterion (Rosman, Bronstein,
    Bronstein, Kimmel 2008), d(i, B) + d(j, B). It trusts fewer pairs than `WHCIE`, and needs no straight lines. Weights
    are 1 up to a small distance s and fall from there on, as for `WHCIE`.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    {attributes}

    Warns
    -----
    {warnings}
    """

    _kind = "boundary"
