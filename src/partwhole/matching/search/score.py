"""How well a map fits, without the truth: distortion of distances, agreement of curvature, similarity of features.

A body turned by half a turn has nearly the same geodesic distances, left and right exchanged and front and back as well, so
distances alone can't tell the two apart. Curvature can: the belly, the heels, the nose. A map is scored by both.
"""

from __future__ import annotations

import math
from itertools import pairwise

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from partwhole.matching.network.surface import Surface, distance_distortion

# weights of the logarithm of the distortion, the agreement of curvature and the similarity of features; the second was
# fixed on training parts of PFAUST-H, where anything from 3 to 50 chooses equally well
SCORE_WEIGHTS = (1.0, 10.0, 0.0)


def curvature_agreement(vertex_map: Int[Tensor, "p"], part: Surface, whole: Surface) -> Float[Tensor, ""]:
    """Correlation, weighted by area, of the mean curvature of the part with that of the whole read through the map."""
    if part.curvature is None or whole.curvature is None:
        raise ValueError("the curvature of part or whole is not known; prepare them with surface_of")
    share = part.mass / part.mass.sum()
    one = part.curvature - share @ part.curvature
    other = whole.curvature[vertex_map]
    other = other - share @ other
    spread = ((share @ one.square()) * (share @ other.square())).sqrt()
    # nothing can be said about a part that bends the same everywhere
    return (share * one) @ other / spread.clamp(min=1e-12)


def feature_similarity(
    vertex_map: Int[Tensor, "p"], of_part: Float[Tensor, "p f"], of_whole: Float[Tensor, "n f"], part: Surface
) -> Float[Tensor, ""]:
    """Mean cosine of the features of vertices and of their images, weighted by area."""
    cosines = (normalize(of_part, dim=-1) * normalize(of_whole, dim=-1)[vertex_map]).sum(dim=-1)
    return (part.mass * cosines).sum() / part.mass.sum()


def score(
    vertex_map: Int[Tensor, "p"],
    part: Surface,
    whole: Surface,
    *,
    weights: tuple[float, float, float] = SCORE_WEIGHTS,
    similarity: float | Tensor = 0.0,
) -> float:
    """a · log distortion − b · agreement of curvature − c · similarity, with the weights (a, b, c); the lower the better.

    Distances are taken relative to those of the part, so that maps at different scales can be compared.
    """
    distortion, curvature, alike = weights
    found = -curvature * curvature_agreement(vertex_map, part, whole) - alike * similarity
    if not distortion:
        return float(found)
    found = found + distortion * distance_distortion(vertex_map, part, whole).clamp(min=1e-12).log()
    assert part.distances is not None
    assert part.weights is not None
    size = (part.weights * part.distances.square()).sum() / part.weights.sum().clamp(min=1e-30)
    return float(found - distortion * size.clamp(min=1e-30).log())


def best_stretch(vertex_map: Int[Tensor, "p"], part: Surface, whole: Surface) -> float:
    """argmin_s Σ W (D_whole(map i, map j) − s D_part)²: how much longer distances are on the whole than on the part."""
    assert part.distances is not None
    assert part.weights is not None
    assert whole.distances is not None
    above = below = 0.0
    # in blocks of rows: the distances between all images are a matrix as large as the part's
    for start, end in pairwise([*range(0, len(part), 512), len(part)]):
        W, D = part.weights[start:end], part.distances[start:end]
        found = whole.distances[vertex_map[start:end]][:, vertex_map]
        above += float((W * D * found).sum())
        below += float((W * D.square()).sum())
    return above / below if below > 0 else math.nan
