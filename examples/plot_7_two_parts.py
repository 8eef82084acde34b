"""
Two scans, neither complete
===========================

Two parts of a hand in different poses overlap by about half. `match_parts` finds what they share, told nothing but the two
surfaces, and `merge` makes one surface of them.
"""

import numpy as np
from matplotlib.figure import Figure

import partwhole as pw
from partwhole.viewer.figures.render import automatic_camera, render

rest, posed = pw.datasets.BodyPoses(1, 1, plans="hand", n_vertices=900).values()
pair = pw.datasets.PartPair.of_cuts(*pw.datasets.overlapping_cuts(rest, 0.5, pose=posed, seed=2))
quarter = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
a = pw.Mesh(pair.a.vertices @ quarter.T + 5, pair.a.faces, name="a")
b = pw.Mesh(pair.b.vertices, pair.b.faces, name="b")

# %%
# Which vertices do they share?

found = pw.match_parts(a, b)
print(found)
for name, way, truth in (("a", found.a_to_b, pair.a_to_b), ("b", found.b_to_a, pair.b_to_a)):
    both, either = (way.shared & truth.shared).sum(), (way.shared | truth.shared).sum()
    print(f"vertices of {name}: IoU of what was found and what is shared {both / either:.2f}")

# %%
# One surface: all of a, and what only b has, bent to fit where both have something. Each vertex knows where it is from.

merged = pw.merge(a, b, found)
print(merged)
for text in (*merged.notes, *merged.warnings):
    print(text)

# %%
# On the left both parts, a laid onto b: partners have the same colour, grey is what only one of them has. On the right the
# merged surface: blue from a, sand from b.

R, t = found.alignment[:3, :3], found.alignment[:3, 3]
places = (b.vertices - b.vertices.min(axis=0)) / np.ptp(b.vertices, axis=0)
grey = np.full(3, 0.75)
panels = {
    "a": (a, np.where(found.a_to_b.shared[:, None], places[found.a_to_b.vertex_map], grey)),
    "b": (b, np.where(found.b_to_a.shared[:, None], places, grey)),
    "merged": (merged.mesh, np.where(merged.from_b[:, None], [0.89, 0.77, 0.55], [0.25, 0.45, 0.7])),
}
camera = automatic_camera(b)
figure = Figure(figsize=(9, 3.6), dpi=150, layout="constrained")
for axes, (name, (mesh, colors)) in zip(figure.subplots(1, len(panels)), panels.items(), strict=True):
    laid = mesh if name == "b" else pw.Mesh(mesh.vertices @ R.T + t, mesh.faces)
    axes.imshow(render(laid, vertex_colors=colors, camera=camera, size=(450, 540)))
    axes.set_title(name, fontsize=9)
    axes.axis("off")
