"""The fit of a map as a whole, the warnings that follow, doubtful regions and orientation."""

from __future__ import annotations

import math
from dataclasses import replace
from types import ModuleType

import numpy as np
import pytest
import torch
from scipy.spatial import cKDTree

from partwhole.datasets import cut_plane, sphere
from partwhole.geodesics import geodesic_distances
from partwhole.matching import Matcher, TrainingConfig
from partwhole.matching.confidence.constants import DOUBTFUL
from partwhole.matching.confidence.fit import (
    doubtful_regions,
    fit_of,
    limited_confidence,
    notes_about,
    perhaps_both_partial,
    reversed_share,
    swapped_question,
    torn_share,
    warnings_about,
)
from partwhole.matching.network.diffusion_net import new_network
from partwhole.matching.readout.maps import Comparison
from partwhole.matching.result import Fit
from partwhole.matching.search.search import search
from partwhole.mesh import Mesh


def test_a_fit_is_measured(small: ModuleType, config: TrainingConfig) -> None:
    torch.manual_seed(1)
    matcher = Matcher(new_network(config.network), config)
    cut = cut_plane(small.lopsided(110), (0, 0, 0), (1.0, 0.5, 0.2))
    given = small.pair_of(cut.part, cut.whole, matcher)
    position = search(matcher, given, yaw_steps=4, up="y")
    true = torch.from_numpy(cut.vertex_map)
    fit = fit_of(true, position)
    assert fit.distortion < 0.02
    assert fit.stretch == pytest.approx(1, abs=0.05)
    assert fit.reversed == 0
    assert fit.guaranteed == pytest.approx(float(given.guaranteed.float().mean()), abs=1e-6)
    assert not fit.mirrored
    scrambled = fit_of(true.flip(0), position)
    assert scrambled.distortion > 10 * fit.distortion
    assert scrambled.poor


def fit(**changes: object) -> Fit:
    good = {
        "guaranteed": 0.5,
        "criterion": "wormhole",
        "distortion": 0.02,
        "stretch": 1.0,
        "curvature": 0.9,
        "reversed": 0.05,
        "rival_angle": 180.0,
        "rival_margin": 2.0,
        "expected_error": 0.01,
    }
    return Fit(**{**good, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"curvature": 0.1}, "the map is probably wrong"),
        ({"expected_error": 0.2}, "the map is probably wrong: the expected error is 20 % of √area"),
        ({"expected_error": 0.08}, "parts of the map are probably wrong: the expected error is 8 % of √area"),
        ({"distortion": 0.3}, "the part may belong to another surface"),
        ({"reversed": 0.9}, "probably a mirror image: 90 % of the area"),
        ({"rival_margin": 0.1}, "possibly the wrong way round: with the part rotated by 180°"),
        ({"stretch": 1.6}, "distances on the whole are 1.60 times those on the part"),
    ],
)
def test_what_is_wrong_is_said(changes: dict[str, object], said: str) -> None:
    assert warnings_about(fit(), 0.2) == ()
    assert any(said in text for text in warnings_about(fit(**changes), 0.2))


def test_a_small_error_is_not_a_reason_for_doubt() -> None:
    for few, grade in ((1.0, "the map is"), (0.6, "parts of the map are")):
        said = warnings_about(fit(expected_error=0.0063), few)[0]
        assert said.startswith(f"{grade} probably wrong: {100 * few:.0f} % of the part's area is doubtful")
        assert "expected error" not in said


def test_a_rule_that_knows_maps_decides_alone() -> None:
    known = fit(judged=True, curvature=0.1, distortion=0.3)
    assert not known.poor
    assert known.credit == 1
    assert warnings_about(known, 0.9) == ()
    assert warnings_about(fit(judged=True, expected_error=0.08), 0.0)[0].startswith(
        "parts of the map are probably wrong"
    )
    wrong = fit(judged=True, expected_error=0.3)
    assert wrong.poor
    assert wrong.credit == pytest.approx(DOUBTFUL / 2)
    assert warnings_about(wrong, 0.0)[0].startswith("the map is probably wrong")


def test_a_symmetric_shape_has_a_note() -> None:
    assert notes_about(fit(judged=True, alike_elsewhere=0.1)) == ()
    assert notes_about(fit(alike_elsewhere=0.6)) == ()
    assert notes_about(fit(judged=True, alike_elsewhere=0.6, expected_error=0.4)) == ()
    assert (
        "to 60 % of the part's area other places are about as similar"
        in notes_about(fit(judged=True, alike_elsewhere=0.6))[0]
    )


def test_features_that_are_alike_elsewhere(small: ModuleType, config: TrainingConfig) -> None:
    matcher = Matcher(new_network(config.network), config)
    cut = cut_plane(small.lopsided(110), (0, 0, 0), (1.0, 0.5, 0.2))
    found = search(matcher, small.pair_of(cut.part, cut.whole, matcher), yaw_steps=1, up="y")
    true = torch.from_numpy(cut.vertex_map)

    def seen(of_whole: torch.Tensor) -> Fit:
        compared = Comparison(of_whole[true], of_whole)
        return fit_of(true, replace(found, chosen=replace(found.chosen, nearest=true, compared=compared)))

    # every vertex has a feature of its own; then all have the same one
    own = seen(torch.eye(cut.whole.n_vertices))
    assert own.similarity == pytest.approx(1)
    assert own.alike_elsewhere == 0
    assert own.torn == 0
    assert seen(torch.ones(cut.whole.n_vertices, 2)).alike_elsewhere == 1
    # the features of every vertex suit another place nearly as well: one far away, or one close by
    D = found.pair.whole.distances
    assert D is not None
    away = D[true]
    far, close = away.argmax(dim=1), torch.where(away > 0.05, away, 9.0).argmin(dim=1)
    assert away.max(dim=1).values.min() > 0.3
    assert away.gather(1, close[:, None]).max() < 0.29
    own_features = torch.eye(cut.whole.n_vertices)
    for other, suit, share in ((far, 0.95, 1.0), (far, 0.9, 0.0), (close, 0.95, 0.0)):
        # cosines differ by (1 − suit) / √(1 + suit²): 0.036 or 0.074
        compared = Comparison(own_features[true] + suit * own_features[other], own_features)
        placed = replace(found, chosen=replace(found.chosen, nearest=true, compared=compared))
        assert fit_of(true, placed).alike_elsewhere == share
    unknown = fit_of(true, replace(found, chosen=replace(found.chosen, compared=None)))
    assert math.isnan(unknown.similarity)
    assert math.isnan(unknown.alike_elsewhere)


def test_a_tear_is_as_large_as_its_triangles() -> None:
    ball = sphere(400).scaled(0.28)
    D = torch.from_numpy(geodesic_distances(ball, method="dijkstra"))
    swapped = torch.arange(400)
    north, south = (int(ball.vertices[:, 2].argmax()), int(ball.vertices[:, 2].argmin()))
    swapped[north] = south
    assert 0 < torn_share(swapped, ball, D) < 0.02


@pytest.mark.parametrize(("apart", "share"), [(0.34, 0.0), (0.36, 1.0)])
def test_an_edge_is_torn_beyond_three_lengths_and_a_little(apart: float, share: float) -> None:
    corner = Mesh([[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0]], [[0, 1, 2]])
    D = torch.full((3, 3), 0.3)
    D[0, 1] = D[1, 0] = apart
    found = torn_share(torch.arange(3), corner, D)
    # of three edges with equal areas at their ends, one is torn
    assert found == pytest.approx(share / 3)


def test_few_vertices_are_never_sure(small: ModuleType, config: TrainingConfig) -> None:
    matcher = Matcher(new_network(config.network), config)
    cut = cut_plane(small.lopsided(110), (0, 0, 0), (1.0, 0.5, 0.2))
    found = search(matcher, small.pair_of(cut.part, cut.whole, matcher), yaw_steps=1, up="y")
    sure = np.ones(cut.part.n_vertices)
    assert cut.part.n_vertices < 100
    limited = limited_confidence(sure, fit(judged=True), found)
    part, whole = found.pair.meshes
    assert limited == pytest.approx(min(part.n_vertices, 110 * part.area / whole.area) / 100)


def test_a_map_that_fits_badly_is_doubtful_everywhere() -> None:
    assert fit().credit == 1
    assert fit(curvature=0.51, distortion=0.11, rival_margin=0.0).credit == 1
    assert fit(curvature=0.49).credit == pytest.approx(0.49)
    assert fit(reversed=0.9).credit == DOUBTFUL
    assert fit(distortion=0.24).credit == pytest.approx(DOUBTFUL / 2)
    assert fit(curvature=-0.3).credit == 0


def test_doubt_and_certainty() -> None:
    (said,) = warnings_about(fit(), 0.6)
    assert said.endswith("60 % of the part's area is doubtful")
    (said,) = warnings_about(fit(), 0.7)
    assert "the part may belong to another surface" in said
    assert not fit(rival_margin=None, rival_angle=None).perhaps_turned
    assert not fit(reversed=float("nan")).mirrored


def test_regions_are_connected_pieces() -> None:
    ball = sphere(1000)
    z = ball.vertices[:, 2]
    doubtful = (z > 0.8) | (z < -0.6)
    confidence = np.where(doubtful, 0.2 + 0.1 * np.abs(z), 0.9)
    regions = doubtful_regions(ball, doubtful, confidence)
    assert [round(region.area_share, 2) for region in regions] == [0.2, 0.1]
    assert sum(region.vertices for region in regions) == doubtful.sum()
    lower = regions[0]
    assert lower.centre[2] < -0.6
    assert confidence[lower.vertex] == confidence[z < -0.6].min()
    assert 0.2 < lower.confidence < 0.3


def test_specks_are_no_regions() -> None:
    ball = sphere(2000)
    doubtful = np.zeros(2000, bool)
    doubtful[7] = True
    assert doubtful_regions(ball, doubtful, np.ones(2000)) == ()
    assert len(doubtful_regions(ball, doubtful, np.ones(2000), least_share=0)) == 1
    assert doubtful_regions(ball, ~doubtful, np.zeros(2000))[0].vertices == 1999


def test_a_mirror_image_is_seen() -> None:
    whole = sphere(1500)
    cut = cut_plane(whole, (0, 0, 0.1), (0, 0, 1))
    places = cKDTree(whole.vertices)
    assert reversed_share(cut.vertex_map, cut.part, whole) == 0
    turned = places.query(cut.part.vertices * [-1, -1, 1])[1]
    assert reversed_share(turned, cut.part, whole) < 0.05
    mirrored = places.query(cut.part.vertices * [-1, 1, 1])[1]
    assert reversed_share(mirrored, cut.part, whole) > 0.95


def test_two_surfaces_with_boundaries_may_both_be_parts() -> None:
    whole = sphere(300)
    part = cut_plane(whole, (0, 0, 0.1), (0, 0, 1)).part
    (said,) = perhaps_both_partial(part, part, 0.45)
    assert said.startswith("both surfaces have boundaries, and 45 % of the part has no certain place")
    # most of it has a place, or one of the two is complete
    assert perhaps_both_partial(part, part, 0.35) == perhaps_both_partial(part, whole, 0.9) == ()


def test_what_looks_swapped_is_asked_about() -> None:
    whole = sphere(300)
    part = cut_plane(whole, (0, 0, 0.1), (0, 0, 1)).part
    asked = swapped_question(whole, part)
    assert asked == "the part has no boundary and the whole has holes; are they swapped?"
    for pair in ((part, whole), (whole, whole), (part, part)):
        assert swapped_question(*pair) is None


def test_a_map_to_one_vertex_has_no_orientation() -> None:
    ball = sphere(100)
    assert math.isnan(reversed_share(np.zeros(100, np.int64), ball, ball))


def test_a_small_whole() -> None:
    corner = Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    assert reversed_share(np.array([0, 1, 2]), corner, corner) == 0
    assert reversed_share(np.array([0, 2, 1]), corner, corner) == 1


def test_triangles_that_all_but_collapse_say_nothing_about_orientation() -> None:
    corners = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]
    part = Mesh(corners, [[0, 1, 2], [1, 3, 2]])
    # the last vertex goes just across the diagonal: the second triangle is reversed, and a fiftieth of what it should be
    for across, share in ((0.49, 0.0), (0.3, 0.5)):
        whole = Mesh([*corners, [across, across, 0]], [[0, 1, 4], [1, 2, 4], [2, 0, 4], [1, 3, 2]])
        assert reversed_share(np.array([0, 1, 2, 4]), part, whole) == share
