"""
Making a part with exact ground truth
=====================================

To test a method you need parts whose wholes are known. Cutting preserves vertices and faces, so the correspondence is
exact: `vertex_map[i]` is the vertex of the whole for vertex `i` of the part.
"""

import numpy as np
from matplotlib.figure import Figure

import partwhole as pw
from partwhole.viewer.figures.render import Camera, render

whole = pw.datasets.make_body("quadruped", 2500, seed=5).pose(seed=1)
cuts = {
    "a plane": pw.datasets.cut_plane(whole, origin=whole.vertices.mean(axis=0), normal=[1, 0.3, 0.5]),
    "four large balls": pw.datasets.random_cuts(whole, "pfaust-m", seed=1),
    "many small balls": pw.datasets.random_cuts(whole, "pfaust-h", seed=1),
}

# %%
# The largest component is kept. The pictures show the part, coloured by the positions of its vertices in the whole.

camera = Camera(azimuth=60, elevation=20, up="y")
colors = (whole.vertices - whole.vertices.min(axis=0)) / np.ptp(whole.vertices, axis=0)
figure = Figure(figsize=(9, 3), dpi=150, layout="constrained")
panels = {"the whole": (whole, np.arange(whole.n_vertices))}
panels |= {name: (cut.part, cut.vertex_map) for name, cut in cuts.items()}
for axes, (name, (mesh, vertex_map)) in zip(figure.subplots(1, len(panels)), panels.items(), strict=True):
    axes.imshow(render(mesh, vertex_colors=colors[vertex_map], camera=camera, size=(450, 450)))
    axes.set_title(name, fontsize=9)
    axes.axis("off")

# %%
# How difficult is each part? We count the share of pairs whose distance did not change, and how many of these a criterion
# finds from the part alone.

on_whole = pw.geodesic_distances(whole, method="dijkstra")
for name, cut in cuts.items():
    on_part = pw.geodesic_distances(cut.part, method="dijkstra")
    consistent = on_part <= on_whole[np.ix_(cut.vertex_map, cut.vertex_map)] * (1 + 1e-9)
    found = pw.same_loop_criterion(cut.part, on_part).mask
    assert not np.any(found & ~consistent)
    print(
        f"{name}: {cut.area_share:.0%} of the area, {len(cut.part.boundary_loops)} loops, "
        f"{consistent.mean():.0%} of the pairs consistent, {found.sum() / consistent.sum():.0%} of these guaranteed"
    )
