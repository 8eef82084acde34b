"""Methods with a network: their losses fall, and their maps are read as they are published."""

from __future__ import annotations

import csv

import numpy as np
import pytest
import torch

import partwhole as pw
from partwhole.matching.config import PRESETS
from partwhole.matching.methods import (
    DPFM,
    DescriptorMaps,
    DirectMatchNet,
    DirectMatchNetLPF,
    DPFMHoles,
    GeomFMaps,
    LearnedMethod,
    RobustFMNet,
    UnsupervisedDPFM,
    Wormhole,
    learned_method,
    refined_by,
)
from partwhole.matching.network.weights import LEARNED
from partwhole.matching.training.losses import SynchronousLoss, configured_by

KINDS = [DPFM, DPFMHoles, GeomFMaps, UnsupervisedDPFM, RobustFMNet, DirectMatchNet, DirectMatchNetLPF, Wormhole]
SMALL = {
    "width": 16,
    "blocks": 2,
    "features": 40,
    "diffusion_eigenpairs": 20,
    "map_eigenpairs": 30,
    "dropout": 0.0,
    "noise": 0.0,
    "scaling": (1.0, 1.0),
    "rotation": 0.0,
    "iterations": 60,
    "evaluate_every": 60,
    "distances": "dijkstra",
}


def small(kind: type[LearnedMethod]) -> LearnedMethod:
    return kind(config=kind.published.with_changes(**SMALL))


@pytest.fixture(scope="module")
def one() -> list[pw.datasets.Pair]:
    body = pw.datasets.make_body("biped", 500, seed=4)
    return [pw.datasets.Pair.of_cut(pw.datasets.random_cuts(body.rest, "cuts", seed=2))]


@pytest.mark.parametrize("kind", KINDS)
def test_the_loss_falls_and_a_map_comes_out(kind, one, tmp_path) -> None:
    method = small(kind)
    folder = tmp_path / "run"
    trained = method.fit(one, folder=folder)
    with (folder / "losses.csv").open() as file:
        losses = [sum(float(line[term.name]) for term in method.loss().terms()) for line in csv.DictReader(file)]
    assert np.mean(losses[-5:]) < 0.8 * np.mean(losses[:3])
    evaluation = pw.evaluate(trained, one, read_out="features")
    assert np.isfinite(evaluation.macro)
    supervised = kind in (DPFM, DPFMHoles, GeomFMaps)
    assert str(trained.card["protocol"]).startswith("supervised" if supervised else "unsupervised")
    trained.save(tmp_path / "method.safetensors")
    again = kind.load(tmp_path / "method.safetensors")
    assert again.fingerprint() == trained.fingerprint()
    found = [pw.match(one[0].part, one[0].whole, model=each, read_out="features") for each in (trained, again)]
    assert (found[0].vertex_map == found[1].vertex_map).all()
    assert found[0].model == kind.name


def test_supervision_on_one_pair_is_learned(one) -> None:
    trained = GeomFMaps(config=GeomFMaps.published.with_changes(**SMALL, learning_rate=4e-3)).fit(one)
    assert pw.evaluate(trained, one, read_out="features").macro < 0.15


def test_adaptation_does_not_depend_on_the_pair_before(one) -> None:
    body = pw.datasets.make_body("quadruped", 500, seed=1)
    other = pw.datasets.Pair.of_cut(pw.datasets.random_cuts(body.rest, "cuts", seed=2))
    plain = small(RobustFMNet)
    method = RobustFMNet(plain.matcher, adapt=3)
    weights = {name: tensor.clone() for name, tensor in plain.matcher.network.state_dict().items()}
    alone = pw.evaluate(method, one, read_out="features")
    after = pw.evaluate(method, [other, *one], read_out="features")
    assert (alone.pairs[0].vertex_map == after.pairs[1].vertex_map).all()
    assert all(torch.equal(weights[name], tensor) for name, tensor in plain.matcher.network.state_dict().items())
    assert method.card["name"] == "robust-fmnet, adapted"
    assert method.fingerprint() != plain.fingerprint()


@pytest.mark.parametrize("name", LEARNED)
def test_the_synchronous_term_may_be_added_to_each(name) -> None:
    kind = learned_method(name)
    plain = kind(config=kind.published.with_changes(**SMALL))
    smooth = kind(config=kind.published.with_changes(**SMALL, synchronous_weight=0.5))
    assert smooth.loss().terms() == (*plain.loss().terms(), SynchronousLoss(0.5))
    assert configured_by(smooth.loss(), smooth.config).loss.synchronous_weight == 0.5


def test_choices_for_a_data_set() -> None:
    assert RobustFMNet.published_for("shrec16-holes").search.vertical == "z"
    assert RobustFMNet.published_for(None) == RobustFMNet.published
    assert Wormhole.published_for("shrec16-holes") == PRESETS["shrec16-holes"]
    assert DirectMatchNet.published_for("pfaust-m").loss.distortion_weight == 5e3


def test_every_refinement_of_a_method_that_was_trained(one) -> None:
    method = small(DirectMatchNet)
    for by, name in (("zoomout", "+zoomout"), ("pmf", "+pmf"), ("adapt", ", adapted")):
        refined = refined_by(method, by)
        assert refined.card["name"] == f"direct-match-net{name}"
    for read_out in ("features", "spectral", "lateration"):
        found = pw.match(one[0].part, one[0].whole, model=method, read_out=read_out)
        assert found.vertex_map.max() < one[0].whole.n_vertices
    with pytest.raises(ValueError, match="DescriptorMaps can't be adapted"):
        refined_by(DescriptorMaps(), "adapt")


def test_wrong_arguments() -> None:
    method = small(RobustFMNet)
    with pytest.raises(ValueError, match="adapt=-1 must be a number of steps"):
        RobustFMNet(adapt=-1)
    with pytest.raises(ValueError, match="the loss of geomfmaps needs the ground truth"):
        GeomFMaps(adapt=3)
    with pytest.raises(ValueError, match="leave config out"):
        RobustFMNet(method.matcher, config=method.config)
