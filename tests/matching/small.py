"""Surfaces, pairs and choices that are quick to train with. Also used by processes that are to be killed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from torch import Tensor

from partwhole.datasets import Pair, PairRecipe, Pairs, cut_plane, random_cuts, sphere
from partwhole.matching import MatchOptions, Method, PreparedPairs, SurfacePair, TrainingConfig
from partwhole.matching.pipeline import found_map, surfaces_of
from partwhole.matching.scans.prepare import Scans, prepare_scans
from partwhole.mesh import Mesh


def lopsided(n_vertices: int, seed: int = 0) -> Mesh:
    """A ball that looks different from every side, so that every vertex can be told from every other."""
    ball = sphere(n_vertices, jitter=0.5, seed=seed)
    x, y, z = ball.vertices.T
    bumps = 1 + 0.2 * x + 0.25 * np.sin(2 * y + seed) * x + 0.3 * z * y**2
    return Mesh(ball.vertices * bumps[:, None] * [1.0, 0.8, 1.4], ball.faces, name=f"ball {seed}")


def pairs() -> Pairs:
    """Two parts of each of two balls: five pairs in all, one part with two wholes."""
    made = []
    for number, n_vertices in enumerate((110, 90)):
        whole = lopsided(n_vertices, number)
        made.append(Pair.of_cut(random_cuts(whole, "pfaust-m", seed=number), name=f"{number} torn"))
        made.append(Pair.of_cut(cut_plane(whole, (0, 0, 0), (1.0, 0.5, 0.2)), name=f"{number} cut"))
    made.append(Pair(made[0].part, made[2].whole, name="a part that belongs to another whole"))
    return Pairs.from_list(made, name="balls")


@dataclass(frozen=True)
class Balls(PairRecipe):
    """A part of a ball in each block: quick to make, but only in the process of the tests."""

    name = "balls"
    fails: tuple[int, ...] = ()
    n_vertices: int = 60

    def __call__(self, number: int) -> list[Pair]:
        """One pair with ground truth, and one without."""
        if number in self.fails:
            raise RuntimeError(f"no ball {number}")
        ball = sphere(self.n_vertices, jitter=0.2, seed=number)
        return [Pair.of_cut(random_cuts(ball, "pfaust-m", seed=number)), Pair(ball, ball)]


def config(**changes: Any) -> TrainingConfig:
    """A network of a few hundred weights, trained for a few iterations."""
    few = TrainingConfig(
        width=8,
        blocks=2,
        features=8,
        diffusion_eigenpairs=16,
        map_eigenpairs=20,
        temperature=0.1,
        iterations=12,
        evaluate_every=5,
        distances="dijkstra",
    )
    return few.with_changes(**changes)


def pair_of(part: Mesh, whole: Mesh, method: Method, units: str | float = "same") -> SurfacePair:
    """Two meshes as `match` prepares them."""
    return surfaces_of(prepare_scans(Scans(part, whole, (), {}), units=units), method)


def prepared_pair(prepared: PreparedPairs, number: int = 0) -> SurfacePair:
    """One of the prepared pairs."""
    p, w = prepared.pairs[number]
    return SurfacePair(
        prepared.parts[p], prepared.wholes[w], (prepared.meshes[0][p], prepared.meshes[1][w]), "wormhole"
    )


def map_of(method: Method, pair: SurfacePair, read_out: Any = "spectral", up: str | None = "y") -> Tensor:
    """The map that `match` would find."""
    return found_map(method, pair, MatchOptions(read_out=read_out, up=up)).vertex_map
