"""Methods without weights, as `match`, `evaluate` and other callers use them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import partwhole as pw
from partwhole.datasets import Pair
from partwhole.datasets.transforms import with_parts_turned
from partwhole.matching import Comparison, PairMethod, TrainingConfig, method_names, surface_of
from partwhole.matching.methods import FSP, PFM, DescriptorMaps, RefinedMethod, built_in_method
from partwhole.matching.network.surface import SurfacePair
from partwhole.matching.network.weights import check_method_name, model_path
from partwhole.spectral import eigenpairs, zoomout


@pytest.fixture(scope="module")
def pair() -> Pair:
    body = pw.datasets.make_body("biped", 500, seed=4)
    return Pair.of_cut(pw.datasets.random_cuts(body.rest, "cuts", seed=2))


def quick() -> dict[str, PairMethod]:
    return {
        "descriptors": DescriptorMaps(eigenpairs=25),
        "fsp": FSP(eigenpairs=25, radius=0.1),
        "pfm": PFM(eigenpairs=25, alternations=1, points=10, radius=0.1),
        "descriptors+zoomout": RefinedMethod(DescriptorMaps(eigenpairs=25), by="zoomout", eigenpairs=60),
        "descriptors+pmf": RefinedMethod(DescriptorMaps(eigenpairs=25), by="pmf", eigenpairs=60),
    }


@pytest.mark.parametrize("name", quick())
def test_each_matches_better_than_chance_and_in_any_pose(pair, name) -> None:
    method = quick()[name]
    assert method.card["name"] == name
    found = pw.evaluate(method, [pair], read_out="features")
    # a random map is off by about half
    assert found.macro < 0.3
    turned = pw.evaluate(method, with_parts_turned([pair]), read_out="features")
    assert turned.macro == pytest.approx(found.macro, abs=0.05)


def test_zoomout_is_that_of_spectral_geometry(pair) -> None:
    part, whole = pair.part, pair.whole
    found = pw.match(part, whole, model=quick()["descriptors+zoomout"], read_out="features").vertex_map
    start = pw.match(part, whole, model=quick()["descriptors"], read_out="features").vertex_map
    unit = whole.area**-0.5
    bases = (eigenpairs(mesh.scaled(unit), 60) for mesh in (part, whole))
    expected = zoomout(start, *bases, start=20).vertex_map
    assert (found == expected).mean() > 0.95


def test_by_name_and_by_object_the_map_is_the_same(pair) -> None:
    by_name = pw.match(pair.part, pair.whole, model="descriptors", read_out="features")
    by_object = pw.match(pair.part, pair.whole, model=DescriptorMaps(), read_out="features")
    assert by_name.model == "descriptors"
    assert (by_name.vertex_map == by_object.vertex_map).all()
    assert by_name.up is None


def test_the_map_before_the_read_out_is_the_method_s_own(pair) -> None:
    class Constant(PairMethod):
        def compare_pair(self, pair: SurfacePair) -> Comparison:
            nothing = torch.ones(len(pair.part), 2), torch.ones(len(pair.whole), 2)
            return Comparison(*nothing, vertex_map=torch.full((len(pair.part),), 7))

    method = Constant(TrainingConfig(map_eigenpairs=20, diffusion_eigenpairs=10), {"name": "constant"})
    found = pw.match(pair.part, pair.whole, model=method, read_out="features")
    assert set(found.vertex_map.tolist()) == {7}
    # landmarks are held, and change nothing else
    held = pw.match(pair.part, pair.whole, model=method, read_out="features", landmarks=[(3, 11)])
    assert held.vertex_map[3] == 11
    ball = surface_of(pw.datasets.sphere(30), eigenpairs=5, diffusion_eigenpairs=2)
    for call in (lambda: method.encode(ball), lambda: method.compare(ball.points, ball.points)):
        with pytest.raises(ValueError, match="Constant sees part and whole at once; use compare_pair"):
            call()


def test_results_are_cached(pair, tmp_path: Path) -> None:
    options = {"model": "descriptors", "cache": tmp_path, "read_out": "features"}
    first = pw.match(pair.part, pair.whole, **options)
    again = pw.match(pair.part, pair.whole, **options)
    assert again.from_cache
    assert (again.vertex_map == first.vertex_map).all()


def test_fingerprints_tell_choices_apart() -> None:
    methods = [*quick().values(), DescriptorMaps(), DescriptorMaps(weight=2.0), FSP(), RefinedMethod(FSP(), by="pmf")]
    assert len({method.fingerprint() for method in methods}) == len(methods)
    assert DescriptorMaps().fingerprint() == DescriptorMaps().fingerprint()


def test_a_network_can_be_refined(pair) -> None:
    method = built_in_method("default+zoomout")
    assert method.card["name"] == "default+zoomout"
    assert repr(method).startswith("RefinedMethod(Matcher(")
    assert pw.evaluate(method, [pair], read_out="features").macro < 0.3


def test_signatures_can_be_used_too(pair) -> None:
    method = DescriptorMaps(eigenpairs=25, signatures=True)
    assert pw.evaluate(method, [pair], read_out="features").macro < 0.4


def test_names() -> None:
    assert method_names() == ("descriptors", "pfm", "fsp")
    assert isinstance(built_in_method("fsp"), FSP)
    assert isinstance(built_in_method("pfm"), PFM)
    both = built_in_method("descriptors+zoomout+pmf")
    assert both.card["name"] == "descriptors+zoomout+pmf"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("fps", "there is no method 'fps'; did you mean 'fsp'?"),
        ("fsp+zoom", "there is no refinement 'zoom'; did you mean 'zoomout'?"),
        ("horse", "there is no method 'horse'; there are descriptors"),
    ],
)
def test_unknown_names(name, message) -> None:
    with pytest.raises(ValueError, match=message.replace("?", r"\?")):
        check_method_name(name)


def test_a_method_is_no_file_of_weights() -> None:
    with pytest.raises(ValueError, match=r"fsp is a method without weights: use partwhole.matching.methods.FSP\(\)"):
        model_path("fsp")
    with pytest.raises(ValueError, match="did you mean 'descriptors'"):
        pw.match("a", "b", model="descriptor")


def test_methods_without_weights_compute_on_the_processor() -> None:
    with pytest.raises(ValueError, match="fsp computes on the processor; leave out device='cuda'"):
        built_in_method("fsp", device="cuda")


def test_refinements_are_checked() -> None:
    with pytest.raises(ValueError, match="by must be one of 'zoomout', 'pmf', got 'magic'"):
        RefinedMethod.__init__.__wrapped__(object.__new__(RefinedMethod), DescriptorMaps(), by="magic")


def test_names_that_are_not_there() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'DPM'"):
        pw.matching.methods.DPM  # noqa: B018


def test_pmf_takes_no_two_vertices_to_the_same_place(pair) -> None:
    found = pw.match(pair.part, pair.whole, model=quick()["descriptors+pmf"], read_out="features")
    assert len(np.unique(found.vertex_map)) == len(found.vertex_map)
