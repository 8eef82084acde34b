"""Calls every numba kernel once, so that it is compiled and cached before the tests' workers would each compile it."""

from __future__ import annotations

import numpy as np
from scipy import sparse

import partwhole as pw
from partwhole.criterion.distances import min_plus
from partwhole.embedding.solver.classical import classical_scaling
from partwhole.embedding.solver.smacof import weighted_smacof
from partwhole.mesh.barycentric import BarycentricMap, SurfaceTree
from partwhole.spectral.shot import shot
from partwhole.viewer.figures.map_figures import map_figure
from partwhole.viewer.figures.render import Dots, render


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
    SurfaceTree(cut.part).intersecting_faces()
    pw.WHCIE(n_neighbors=8).fit_transform(np.random.default_rng(0).random((150, 3)))
    shot(cut.part, radius=0.1)
    found = pw.match(cut.part, cut.whole)
    map_figure(found.part, found.whole, found.vertex_map)
    render(cut.part, dots=[Dots(cut.part.vertices[:3])], size=(60, 40))
    _compile_types()


def _compile_types() -> None:
    """Kernels that are compiled for each type of numbers that a caller may hand over, and again for arrays to read."""
    for n in (40, 510):  # large matrices are treated otherwise, and so are weights of which most are 0
        points = np.random.default_rng(0).random((n, 2))
        distances = np.linalg.norm(points[:, None] - points, axis=2)
        near = abs(np.arange(n)[:, None] - np.arange(n)) < 20
        for dtype in (np.float32, np.float64):
            D = distances.astype(dtype)
            classical_scaling(D)
            for weights in (bool, np.float32, np.float64):
                weighted_smacof(D, near.astype(weights), max_iter=2)
            weighted_smacof(D, sparse.csr_array(near.astype(float)), max_iter=2)
    to_read = np.ones((4, 4), np.float32)
    to_read.flags.writeable = False
    min_plus(to_read, np.ones((4, 4), np.float32))
    min_plus(np.ones((4, 4), np.float32), to_read)


if __name__ == "__main__":
    main()
