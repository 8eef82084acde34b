"""Landmarks in the search, the read-out and the result: what they say, which ones contradict, and that they steer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch
from scipy.spatial import cKDTree

from partwhole.datasets import Cut, cut_plane, sphere
from partwhole.geodesics import geodesic_distances
from partwhole.matching import Comparison, MatchResult, MatchSession, Method, Surface, TrainingConfig, match
from partwhole.matching.network.surface import SurfacePair
from partwhole.matching.search.landmarks import landmark_distances, nearness, starts
from partwhole.matching.search.placement import axis_rotations, rotated
from partwhole.matching.search.search import search
from partwhole.mesh import Mesh, write_landmarks
from partwhole.mesh.landmarks import LandmarkPair
from partwhole.store.cache import Cache


class Blank(Method):
    """All vertices look alike, so that nothing but landmarks says where one belongs."""

    sees = False

    @property
    def sees_orientation(self) -> bool:
        return self.sees

    def encode(self, surface: Surface) -> torch.Tensor:
        return torch.ones(len(surface), 1)

    def compare(self, of_part: torch.Tensor, of_whole: torch.Tensor) -> list[Comparison]:
        return [Comparison(of_part, of_whole)]


class ByPosition(Blank):
    """Vertices are alike that lie at the same place: right in one orientation alone."""

    sees = True

    def encode(self, surface: Surface) -> torch.Tensor:
        return torch.cat([surface.points, torch.full((len(surface), 1), 0.2)], dim=1)


@pytest.fixture(scope="module")
def cut(small: ModuleType) -> Cut:
    return cut_plane(small.lopsided(300), (0, 0, 0), (1.0, 0.5, 0.2))


@pytest.fixture(scope="module")
def blank(config: TrainingConfig) -> Blank:
    return Blank(config)


@pytest.fixture(scope="module")
def surfaces(cut: Cut, blank: Blank, small: ModuleType) -> SurfacePair:
    return small.pair_of(cut.part, cut.whole, blank)


@pytest.fixture(scope="module")
def marks(cut: Cut) -> list[tuple[int, int]]:
    """Four vertices far from each other, and where they belong."""
    from partwhole.mesh import farthest_points

    return [(int(v), int(cut.vertex_map[v])) for v in farthest_points(cut.part, 4, first=0)]


def error(found: MatchResult, cut: Cut) -> float:
    D = geodesic_distances(cut.whole) / cut.whole.area**0.5
    return float(D[found.vertex_map, cut.vertex_map].mean())


def test_the_truth_lies_within_the_bounds(surfaces: SurfacePair, cut: Cut, marks: list[tuple[int, int]]) -> None:
    """Of guaranteed and of other distances alike, up to how well distances are measured."""
    landmarks = landmark_distances(surfaces.part, surfaces.whole, marks)
    truth = torch.from_numpy(cut.vertex_map)
    rows = torch.arange(len(truth))
    guaranteed = surfaces.guaranteed[landmarks.part]
    assert guaranteed.any()
    assert not guaranteed.all()
    for number in range(len(marks)):
        assert float(landmarks.gaps(number, rows, truth).max()) < 0.02
    assert torch.allclose(landmarks.least[guaranteed], landmarks.most[guaranteed], rtol=1e-3)
    # the true places suit as well as any
    suits = landmarks.suits
    assert bool((suits[rows, truth] > suits.max(dim=1).values - 0.05).all())
    assert landmarks.error(truth, nearness(landmarks, surfaces.part)) < 0.1
    assert landmarks.error(truth.flip(0), nearness(landmarks, surfaces.part)) > 1
    assert landmarks.residuals(truth).tolist() == [0, 0, 0, 0]
    assert bool(landmarks.sure.all())
    assert landmarks.held(torch.zeros_like(truth))[landmarks.part].tolist() == [whole for _, whole in marks]


def test_landmarks_alone_place_a_part(cut: Cut, blank: Blank, marks: list[tuple[int, int]]) -> None:
    without = match(cut.part, cut.whole, model=blank, units="same")
    found = match(cut.part, cut.whole, model=blank, units="same", landmarks=marks)
    assert error(without, cut) > 0.3
    assert error(found, cut) < 0.05
    assert without.landmarks == ()
    assert [(one.part, one.whole) for one in found.landmarks] == marks
    assert all(one.sure for one in found.landmarks)
    assert max(one.before or 0 for one in found.landmarks) > 0.2
    for vertex, place in marks:
        assert found.vertex_map[vertex] == place
        assert found.confidence[vertex] == 1


def test_a_wrong_landmark_is_told_and_left_out(cut: Cut, blank: Blank, marks: list[tuple[int, int]]) -> None:
    wrong = [*marks[:3], (marks[3][0], marks[0][1], "nose")]
    found = match(cut.part, cut.whole, model=blank, units="same", landmarks=wrong)
    assert [one.use for one in found.landmarks] == ["sure", "sure", "sure", "contradicts the others"]
    told = (
        f"landmark 'nose' (scan vertex {marks[3][0]} → template vertex {marks[0][1]}) contradicts the others: distances"
    )
    assert any(text.startswith(told) for text in found.warnings)
    assert error(found, cut) < 0.1
    found = match(cut.part, cut.whole, model=blank, units="same", landmarks=[wrong[0], wrong[3]])
    assert [one.use for one in found.landmarks] == ["contradicts another"] * 2
    assert any("contradict each other: distances differ by" in text for text in found.warnings)


def test_landmarks_give_the_direction(
    surfaces: SurfacePair, cut: Cut, marks: list[tuple[int, int]], config: TrainingConfig
) -> None:
    """Turned about the vertical one landmark is enough; turned freely it takes three."""
    method = ByPosition(config.with_changes(yaw_steps=1, alignments=0))
    truth = torch.from_numpy(cut.vertex_map)
    about = rotated(surfaces.part, axis_rotations(torch.tensor(2.0), "y"))
    freely = rotated(about, axis_rotations(torch.tensor(2.0), "x"))
    for part, few in ((about, 1), (about, 2), (freely, 3)):
        pair = replace(surfaces, part=part)
        found = search(method, pair, up="y", landmarks=marks[:few])
        assert found.landmarks is not None
        assert found.without_landmarks is not None
        assert (found.chosen.nearest == truth).float().mean() > 0.9
        without = search(method, pair, up="y")
        assert without.without_landmarks is None
        assert (without.chosen.nearest == truth).float().mean() < 0.5
    # three on a line, or fewer: the direction is not known
    turns = list(starts(freely, surfaces.whole, landmark_distances(freely, surfaces.whole, marks[:2]), "y"))
    assert len(turns) == 1
    (angle, _), (_, moved) = starts(about, surfaces.whole, landmark_distances(about, surfaces.whole, marks), "y")
    assert angle == pytest.approx(-2, abs=0.01)
    assert torch.allclose(moved.points - moved.points.mean(dim=0), centred(surfaces.part), atol=0.01)


def test_landmarks_on_a_line_do_not_turn_a_part_freely(surfaces: SurfacePair, marks: list[tuple[int, int]]) -> None:
    landmarks = landmark_distances(surfaces.part, surfaces.whole, marks[:3])
    for across, turns in ((0.01, 1), (0.2, 2)):
        points = surfaces.part.points.clone()
        points[landmarks.part] = torch.tensor([[-0.3, 0.0, 0.0], [0.0, across, 0.0], [0.3, 0.0, 0.0]])
        moved = replace(surfaces.part, points=points)
        assert len(list(starts(moved, surfaces.whole, landmarks, "y"))) == turns


def test_a_landmark_reaches_its_surroundings(surfaces: SurfacePair, marks: list[tuple[int, int]]) -> None:
    """In lateration it counts half as much as all anchors together, and 1/e of that at 0.15 √area."""
    landmarks = landmark_distances(surfaces.part, surfaces.whole, marks[:1])
    expected = torch.exp(-((landmarks.most[0] / 0.15) ** 2))
    assert torch.allclose(landmarks.pull[0], 0.5 * expected, atol=1e-6)
    assert torch.allclose(nearness(landmarks, surfaces.part)[0], surfaces.part.mass * expected, atol=1e-6)


class Either(ByPosition):
    """Two maps of a surface to itself that fit about as well."""

    maps: tuple[torch.Tensor, ...] = ()

    def encode(self, surface: Surface) -> torch.Tensor:
        return torch.eye(len(surface))

    def compare(self, of_part: torch.Tensor, of_whole: torch.Tensor) -> list[Comparison]:
        return [Comparison(of_whole[one], of_whole) for one in self.maps]


def test_a_landmark_decides_between_maps(small: ModuleType, config: TrainingConfig) -> None:
    ball = sphere(300)
    method = Either(config.with_changes(yaw_steps=1, alignments=0))
    tree = cKDTree(ball.vertices)
    turned = (axis_rotations(torch.tensor(angle), "y").numpy() for angle in (0.7, 2.0))
    method.maps = tuple(torch.from_numpy(tree.query(ball.vertices @ R.T)[1]) for R in turned)
    pair = small.pair_of(ball, ball, method)
    alone = search(method, pair, up="y").chosen.nearest
    other = next(one for one in method.maps if not torch.equal(one, alone))
    equator = int(np.abs(ball.vertices[:, 1]).argmin())
    found = search(method, pair, up="y", landmarks=[(equator, int(other[equator]))])
    assert (found.chosen.nearest == other).float().mean() > 0.9


def centred(surface: Surface) -> torch.Tensor:
    return surface.points - surface.points.mean(dim=0)


def test_landmarks_come_through_decimation_and_the_cache(small: ModuleType, blank: Blank, tmp_path: Path) -> None:
    cut = cut_plane(small.lopsided(900), (0, 0, 0), (1.0, 0.5, 0.2))
    loose = Mesh(np.concatenate([cut.part.vertices, [[9.0, 9, 9]]]), cut.part.faces)
    given = [(v, int(cut.vertex_map[v]), str(v)) for v in (1, 200, 300)]
    session = MatchSession(blank, units="same", max_vertices=300, cache=Cache(tmp_path / "cache"))
    found = session.match(loose, cut.whole, landmarks=[*given, (loose.n_vertices - 1, 3)])
    assert found.coarse.whole.n_vertices < cut.whole.n_vertices
    assert [one.use for one in found.landmarks] == ["sure"] * 3 + ["left out"]
    assert any("lies on a piece that was left out; not used" in text for text in found.warnings)
    assert [found.vertex_map[v] for v, _, _ in given] == [w for _, w, _ in given]
    again = session.match(loose, cut.whole, landmarks=[*given, (loose.n_vertices - 1, 3)])
    assert again.from_cache
    assert again.landmarks == found.landmarks
    assert not session.match(loose, cut.whole, landmarks=given).from_cache


def test_landmarks_come_from_files_and_wrong_ones_are_refused(
    cut: Cut, blank: Blank, marks: list[tuple[int, int]], tmp_path: Path
) -> None:
    files = [tmp_path / "scan.mrk.json", tmp_path / "template.pp"]
    for path, mesh, side in zip(files, (cut.part, cut.whole), (0, 1), strict=True):
        write_landmarks(path, mesh, [pair[side] for pair in marks])
    found = match(cut.part, cut.whole, model=blank, units="same", landmarks=files)
    assert [(one.part, one.whole, one.label) for one in found.landmarks][:2] == [(*marks[0], "1"), (*marks[1], "2")]
    options = match(cut.part, cut.whole, model=blank, units="same", landmarks=[LandmarkPair(*pair) for pair in marks])
    np.testing.assert_array_equal(options.vertex_map, found.vertex_map)
    # what is to be said of the file comes first
    beside = Mesh(cut.part.vertices + 0.3, cut.part.faces)
    write_landmarks(files[0], beside, [pair[0] for pair in marks])
    found = match(cut.part, cut.whole, model=blank, units="same", landmarks=files)
    assert "√area from the nearest vertex" in found.warnings[0]
    for wrong in ([(0, 10**6)], [(-1, 0)], tmp_path / "none.csv"):
        with pytest.raises((ValueError, FileNotFoundError)) as refused:
            match(cut.part, cut.whole, model=blank, landmarks=wrong)
        assert "\n" not in str(refused.value)


def test_pieces_know_nothing_of_each_other(blank: Blank, small: ModuleType) -> None:
    ball = sphere(200)
    half = cut_plane(ball, (0, 0, 0.3), (0, 0, 1)).part
    rest = cut_plane(ball, (0, 0, -0.3), (0, 0, -1)).part
    two = Mesh(
        np.concatenate([half.vertices, rest.vertices]), np.concatenate([half.faces, rest.faces + half.n_vertices])
    )
    pair = small.pair_of(two, ball, blank)
    landmarks = landmark_distances(pair.part, pair.whole, [(0, 0)])
    assert bool(landmarks.most[0, half.n_vertices :].isinf().all())
    assert bool((landmarks.suits[half.n_vertices :] == landmarks.weight).all())
