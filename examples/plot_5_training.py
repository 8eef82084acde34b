"""
Train a network to match parts
==============================

A network learns to match parts of hands to whole hands, without ground truth. The loss compares distances on the part with
distances on the whole, for the pairs whose distances can be trusted. Some seconds on a CPU are enough for small surfaces.
"""

# %%
# We train on four hands in three poses each, and test on a fifth one that the network has never seen. Parts are cut from one
# pose and matched to another.

import matplotlib.pyplot as plt

import partwhole as pw
from partwhole.matching import Benchmark, preset
from partwhole.matching.matcher import Matcher
from partwhole.matching.network.diffusion_net import new_network
from partwhole.viewer.figures.render import render

pairs = pw.datasets.body_pairs(5, 3, plans="hand", n_vertices=500, recipe="pfaust-m", wholes="others", seed=0)
train_pairs = pairs.where(lambda part, whole: part.body < 4, name="four hands")
test_pairs = pairs.where(lambda part, whole: part.body == 4, name="a fifth hand")

# %%
# A small network, for small surfaces. The hands have the same orientation, so training rotates them by no more than 30°.

config = preset("small").with_changes(iterations=150)
run = pw.train(train_pairs, config, watch={"a fifth hand": test_pairs})

# %%
# The loss falls, and so does the error on the unseen hand. Training does not use that error.

figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
left.plot(run.losses.sum(axis=1), color="#c05020", linewidth=0.8)
left.set(xlabel="iteration", ylabel="loss", yscale="log")
iterations = [found["iteration"] for found in run.evaluations]
right.plot(iterations, [found["macro"] for found in run.evaluations], "o-", color="#205080")
right.set(xlabel="iteration", ylabel="error × 100 on the unseen hand", ylim=(0, None))
plt.show()

# %%
# Compare with the same network before training:

benchmark = Benchmark(test_pairs)
for name, matcher in {"untrained": Matcher(new_network(config.network), config), "trained": run.matcher}.items():
    print(f"error × 100 on the unseen hand, {name}: {100 * benchmark.of(matcher).macro:.1f}")

# %%
# Colours of the whole, transferred to the part by the map: where they are the same, the map is correct.

pair = test_pairs[0]
match = run.matcher.match(pair.part, pair.whole)
lowest, highest = pair.whole.vertices.min(axis=0), pair.whole.vertices.max(axis=0)
colors = (pair.whole.vertices - lowest) / (highest - lowest)
figure, axes = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
for axis, mesh, shown, title in (
    (axes[0], pair.part, colors[match.vertex_map], "the part, coloured by the map"),
    (axes[1], pair.whole, colors, "the whole"),
):
    axis.imshow(render(mesh, vertex_colors=shown))
    axis.set_title(title)
    axis.axis("off")
plt.show()
