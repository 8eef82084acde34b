"""From pairs of meshes to tensors on a device: each surface once, however many pairs it occurs in."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from partwhole.criterion.loops import twice_genus
from partwhole.datasets.pairs import GroundTruth, Pair, given_pairs
from partwhole.matching.config import TrainingConfig
from partwhole.matching.network.surface import Surface, distances_of, pair_weights, surface_of, whole_with_loss
from partwhole.mesh import Mesh
from partwhole.spectral.cached import fill_cache, is_cached
from partwhole.store.arguments import Progress, check_device, check_whole_number
from partwhole.store.cache import Cache, CacheGiven
from partwhole.store.storage import hash_of


@dataclass(frozen=True, eq=False, repr=False)
class PreparedPairs:
    """The surfaces of a set of pairs, each once.

    Attributes
    ----------
    parts, wholes : surfaces, on the device
    pairs : (number of the part, number of the whole), in the order of the pairs
    meshes : of the parts and of the wholes, by number
    notes : what is unusual about the surfaces
    truths : `truth` and `truth_shares` of the part, see `Surface`, for each pair of numbers; empty unless a loss takes them
    teacher : the network whose maps the truths are; None: they are the ground truth
    """

    parts: tuple[Surface, ...]
    wholes: tuple[Surface, ...]
    pairs: tuple[tuple[int, int], ...]
    meshes: tuple[tuple[Mesh, ...], tuple[Mesh, ...]]
    notes: tuple[str, ...]
    truths: Mapping[tuple[int, int], tuple[Tensor, Tensor]] = field(default_factory=dict)
    teacher: str | None = None

    def __repr__(self) -> str:
        return f"PreparedPairs({len(self.pairs)} pairs of {len(self.parts)} parts and {len(self.wholes)} wholes)"

    def __len__(self) -> int:
        return len(self.pairs)

    def surfaces(self, part: int, whole: int) -> tuple[Surface, Surface]:
        """The part and the whole of these numbers; the part with its ground truth on this whole, if there is one."""
        one, other = self.parts[part], self.wholes[whole]
        truth = self.truths.get((part, whole))
        return (one if truth is None else one.with_truth(*truth)), other

    def pair_at(self, iteration: int, seed: int) -> tuple[int, int]:
        """Numbers of part and whole that an iteration takes, if it takes one pair."""
        return self.pairs[pair_number(iteration, len(self), seed)]

    def batch_at(self, iteration: int, seed: int, size: int) -> list[tuple[int, int]]:
        """The pairs that an iteration takes if each takes so many: the next ones of the pass."""
        return [self.pair_at(iteration * size + k, seed) for k in range(size)]

    @property
    def content_hash(self) -> str:
        """Of the content of every pair, in their order."""
        parts, wholes = self.meshes
        return hash_of([[parts[p].content_hash, wholes[w].content_hash] for p, w in self.pairs])

    def described(self) -> dict[str, Any]:
        """What a reader of the weights wants to know of the pairs, as JSON has it."""
        parts, wholes = self.meshes
        return {"pairs": len(self), "parts": len(parts), "wholes": len(wholes), "hash": self.content_hash}

    @property
    def protocol(self) -> str:
        """Whether the ground truth is used in training."""
        return protocol(supervised=bool(self.truths), teacher=self.teacher)


def protocol(*, supervised: bool, teacher: str | None = None) -> str:
    """What the card of a run says about the ground truth of its pairs."""
    if teacher is not None:
        return f"trained with the maps of {teacher}: no ground truth of these pairs was used"
    if supervised:
        return "supervised: the ground truth of the pairs was used in training"
    return "unsupervised: no ground truth of these pairs was used in training"


def pair_number(iteration: int, n_pairs: int, seed: int) -> int:
    """Which pair an iteration takes: all pairs in every pass, each pass in an order of its own."""
    epoch, position = divmod(iteration, n_pairs)
    return int(_order(epoch, n_pairs, seed)[position])


@lru_cache(maxsize=4)
def _order(epoch: int, n_pairs: int, seed: int) -> np.ndarray:
    return np.random.default_rng((seed, 2, epoch)).permutation(n_pairs)


def prepare_pairs(
    pairs: Iterable[Pair],
    config: TrainingConfig,
    *,
    for_loss: bool = True,
    truth: bool = False,
    device: str = "cpu",
    cache: CacheGiven = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> PreparedPairs:
    """Operators of every surface, and for the loss distances of all, weights of the parts and, if the loss asks for them,
    masks of the wholes, on the device.

    Parameters
    ----------
    pairs : of any data set
    config : how many eigenpairs, which criterion, which distances
    for_loss : False leaves out distances and weights, which matching alone does not need
    truth : with the ground truth of the pairs, for a loss that takes it
    device : "cpu" or "cuda"
    cache : where eigenpairs are kept: a `Cache`, a folder, True for the default one, or None for nowhere
    workers : processes that compute eigenpairs; default as many as there are cores
    progress : called with (what is done, steps done, steps in all)
    """
    check_device(device)
    check_whole_number("workers", workers, or_none=True)
    if workers is not None and workers < 1:
        raise ValueError(f"workers={workers} must be at least 1, or None for as many as there are cores")
    report = progress or (lambda what, done, total: None)
    known: list[GroundTruth] | None = [] if truth else None
    parts, wholes, numbers = _each_once(pairs, report, known)
    if for_loss and config.loss.criterion == "same_loop":
        _check_spheres(wholes)
    meshes = [*parts, *wholes]
    with filled_cache(meshes, config.eigenpairs, Cache.meant(cache), workers=workers, progress=report) as kept:

        def surface(mesh: Mesh) -> Surface:
            few = config.network.diffusion_eigenpairs
            return surface_of(mesh, eigenpairs=config.eigenpairs, diffusion_eigenpairs=few, cache=kept).to(device)

        plain = ([surface(mesh) for mesh in parts], [surface(mesh) for mesh in wholes])
    if for_loss:
        total = len(parts) + len(wholes)
        for done, mesh in enumerate(wholes):
            report("distances", done, total)
            plain[1][done] = _whole_with_loss(plain[1][done], mesh, config, device)
        for done, mesh in enumerate(parts):
            report("distances", len(wholes) + done, total)
            plain[0][done] = _part_with_loss(plain[0][done], mesh, config, device)
        report("distances", total, total)
    truths = {
        key: _truth(plain[0][key[0]], found) for key, found in zip(numbers, known or (), strict=known is not None)
    }
    return PreparedPairs(tuple(plain[0]), tuple(plain[1]), numbers, (parts, wholes), _notes(wholes, config), truths)


@contextmanager
def filled_cache(
    meshes: Sequence[Mesh], k: int, cache: Cache | None, *, workers: int | None, progress: Progress
) -> Iterator[Cache | None]:
    """A cache that holds k eigenpairs of each mesh, computed by several processes; a temporary one if need be.

    None if nothing can be written anywhere: then each surface is computed by itself.
    """
    with ExitStack() as stack:
        known = cache is not None and all(is_cached(mesh, min(k, mesh.n_vertices), cache) for mesh in meshes)
        if cache is None or not (known or cache.can_be_written()):
            try:
                cache = Cache(stack.enter_context(tempfile.TemporaryDirectory()), tell=lambda text: None)
            except OSError:
                cache = None
        if cache is not None:
            fill_cache(meshes, k, cache, workers=workers, progress=progress, label="eigenfunctions")
        yield cache


def _each_once(
    pairs: Iterable[Pair], report: Progress, known: list[GroundTruth] | None
) -> tuple[tuple[Mesh, ...], tuple[Mesh, ...], tuple[tuple[int, int], ...]]:
    """The meshes, and the numbers of each pair; the ground truth at vertices is added to `known`, if it is a list."""
    parts: dict[str, Mesh] = {}
    wholes: dict[str, Mesh] = {}
    keys = []
    total = len(pairs) if isinstance(pairs, Sized) else 0
    for number, pair in enumerate(given_pairs(pairs)):
        if number % 20 == 0:
            report("reading", number, total)
        key = pair.part.content_hash, pair.whole.content_hash
        parts.setdefault(key[0], pair.part)
        wholes.setdefault(key[1], pair.whole)
        keys.append(key)
        if known is not None:
            if pair.ground_truth is None or len(pair.ground_truth) == 0:
                raise ValueError(
                    f"{pair.name} has no ground truth, which the correspondence loss needs; leave such pairs out with "
                    "pairs.where(...), or set correspondence_weight to 0"
                )
            known.append(pair.ground_truth.rounded(pair.whole.vertices))
    if not keys:
        raise ValueError("there are no pairs; a data set yields at least one part and its whole")
    report("reading", len(keys), len(keys))
    part_number = {key: number for number, key in enumerate(parts)}
    whole_number = {key: number for number, key in enumerate(wholes)}
    return tuple(parts.values()), tuple(wholes.values()), tuple((part_number[p], whole_number[w]) for p, w in keys)


def _truth(part: Surface, known: GroundTruth) -> tuple[Int[Tensor, "p"], Float[Tensor, "p"]]:
    rows = torch.tensor(known.part_vertices, device=part.mass.device)
    truth = torch.zeros(len(part), dtype=torch.int64, device=part.mass.device)
    truth[rows] = torch.tensor(known.whole_vertices, dtype=torch.int64, device=part.mass.device)
    shares = torch.zeros_like(part.mass)
    shares[rows] = part.mass[rows] / part.mass[rows].sum()
    return truth, shares


def _sees_all(mesh: Mesh, config: TrainingConfig) -> bool:
    """Whether the loss sees every vertex."""
    return config.loss.distance_vertices is None or mesh.n_vertices <= config.loss.distance_vertices


def _part_with_loss(part: Surface, mesh: Mesh, config: TrainingConfig, device: str) -> Surface:
    if not _sees_all(mesh, config):
        from partwhole.matching.training.large.kept import keep_vertices

        return keep_vertices(part, mesh, config.loss, device)
    D = distances_of(mesh, method=config.loss.distances, device=device)
    W = pair_weights(mesh, D, part.mass, criterion=config.loss.criterion, mask=config.loss.mask)
    # W is 0 at infinite distances, but 0 · inf is not
    return part.with_loss(torch.where(D.isfinite(), D, 0), W)


def _whole_with_loss(whole: Surface, mesh: Mesh, config: TrainingConfig, device: str) -> Surface:
    if mesh.n_components != 1:
        raise ValueError(
            f"{mesh.name} has {mesh.n_components} components, and distances between them are infinite; a whole is one "
            "piece: use mesh.largest_component()"
        )
    if not _sees_all(mesh, config):
        from partwhole.matching.training.large.kept import keep_whole_vertices

        return keep_whole_vertices(whole, mesh, config.loss, device)
    D = distances_of(mesh, method=config.loss.distances, device=device)
    found = whole_with_loss(whole, mesh, D, config.loss, criterion=config.loss.criterion)
    if config.optimisation.precision != "float16" or device != "cuda":
        return found
    assert found.distances is not None
    return found.with_loss(found.distances.half(), mask=None if found.mask is None else found.mask.half())


def _check_spheres(wholes: Iterable[Mesh]) -> None:
    for mesh in wholes:
        if twice_genus(mesh):
            raise ValueError(
                f"{mesh.name} has handles or is one-sided (2 × genus = {twice_genus(mesh)}); the same-loop criterion is "
                "proved for parts of spheres: use criterion='wormhole'"
            )


def _notes(wholes: Iterable[Mesh], config: TrainingConfig) -> tuple[str, ...]:
    with_holes = [mesh.name for mesh in wholes if not mesh.is_closed]
    if not with_holes:
        return ()
    named = ", ".join(with_holes[:5]) + (", …" if len(with_holes) > 5 else "")
    treated = (
        "counts a pair as far as its distances are guaranteed on both surfaces"
        if config.loss.masked_sides == "both"
        else "takes them for true; if they are large, close the holes, or use masked_sides='both'"
    )
    return (
        f"{len(with_holes)} wholes have holes of their own ({named}): distances on them go around the holes, and the loss "
        f"{treated}",
    )
