"""`PairStream`: pairs that other processes generate during training, so that few of them are used twice.

Pairs come in blocks. A block is decided by its number alone, and so is the iteration from which on it is drawn from: a run
takes the same pairs on any machine, and waits where these are not made yet.
"""

from __future__ import annotations

import tempfile
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
import torch
from torch import Tensor

from partwhole.datasets.synthetic.recipe import PairRecipe
from partwhole.matching.config import TrainingConfig
from partwhole.matching.network.surface import Surface
from partwhole.matching.training.blocks import SIDES, BlockMakers, block_path, make_block
from partwhole.matching.training.prepared_pairs import protocol
from partwhole.store.arguments import Progress, check_device, check_progress, check_whole_number, checked_path, in_short
from partwhole.store.compute import available_cores
from partwhole.store.storage import hash_of

# sizes of the buffers that pairs of any size are copied into
PART_SIZES = (256, 512, 768, 1024, 1344, 1728, 2240, 2816, 3840, 5120)
WHOLE_SIZES = (1216, 1472, 1728, 1984, 2240, 2816, 3840, 5120)
# blocks that each process may be ahead of the training
_AHEAD = 2


class PairStream:
    """Blocks of generated pairs with their operators, on a device; iteration t draws from the first + ⌊t / every⌋ first ones.

    Use it in a `with` block, or `close` it: this ends the processes and removes temporary files.

    Parameters
    ----------
    recipe : makes the pairs of a block
    config : of the run: eigenpairs, and iterations, since blocks that no iteration draws from are not made
    blocks : how many blocks there are, at most
    first : so many are there from the start
    every : one more comes after so many iterations
    device : "cpu" or "cuda", where the surfaces go. A block of `DefaultRecipe` takes about 55 MB there, twice that on "cpu"
    workers : processes that make blocks; 0: this one; default all cores but one
    folder : where blocks are kept for the next time; None: in a temporary folder, until they are read
    progress : called with ("blocks of pairs", blocks done, blocks in all)
    note : called with a line for each block that is left out because its making failed

    Attributes
    ----------
    parts, wholes : surfaces of the blocks read so far
    pairs : (number of the part, number of the whole) of each pair
    left_out : numbers of blocks that are empty because their making failed, and why

    Examples
    --------
    >>> from partwhole.datasets import BodiesRecipe
    >>> recipe = BodiesRecipe(plans=("hand",), n_vertices=300, poses=1)
    >>> config = TrainingConfig(iterations=10, map_eigenpairs=10, diffusion_eigenpairs=10)
    >>> with PairStream(recipe, config, blocks=3, first=1, every=100, workers=0) as stream:
    ...     part, whole = stream.surfaces(*stream.pair_at(0, seed=0))
    >>> stream, len(whole)
    (PairStream('bodies': 1 of 1 blocks, 1 pairs), 300)
    """

    def __init__(
        self,
        recipe: PairRecipe,
        config: TrainingConfig,
        *,
        blocks: int = 600,
        first: int = 16,
        every: int = 250,
        device: str = "cpu",
        workers: int | None = None,
        folder: str | Path | None = None,
        progress: Progress | None = None,
        note: Callable[[str], None] | None = None,
    ) -> None:
        if not isinstance(recipe, PairRecipe):
            raise ValueError(f"recipe must be a PairRecipe such as pw.datasets.BodiesRecipe(), got {in_short(recipe)}")
        if not isinstance(config, TrainingConfig):
            raise ValueError(f"config must be a TrainingConfig such as preset('default'), got {in_short(config)}")
        for name, number in (("blocks", blocks), ("first", first), ("every", every)):
            check_whole_number(name, number)
            if number < 1:
                raise ValueError(f"{name}={number} must be at least 1")
        check_whole_number("workers", workers, or_none=True)
        if workers is not None and workers < 0:
            raise ValueError(f"workers={workers} must not be negative; 0 makes blocks in this process")
        check_device(device)
        check_progress(progress)
        self.recipe, self.device = recipe, device
        self.eigenpairs, self._diffusion_eigenpairs = config.eigenpairs, config.network.diffusion_eigenpairs
        self.first, self.every = min(first, blocks), every
        draws = config.optimisation.iterations * config.optimisation.accumulate
        self.blocks = min(blocks, self.first + (draws - 1) // every)
        self.protocol = protocol(supervised=config.loss.correspondence_weight > 0)
        self._workers = max(1, available_cores() - 1) if workers is None else workers
        self._folder = None if folder is None else checked_path("folder", folder)
        self._temporary: tempfile.TemporaryDirectory | None = None
        self._makers: BlockMakers | None = None
        self._report = progress or (lambda what, done, total: None)
        self._note = note or (lambda text: None)
        self._described = recipe.described()
        self._loaded = 0
        self.parts: list[Surface] = []
        self.wholes: list[Surface] = []
        self.pairs: list[tuple[int, int]] = []
        self.left_out: dict[int, str] = {}
        self._truths: dict[tuple[int, int], tuple[Tensor, Tensor]] = {}
        self._of_size: dict[tuple[int, int], list[tuple[int, int]]] = {}

    def __enter__(self) -> PairStream:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"PairStream({self.recipe.name!r}: {self._loaded} of {self.blocks} blocks, {len(self)} pairs)"

    def __len__(self) -> int:
        return len(self.pairs)

    def close(self) -> None:
        """End the processes, and remove temporary files; pairs that were read remain. To close twice does no harm."""
        if self._makers is not None:
            self._makers.close()
            self._makers = None
        if self._temporary is not None:
            self._temporary.cleanup()
            self._temporary = None

    def pair_at(self, iteration: int, seed: int) -> tuple[int, int]:
        """Numbers of part and whole that an iteration takes: any of the pairs that are there by then."""
        wanted = min(self.blocks, self.first + iteration // self.every)
        while self._loaded < wanted:
            self._load(self._loaded)
        if not self.pairs:
            reason = next(iter(self.left_out.values()), "none of their surfaces has enough vertices, or ground truth")
            raise ValueError(f"the first {wanted} blocks of the recipe {self.recipe.name!r} have no pairs: {reason}")
        return _one_of(self.pairs, seed, 2, iteration)

    def batch_at(self, iteration: int, seed: int, size: int) -> list[tuple[int, int]]:
        """The pairs that an iteration takes: `pair_at`, and others that fit buffers of the same size."""
        first = self.pair_at(iteration, seed)
        alike = self._of_size[self.buffer_size(*first)]
        return [first, *(_one_of(alike, seed, 2, iteration, k) for k in range(1, size))]

    def buffer_size(self, part: int, whole: int) -> tuple[int, int]:
        """Vertices of the buffers that a pair is copied into: of the part, and of the whole."""
        return _rounded_up(PART_SIZES, len(self.parts[part])), _rounded_up(WHOLE_SIZES, len(self.wholes[whole]))

    def surfaces(self, part: int, whole: int) -> tuple[Surface, Surface]:
        """The part with its ground truth, and the whole."""
        truth = self._truths[part, whole]
        return _single(self.parts[part]).with_truth(*truth), _single(self.wholes[whole])

    def fits(self, config: TrainingConfig) -> bool:
        """Whether a run with this config takes as many eigenpairs as the surfaces have."""
        sizes = config.eigenpairs, config.network.diffusion_eigenpairs
        return sizes == (self.eigenpairs, self._diffusion_eigenpairs)

    @property
    def content_hash(self) -> str:
        """Of everything that decides which pairs a run takes."""
        return hash_of([self._described, self.blocks, self.first, self.every, self.eigenpairs])

    def described(self) -> dict[str, Any]:
        """What a reader of the weights wants to know of the pairs, as JSON has it."""
        schedule = {"blocks": self.blocks, "first_blocks": self.first, "iterations_per_block": self.every}
        read = {"pairs": len(self), "parts": len(self.parts), "wholes": len(self.wholes)} if self._loaded else {}
        failed = (
            {"left_out": {str(number): reason for number, reason in self.left_out.items()}} if self.left_out else {}
        )
        return {**self._described, **schedule, **read, **failed, "hash": self.content_hash}

    def _load(self, number: int) -> None:
        path = self._made(number)
        with np.load(path, allow_pickle=False) as file:
            held = {name: file[name] for name in file.files}
        if self._temporary is not None:
            path.unlink()
        self._loaded = number + 1
        if self._makers is not None:
            self._makers.allow(self._loaded + _AHEAD * self._workers)
        reason = str(held.pop("left_out"))
        if reason:
            self.left_out[number] = reason
            self._note(f"block {number} of pairs is left out, its making failed: {reason}")
        self._add({name: torch.from_numpy(array).to(self.device) for name, array in held.items()})
        self._report("blocks of pairs", self._made_so_far(), self.blocks)

    def _made(self, number: int) -> Path:
        """The file of a block, once it is there."""
        if self._folder is None and self._temporary is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="partwhole-")
        folder = Path(self._temporary.name) if self._temporary else self._folder
        assert folder is not None
        folder.mkdir(parents=True, exist_ok=True)

        def path(block: int) -> Path:
            return block_path(folder, self._described, block, self.eigenpairs)

        if path(number).exists():
            return path(number)
        if not self._workers:
            make_block(self.recipe, number, self.eigenpairs, path(number))
            return path(number)
        if self._makers is None:
            self._report("blocks of pairs", number, self.blocks)
            sizes = {"count": self.blocks, "k": self.eigenpairs, "workers": self._workers}
            allowed = max(self.first, number + _AHEAD * self._workers)
            self._makers = BlockMakers(self.recipe, path=path, allowed=allowed, **sizes)
        self._makers.wait_for(number, lambda: self._report("blocks of pairs", self._made_so_far(), self.blocks))
        return path(number)

    def _made_so_far(self) -> int:
        return max(self._loaded, 0 if self._makers is None else self._makers.made)

    def _add(self, held: dict[str, Tensor]) -> None:
        if self.device == "cpu":
            # a processor computes with half precision slower than without
            held = {name: tensor.float() if tensor.is_floating_point() else tensor for name, tensor in held.items()}
        before = len(self.parts), len(self.wholes)
        for side, known in zip(SIDES, (self.parts, self.wholes), strict=True):
            known += _surfaces(held, side, self._diffusion_eigenpairs)
        for (part, whole), start in zip(held["pairs"].tolist(), held["truth_starts"].tolist(), strict=True):
            key = before[0] + part, before[1] + whole
            rows = slice(start, start + len(self.parts[key[0]]))
            self.pairs.append(key)
            self._of_size.setdefault(self.buffer_size(*key), []).append(key)
            self._truths[key] = held["truth"][rows].long(), held["truth_shares"][rows]


def _surfaces(held: dict[str, Tensor], side: str, diffusion_eigenpairs: int) -> list[Surface]:
    sizes = held[f"{side}_sizes"].tolist()
    if not sizes:
        return []
    of_vertices = {name: held[f"{side}_{name}"].split(sizes) for name in ("points", "normals", "mass", "basis")}
    found = []
    for number, values in enumerate(held[f"{side}_values"]):
        one = {name: parts[number] for name, parts in of_vertices.items()}
        basis = one.pop("basis")
        found.append(
            Surface(
                **one,
                values=values,
                # no network that is trained on a stream sees them
                signatures=one["points"][:, :0],
                functions=basis[:, 0],
                basis=basis[..., :diffusion_eigenpairs],
            )
        )
    return found


def _one_of(pairs: list[tuple[int, int]], *seed: int) -> tuple[int, int]:
    return pairs[int(np.random.default_rng(seed).integers(len(pairs)))]


def _rounded_up(sizes: tuple[int, ...], size: int) -> int:
    """The first of the sizes that is large enough; if none is, a multiple of 64."""
    place = bisect_left(sizes, size)
    return sizes[place] if place < len(sizes) else 64 * -(-size // 64)


def _single(surface: Surface) -> Surface:
    """The same in single precision."""
    if surface.basis.dtype == torch.float32:
        return surface
    return replace(surface, functions=surface.functions.float(), basis=surface.basis.float())
