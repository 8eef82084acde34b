"""Calls every numba kernel once, so that it is compiled and cached before the tests' workers would each compile it."""

from __future__ import annotations

import numpy as np

import partwhole as pw
from partwhole.mesh.barycentric import BarycentricMap
from partwhole.viewer.figures.map_figures import map_figure


def main() -> None:
    body = pw.datasets.make_body("biped", 600, seed=0)
    cut = pw.datasets.random_cuts(body.rest, "pfaust-h", seed=0)
    pw.datasets.random_cuts(body.rest, "views", seed=0)
    for method in ("dijkstra", "fast_marching", "exact"):
        for dtype in (np.float32, np.float64):
            pw.geodesic_distances(cut.part, method=method, dtype=dtype)
    for criterion in (pw.wormhole_criterion, pw.boundary_criterion, pw.same_loop_criterion):
        criterion(cut.part, pw.geodesic_distances(cut.part, method="dijkstra")).soft_mask.sum()
    pw.decimate(cut.part, 200)
    pw.repair(cut.part)
    BarycentricMap.closest(cut.part.vertices, cut.part)
    pw.WHCIE(n_neighbors=8).fit_transform(np.random.default_rng(0).random((150, 3)))
    found = pw.match(cut.part, cut.whole)
    map_figure(found.part, found.whole, found.vertex_map)


if __name__ == "__main__":
    main()
