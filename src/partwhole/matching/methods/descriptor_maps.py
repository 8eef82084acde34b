"""`DescriptorMaps`: a functional map from descriptors of the shape around each vertex; the baseline of all others."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from partwhole.matching.methods.axiomatic import AxiomaticMethod, shot_descriptors
from partwhole.matching.network.surface import SurfacePair, signatures
from partwhole.spectral import partial_rank, regularised_map
from partwhole.store.arguments import check_number


class DescriptorMaps(AxiomaticMethod):
    """C = argmin ‖C F − G‖² + weight Σ D_ij C_ij², F and G the coefficients of descriptors of whole and part.

    The functional map of descriptors (Ovsjanikov et al. 2012) with the resolvent penalty of Ren et al. (2019), see
    `partwhole.spectral.regularised_map`. Rows beyond the `partial_rank` are left out, since a part has fewer frequencies.

    Parameters
    ----------
    eigenpairs : of each surface
    weight : of the penalty; every descriptor is scaled to have norm 1 on the whole, which makes this weight independent
        of units
    radius, bins : of SHOT, the former in √area of the whole
    signatures : with heat and wave kernel signatures too; these change near the boundary of a part

    Examples
    --------
    >>> import partwhole as pw
    >>> ball = pw.datasets.sphere(300)
    >>> cut = pw.datasets.random_cuts(ball, seed=0)
    >>> found = pw.match(cut.part, ball, model=DescriptorMaps(eigenpairs=20), read_out="features")
    >>> found.model, found.vertex_map.shape == (cut.part.n_vertices,)
    ('descriptors', True)
    """

    def __init__(
        self,
        *,
        eigenpairs: int = 50,
        weight: float = 100.0,
        radius: float = 0.1,
        bins: int = 9,
        signatures: bool = False,
    ) -> None:
        for name, value in (("weight", weight), ("radius", radius)):
            check_number(name, value)
        choices = {"weight": weight, "radius": radius, "bins": bins, "signatures": signatures}
        super().__init__("descriptors", eigenpairs=eigenpairs, **choices)
        self.weight, self.radius, self.bins, self.signatures = weight, radius, bins, signatures

    def functional_map(self, pair: SurfacePair) -> Float[np.ndarray, "r k"]:
        part, whole = self.bases(pair)
        of_part, of_whole = self.descriptors(pair)
        size = np.sqrt(whole.mass @ of_whole**2)
        size[size == 0] = 1.0
        F, G = whole.project(of_whole / size), part.project(of_part / size)
        C = regularised_map(G, F, part.values, whole.values, weight=self.weight)
        return C[: partial_rank(part.values, whole.values)]

    def descriptors(self, pair: SurfacePair) -> tuple[Float[np.ndarray, "p d"], Float[np.ndarray, "n d"]]:
        """SHOT, and the signatures if they are wanted, of part and whole, at the same scales on both."""
        local = shot_descriptors(pair, radius=self.radius, bins=self.bins)
        if not self.signatures:
            return local
        both = [
            np.concatenate([one, signatures(basis)], axis=1) for one, basis in zip(local, self.bases(pair), strict=True)
        ]
        return both[0], both[1]
