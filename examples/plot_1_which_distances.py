"""
Which distances can be trusted on a body with holes?
====================================================

A scan of a body always misses something. A shortest path on the scan must go around the holes, and so some of its
distances are too long, and others are right. Three criteria tell them apart by looking at the scan alone.

The library makes the body, and the holes.
"""

import numpy as np

import partwhole as pw
from partwhole.viewer.figures import Region, heat_figure, shares_figure, trust_figure

whole = pw.datasets.make_body("biped", n_vertices=2500, seed=2)
cut = pw.datasets.random_cuts(whole, "holes", seed=4)
part = cut.part
print(part)

# %%
# Distances along edges are not the most accurate, but what the criteria say about them is proved without any allowance.
# The same-loop criterion may be used because a body is a sphere, as far as topology is concerned.

distances = pw.geodesic_distances(part, method="dijkstra")
criteria = {
    "boundary": pw.boundary_criterion(part, distances),
    "wormhole": pw.wormhole_criterion(part, distances),
    "same-loop": pw.same_loop_criterion(part, distances),
}
print(criteria["same-loop"].statement)

# %%
# From one vertex, the red ball: everything that is coloured is as far from it on the scan as it was on the complete
# body.

inner = int(np.argmax(distances[:, part.boundary_vertices].min(axis=1)))
figure = trust_figure(part, inner, [Region(name, criterion.mask[inner]) for name, criterion in criteria.items()])

# %%
# The soft mask says how wrong the other distances may be: at 0.8 the true distance is at least 0.8 of the measured one.

soft = heat_figure(part, inner, [criterion.soft_mask[inner] for criterion in criteria.values()], list(criteria))

# %%
# Here the whole is known, so we can also count. No criterion can guarantee more than the consistent pairs, and none
# guarantees a pair that is not consistent.

on_whole = pw.geodesic_distances(whole, method="dijkstra")[np.ix_(cut.vertex_map, cut.vertex_map)]
consistent = distances <= on_whole * (1 + 1e-9)
for criterion in criteria.values():
    assert not np.any(criterion.mask & ~consistent)
shares = shares_figure(
    [(name, float(criterion.mask.mean()), "#3b7dbd") for name, criterion in criteria.items()],
    consistent=float(consistent.mean()),
)
