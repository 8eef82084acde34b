"""From a match to a fitted template: in the scan's units and place, with everything that should be known about it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from partwhole.datasets import sphere
from partwhole.matching.result import CoarseMatch, Fit, LandmarkResult, MatchResult
from partwhole.matching.scans.prepare import Scaling
from partwhole.mesh import Mesh, read_mesh
from partwhole.registration import FitOptions, FittedTemplate, fit_match

TURN = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]])
# quick, and close enough for what is asked here
FEW = FitOptions(steps=2)


def match_of(scan: Mesh, template: Mesh, vertex_map: np.ndarray, factor: float = 1.0, **changes: Any) -> MatchResult:
    """A match as if a network had found it."""
    p = scan.n_vertices
    return replace(
        MatchResult(
            scan,
            template,
            vertex_map,
            np.full(p, 0.9),
            np.ones(p, bool),
            np.eye(2),
            None,
            (),
            Fit(0.5, "wormhole", 0.01, 0.0, 0.9, 0.0, None, None, 0.01),
            (),
            Scaling((factor,), "as given"),
            factor,
            None,
            None,
            CoarseMatch(scan, template, vertex_map, np.full(p, 0.9)),
            "lateration",
            "by hand",
            ("a note of the match",),
            (),
            {},
        ),
        **changes,
    )


@pytest.fixture(scope="module")
def egg() -> Mesh:
    """A template that looks different from every side, in metres."""
    ball = sphere(250)
    x, y, z = ball.vertices.T
    return Mesh(np.stack([1.5 * x + 0.2 * z, y + 0.2 * x * x, 0.8 * z + 0.1 * y], axis=1) + 7, ball.faces, name="egg")


@pytest.fixture(scope="module")
def torn(egg: Mesh) -> MatchResult:
    """Two thirds of it, turned, in millimetres."""
    part, numbers = egg.submesh(egg.vertices[:, 0] < 7.4)
    scan = Mesh(1000 * part.vertices @ TURN.T - 50, part.faces, name="torn")
    return match_of(scan, egg, numbers, 0.001)


@pytest.fixture(scope="module")
def fitted(torn: MatchResult) -> FittedTemplate:
    return fit_match(torn)


def test_the_fit_is_in_the_scans_place_and_units(fitted: FittedTemplate, egg: Mesh) -> None:
    truth = 1000 * egg.vertices @ TURN.T - 50
    assert np.array_equal(fitted.mesh.faces, egg.faces)
    assert np.abs(fitted.mesh.vertices - truth).max() < 1e-3 * 1000
    assert fitted.distance[fitted.source == 0].max() < 1.0
    assert fitted.distance[fitted.source == 2].mean() > 10.0


def test_every_vertex_says_where_it_comes_from(fitted: FittedTemplate, torn: MatchResult) -> None:
    seen = np.isin(np.arange(fitted.mesh.n_vertices), torn.vertex_map)
    assert ((fitted.source == 0) == seen).mean() > 0.85
    assert fitted.source_names == {0: "seen", 1: "between", 2: "unseen"}
    assert sum(fitted.shares.values()) == pytest.approx(1.0)
    assert fitted.expected_error[fitted.source == 2].mean() > 2 * fitted.expected_error[fitted.source == 0].mean()
    assert repr(fitted).startswith("FittedTemplate('egg' → 'torn': ")
    assert fitted.colors.shape == (fitted.mesh.n_vertices, 3)


def test_vertices_of_the_scan_have_places_on_the_fit(fitted: FittedTemplate, torn: MatchResult) -> None:
    assert fitted.barycentric.covered.all()
    places = fitted.barycentric.positions(fitted.mesh.vertices)
    assert np.linalg.norm(places - torn.part.vertices, axis=1).max() < 1.0


def test_what_was_done_is_told(fitted: FittedTemplate) -> None:
    assert fitted.notes[0] == "a note of the match"
    assert any("of the fitted template's area" in text for text in fitted.notes)
    assert fitted.warnings == ()
    assert set(fitted.seconds) == {"bending", "checks"}


def test_everything_is_saved(fitted: FittedTemplate, tmp_path: Path) -> None:
    files = fitted.save(tmp_path / "fit")
    assert np.allclose(read_mesh(files["fitted.ply"]).vertices, fitted.mesh.vertices, rtol=1e-5)
    with np.load(files["fit.npz"]) as held:
        assert np.array_equal(held["source"], fitted.source)
        assert np.array_equal(held["triangles"], fitted.barycentric.triangles)
        assert set(held) >= {"vertices", "faces", "weights", "covered", "vertex_map", "flipped", "intersections"}
        assert sum(np.array_equal(held[name], fitted.mesh.vertices) for name in held) == 1, "nothing is written twice"
    summary = json.loads(files["fit.json"].read_text())
    assert summary["shares"] == fitted.shares
    assert summary["flipped_faces"] == 0


def test_values_are_carried_over(fitted: FittedTemplate, torn: MatchResult) -> None:
    height = torn.whole.vertices[:, 2]
    there = fitted.transfer(height)
    covered = fitted.barycentric.covered
    truth = height[torn.vertex_map]
    assert covered.mean() > 0.9
    assert np.isnan(there[~covered]).all()
    assert np.abs(there - truth)[covered].max() < 0.01
    # labels stay labels, and what is not covered gets what was asked for
    labels = (height > 7).astype(np.int64)
    carried = fitted.transfer(labels, missing=-1)
    assert set(carried.tolist()) <= {-1, 0, 1}
    assert (carried == labels[torn.vertex_map])[covered].mean() > 0.95
    # and back: what was not seen has no value
    back = fitted.transfer(there, to="whole")
    assert np.isnan(back[fitted.source == 2]).mean() > 0.5
    assert np.nanmax(np.abs(back - height)) < 0.02


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ([(0, 900)], r"landmarks\[0\]: vertex 900 of egg, which has the vertices 0 to 249"),
        ([(1, 1), (-1, 3)], r"landmarks\[1\]: vertex -1 of torn, which has"),
    ],
)
def test_landmarks_are_checked(torn: MatchResult, given: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        fit_match(torn, landmarks=given)


def test_a_landmark_must_lie_on_the_surface(torn: MatchResult) -> None:
    loose = Mesh(np.concatenate([torn.part.vertices, [[0, 0, 0]]]), torn.part.faces)
    matched = np.append(np.ones(torn.part.n_vertices, bool), False)
    found = match_of(loose, torn.whole, np.append(torn.vertex_map, 0), 0.001, matched=matched)
    with pytest.raises(ValueError, match=r"landmarks: vertex \d+ of the scan has no faces"):
        fit_match(found, landmarks=[(torn.part.n_vertices, 0)])


def test_landmarks_hold(torn: MatchResult) -> None:
    row = int(torn.part.vertices[:, 2].argmax())
    held = fit_match(torn, options=FEW, landmarks=[(row, int(torn.vertex_map[row]))])
    assert "1 landmark held" in held.notes
    assert np.linalg.norm(held.mesh.vertices[torn.vertex_map[row]] - torn.part.vertices[row]) < 1.0


def test_landmarks_of_the_match_hold_unless_they_contradict(torn: MatchResult, tmp_path: Path) -> None:
    row, other = int(torn.part.vertices[:, 2].argmax()), int(torn.part.vertices[:, 2].argmin())
    given = (
        LandmarkResult(row, int(torn.vertex_map[row]), "top"),
        LandmarkResult(other, int(torn.vertex_map[row]), "wrong", use="contradicts the others"),
    )
    found = replace(torn, landmarks=given)
    held = fit_match(found, options=FEW)
    assert "1 of 2 landmarks held" in held.notes
    # the same by its file; none, if none are wanted
    (tmp_path / "marks.csv").write_text(f"scan,template\n{row},{torn.vertex_map[row]}\n")
    again = fit_match(torn, options=FEW, landmarks=tmp_path / "marks.csv")
    assert np.array_equal(again.mesh.vertices, held.mesh.vertices)
    assert not any("landmark" in text for text in fit_match(found, options=FEW, landmarks=()).notes)


def test_pieces_that_were_left_out_draw_nothing(torn: MatchResult) -> None:
    scan, speck = torn.part, sphere(20)
    n = scan.n_vertices
    two = Mesh(
        np.concatenate([scan.vertices, 30 * speck.vertices + scan.vertices.mean(axis=0)]),
        np.concatenate([scan.faces, speck.faces + n]),
    )
    rows = np.arange(two.n_vertices)
    found = match_of(two, torn.whole, np.append(torn.vertex_map, np.zeros(20, int)), 0.001, matched=rows < n)
    found = replace(found, coarse=torn.coarse)
    with_speck = fit_match(found, options=FEW)
    assert any("20 vertices of the scan were left out" in text for text in with_speck.notes)
    assert np.allclose(with_speck.mesh.vertices, fit_match(torn, options=FEW).mesh.vertices)


@pytest.mark.parametrize(("size", "warned"), [(8, False), (60, True)])
def test_a_scan_that_is_apart_from_the_fit_is_a_warning(torn: MatchResult, size: int, warned: bool) -> None:
    scan, speck = torn.part, sphere(size)
    n = scan.n_vertices
    two = Mesh(
        np.concatenate([scan.vertices, speck.vertices + scan.vertices.max(axis=0) + 10]),
        np.concatenate([scan.faces, speck.faces + n]),
    )
    found = match_of(
        two, torn.whole, np.append(torn.vertex_map, np.zeros(size, int)), 0.001, matched=np.arange(n + size) < n
    )
    found = fit_match(replace(found, coarse=torn.coarse), options=FEW)
    share = size / (n + size)
    assert (share > 0.1) == warned
    assert found.barycentric.covered.mean() == pytest.approx(1 - share)
    assert any("of the scan's vertices lie apart from the fitted template" in text for text in found.warnings) == warned


def test_a_template_with_a_boundary_and_a_loose_piece(torn: MatchResult, egg: Mesh) -> None:
    speck = sphere(20)
    open_egg = egg.faces[egg.vertices[egg.faces][:, :, 0].max(axis=1) < 8.0]
    both = Mesh(
        np.concatenate([egg.vertices, 0.1 * speck.vertices]), np.concatenate([open_egg, speck.faces + egg.n_vertices])
    )
    found = fit_match(match_of(torn.part, both, torn.vertex_map, 0.001), options=FEW)
    assert any("the template has a boundary" in text for text in found.notes)
    assert any("of the template without matching vertices" in text for text in found.warnings)
    assert np.isfinite(found.mesh.vertices).all()


def with_a_ball(egg: Mesh, away: float) -> Mesh:
    """The egg, and a small ball so far from its middle."""
    ball = sphere(60)
    middle = egg.vertices.mean(axis=0) + np.array([0, 0, away])
    return Mesh(
        np.concatenate([egg.vertices, 0.2 * ball.vertices + middle]),
        np.concatenate([egg.faces, ball.faces + egg.n_vertices]),
    )


def test_only_intersections_that_the_template_lacks_are_a_warning(egg: Mesh) -> None:
    apart, touching = with_a_ball(egg, 1.3), with_a_ball(egg, 0.8)
    rows = np.arange(apart.n_vertices)
    for template, warned in ((apart, True), (touching, False)):
        found = fit_match(match_of(touching, template, rows), options=FEW)
        assert len(found.intersections) > 0
        assert any("triangles of the fitted template intersect" in text for text in found.warnings) == warned
        assert any("of triangles intersect as in the template" in text for text in found.notes) != warned


def test_a_scan_that_is_larger_than_its_template(egg: Mesh, torn: MatchResult) -> None:
    found = fit_match(match_of(Mesh(egg.vertices * 1.5, egg.faces), egg, np.arange(egg.n_vertices)), options=FEW)
    assert any("the scan is larger than the template" in text for text in found.warnings)


def test_a_mirrored_scan_is_told(egg: Mesh) -> None:
    fit = Fit(0.5, "wormhole", 0.01, 0.0, 0.9, 0.9, None, None, 0.01)
    mirrored = Mesh(egg.vertices * [-1, 1, 1], egg.faces)
    found = fit_match(match_of(mirrored, egg, np.arange(egg.n_vertices), fit=fit), options=FEW)
    assert any("the map is a mirror image" in text for text in found.warnings)


def test_little_seen_is_told(egg: Mesh) -> None:
    part, numbers = egg.submesh(egg.vertices[:, 0] < 6.2)
    found = fit_match(match_of(part, egg, numbers), options=replace(FEW, hold="rest"))
    assert any("is made up" in text for text in found.warnings)
    assert any("(hold='rest')" in text for text in found.notes)


def test_a_template_that_is_not_symmetric_can_not_be_held_so(torn: MatchResult) -> None:
    x, y, z = torn.whole.vertices.T
    skewed = Mesh(np.stack([x + 0.9 * y * z, y + 0.5 * x * x, z + 0.6 * x * y], axis=1), torn.whole.faces)
    with pytest.raises(ValueError, match="not mirror symmetric"):
        fit_match(match_of(torn.part, skewed, torn.vertex_map), options=replace(FEW, hold="symmetric"))
