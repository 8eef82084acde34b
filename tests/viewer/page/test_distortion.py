from __future__ import annotations

import numpy as np
import pytest

from partwhole.criterion import wormhole_criterion
from partwhole.datasets import plane
from partwhole.datasets.cutting.cuts import Cut
from partwhole.geodesics import geodesic_distances
from partwhole.mesh import farthest_points
from partwhole.viewer.page.distortion import distance_distortion, distortions, measured_on_map
from partwhole.viewer.page.scene import Scene


def test_the_true_map_hardly_distorts_and_a_scrambled_one_does(cut: Cut) -> None:
    true = distance_distortion(cut.part, cut.whole, cut.vertex_map)
    scrambled = distance_distortion(cut.part, cut.whole, np.random.default_rng(0).permutation(cut.vertex_map))
    assert np.nanmean(true) < 0.01
    assert np.nanmean(scrambled) > 10 * np.nanmean(true)


def test_it_is_the_mean_over_guaranteed_partners(cut: Cut) -> None:
    rng = np.random.default_rng(1)
    vertex_map = rng.integers(cut.whole.n_vertices, size=cut.part.n_vertices)
    found = distance_distortion(cut.part, cut.whole, vertex_map, partners=20)
    chosen = farthest_points(cut.part, 20, seed=0)
    knobs = {"dtype": np.float32}
    rows = np.asarray(geodesic_distances(cut.part, chosen, **knobs))
    from_boundary = np.asarray(geodesic_distances(cut.part, cut.part.boundary_vertices, **knobs))
    mask = wormhole_criterion(cut.part, rows, rows=chosen, from_boundary=from_boundary).mask
    on_whole = np.asarray(geodesic_distances(cut.whole, vertex_map[chosen], **knobs))
    for i in (5, 100, 333):
        trusted = [k for k in range(20) if mask[k, i] and chosen[k] != i]
        off = [abs(on_whole[k, vertex_map[i]] - rows[k, i]) for k in trusted]
        expected = np.mean(off) / cut.whole.area**0.5 if off else np.nan
        assert found[i] == pytest.approx(expected, rel=1e-4, nan_ok=True)


def test_a_vertex_without_guaranteed_pairs_has_none() -> None:
    # every vertex of a strip is on its boundary
    strip = plane(width=4, height=0.1, n_vertices=6)
    found = distance_distortion(strip, strip, np.arange(strip.n_vertices), partners=3)
    assert len(found) == strip.n_vertices


def test_what_is_measured_on_a_scene(scene: Scene) -> None:
    assert set(measured_on_map(scene)) == {"distortion", "distortion_before"}
    with pytest.raises(ValueError, match="no map yet"):
        distortions(Scene.of(scene.part.full))


def test_units_may_differ(cut: Cut) -> None:
    found = distance_distortion(cut.part, cut.whole, cut.vertex_map, partners=8)
    other = distance_distortion(cut.part.scaled(1000), cut.whole, cut.vertex_map, partners=8, factor=0.001)
    np.testing.assert_allclose(other, found, atol=1e-5)
