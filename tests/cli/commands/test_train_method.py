"""`partwhole train --method`: published methods from training to their errors."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import partwhole as pw
from partwhole.cli.main import main
from partwhole.cli.shared.config_options import complete_learned
from partwhole.experiments.matching.method_rows import read_rows
from partwhole.matching.methods import DPFM, learned_method, load_method
from partwhole.matching.network.weights import LEARNED, method_in

QUICK = [
    *("--with", "width=8", "--with", "features=8", "--with", "blocks=1", "--with", "diffusion_eigenpairs=10"),
    *("--with", "map_eigenpairs=15", "--iterations", "3", "--quiet"),
]


def test_from_training_to_its_errors(own_set: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert main(["train", "--data", str(own_set), "--method", "dpfm", "-o", str(run), *QUICK]) == 0
    assert method_in(run / "model.safetensors") == "dpfm"
    assert json.loads((run / "command.json").read_text())["method"] == "dpfm"
    assert isinstance(load_method(run / "model.safetensors"), DPFM)
    words = ["benchmark", "--data", str(own_set), "--methods", str(run), "-o", str(tmp_path / "out"), "--quiet"]
    assert main([*words, "--distances", "dijkstra", "--most", "1"]) == 0
    (row,) = read_rows(tmp_path / "out" / "pairs.csv")
    assert row.method == "run"
    assert "features read-out, unrefined; final weights" in row.protocol
    part, whole = (next((own_set / side).iterdir()) for side in ("parts", "wholes"))
    assert pw.match(part, whole, model=run / "model.safetensors").model == "dpfm"


def test_the_map_of_a_run_is_refined(own_set: Path, tmp_path: Path, one_error: Callable[..., str]) -> None:
    run = tmp_path / "run"
    words = ["train", "--data", str(own_set), "--method", "robust-fmnet", "-o", str(run), *QUICK]
    assert main([*words, "--no-capture", "--with", "synchronous_weight=0.1"]) == 0
    assert "SynchronousLoss" in json.loads((run / "run.json").read_text())["loss"]
    methods = f"{run},{run}+zoomout,{run}+adapt,{run}+pmf"
    command = [
        "benchmark",
        "--data",
        str(own_set),
        "--distances",
        "dijkstra",
        "--most",
        "1",
        "-o",
        str(tmp_path / "out"),
    ]
    assert main([*command, "--quiet", "--methods", methods]) == 0
    rows = read_rows(tmp_path / "out" / "pairs.csv")
    assert [row.method for row in rows] == ["run", "run+zoomout", "run+adapt", "run+pmf"]
    assert f"--model {run} is given twice" in one_error(*command, "--methods", f"{run},{run}")


def test_a_run_is_resumed(own_set: Path, tmp_path: Path, one_error: Callable[..., str]) -> None:
    run = tmp_path / "run"
    words = ["train", "--data", str(own_set), "--method", "geomfmaps", "-o", str(run), *QUICK]
    assert main(words) == 0
    assert main(["train", "--resume", str(run), "--quiet"]) == 0
    assert "--method can't be changed" in one_error("train", "--resume", str(run), "--method", "dpfm")


def test_every_name_is_a_class_that_says_it() -> None:
    for name in LEARNED:
        assert learned_method(name).name == name
    assert complete_learned("dpfm") == ["dpfm", "dpfm-holes"]


def test_weights_of_a_model_belong_to_no_method(tmp_path: Path) -> None:
    assert method_in(pw.matching.network.weights.built_in_path("default")) is None
    (tmp_path / "damaged.safetensors").write_bytes(b"no")
    assert method_in(tmp_path / "damaged.safetensors") is None


def test_wrong_words(own_set: Path, tmp_path: Path, one_error: Callable[..., str]) -> None:
    words = ["train", "--data", str(own_set), "-o", str(tmp_path / "run")]
    assert "there is no method 'dpm' to train; there are dpfm" in one_error(*words, "--method", "dpm")
    assert "--preset does not go with --method dpfm" in one_error(*words, "--method", "dpfm", "--preset", "small")
    with pytest.raises(ValueError, match="there is no method"):
        learned_method("pfm")
