"""
Why the same-loop criterion needs a sphere
==========================================

The same-loop criterion assumes that the whole has no handles, so that a path which leaves the part through a loop must
return through the same loop. This is false on a torus, where the criterion gives false guarantees.

We cut a band out of a torus. One piece is missing, but the part has two loops.
"""

import numpy as np

import partwhole as pw
from partwhole.viewer.figures.render import Camera
from partwhole.viewer.figures.trust_figures import Region, trust_figure

whole = pw.datasets.torus(1.0, 0.35, n_vertices=1200)
longitude = np.arctan2(whole.vertices[:, 1], whole.vertices[:, 0])
part, vertex_map = whole.submesh(np.abs(longitude) > 0.35)
print(f"the whole has genus {whole.genus}, the part has {len(part.boundary_loops)} loops and genus {part.genus}")

# %%
# The part alone does not show that it came from a torus: it is a bent tube, which is also a sphere without two discs. So
# we apply all criteria, including the one whose assumption does not hold.

on_part = pw.geodesic_distances(part, method="dijkstra")
on_whole = pw.geodesic_distances(whole, method="dijkstra")[np.ix_(vertex_map, vertex_map)]
consistent = on_part <= on_whole * (1 + 1e-9)

criteria = {
    "boundary": pw.boundary_criterion(part, on_part),
    "wormhole": pw.wormhole_criterion(part, on_part),
    "same-loop": pw.same_loop_criterion(part, on_part),
}
for name, criterion in criteria.items():
    false = np.count_nonzero(criterion.mask & ~consistent)
    print(f"{name:>10}: {criterion.fraction:.1%} of all pairs guaranteed, {false} of them falsely")

assert not np.any(criteria["wormhole"].mask & ~consistent)
assert np.any(criteria["same-loop"].mask & ~consistent)

# %%
# The red ball is the vertex with the most false guarantees. The shortest path to the light part of the first picture
# crosses the missing band. The wormhole criterion allows for that. The same-loop criterion assumes that no path leaves
# through one loop and returns through the other, so it also guarantees the long path around the torus.

false = criteria["same-loop"].mask & ~consistent
vertex = int(np.argmax(false.sum(axis=1)))
regions = [
    Region("the truth", consistent[vertex], note="consistent with the red ball", color="#8a8a8a"),
    Region.of(criteria["wormhole"], vertex),
    Region.of(criteria["same-loop"], vertex),
    Region("same-loop, falsely", false[vertex], color="#c0392b"),
]
figure = trust_figure(part, vertex, regions, camera=Camera(azimuth=15, elevation=40))

# %%
# Before you use :func:`partwhole.same_loop_criterion`, check that the whole has no handles: `whole.genus == 0`.
