"""
Why the same-loop criterion needs a sphere
==========================================

The same-loop criterion assumes that the whole has no handles, so that a path which leaves the part through a loop must
come back through the same one. On a torus that is false, and so is what the criterion then says.

We cut a band out of a torus. One piece is missing, but it has two loops.
"""

import numpy as np

import partwhole as pw
from partwhole.viewer.figures import Region, trust_figure

whole = pw.datasets.torus(1.0, 0.35, n_vertices=1200)
longitude = np.arctan2(whole.vertices[:, 1], whole.vertices[:, 0])
part, vertex_map = whole.submesh(np.abs(longitude) > 0.35)
print(f"the whole has genus {whole.genus}, the part has {len(part.boundary_loops)} loops and genus {part.genus}")

# %%
# Nothing in the part itself tells that it came from a torus: it is a bent tube, which is also a sphere without two
# discs. So we state something wrong, and ask all criteria which distances they guarantee.

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
# Seen from one vertex beside the band (the red ball): the shortest way to the other side leads across the missing band.
# The wormhole criterion allows for that. The same-loop criterion, told that no path can go in through one loop and out
# through the other, guarantees the long way around.

beside_the_band = int(np.argmin(np.linalg.norm(part.vertices - part.vertices[part.boundary_loops[0][0]], axis=1)))
regions = [
    Region("consistent (the truth)", consistent[beside_the_band], color="#777777"),
    *(Region(name, criterion.mask[beside_the_band]) for name, criterion in criteria.items()),
]
figure = trust_figure(part, beside_the_band, regions, up="z")

# %%
# Before you use :func:`partwhole.same_loop_criterion`, check that the whole has no handles: `whole.genus == 0`.
