"""From two surfaces as they come to a map of every vertex."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import torch

import partwhole as pw
from partwhole.datasets import Cut, cut_plane, plane, random_cuts, sphere
from partwhole.datasets.transforms import random_rotation
from partwhole.matching import Comparison, Matcher, MatchResult, Method, Surface, TrainingConfig, match, pipeline
from partwhole.matching.matcher import Combine, Ensemble
from partwhole.matching.network.diffusion_net import new_network
from partwhole.matching.result import CoarseMatch
from partwhole.mesh import Mesh, decimate, write_mesh
from partwhole.store.cache import Cache


@pytest.fixture(scope="module")
def matcher(config: TrainingConfig) -> Matcher:
    torch.manual_seed(2)
    return Matcher(new_network(config.network), config.with_changes(yaw_steps=4), {"name": "small"})


@pytest.fixture(scope="module")
def cut(small: ModuleType) -> Cut:
    return cut_plane(small.lopsided(300), (0, 0, 0), (1.0, 0.5, 0.2))


@pytest.fixture(scope="module")
def found(cut: Cut, matcher: Matcher) -> MatchResult:
    return match(cut.part, cut.whole, model=matcher)


class NearestInSpace(Method):
    """Vertices are alike that lie near each other."""

    def encode(self, surface: Surface) -> torch.Tensor:
        """The points on a sphere of one more dimension."""
        square = surface.points.square().sum(dim=-1, keepdim=True)
        return torch.cat([2 * surface.points, 1 - square], dim=-1) / (1 + square)

    def compare(self, of_part: torch.Tensor, of_whole: torch.Tensor) -> list[Comparison]:
        return [Comparison(of_part, of_whole)]


def check(found: MatchResult) -> None:
    """Whatever was matched: every vertex has a place and a confidence."""
    p, n = found.part.n_vertices, found.whole.n_vertices
    assert found.vertex_map.shape == found.confidence.shape == found.matched.shape == found.doubtful.shape == (p,)
    assert found.vertex_map.min() >= 0
    assert found.vertex_map.max() < n
    assert np.isfinite(found.confidence).all()
    assert 0 <= found.confidence.min() <= found.confidence.max() <= 1
    assert (found.confidence[~found.matched] == 0).all()
    assert all("\n" not in text for text in (*found.notes, *found.warnings))
    if any(text.startswith("the map is probably wrong") or "mirror image" in text for text in found.warnings):
        assert found.confidence.max() <= 0.5
        assert found.coarse.confidence.max() <= 0.5


def test_what_comes_out(found: MatchResult, cut: Cut, matcher: Matcher) -> None:
    check(found)
    assert found.part is cut.part
    assert found.coarse.sizes == (cut.part.n_vertices, cut.whole.n_vertices)
    assert found.factor == 1
    assert found.model == "small"
    assert match(cut.part, cut.whole, model=Matcher(matcher.network, matcher.config)).model == "a model"
    assert found.matched.all()
    assert found.vertex_map_before is None
    assert found.losses == ()
    assert found.notes[0].startswith("the same units are assumed")
    assert found.notes[-1].startswith("confidence was fitted with the model upright; with small its ranking")
    assert set(found.seconds) == {"reading", "decimation", "operators", "matching", "every vertex"}
    assert repr(found).startswith(f"MatchResult('{cut.part.name}' → '{cut.whole.name}'")
    k = matcher.config.loss.map_eigenpairs
    assert found.functional_map.shape == (k, k)
    # as the matcher itself does it
    assert np.array_equal(found.vertex_map, matcher.match(cut.part, cut.whole).vertex_map)


def test_values_are_transferred(found: MatchResult) -> None:
    names = np.array([f"vertex {k}" for k in range(found.whole.n_vertices)])
    assert found.transfer(names)[3] == f"vertex {found.vertex_map[3]}"
    inside = found.barycentric.positions(found.whole.vertices)
    assert np.allclose(found.transfer(found.whole.vertices), inside)
    with pytest.raises(ValueError, match=r"values has shape \(3,\); give one row for each of the whole's 300 vertices"):
        found.transfer(np.zeros(3))
    with pytest.raises(ValueError, match=r"values has shape \(\); give one row for each of the whole's 300 vertices"):
        MatchResult.transfer.__wrapped__(found, None)


def test_places_inside_triangles(small: ModuleType, matcher: Matcher) -> None:
    """Of a pair in two triangulations, whose true map is near: values are interpolated, and labels are not."""
    whole, other = small.lopsided(400), decimate(small.lopsided(600), 300).mesh
    cut = cut_plane(other, (0, 0, 0), (1.0, 0.5, 0.2))
    found = match(cut.part, whole, model=NearestInSpace(matcher.config), read_out="registration", units="same")
    check(found)
    assert found.places is found.barycentric is found.correspondence.places
    assert found.places is not None
    assert np.array_equal(found.places.nearest_vertex, found.vertex_map)
    assert np.allclose(found.transfer(whole.vertices), found.places.positions(whole.vertices))
    assert np.array_equal(found.transfer(np.arange(400)), found.vertex_map)
    at_vertices = match(cut.part, whole, model=NearestInSpace(matcher.config), read_out="lateration", units="same")
    assert at_vertices.places is None
    assert np.array_equal(at_vertices.barycentric.triangles[:, 0], at_vertices.vertex_map)


def test_a_map_that_bending_does_not_better_is_that_of_lateration(
    small: ModuleType, matcher: Matcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    method, whole = NearestInSpace(matcher.config), small.lopsided(400)
    cut = cut_plane(whole, (0, 0, 0), (1.0, 0.5, 0.2))
    note = "registration did not improve the map, so this is the map of lateration"
    laterated = match(cut.part, whole, model=method, read_out="lateration")
    assert note not in laterated.notes
    monkeypatch.setattr(pipeline, "registered_places", lambda *given, **options: None)
    found = match(cut.part, whole, model=method)
    assert note in found.notes
    assert found.places is None
    assert np.array_equal(found.vertex_map, laterated.vertex_map)
    assert np.array_equal(found.confidence, laterated.confidence)


def test_values_are_transferred_by_kind_and_back(found: MatchResult) -> None:
    heights = found.whole.vertices[:, 1]
    assert np.array_equal(found.transfer(heights, kind="scalar"), found.barycentric.interpolate(heights))
    back = found.transfer(found.transfer(heights), to="whole")
    known = np.isfinite(back)
    assert np.array_equal(known, found.correspondence.inverse.covered)
    assert np.abs(back - heights)[known].mean() < 0.1 * np.ptp(heights)
    labels = found.transfer(np.arange(found.part.n_vertices), to="whole", missing=-1)
    assert np.array_equal(labels == -1, ~known)
    with pytest.raises(ValueError, match="labels have no nan; give missing="):
        found.transfer(np.arange(found.part.n_vertices), to="whole")


def test_units_do_not_matter(found: MatchResult, cut: Cut, matcher: Matcher) -> None:
    millimetres = cut.part.scaled(1000)
    for units in ("auto", "mm:m", 0.001):
        again = match(millimetres, cut.whole, model=matcher, units=units)
        assert again.factor == pytest.approx(0.001)
        assert np.array_equal(again.vertex_map, found.vertex_map)
        assert np.allclose(again.confidence, found.confidence, atol=1e-4)
    both = match(millimetres, cut.whole.scaled(1000), model=matcher, units="same")
    assert np.array_equal(both.vertex_map, found.vertex_map)
    tried = match(millimetres, cut.whole, model=matcher, units="any")
    check(tried)
    assert any("the scale was found by search" in text for text in tried.notes)
    with pytest.raises(
        ValueError, match=r"has 5.43e\+05 times the area .* a part isn't larger than its whole; units='auto'"
    ):
        match(millimetres, cut.whole, model=matcher, units="same")


def test_the_way_up_does_not_matter_if_it_is_said(found: MatchResult, cut: Cut, matcher: Matcher) -> None:
    lying = Mesh(cut.part.vertices[:, [0, 2, 1]] * [1, -1, 1], cut.part.faces)
    again = match(lying, cut.whole, model=matcher, up="z:y", yaw_steps=1)
    assert again.up == ("z", "y")
    assert np.array_equal(again.vertex_map, match(cut.part, cut.whole, model=matcher, yaw_steps=1).vertex_map)
    assert "taken to point up: z of the part, y of the whole" in again.notes


def test_a_model_that_does_not_see_orientation(cut: Cut, config: TrainingConfig) -> None:
    torch.manual_seed(2)
    config = config.with_changes(inputs="invariants", yaw_steps=4)
    matcher = Matcher(new_network(config.network), config, {"name": "small"})
    found = match(cut.part, cut.whole, model=matcher)
    check(found)
    assert found.up is None
    assert found.yaw is None
    R = random_rotation(np.random.default_rng(1))
    turned = Mesh(cut.part.vertices @ R.T + 3, cut.part.faces)
    again = match(turned, cut.whole, model=matcher, up="z", yaw_steps=2)
    # up to rounding
    assert np.mean(again.vertex_map == found.vertex_map) > 0.95
    assert "the model does not depend on the orientation: up and yaw_steps have no effect" in again.notes


def test_the_alignment_takes_the_part_to_the_whole(found: MatchResult, cut: Cut) -> None:
    R = random_rotation(np.random.default_rng(1))
    part = Mesh((cut.part.vertices - [1, 2, 3]) @ R.T / 1000, cut.part.faces)
    sure = np.ones(part.n_vertices)
    true = replace(found, factor=1000.0, coarse=CoarseMatch(part, cut.whole, cut.vertex_map, sure))
    A = true.alignment
    assert np.allclose(part.vertices @ A[:3, :3].T + A[:3, 3], cut.part.vertices)
    assert np.allclose(replace(true, coarse=replace(true.coarse, confidence=0 * sure)).alignment, A)


def test_from_files_by_name_with_a_cache(
    found: MatchResult, cut: Cut, matcher: Matcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_mesh(cut.part, tmp_path / "part.ply")
    write_mesh(cut.whole, tmp_path / "whole.off")
    matcher.save(tmp_path / "mine.safetensors")
    steps: list[str] = []
    again = pw.match(
        tmp_path / "part.ply",
        str(tmp_path / "whole.off"),
        model=tmp_path / "mine.safetensors",
        cache=Cache(tmp_path / "cache"),
        progress=lambda what, done, total: steps.append(f"{what} {done}/{total}"),
    )
    assert np.array_equal(again.vertex_map, found.vertex_map)
    assert steps[:2] == ["reading 0/6", "reading 1/6"]
    assert steps[-1] == "every vertex 6/6"
    assert any((tmp_path / "cache").iterdir())
    with pytest.raises(ValueError, match="there is no built-in model 'nobody'"):
        match(cut.part, cut.whole, model="nobody")


def test_a_cache_may_be_a_folder_or_the_default_one(
    found: MatchResult, cut: Cut, matcher: Matcher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARTWHOLE_CACHE", str(tmp_path))
    for cache in (str(tmp_path), True):
        again = match(cut.part, cut.whole, model=matcher, cache=cache)
        assert np.array_equal(again.vertex_map, found.vertex_map)
    assert again.from_cache
    assert not match(cut.part, cut.whole, model=matcher, cache=False).from_cache


def test_large_surfaces_are_matched_with_fewer_vertices(small: ModuleType, matcher: Matcher) -> None:
    whole = small.lopsided(3000)
    cut = cut_plane(whole, (0, 0, 0), (1.0, 0.5, 0.2))
    found = match(cut.part, whole, model=matcher, max_vertices=500)
    check(found)
    assert found.coarse.sizes == (400, 500)
    assert "the whole is matched with 500 of its 3000 vertices" in found.notes
    assert len(np.unique(found.vertex_map)) > 50
    # what was matched, and what came of it for all vertices, lie near each other
    coarse = found.coarse
    assert coarse.vertex_map.max() < 500
    assert len(coarse.confidence) == len(coarse.vertex_map) == coarse.part.n_vertices


def test_refined(cut: Cut, found: MatchResult, matcher: Matcher) -> None:
    before = {name: value.clone() for name, value in matcher.network.state_dict().items()}
    refined = match(cut.part, cut.whole, model=matcher, refine=2)
    check(refined)
    assert refined.vertex_map_before is not None
    assert np.array_equal(refined.vertex_map_before, found.vertex_map)
    assert len(refined.losses) == 3
    assert "refinement" in refined.seconds
    assert all(torch.equal(value, before[name]) for name, value in matcher.network.state_dict().items())


@pytest.mark.parametrize("combine", ["average", "choose"])
def test_several_networks(cut: Cut, matcher: Matcher, config: TrainingConfig, combine: Combine) -> None:
    torch.manual_seed(7)
    # the place of a scan is not known, so its part is aligned once
    aligned = matcher.config.with_changes(alignments=1)
    networks = (matcher.network, new_network(config.network))
    ensemble = Ensemble([Matcher(network, aligned) for network in networks], combine=combine)
    found = match(cut.part, cut.whole, model=ensemble)
    check(found)
    assert np.array_equal(found.vertex_map, ensemble.match(cut.part, cut.whole).vertex_map)
    check(match(cut.part, cut.whole, model=ensemble, refine=1))


@pytest.mark.parametrize("read_out", ["features", "zoomout", "lateration"])
def test_read_outs(cut: Cut, matcher: Matcher, read_out: str) -> None:
    check(match(cut.part, cut.whole, model=matcher, read_out=read_out))  # type: ignore[arg-type]


# --- inputs that are not what they should be: an answer each, never a traceback


def test_identical_shapes_and_two_wholes(small: ModuleType, matcher: Matcher) -> None:
    whole = small.lopsided(300)
    same = match(whole, whole, model=matcher)
    check(same)
    assert "part and whole are the same surface" in same.notes
    two = match(small.lopsided(250, 1), whole, model=matcher)
    check(two)
    assert "the part has no boundary: nothing is missing from it, and two wholes are matched" in two.notes


def test_a_part_and_a_whole_that_are_swapped(cut: Cut, matcher: Matcher) -> None:
    found = match(cut.whole, cut.part, model=matcher)
    check(found)
    assert "the part has no boundary and the whole has holes; are they swapped?" in found.warnings
    assert not any("two wholes are matched" in text for text in found.notes)


def test_a_part_of_something_else(cut: Cut, matcher: Matcher) -> None:
    """It has to go somewhere, but nobody is to believe it."""
    found = match(random_cuts(sphere(400), seed=1).part, cut.whole, model=matcher)
    check(found)
    assert found.fit.poor
    assert found.doubtful.all()
    assert any(
        "the map is probably wrong" in text and "may belong to another surface" in text for text in found.warnings
    )


def test_a_tiny_part(small: ModuleType, matcher: Matcher) -> None:
    whole = small.lopsided(400)
    tiny = cut_plane(whole, whole.vertices[np.argsort(whole.vertices[:, 1])[-50]], (0, 1, 0)).part
    assert 30 < tiny.n_vertices < 60
    found = match(tiny, whole, model=matcher)
    check(found)
    assert any(
        f"a part of {tiny.n_vertices} vertices is too small for a reliable match" in text for text in found.warnings
    )
    assert found.confidence.max() <= tiny.n_vertices / 100
    corner = Mesh([[0, 0, 0], [0.3, 0, 0], [0, 0.3, 0], [0.3, 0.3, 0.1]], [[0, 1, 2], [1, 3, 2]])
    found = match(corner, whole, model=matcher)
    check(found)
    assert found.confidence.max() <= 0.04
    # many vertices, and still only a speck of the whole
    speck = plane(400)
    found = match(speck.scaled((0.05 * whole.area / speck.area) ** 0.5), whole, model=matcher, units="same")
    check(found)
    assert any("a part that covers about 20 of the 400 vertices of the whole is too small" in w for w in found.warnings)
    assert found.confidence.max() <= 0.2


def test_one_triangle_is_not_sure_of_anything(small: ModuleType, matcher: Matcher) -> None:
    found = match(Mesh([[0, 0, 0], [0.4, 0, 0], [0, 0.4, 0]], [[0, 1, 2]]), small.lopsided(400), model=matcher)
    assert found.confidence.max() <= 0.03
    assert found.doubtful.all()


def test_ten_pieces_and_loose_vertices(small: ModuleType, matcher: Matcher) -> None:
    whole = small.lopsided(1500)
    labels = np.floor(
        5 * (whole.vertices[:, 1] - whole.vertices[:, 1].min() + 1e-9) / np.ptp(whole.vertices[:, 1])
    ).astype(int)
    labels = 2 * labels + (whole.vertices[:, 0] > 0)
    inside = whole.faces[(labels[whole.faces] == labels[whole.faces][:, :1]).all(axis=1)]
    pieces = Mesh(np.concatenate([whole.vertices, [[0, 0, 3.0]]]), inside)
    found = match(pieces, whole, model=matcher)
    check(found)
    assert not found.matched[-1]
    assert any("pieces; distances between them are not known" in text for text in found.notes)


def test_a_whole_with_holes_and_a_speck(cut: Cut, matcher: Matcher) -> None:
    speck = sphere(30).scaled(0.01)
    whole = Mesh(
        np.concatenate([cut.part.vertices, speck.vertices + 5]),
        np.concatenate([cut.part.faces, speck.faces + cut.part.n_vertices]),
    )
    found = match(cut.part, whole, model=matcher)
    check(found)
    assert found.vertex_map.max() < cut.part.n_vertices
    assert any("the whole has 1 hole of its own" in text for text in found.notes)


def test_a_file_that_needs_repair(cut: Cut, matcher: Matcher, tmp_path: Path) -> None:
    broken = tmp_path / "broken.off"
    rows = [" ".join(map(str, row)) for row in cut.part.vertices.tolist()]
    rows[4] = "nan 0 0"
    faces = [f"3 {a} {b} {c}" for a, b, c in cut.part.faces.tolist()]
    broken.write_text("\n".join([f"OFF {len(rows)} {len(faces)} 0", *rows, *faces]))
    found = match(broken, cut.whole, model=matcher)
    check(found)
    assert any("could not be read as it is" in text and "not finite" in text for text in found.notes)
    assert any("vertices are numbered as after the repair" in text for text in found.notes)
    with pytest.raises(ValueError, match=r"vertex 4 .* not finite"):
        match(broken, cut.whole, model=matcher, repair=False)


def test_repair_where_it_is_asked_for(cut: Cut, matcher: Matcher) -> None:
    fine = match(cut.part, cut.whole, model=matcher, repair=True)
    assert fine.part is cut.part
    loose = Mesh(np.concatenate([cut.part.vertices, [[0, 0, 5.0]]]), cut.part.faces)
    mended = match(loose, cut.whole, model=matcher, repair=True)
    assert mended.part.n_vertices == cut.part.n_vertices
    assert any(
        "repaired: 1 unreferenced vertex dropped; vertices are numbered as after" in text for text in mended.notes
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("OFF 0 0 0\n", "has no vertices"),
        ("OFF 3 0 0\n0 0 0\n1 0 0\n0 1 0\n", "no faces"),
        ("OFF 3 1 0\n0 0 0\nnan 0 0\n0 1 0\n3 0 1 2\n", "not finite"),
        ("OFF 3 1 0\n0 0 0\n1 0 0\n2 0 0\n3 0 1 2\n", "all its faces have area 0"),
        ("hello", "neither|can't|expected|OFF"),
    ],
)
def test_files_that_are_no_surfaces(cut: Cut, matcher: Matcher, tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "scan.off"
    path.write_text(text)
    with pytest.raises(ValueError, match=said):
        match(path, cut.whole, model=matcher)
    with pytest.raises(ValueError, match=said):
        match(cut.part, path, model=matcher)


def test_choices_that_are_none(cut: Cut, matcher: Matcher) -> None:
    with pytest.raises(ValueError, match="refine=-1 must be at least 0"):
        match(cut.part, cut.whole, model=matcher, refine=-1)
    with pytest.raises(ValueError, match="max_vertices=5 must be at least 100"):
        match(cut.part, cut.whole, model=matcher, max_vertices=5)
    with pytest.raises(ValueError, match="yaw_steps=0 must be at least 1"):
        match(cut.part, cut.whole, model=matcher, yaw_steps=0)
    with pytest.raises(ValueError, match="up='sky' must be an axis"):
        match(cut.part, cut.whole, model=matcher, up="sky")
    with pytest.raises(ValueError, match=r"read_out must be one of 'features', .*'registration', got 'tea leaves'"):
        match.__wrapped__(cut.part, cut.whole, model=matcher, read_out="tea leaves")
