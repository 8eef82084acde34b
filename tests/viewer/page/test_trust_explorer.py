from __future__ import annotations

import numpy as np
import pytest

from partwhole.criterion import boundary_criterion, same_loop_criterion, wormhole_criterion
from partwhole.datasets import sphere, torus
from partwhole.datasets.cutting.cuts import Cut
from partwhole.geodesics import geodesic_distances
from partwhole.mesh import Mesh
from partwhole.viewer.page.trust_explorer import TrustExplorer, why_no_sphere

ROWS = [0, 57, 300]


@pytest.mark.parametrize("method", ["dijkstra", "fast_marching"])
@pytest.mark.parametrize("sound", [False, True])
def test_a_row_is_that_of_the_criteria(cut: Cut, method: str, sound: bool) -> None:
    part = cut.part
    explorer = TrustExplorer.of(part, method=method, sound=sound)
    # one at a time: what is measured in one bundle may differ by rounding
    rows = np.concatenate([geodesic_distances(part, [v], method=method, dtype=np.float32) for v in ROWS])
    from_boundary = np.asarray(geodesic_distances(part, part.boundary_vertices, method=method, dtype=np.float32))
    knobs = {"rows": ROWS, "from_boundary": from_boundary, "sound": sound}
    criteria = {
        "boundary": boundary_criterion(part, rows, **knobs),
        "wormhole": wormhole_criterion(part, rows, **knobs),
        "same-loop": same_loop_criterion(part, rows, **knobs),
    }
    for k, vertex in enumerate(ROWS):
        found = explorer.row(vertex)
        np.testing.assert_array_equal(found.distances, rows[k])
        assert set(found.thresholds) == set(criteria)
        for kind, criterion in criteria.items():
            np.testing.assert_allclose(found.thresholds[kind], criterion.threshold[k], rtol=2e-6)
            np.testing.assert_array_equal(found.guaranteed(kind), criterion.mask[k])


def test_the_wormhole_of_a_pair_has_the_length_of_its_threshold(cut: Cut) -> None:
    explorer = TrustExplorer.of(cut.part)
    row = explorer.row(57)
    for other in range(0, cut.part.n_vertices, 41):
        wormhole = explorer.wormhole(57, other)
        assert wormhole is not None
        assert wormhole.length == pytest.approx(row.thresholds["wormhole"][other], rel=1e-5)
        ends = cut.part.vertices[[wormhole.leaves, wormhole.returns]]
        assert wormhole.across == pytest.approx(np.linalg.norm(ends[0] - ends[1]), rel=1e-5, abs=1e-7)
        assert {wormhole.leaves, wormhole.returns} <= set(cut.part.boundary_vertices.tolist())


def test_paths_have_the_length_of_their_distance(cut: Cut) -> None:
    for method, slack in (("dijkstra", 1e-5), ("fast_marching", 0.02)):
        explorer = TrustExplorer.of(cut.part, method=method)
        distances = explorer.distances_from(57)
        for other in (3, 199, 401):
            way = explorer.path(distances, other)
            length = np.linalg.norm(np.diff(way, axis=0), axis=1).sum()
            assert length == pytest.approx(distances[other], rel=slack)
            np.testing.assert_allclose(way[[0, -1]], cut.part.vertices[[other, 57]], atol=1e-12)


def test_a_path_from_the_boundary_begins_there(cut: Cut) -> None:
    explorer = TrustExplorer.of(cut.part)
    start = int(cut.part.boundary_vertices[4])
    way = explorer.path_from_boundary(start, 57)
    np.testing.assert_allclose(way[[0, -1]], cut.part.vertices[[start, 57]])


def test_all_is_guaranteed_where_nothing_is_missing() -> None:
    explorer = TrustExplorer.of(sphere(200))
    row = explorer.row(4)
    assert all(row.guaranteed(kind).all() for kind in row.thresholds)
    assert explorer.wormhole(4, 9) is None


def test_nothing_is_guaranteed_across_components() -> None:
    one = sphere(100)
    two = Mesh(
        np.concatenate([one.vertices, one.vertices + 5]), np.concatenate([one.faces, one.faces + one.n_vertices])
    )
    explorer = TrustExplorer.of(two)
    assert explorer.no_same_loop is not None
    assert "same-loop" not in explorer.row(0).thresholds
    assert not explorer.row(0).guaranteed("wormhole")[one.n_vertices :].any()


def test_a_whole_that_is_no_sphere_forbids_the_same_loop_criterion(cut: Cut) -> None:
    assert why_no_sphere(None) is None
    assert why_no_sphere(cut.whole) is None
    assert "2 boundary loops" in (why_no_sphere(cut.part) or "")
    assert "not a topological sphere" in (why_no_sphere(torus(n_vertices=200)) or "")
    explorer = TrustExplorer.of(cut.part, no_same_loop="the whole has a handle")
    assert explorer.chained is None
    assert explorer.no_same_loop == "the whole has a handle"


def test_vertices_that_are_not_there_are_refused(cut: Cut) -> None:
    explorer = TrustExplorer.of(cut.part, method="dijkstra")
    with pytest.raises(ValueError, match=f"no vertex {cut.part.n_vertices}, "):
        explorer.row(cut.part.n_vertices)
    with pytest.raises(ValueError, match="no vertex -1, "):
        explorer.wormhole(0, -1)
