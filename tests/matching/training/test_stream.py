"""Pairs that are made while training goes on: the same ones by whatever process, and what happens when something fails."""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Callable
from contextlib import contextmanager
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import partwhole.matching.training.blocks as blocks
from partwhole.datasets import DefaultRecipe, PairRecipe
from partwhole.matching import PairStream, TrainingConfig
from partwhole.matching.training.blocks import BlockMakers, block_path, make_block
from partwhole.spectral import eigenpairs
from partwhole.spectral.eigen import operator_arrays
from partwhole.store.storage import hash_of

K = 12


@pytest.fixture(scope="module")
def balls(small: Any) -> type[PairRecipe]:
    return small.Balls


@pytest.fixture(scope="module")
def few(config: TrainingConfig) -> TrainingConfig:
    return config.with_changes(map_eigenpairs=K, diffusion_eigenpairs=K - 2, iterations=100)


def read(path: Path) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def test_another_process_makes_the_same_block_and_is_not_left_behind(hands, few, hand_blocks, tmp_path) -> None:
    told: list[tuple[str, int, int]] = []
    knobs: dict[str, Any] = {"blocks": 1, "workers": 1, "folder": tmp_path}
    with PairStream(hands, few, progress=lambda *what: told.append(what), **knobs) as stream:
        stream.pair_at(0, 0)
    assert active_children() == []
    assert repr(stream) == "PairStream('bodies': 1 of 1 blocks, 1 pairs)"
    assert {what for what, _, _ in told} == {"blocks of pairs"}
    assert (told[0][1:], told[-1][1:]) == ((0, 1), (1, 1))
    (made,) = tmp_path.iterdir()
    one, other = read(made), read(hand_blocks / made.name)
    assert one.keys() == other.keys()
    for key, array in one.items():
        np.testing.assert_array_equal(array, other[key], err_msg=key)


def test_a_pair_is_what_the_recipe_made(hands, few, hand_blocks) -> None:
    stream = PairStream(hands, few, blocks=1, workers=0, folder=hand_blocks)
    stream.pair_at(0, 0)
    for key, pair in zip(stream.pairs, hands(0), strict=True):
        part, whole = stream.surfaces(*key)
        truth = pair.ground_truth.rounded(pair.whole.vertices)
        rows = truth.part_vertices
        np.testing.assert_array_equal(part.truth.numpy()[rows], truth.whole_vertices)
        shares = np.zeros(len(part))
        shares[rows] = part.mass.numpy()[rows] / part.mass.numpy()[rows].sum()
        np.testing.assert_allclose(part.truth_shares, shares, rtol=1e-5)
        for surface, mesh in ((part, pair.part), (whole, pair.whole)):
            expected = operator_arrays(mesh, eigenpairs(mesh, K), K)
            for name in ("points", "normals", "mass", "values"):
                np.testing.assert_array_equal(getattr(surface, name), expected[name])
            np.testing.assert_allclose(surface.functions, expected["basis"][:, 0], rtol=1e-3, atol=1e-6)
            np.testing.assert_allclose(surface.basis, expected["basis"][..., : K - 2], rtol=1e-3, atol=1e-6)
            assert {surface.basis.dtype, surface.functions.dtype} == {torch.float32}


def test_blocks_come_one_after_the_other(balls, few) -> None:
    stream = PairStream(balls(), few, blocks=5, first=2, every=10, workers=0)
    for iteration, count in ((0, 2), (9, 2), (10, 3), (25, 4), (80, 5), (10_000, 5)):
        stream.pair_at(iteration, 0)
        assert len(stream) == count, iteration
    drawn = [stream.pair_at(t, 0) for t in range(200)]
    assert set(drawn) == set(stream.pairs)
    # what is there already is not drawn from earlier; blocks that no iteration draws from are not made
    assert PairStream(balls(), few.with_changes(iterations=21), blocks=9, first=2, every=10).blocks == 4
    assert PairStream(balls(), few, blocks=1, first=9).blocks == 1
    stream.close()
    stream.close()


def test_the_pairs_of_a_batch_fit_one_size_of_buffers(hands, few, hand_blocks, monkeypatch) -> None:
    before = PairStream(hands, few, blocks=3, first=3, workers=0, folder=hand_blocks)
    before.pair_at(0, 0)
    lengths = [len(part) for part in before.parts]
    assert min(lengths) < max(lengths)
    # the smallest part has a size of its own, wherever another processor makes the cuts
    monkeypatch.setattr("partwhole.matching.training.stream.PART_SIZES", (min(lengths),))
    stream = PairStream(hands, few, blocks=3, first=3, workers=0, folder=hand_blocks)
    drawn = [stream.batch_at(t, 0, 4) for t in range(100)]
    for number, batch in enumerate(drawn):
        assert batch[0] == stream.pair_at(number, 0)
        assert len({stream.buffer_size(*pair) for pair in batch}) == 1
        for part, whole in batch:
            sizes = stream.buffer_size(part, whole)
            assert sizes[0] >= len(stream.parts[part])
            assert sizes[1] >= len(stream.wholes[whole])
    assert len({stream.buffer_size(*pair) for pair in stream.pairs}) > 1
    assert {pair for batch in drawn for pair in batch[1:]} == set(stream.pairs)


def test_temporary_blocks_are_removed_as_soon_as_they_are_read(balls, few, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with PairStream(balls(), few, blocks=2, workers=0) as stream:
        stream.pair_at(0, 0)
        assert [path.is_dir() for path in tmp_path.rglob("*")] == [True]
    assert list(tmp_path.iterdir()) == []


def test_blocks_that_are_kept_are_not_made_again_and_those_of_others_not_taken(
    balls, few, tmp_path, monkeypatch
) -> None:
    made: list[int] = []
    monkeypatch.setattr(balls, "__call__", _counted(balls.__call__, made))
    for recipe, k, count in ((balls(), K, 2), (balls(), K, 2), (balls(n_vertices=50), K, 4), (balls(), K + 1, 6)):
        chosen = few.with_changes(map_eigenpairs=k)
        PairStream(recipe, chosen, blocks=2, workers=0, folder=tmp_path).pair_at(0, 0)
        assert len(made) == count


def _counted(make: Callable[..., Any], made: list[int]) -> Callable[..., Any]:
    def counted(recipe: PairRecipe, number: int) -> Any:
        made.append(number)
        return make(recipe, number)

    return counted


def test_a_block_that_fails_is_left_out_and_named(balls, few, tmp_path) -> None:
    notes: list[str] = []
    recipe = balls(fails=(1,))
    knobs: dict[str, Any] = {"blocks": 3, "workers": 0, "folder": tmp_path}
    stream = PairStream(recipe, few, note=notes.append, **knobs)
    drawn = [stream.pair_at(t, 0) for t in range(20)]
    assert notes == ["block 1 of pairs is left out, its making failed: RuntimeError: no ball 1"]
    assert stream.left_out == {1: "RuntimeError: no ball 1"}
    assert stream.described()["left_out"] == {"1": "RuntimeError: no ball 1"}
    assert len(stream) == 2
    again = PairStream(recipe, few, **knobs)
    assert [again.pair_at(t, 0) for t in range(20)] == drawn
    assert again.left_out == stream.left_out
    with pytest.raises(ValueError, match="first 2 blocks of the recipe 'balls' have no pairs: RuntimeError: no ball 0"):
        PairStream(balls(fails=(0, 1)), few, blocks=2, workers=0).pair_at(0, 0)
    with pytest.raises(ValueError, match="have no pairs: none of their surfaces has enough vertices"):
        PairStream(balls(n_vertices=K), few, blocks=2, workers=0).pair_at(0, 0)


def test_no_room_for_a_block_is_said(balls, few, tmp_path, monkeypatch) -> None:
    @contextmanager
    def full(path: Path) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        yield

    monkeypatch.setattr(blocks, "atomic_write", full)
    with pytest.raises(OSError, match=r"block 0 of pairs could not be written to .* \(No space left on device\); make"):
        PairStream(balls(), few, workers=0, folder=tmp_path).pair_at(0, 0)

    def starved(recipe: PairRecipe, number: int) -> Any:
        raise MemoryError

    monkeypatch.setattr(balls, "__call__", starved)
    with pytest.raises(OSError, match="block 3 of pairs could not be made: MemoryError"):
        make_block(balls(), 3, K, tmp_path / "block.npz")
    assert list(tmp_path.iterdir()) == []


def test_what_goes_wrong_in_another_process_is_told_in_this_one(hands, few, tmp_path) -> None:
    for asset in DefaultRecipe.ASSETS:
        (tmp_path / asset.file).write_bytes(b"no people")
    recipe = DefaultRecipe(tmp_path)
    for asset in DefaultRecipe.ASSETS:
        (tmp_path / asset.file).unlink()

    def path(number: int) -> Path:
        return block_path(tmp_path, {}, number, K)

    makers = BlockMakers(recipe, count=2, k=K, path=path, workers=1, allowed=1)
    with pytest.raises(OSError, match=r"block 0 of pairs could not be made: .* holds no bodies_cc0.npz"):
        makers.wait_for(0, lambda: None)
    makers.close()
    makers.close()
    with pytest.raises(OSError, match="were ended"):
        makers.wait_for(1, lambda: None)


def test_a_process_that_is_killed_is_told(hands, tmp_path) -> None:
    # nothing is allowed yet, so the process waits
    makers = BlockMakers(hands, count=1, k=K, path=lambda number: tmp_path / f"{number}.npz", workers=1, allowed=0)
    (process,) = active_children()
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join()
    makers.allow(1)
    with pytest.raises(OSError, match="the process that made block 0 of pairs was ended by signal 9, perhaps for lack"):
        makers.wait_for(0, lambda: None)
    makers.close()
    assert active_children() == []
    assert "ended with code 1; a script that trains must do so below `if __name__" in blocks.ended(0, 1)


def test_mistakes_are_named(balls, few) -> None:
    def local() -> PairRecipe:
        class Local(balls):
            pass

        return Local()

    with pytest.raises(ValueError, match=r"Local can't go to another process .* define it in a module"):
        PairStream(local(), few, workers=1).pair_at(0, 0)
    for name in ("blocks", "first", "every"):
        with pytest.raises(ValueError, match=f"{name}=0 must be at least 1"):
            PairStream(balls(), few, **{name: 0})
    with pytest.raises(ValueError, match="workers=-1 must not be negative"):
        PairStream(balls(), few, workers=-1)


def test_the_hash_is_that_of_everything_that_decides_the_pairs(balls, few) -> None:
    def of(recipe: PairRecipe = balls(), chosen: TrainingConfig = few, **knobs: Any) -> str:  # noqa: B008
        return PairStream(recipe, chosen, **{"blocks": 3, "first": 2, "every": 10, **knobs}).content_hash

    others = [
        of(balls(n_vertices=70)),
        of(chosen=few.with_changes(map_eigenpairs=K + 1)),
        of(blocks=2),
        of(first=1),
        of(every=11),
    ]
    assert len({of(), *others}) == 6
    assert of() == of(workers=2, device="cpu") == of(chosen=few.with_changes(width=9))
    assert block_path(Path("x"), {}, 3, 4).name == f"block-00003-{hash_of([1, {}, 4])[:12]}.npz"
