"""
Which distances can be trusted on a body with holes?
====================================================

A scan of a body always misses something. A shortest path on the scan must go around the holes, and so some of its
distances are too long, and others are right. Three criteria tell them apart by looking at the scan alone.

The library makes the body, and the holes.
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
# Distances along edges are not the most accurate, but what the criteria say about them is proved without any allowance.
# The same-loop criterion may be used because a body is a sphere, as far as topology is concerned.

distances = pw.geodesic_distances(part, method="dijkstra")
boundary = pw.boundary_criterion(part, distances)
wormhole = pw.wormhole_criterion(part, distances)
same_loop = pw.same_loop_criterion(part, distances)
criteria = [boundary, wormhole, same_loop]
print(same_loop.statement)

# %%
# We look from one vertex, the red ball, for which the criteria differ much. Everything that is coloured is as far from
# it on the scan as it was on the complete body. The wormhole criterion must allow for a tunnel from
# every hole to every other; the same-loop criterion knows that there is none.

few, more, most = (criterion.mask.sum(axis=1) for criterion in criteria)
vertex = int(np.argmax(few * (most - more)))
figure = trust_figure(part, vertex, [Region.of(criterion, vertex) for criterion in criteria])

# %%
# The soft mask says how wrong the other distances may be: at 0.8 the true distance is at least 0.8 of the measured one.

titles = [criterion.kind for criterion in criteria]
soft = heat_figure(part, vertex, [criterion.soft_mask[vertex] for criterion in criteria], titles)

# %%
# Here the whole is known, so we can also count. No criterion can guarantee more than the consistent pairs, and none
# guarantees a pair that is not consistent.

on_whole = pw.geodesic_distances(whole, method="dijkstra")[np.ix_(cut.vertex_map, cut.vertex_map)]
consistent = distances <= on_whole * (1 + 1e-9)
for criterion in criteria:
    assert not np.any(criterion.mask & ~consistent)
bars = [(criterion.kind, float(criterion.mask.mean()), GUARANTEED[criterion.kind]) for criterion in criteria]
shares = shares_figure(bars, consistent=float(consistent.mean()))
