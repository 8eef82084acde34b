"""Recipes of training pairs."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from partwhole.datasets import (
    BodiesRecipe,
    DefaultRecipe,
    Pair,
    PairRecipe,
    Pairs,
    PartsRecipe,
    cut_plane,
    people_pairs,
    sphere,
)
from partwhole.datasets.synthetic import recipe as recipes


@pytest.fixture
def assets(tmp_path: Path) -> Path:
    """Files of the right names, with nothing in them."""
    for asset in DefaultRecipe.ASSETS:
        (tmp_path / asset.file).write_bytes(asset.terms.encode())
    return tmp_path


def test_every_missing_file_is_named_with_its_terms(assets: Path) -> None:
    people, heads = (
        "bodies_cc0.npz (people from MakeHuman's assets, CC0)",
        "faces_mit.npz (heads of ICT-FaceKit, MIT licence)",
    )
    (assets / "faces_mit.npz").unlink()
    with pytest.raises(FileNotFoundError) as fault:
        DefaultRecipe(assets)
    assert str(fault.value).startswith(f"{assets} holds no {heads}; the recipe 'default' needs")
    (assets / "bodies_cc0.npz").unlink()
    with pytest.raises(FileNotFoundError) as fault:
        DefaultRecipe(assets)
    assert f"no {people}, no {heads}" in str(fault.value)


def test_the_card_has_the_content_of_the_files_and_not_their_place(assets: Path, tmp_path_factory: Any) -> None:
    found = DefaultRecipe(str(assets), seed=3).described()
    assert (found["recipe"], found["seed"]) == ("default", 3)
    assert [(asset["file"], asset["terms"]) for asset in found["assets"]] == [
        ("bodies_cc0.npz", "CC0"),
        ("faces_mit.npz", "MIT licence"),
    ]
    moved = tmp_path_factory.mktemp("moved")
    for asset in DefaultRecipe.ASSETS:
        (moved / asset.file).write_bytes((assets / asset.file).read_bytes())
    assert DefaultRecipe(moved, seed=3).described() == found
    (moved / "faces_mit.npz").write_bytes(b"other heads")
    assert DefaultRecipe(moved, seed=3).described() != found


def test_ten_blocks_are_of_six_kinds_and_held_out_people_in_none(assets: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, Any]] = []

    def pairs_by(name: str) -> Any:
        def noted(*given: Any, **knobs: Any) -> Pairs:
            asked.append((name, knobs))
            return Pairs.from_list([], name=name)

        return noted

    for name in ("people_pairs", "face_pairs", "thing_pairs", "retriangulated_body_pairs"):
        monkeypatch.setattr(recipes, name, pairs_by(name))
    for name in ("people_in", "faces_in"):
        monkeypatch.setattr(recipes, name, lambda folder: None)
    recipe = DefaultRecipe(assets, seed=1)
    for number in range(20):
        recipe(number)
    assert Counter(recipe.kind(number) for number in range(10)) == {
        "people": 4,
        "animals": 2,
        **dict.fromkeys(("bodies", "creatures", "things", "faces"), 1),
    }
    chosen = [knobs["which"] for name, knobs in asked if name == people_pairs.__name__]
    assert len(chosen) == 8
    assert max(max(which) for which in chosen) < recipes.TRAINING_PEOPLE
    # blocks and runs have seeds of their own, above those of test sets
    assert [knobs["seed"] for _, knobs in asked] == [2_000_000 + number for number in range(20)]
    assert {knobs["plans"] for _, knobs in asked if "plans" in knobs} >= {("animal",), ("centaur",), ("gorilla",)}


def test_bodies_take_turns_and_are_decided_by_the_number() -> None:
    recipe = BodiesRecipe(plans=("hand", "snake"), n_vertices=(150, 200), poses=1)
    one, again, other = recipe(0)[0], recipe(0)[0], recipe(2)[0]
    assert one.part.content_hash == again.part.content_hash != other.part.content_hash
    assert one.name.startswith("hand")
    assert [key[0].plan for key in recipe(1).keys] == ["snake"]
    assert one.part.n_vertices < 200
    assert recipe.described() == {
        "recipe": "bodies",
        "plans": ["hand", "snake"],
        "n_vertices": [150, 200],
        "poses": 1,
        "seed": 0,
    }


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"plans": ()}, "plans must be several kinds of bodies"),
        ({"n_vertices": (9, 3)}, "n_vertices="),
        ({"poses": 0}, "poses=0 must be at least 1"),
        ({"seed": -1}, "seed=-1 must not be negative"),
    ],
)
def test_mistakes_are_named(choices: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        BodiesRecipe(**choices)


@dataclass(frozen=True)
class _Balls(PairRecipe):
    """Three parts of one ball, of which the last two have nothing in common."""

    name = "balls"

    def __call__(self, number: int) -> Pairs:
        ball = sphere(150, seed=number)
        cuts = [cut_plane(ball, (0, 0, z), (0, 0, way)) for z, way in ((-0.2, 1.0), (0.6, 1.0), (0.0, -1.0))]
        pairs = [replace(Pair.of_cut(cut), name=str(k)) for k, cut in enumerate(cuts)]
        return Pairs([(k, "ball") for k in range(3)], lambda k, _: pairs[k], name="balls")


def test_pairs_of_two_parts_are_made_of_those_with_one_whole() -> None:
    recipe = PartsRecipe(_Balls(), most=5)
    pairs = recipe(0)
    assert len(pairs) == 2
    for pair in pairs:
        truth = pair.ground_truth
        assert truth is not None
        assert 0 < len(truth) < pair.part.n_vertices
        assert pair.whole.n_components == 1
        assert not pair.whole.is_closed
    assert len(PartsRecipe(_Balls(), most=1)(0)) == 1
    assert recipe.described() == {"recipe": "parts", "of": {"recipe": "balls"}, "most": 5, "least": 0.1}
    with pytest.raises(ValueError, match="most=0 must be at least 1"):
        PartsRecipe(_Balls(), most=0)
