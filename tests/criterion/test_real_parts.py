"""No false guarantees on the published parts, and accurate distances on the published wholes.

The quick tests take a few shapes and rows; those marked slow take all pairs of ten shapes of each set.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from partwhole.criterion import boundary_criterion, consistency, same_loop_criterion, wormhole_criterion
from partwhole.datasets.published.pfaust import PFaust
from partwhole.geodesics import geodesic_distances
from partwhole.mesh import read_mesh, refine_boundary

CRITERIA = (boundary_criterion, wormhole_criterion, same_loop_criterion)
FEW, TEN = [25, 88], [0, 10, 25, 37, 48, 53, 66, 72, 81, 99]
pytestmark = pytest.mark.real_data


def false_guarantees(data_root: Path, level: str, k: int, method: str, sound: bool) -> dict[str, int]:
    cut = PFaust(data_root, level).cut(k)
    on_whole = geodesic_distances(cut.whole, cut.vertex_map, method=method)[:, cut.vertex_map]
    on_whole = np.minimum(on_whole, on_whole.T)
    on_part = geodesic_distances(cut.part, method=method)
    (row,) = consistency(cut.part, on_part, on_whole, tolerances=(1e-6,), sound=sound).rows
    assert all(g.n_guaranteed > 0 for g in row.criteria)
    return {g.kind: g.n_false for g in row.criteria}


NONE = {"boundary": 0, "wormhole": 0, "same-loop": 0}


@pytest.mark.parametrize("level", ["M", "H"])
@pytest.mark.parametrize("k", FEW)
def test_graph_distances_have_no_false_guarantee(data_root, level, k):
    assert false_guarantees(data_root, level, k, "dijkstra", sound=False) == NONE


@pytest.mark.slow
@pytest.mark.parametrize("level", ["M", "H"])
@pytest.mark.parametrize("k", TEN)
def test_graph_and_exact_distances_of_ten_shapes_have_no_false_guarantee(data_root, level, k):
    assert false_guarantees(data_root, level, k, "dijkstra", sound=False) == NONE
    assert false_guarantees(data_root, level, k, "exact", sound=True) == NONE


@pytest.mark.parametrize(("level", "pieces"), [("M", 1), ("H", 1), ("H", 3)])
def test_exact_distances_have_no_false_guarantee_in_sound_mode(data_root, level, pieces):
    cut = PFaust(data_root, level).cut(25)
    n = cut.part.n_vertices
    part = refine_boundary(cut.part, pieces)
    rows = np.random.default_rng(0).choice(n, 40, replace=False)
    D = geodesic_distances(part, rows, method="exact")
    from_boundary = geodesic_distances(part, part.boundary_vertices, method="exact")
    truth = geodesic_distances(cut.whole, cut.vertex_map[rows], method="exact")[:, cut.vertex_map]
    inconsistent = np.abs(D[:, :n] - truth) > 1e-6 * truth
    assert inconsistent.any()
    for criterion in CRITERIA:
        mask = criterion(part, D, rows=rows, from_boundary=from_boundary, sound=True).mask[:, :n]
        assert mask.mean() > 0.05
        assert not (mask & inconsistent).any()


@pytest.mark.parametrize("k", [0, 37])
def test_fast_marching_is_within_half_a_per_cent(data_root, k):
    mesh = read_mesh(data_root / "faust_r" / f"tr_reg_{k:03d}.off")
    sources = np.arange(0, mesh.n_vertices, mesh.n_vertices // 24)
    truth = geodesic_distances(mesh, sources, method="exact")
    found = geodesic_distances(mesh, sources)
    apart = truth > 0
    assert np.abs(found[apart] / truth[apart] - 1).mean() < 0.005
