"""
Unroll a sheet with a hole
==========================

Points on a rolled-up sheet can be unrolled from their distances along the sheet. If a piece of the sheet is missing,
shortest paths go around it, and embeddings of all distances are distorted. `WHCIE` uses only the distances that the missing
piece cannot have changed.
"""

import numpy as np
from matplotlib.figure import Figure

import partwhole as pw
from partwhole.embedding import boundary_points
from partwhole.embedding.methods.comparison import EmbeddingTask, compare, judge, named
from partwhole.embedding.methods.quality import aligned

roll = pw.datasets.swiss_roll(1500, variant="hole", seed=3)
print(roll)

# %%
# The sheet is 1.5 times as wide as usual, and four fifths of its length have a gap in the middle. The points on its boundary
# are detected: a point without neighbours on one side of its tangent plane gets a high score.

detected = boundary_points(roll.points)
print(detected)
found = detected.mask & roll.boundary
print(f"of the detected points {found.sum() / detected.mask.sum():.0%} are on the boundary,")
print(f"of the points on the boundary {found.sum() / roll.boundary.sum():.0%} are detected")

# %%
# Now the embeddings, rotated and scaled to fit the true sheet. Below each is the remaining distance to the true
# coordinates, relative to the size of the sheet. LTSA normalises its axes, so its error is also given up to an affine
# map.

sample = EmbeddingTask(roll.points, n_neighbors=12)
methods = [named(name) for name in ("isomap", "ltsa", "mds", "tcie", "whcie")]
outcomes = compare(sample, methods)

figure = Figure(figsize=(9, 5.4), dpi=150, layout="constrained")
grid = figure.subplot_mosaic(
    [["roll", "isomap", "ltsa"], ["mds", "tcie", "whcie"]], per_subplot_kw={"roll": {"projection": "3d"}}
)
space = grid["roll"]
space.scatter(*roll.points.T, c=roll.flat[:, 0], s=3, cmap="turbo", linewidths=0)
space.scatter(*roll.points[detected.mask].T, facecolors="none", edgecolors="black", s=10, linewidths=0.3)
space.set(title=f"{len(roll.points)} points, {detected.mask.sum()} on the boundary", xticks=[], yticks=[], zticks=[])
space.view_init(elev=15, azim=-70)
for outcome in outcomes:
    axes, quality = grid[outcome.method.name], judge(outcome.embedding, roll.flat, sample)
    axes.scatter(*aligned(outcome.embedding, roll.flat).T, c=roll.flat[:, 0], s=3, cmap="turbo", linewidths=0)
    axes.set(title=outcome.method.label, aspect="equal", xticks=[], yticks=[])
    axes.set_xlabel(f"error {quality.similarity:.3f}, affine {quality.affine:.3f}", fontsize=8)
    print(
        f"{outcome.method.label:18s} stress {quality.stress:.3f}, of guaranteed pairs {quality.guaranteed_stress:.3f}"
    )

# %%
# Plain scaling has the lowest stress over all pairs, since this is what it minimises: it preserves the detours. The stress
# over the guaranteed pairs separates good embeddings from bad ones without knowing the true sheet.
#
# As a scikit-learn estimator, WHCIE also embeds points that it has not seen.

seen = np.arange(len(roll.points)) % 10 > 0
whcie = pw.WHCIE(n_components=2, n_neighbors=12).fit(roll.points[seen])
places = np.empty_like(roll.flat)
places[seen], places[~seen] = whcie.embedding_, whcie.transform(roll.points[~seen])
off = np.linalg.norm(aligned(places, roll.flat) - roll.flat, axis=1)
print(f"distance to the true coordinates, on a sheet {np.ptp(roll.flat[:, 0]):.0f} long and 30 wide:")
print(f"{seen.sum()} fitted points {np.median(off[seen]):.2f}, {(~seen).sum()} new ones {np.median(off[~seen]):.2f}")
