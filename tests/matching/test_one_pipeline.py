"""One path from a scan to its map: whoever asks gets the same map, bit by bit."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import partwhole as pw
from partwhole.cli.main import main
from partwhole.datasets import Pair
from partwhole.matching import Benchmark, Matcher, model_names
from partwhole.viewer.page.matching import matched
from partwhole.viewer.page.scene import Scene


def holes() -> Pair:
    body = pw.datasets.make_body("biped", 500, seed=4)
    return Pair.of_cut(pw.datasets.random_cuts(body.pose(seed=1), "pfaust-h", seed=2))


def another_pose() -> Pair:
    body = pw.datasets.make_body("quadruped", 500, seed=4)
    cut = pw.datasets.random_cuts(body.pose(seed=1), "pfaust-m", seed=3)
    return Pair.of(cut.part, body.rest, pw.datasets.GroundTruth.of_map(cut.vertex_map))


def lying_down() -> Pair:
    pair = another_pose()
    part = pw.Mesh(pair.part.vertices[:, [0, 2, 1]] * [1, 1, -1], pair.part.faces)
    return Pair.of(part, pair.whole, pair.ground_truth)


def decimated() -> Pair:
    body = pw.datasets.make_body("hand", 900, seed=4)
    return Pair.of_cut(pw.datasets.random_cuts(body.rest, "cuts", seed=2))


KINDS: dict[str, Callable[[], Pair]] = {
    "holes": holes,
    "another pose": another_pose,
    "lying down": lying_down,
    "decimated": decimated,
}


def check_same(found: pw.matching.MatchResult, expected: pw.matching.MatchResult) -> None:
    np.testing.assert_array_equal(found.vertex_map, expected.vertex_map)
    np.testing.assert_array_equal(found.confidence, expected.confidence)
    np.testing.assert_array_equal(found.barycentric.triangles, expected.barycentric.triangles)
    np.testing.assert_array_equal(found.barycentric.weights, expected.barycentric.weights)


# every model with every kind of pair takes minutes; all go the same path
QUICK = {("default", kind) for kind in KINDS} | {("any-pose", "lying down")}
QUICK |= {(model, "holes") for model in ("pfaust-h", "pfaust-m", "shrec16-cuts")}
CASES = [
    pytest.param(model, kind, marks=[] if (model, kind) in QUICK else pytest.mark.slow)
    for model in model_names()
    for kind in KINDS
]


@pytest.mark.parametrize(("model", "kind"), CASES)
def test_everyone_gets_the_same_map(model: str, kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pair = KINDS[kind]()
    most = 600 if kind == "decimated" else 5000
    expected = pw.match(pair.part, pair.whole, model=model, max_vertices=most)
    assert (expected.coarse.whole.n_vertices < pair.whole.n_vertices) == (kind == "decimated")
    matcher = Matcher.load(model)

    found = matcher.match(pair.part, pair.whole, max_vertices=most)
    check_same(found, expected)

    benchmark = Benchmark([pair], max_vertices=most, keep=True)
    (evaluated,) = benchmark.results(matcher)
    check_same(evaluated, expected)
    (measured,) = benchmark.of(matcher).pairs
    np.testing.assert_array_equal(measured.vertex_map, expected.vertex_map)

    pw.write_mesh(pair.part, tmp_path / "part.ply")
    pw.write_mesh(pair.whole, tmp_path / "whole.ply")
    words = ["match", str(tmp_path / "part.ply"), str(tmp_path / "whole.ply"), "--model", model, "--no-cache", "--json"]
    assert main([*words, "--max-vertices", str(most), "--no-pictures", "-o", str(tmp_path / "out")]) == 0
    assert json.loads(capsys.readouterr().out)["model"] == expected.model
    with np.load(tmp_path / "out" / "map.npz") as held:
        np.testing.assert_array_equal(held["vertex_map"], expected.vertex_map)
        if expected.places is not None:
            np.testing.assert_array_equal(held["triangles"], expected.places.triangles)
            np.testing.assert_array_equal(held["weights"], expected.places.weights)
    check_same(pw.load(tmp_path / "out"), expected)

    if kind != "decimated":  # the page matches with as many vertices as `match` does by default
        scene = matched(Scene.of(pair.part, pair.whole), model=model)
        np.testing.assert_array_equal(scene.vertex_map, expected.vertex_map)


def test_the_command_measures_what_match_gives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """From files in their own units: `evaluate` brings the pair into common units, `match` does so itself."""
    pair = another_pose()
    for name, mesh in (("parts/a", pair.part), ("wholes/a", pair.whole)):
        (tmp_path / name).parent.mkdir()
        pw.write_mesh(pw.Mesh(mesh.vertices * 173.3 + 5, mesh.faces), tmp_path / f"{name}.ply")
    (tmp_path / "maps").mkdir()
    assert pair.ground_truth is not None
    np.savez(tmp_path / "maps/a.npz", vertex_map=pair.ground_truth.whole_vertices)
    found = pw.match(tmp_path / "parts/a.ply", tmp_path / "wholes/a.ply")
    D = pw.geodesic_distances(found.whole) / np.sqrt(found.whole.area)
    expected = D[found.vertex_map, pair.ground_truth.whole_vertices].mean()
    assert main(["evaluate", "--data", str(tmp_path), "--model", "default", "--no-cache", "--json"]) == 0
    measured = json.loads(capsys.readouterr().out)["rows"][0]["measures"]
    assert measured["macro"] == pytest.approx(100 * expected, rel=1e-4)


class ByHeight(pw.matching.Method):
    """A method that learns nothing: vertices are alike that lie as high, and as far from the axis."""

    def encode(self, surface: pw.matching.Surface):
        import torch

        x, y, z = surface.points.unbind(-1)
        return torch.stack([y, (x**2 + z**2).sqrt(), torch.full_like(x, 0.3), surface.normals[:, 1]], dim=-1)

    def compare(self, of_part, of_whole):
        return [pw.matching.Comparison(of_part, of_whole)]


def test_another_method_goes_the_same_path(tmp_path: Path) -> None:
    method = ByHeight(pw.TrainingConfig(map_eigenpairs=40, diffusion_eigenpairs=40, yaw_steps=4), {"name": "by height"})
    pair = holes()
    found = pw.match(pair.part, pair.whole, model=method, cache=tmp_path)
    assert found.model == "by height"
    assert pw.match(pair.part, pair.whole, model=method, cache=tmp_path).from_cache
    assert pair.ground_truth is not None
    D = pw.geodesic_distances(pair.whole)
    expected = D[found.vertex_map, pair.ground_truth.whole_vertices].mean()
    assert pw.evaluate(method, [pair]).macro == pytest.approx(expected, rel=1e-4)
    with pytest.raises(ValueError, match="ByHeight has nothing to learn"):
        method.fit([pair])
    with pytest.raises(ValueError, match="ByHeight has no network to refine"):
        pw.match(pair.part, pair.whole, model=method, refine=2)
