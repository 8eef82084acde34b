"""
Which distances can be trusted on a body with holes?
====================================================

A scan of a body is never complete. Shortest paths on the scan must go around the holes, so some distances are too long
and others are correct. Three criteria find correct ones from the scan alone.

The library generates the body and the holes.
"""

import numpy as np

import partwhole as pw
from partwhole.viewer.figures.render import GUARANTEED
from partwhole.viewer.figures.trust_figures import Region, heat_figure, shares_figure, trust_figure

whole = pw.datasets.make_body("biped", 2500, seed=2).pose(seed=3, strength=0.6)
cut = pw.datasets.random_cuts(whole, "pfaust-h", seed=6)
part = cut.part
print(part)

# %%
# Distances along edges are not the most accurate, but the guarantees of the criteria about them are proved without further
# conditions. The same-loop criterion applies because a body is topologically a sphere.

distances = pw.geodesic_distances(part, method="dijkstra")
boundary = pw.boundary_criterion(part, distances)
wormhole = pw.wormhole_criterion(part, distances)
same_loop = pw.same_loop_criterion(part, distances)
criteria = [boundary, wormhole, same_loop]
print(same_loop.statement)

# %%
# We choose one vertex, the red ball, for which the criteria differ much. Every coloured vertex is as far from it on the scan
# as on the complete body. The wormhole criterion must allow for a path from every hole to every other one; the same-loop
# criterion excludes such paths.

few, more, most = (criterion.mask.sum(axis=1) for criterion in criteria)
vertex = int(np.argmax(few * (most - more)))
figure = trust_figure(part, vertex, [Region.of(criterion, vertex) for criterion in criteria])

# %%
# The soft mask bounds the error of the other distances: at 0.8, the true distance is at least 0.8 of the measured one.

titles = [criterion.kind for criterion in criteria]
soft = heat_figure(part, vertex, [criterion.soft_mask[vertex] for criterion in criteria], titles)

# %%
# Here the whole is known, so we can also count. No criterion can guarantee more than the consistent pairs, and none of them
# guarantees a pair that is not consistent.

on_whole = pw.geodesic_distances(whole, method="dijkstra")[np.ix_(cut.vertex_map, cut.vertex_map)]
consistent = distances <= on_whole * (1 + 1e-9)
for criterion in criteria:
    assert not np.any(criterion.mask & ~consistent)
bars = [(criterion.kind, float(criterion.mask.mean()), GUARANTEED[criterion.kind]) for criterion in criteria]
shares = shares_figure(bars, consistent=float(consistent.mean()))
