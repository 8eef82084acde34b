from __future__ import annotations

import inspect
import json
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields

import pytest

from partwhole.matching import PRESETS, AugmentationConfig, LossConfig, TrainingConfig, preset
from partwhole.matching.config import GROUPS, Group, group_of


def unchecked(group: type[Group], **changes: object) -> None:
    """Reach our own checks, without those of annotations."""
    made = object.__new__(group)
    for field in fields(group):
        object.__setattr__(made, field.name, changes.get(field.name, field.default))
    inspect.unwrap(group.__post_init__)(made)


def test_the_papers_choices() -> None:
    paper = preset("pfaust-h")
    assert paper == TrainingConfig()
    network, loss, optimisation, augmentation = paper.network, paper.loss, paper.optimisation, paper.augmentation
    assert (network.width, network.blocks, network.features, network.diffusion_eigenpairs) == (128, 4, 256, 128)
    assert (network.inputs, network.dropout) == ("xyz", 0.5)
    assert (loss.temperature, loss.distortion_weight, loss.orthogonality_weight) == (0.01, 1e3, 1.0)
    assert (loss.criterion, loss.mask) == ("wormhole", "soft")
    assert (optimisation.iterations, optimisation.cosine_epochs) == (20_000, 300)
    assert (optimisation.learning_rate, optimisation.final_learning_rate, optimisation.gradient_norm) == (
        1e-3,
        1e-4,
        1.0,
    )
    assert augmentation == AugmentationConfig(rotation=90.0, noise=0.01, noise_limit=0.05, scaling=(0.9, 1.1))
    assert preset("pfaust-m").loss.distortion_weight == 5e3
    assert preset("shrec16-holes").loss.temperature == 0.07
    assert preset("shrec16-cuts").loss.temperature == 0.01


def test_presets_can_not_be_changed() -> None:
    with pytest.raises(TypeError):
        PRESETS["pfaust-h"] = TrainingConfig()  # type: ignore[index]
    with pytest.raises(FrozenInstanceError):
        PRESETS["pfaust-h"].network.width = 3  # type: ignore[misc]


def test_unknown_presets() -> None:
    with pytest.raises(ValueError, match=r"no preset 'pfaust'; did you mean 'pfaust-.'\? there are pfaust-m, pfaust-h"):
        preset("pfaust")
    with pytest.raises(ValueError, match="no preset 'zzz'; there are pfaust-m"):
        preset("zzz")


@pytest.mark.parametrize("name", PRESETS)
def test_through_json_and_back(name) -> None:
    config = PRESETS[name].with_changes(low_pass=30, scaling=(0.5, 2.0), seed=7)
    assert TrainingConfig.from_json(json.loads(json.dumps(config.to_json()))) == config


def test_choices_are_changed_by_name() -> None:
    assert TrainingConfig().with_changes(width=3, seed=4) == TrainingConfig(width=3, seed=4)
    with pytest.raises(ValueError, match=r"no setting 'temprature' in a training run; did you mean 'temperature'\?"):
        TrainingConfig().with_changes(temprature=1.0)
    with pytest.raises(ValueError, match="no setting 'qqqq' in a training run; there are inputs, width"):
        TrainingConfig().with_changes(qqqq=1.0)


def test_as_many_eigenpairs_as_anything_needs() -> None:
    assert TrainingConfig().eigenpairs == 200
    assert TrainingConfig(map_eigenpairs=50).eigenpairs == 128
    assert TrainingConfig(map_eigenpairs=50, low_pass=140).eigenpairs == 140


@pytest.mark.parametrize("name", ["inputs", "criterion", "mask", "vertical", "precision", "distances"])
def test_unknown_words(name) -> None:
    with pytest.raises(ValueError, match=rf"^{name} must be one of '.*', got 'nonsense'"):
        unchecked(GROUPS[group_of(name)[0]], **{name: "nonsense"})


@pytest.mark.parametrize(
    "name", ["width", "blocks", "features", "diffusion_eigenpairs", "map_eigenpairs", "iterations", "evaluate_every"]
)
def test_counts_are_at_least_one(name) -> None:
    with pytest.raises(ValueError, match=f"{name}=0 must be at least 1"):
        TrainingConfig(**{name: 0})


@pytest.mark.parametrize("name", ["temperature", "learning_rate", "final_learning_rate", "gradient_norm"])
@pytest.mark.parametrize("value", [0.0, -1.0, float("nan")])
def test_positive_numbers(name, value) -> None:
    with pytest.raises(ValueError, match=f"{name}=.* must be positive"):
        TrainingConfig(**{name: value})


@pytest.mark.parametrize(
    "name", ["dropout", "distortion_weight", "orthogonality_weight", "rotation", "noise", "noise_limit"]
)
def test_numbers_that_are_not_negative(name) -> None:
    assert TrainingConfig(**{name: 0.0}).choices[name] == 0
    for value in (-0.5, float("nan")):
        with pytest.raises(ValueError, match=f"{name}=.* must not be negative"):
            TrainingConfig(**{name: value})


def test_a_seed_is_not_negative() -> None:
    with pytest.raises(ValueError, match="seed=-1 must not be negative"):
        TrainingConfig(seed=-1)


def test_other_bad_choices() -> None:
    with pytest.raises(ValueError, match=r"dropout=1\.0 must be below 1"):
        TrainingConfig(dropout=1.0)
    for scaling in ((0.0, 1.0), (1.1, 0.9), (float("nan"), 1.0)):
        with pytest.raises(ValueError, match=r"scaling=\(.*\) must be a range of two positive factors"):
            TrainingConfig(scaling=scaling)
    with pytest.raises(ValueError, match="must be a range of two positive factors"):
        unchecked(AugmentationConfig, scaling=(1.0,))
    for weights in ((0.0, 0.0, 0.0), (1.0, -1.0, 0.0), (1e300, 1e300, 0.0)):
        with pytest.raises(
            ValueError, match=r"score_weights=\(.*\) must be three weights from 0 to 1e\+09, not all of them 0"
        ):
            TrainingConfig(score_weights=weights)
    for name in ("low_pass", "cosine_epochs"):
        with pytest.raises(ValueError, match=f"{name}=0 must be at least 1, or None"):
            TrainingConfig(**{name: 0})


def test_presets_do_without_torch() -> None:
    script = "import sys, partwhole.matching as m; m.preset('pfaust-h'); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script]).returncode == 0


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("yaw_steps", 1e9, "yaw_steps=1000000000.0 must be a whole number"),
        ("yaw_steps", 10**9, "yaw_steps=1000000000 must be at most 1000"),
        ("yaw_steps", float("nan"), "yaw_steps=nan must be a whole number"),
        ("yaw_steps", None, "yaw_steps=None must be a whole number"),
        ("yaw_steps", True, "yaw_steps=True must be a whole number"),
        ("yaw_steps", [8], r"yaw_steps=\[8\] must be a whole number"),
        ("alignments", 0.5, "alignments=0.5 must be a whole number"),
        ("width", 10**7, "width=10000000 must be at most"),
        ("blocks", 10**9, "blocks=1000000000 must be at most"),
        ("map_eigenpairs", 10**6, "map_eigenpairs=1000000 must be at most"),
        ("low_pass", "20", "low_pass=20 must be a whole number"),
        ("upright", 1, "upright=1 must be true or false"),
        ("temperature", float("nan"), "temperature=nan must be a finite number"),
        ("temperature", "0.1", "temperature=0.1 must be a finite number"),
        ("noise", float("inf"), "noise=inf must be a finite number"),
        ("rotation", 10**400, "rotation=1000.* must be a finite number"),
        ("scaling", (0.9, float("nan")), r"scaling=\(0.9, nan\) must be a list of finite numbers"),
        ("scaling", 3, "scaling=3 must be a list of finite numbers"),
        ("score_weights", (1.0, None, 0.0), r"score_weights=\(1.0, None, 0.0\) must be a list of finite numbers"),
    ],
)
def test_numbers_from_a_file_are_of_their_kind_and_not_absurd(name: str, value: object, said: str) -> None:
    with pytest.raises(ValueError, match=f"^{said}"):
        TrainingConfig.from_json({**TrainingConfig().to_json(), name: value})
    group, _ = group_of(name)
    nested = TrainingConfig().to_json()
    nested[group][name] = value
    with pytest.raises(ValueError, match=f"^{said}"):
        TrainingConfig.from_json(nested)


def test_files_of_earlier_versions_are_read() -> None:
    """They had one list of choices, and other names for some."""
    flat = {**TrainingConfig(width=7).choices, "scaling": [0.8, 1.2]}
    for new, old in {
        "yaw_steps": "headings",
        "whole_yaw_steps": "whole_headings",
        "score_weights": "judged_by",
    }.items():
        flat.pop(new)
        flat[old] = {"headings": 8, "whole_headings": 2, "judged_by": [0.0, 10.0, 30.0]}[old]
    found = TrainingConfig.from_json(json.loads(json.dumps(flat)))
    assert found == TrainingConfig(
        width=7, scaling=(0.8, 1.2), yaw_steps=8, whole_yaw_steps=2, score_weights=(0.0, 10.0, 30.0)
    )


def test_choices_by_group() -> None:
    config = TrainingConfig().with_changes(**{"loss.temperature": 0.07})
    assert config.loss == LossConfig(temperature=0.07)
    assert TrainingConfig(loss=LossConfig(temperature=0.07)) == config
    assert config.with_changes(loss=LossConfig()) == TrainingConfig()
    with pytest.raises(ValueError, match=r"no setting 'network.temperature' in a training run; did you mean loss.temp"):
        TrainingConfig(**{"network.temperature": 1.0})
    with pytest.raises(ValueError, match="loss must be a LossConfig, got dict"):
        TrainingConfig(loss={"temperature": 1.0})
    assert len(config.choices) == sum(len(fields(group)) for group in GROUPS.values())
