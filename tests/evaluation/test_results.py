"""Results of pairs, and of a set of pairs."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from partwhole.datasets import GroundTruth, Pair, PFaust, Shrec16, cut_plane, sphere
from partwhole.evaluation import Evaluation, PairResult, Protocol, evaluate_map
from partwhole.geodesics import geodesic_distances

BALL = sphere(300, radius=2.0)
CUT = cut_plane(BALL, (0, 0, 0), (0, 0, 1))
PAIR = Pair.of_cut(CUT, name="cap")
PROTOCOL = Protocol(data="by hand")
# means 0.1, 0.2 and 0.6; five vertices in all
RUN = Evaluation(
    [
        PairResult("a", np.array([0.1]), seconds=1.0, flipped=0.0),
        PairResult("b", np.array([0.1, 0.3]), seconds=3.0),
        PairResult("c", np.array([0.5, 0.7]), coverage=0.4),
    ],
    PROTOCOL,
)


def test_averages_by_hand() -> None:
    assert RUN.micro == pytest.approx(1.7 / 5)
    assert RUN.macro == pytest.approx(0.9 / 3)
    assert RUN.median_pair == pytest.approx(0.2)
    assert RUN.worst_pair.name == "c"
    assert RUN.share_above() == pytest.approx(3 / 5)
    assert RUN.share_above(0.5) == pytest.approx(1 / 5)
    assert [p.median for p in RUN.pairs] == pytest.approx([0.1, 0.2, 0.6])
    assert RUN.mean_of("seconds") == 2.0
    assert np.isnan(RUN.mean_of("roughness"))


def test_measures_are_times_one_hundred() -> None:
    measures = RUN.measures()
    assert measures["micro"] == pytest.approx(34)
    assert measures["worst pair"] == pytest.approx(60)
    assert measures["% above 0.15"] == pytest.approx(60)
    assert measures["PCK area"] == pytest.approx(100 * (0.6 + 0.6) / 5)
    assert measures["% covered"] == pytest.approx(40)
    assert measures["seconds"] == 2.0


def test_curves_of_vertices_and_of_pairs() -> None:
    assert RUN.pck().area == pytest.approx(1.2 / 5)
    assert RUN.pck(average="macro").area == pytest.approx((0.6 + 0.3 + 0) / 3)
    assert RUN.pck(limit=1.0).limit == 1.0


def test_a_perfect_map_and_a_constant_one() -> None:
    perfect = evaluate_map(PAIR, CUT.vertex_map, method="dijkstra", seconds=0.5)
    assert (perfect.name, perfect.mean, perfect.share_above(), perfect.seconds) == ("cap", 0, 0, 0.5)
    assert perfect.roughness == pytest.approx(1)
    assert perfect.coverage == pytest.approx(0.5)
    assert np.isnan(perfect.flipped)
    top = int(np.argmax(BALL.vertices[:, 2]))
    constant = evaluate_map(PAIR, np.full(CUT.part.n_vertices, top), method="exact")
    # distances from the pole of a hemisphere of radius 1: 1 on average over its area; √area is √(4π)
    assert constant.mean == pytest.approx(1 / (4 * np.pi) ** 0.5, rel=0.05)
    assert constant.roughness == 0


def test_units_do_not_matter() -> None:
    wrong = np.roll(CUT.vertex_map, 5)
    own = Pair(CUT.part, BALL, GroundTruth.of_map(CUT.vertex_map))
    expected = evaluate_map(PAIR, wrong, method="dijkstra")
    found = evaluate_map(own, wrong, geodesic_distances(BALL, method="dijkstra"))
    np.testing.assert_allclose(found.errors, expected.errors, rtol=1e-9)
    assert found.roughness == pytest.approx(expected.roughness)


def test_a_known_symmetry_counts_flips() -> None:
    # the mirror image x → −x of every vertex, as well as the vertices allow
    flipped = BALL.vertices * [-1, 1, 1]
    mirror = np.linalg.norm(flipped[:, None] - BALL.vertices, axis=2).argmin(axis=1)
    assert evaluate_map(PAIR, CUT.vertex_map, method="dijkstra", symmetry=mirror).flipped == 0
    assert evaluate_map(PAIR, mirror[CUT.vertex_map], method="dijkstra", symmetry=mirror).flipped > 0.95


def test_csv_has_a_line_a_pair(tmp_path: Path) -> None:
    RUN.write_csv(tmp_path / "pairs.csv")
    with (tmp_path / "pairs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["pair"] for row in rows] == ["a", "b", "c"]
    assert [float(row["mean_x100"]) for row in rows] == pytest.approx([10, 20, 60])
    assert [int(row["vertices"]) for row in rows] == [1, 2, 2]
    assert rows[2]["largest_x100"] == "70"
    assert rows[2]["seconds"] == ""
    assert {row["protocol"] for row in rows} == {PROTOCOL.statement}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Evaluation([], PROTOCOL), r"needs at least one pair \(by hand\)"),
        (lambda: PairResult("x", np.array([])), "x: errors must be at least one number"),
        (lambda: PairResult("x", np.array([np.nan])), "none negative or nan"),
        (lambda: evaluate_map(replace(PAIR, ground_truth=None), CUT.vertex_map), "cap has no ground truth"),
        (lambda: evaluate_map(PAIR, CUT.vertex_map[1:]), "vertex_map has 149 entries, sphere has 150 vertices"),
        (lambda: evaluate_map(PAIR, CUT.vertex_map + 300), "vertex_map: there is no vertex"),
        (lambda: Evaluation.pck.__wrapped__(RUN, average="mean"), "average must be 'micro' or 'macro'"),
    ],
)
def test_nonsense_is_refused(call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.real_data
def test_published_ground_truth_has_no_error_against_itself(data_root: Path) -> None:
    pair = PFaust(data_root, "H").pairs([83], [83])[0]
    assert pair.ground_truth is not None
    own = PFaust(data_root, "H").vertex_map(83)
    result = evaluate_map(pair, own, method="dijkstra")
    assert result.mean == 0
    assert result.roughness == pytest.approx(1, rel=1e-4)


@pytest.mark.real_data
def test_barycentric_truth_is_near_its_rounding(data_root: Path) -> None:
    pair = Shrec16(data_root, "cuts").test_pairs().where(lambda part, whole: part == ("wolf", 10))[0]
    nearest = pair.rounded().ground_truth.whole_vertices
    assert evaluate_map(pair.rounded(), nearest, method="dijkstra").mean == 0
    assert evaluate_map(pair, nearest, method="dijkstra").mean < 1e-4
