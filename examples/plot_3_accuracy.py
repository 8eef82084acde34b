"""
How accurate are the three kinds of distance?
=============================================

On the unit sphere the true distance between two points is the angle between them. We compute distances from one vertex
with the three methods, on finer and finer meshes.

- Graph distances (`dijkstra`) follow edges and are too long by some percent, however fine the mesh.
- Fast marching crosses faces; its error falls as the mesh becomes finer.
- Exact distances are those of the polyhedron. The remaining error comes from the polyhedron, not from the method.
"""

import numpy as np
from matplotlib.figure import Figure

import partwhole as pw

METHODS = {"dijkstra": "graph (dijkstra)", "fast_marching": "fast marching", "exact": "exact on the polyhedron"}
SIZES = [250, 500, 1000, 2000, 4000]

errors: dict[str, list[float]] = {method: [] for method in METHODS}
for n_vertices in SIZES:
    sphere = pw.datasets.sphere(n_vertices, jitter=0.5, seed=1)
    truth = np.arccos(np.clip(sphere.vertices @ sphere.vertices[0], -1, 1))
    for method, of_method in errors.items():
        computed = pw.geodesic_distances(sphere, sources=[0], method=method)[0]
        of_method.append(float(np.mean(np.abs(computed - truth)[1:] / truth[1:])))
    print(f"{n_vertices:5d} vertices: " + ", ".join(f"{method} {of[-1]:.2%}" for method, of in errors.items()))

# %%
# Both axes are logarithmic: a falling straight line is an error that converges to zero with the edge length.

figure = Figure(figsize=(6.4, 4), dpi=150, layout="constrained")
axes = figure.add_subplot()
for method, label in METHODS.items():
    axes.loglog(SIZES, errors[method], marker="o", label=label)
axes.set(xlabel="vertices", ylabel="mean relative error", title="Distances from one point of the unit sphere")
axes.grid(which="both", alpha=0.25)
axes.legend(frameon=False)

# %%
# Which method to use? For a *proof* that a distance can be trusted, graph distances, or exact ones with `sound=True`. For a
# loss or an embedding, fast marching: nearly as accurate as exact distances, at the cost of graph distances. See
# :doc:`/theory`.
