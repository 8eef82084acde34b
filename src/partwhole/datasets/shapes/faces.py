"""`Faces`: heads of one triangulation with many identities and expressions, made from ICT-FaceKit (MIT licence)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from partwhole.datasets.number_files import asset_file, read_npz
from partwhole.mesh import Mesh
from partwhole.store.arguments import as_numbers, check_seed

FILE = "faces_mit.npz"
WHAT = (
    "the heads of ICT-FaceKit: neutral (n, 3), faces (m, 3), identities (k, n, 3), expressions (e, n, 3) and "
    "expression_names"
)
# weights of identities are normal, of standard deviation 1, and no larger than this
_LARGEST = 2.0
_MOST_EXPRESSIONS = 6


@dataclass(frozen=True, eq=False, repr=False)
class Faces:
    """Heads with the same faces: vertex i is the same point of each. x = neutral + Σ_k a_k identity_k + Σ_e b_e expression_e.

    A head is one manifold piece of genus 0 with four boundary loops: around the neck, between the lips and around either
    eye; eyeballs, teeth and the inside of the mouth are not part of it. y is up, z is forward, in centimetres.

    Parameters
    ----------
    path : the file faces_mit.npz, or the folder that holds it

    Examples
    --------
    >>> Faces("data")
    Traceback (most recent call last):
    FileNotFoundError: data holds no faces_mit.npz, the heads of ICT-FaceKit: ...
    """

    path: Path

    def __init__(self, path: str | os.PathLike[str]) -> None:
        file = asset_file(path, FILE, WHAT)
        object.__setattr__(self, "path", file)
        object.__setattr__(self, "_arrays", _checked(read_npz(file), file))

    def __repr__(self) -> str:
        return f"Faces({self.n_vertices} vertices, {self.n_identities} identities, {len(self.expression_names)} expressions)"

    @property
    def n_vertices(self) -> int:
        return len(self._held["neutral"])

    @property
    def n_identities(self) -> int:
        """How many weights an identity has."""
        return len(self._held["identities"])

    @property
    def faces(self) -> Int[np.ndarray, "m 3"]:
        return self._held["faces"]

    @property
    def expression_names(self) -> tuple[str, ...]:
        """Such as "jawOpen" and "browDown_L", in the order of the weights."""
        return tuple(str(name) for name in self._held["expression_names"])

    def random_identity(self, seed: int | np.random.Generator = 0) -> Float[np.ndarray, "k"]:
        """Weights of a random person: normal, of standard deviation 1, clipped to ±2."""
        check_seed(seed)
        return np.clip(np.random.default_rng(seed).normal(size=self.n_identities), -_LARGEST, _LARGEST)

    def random_expression(self, seed: int | np.random.Generator = 0, strength: float = 1.0) -> Float[np.ndarray, "e"]:
        """Weights of a random expression: up to six of them between 0 and `strength`, the others 0."""
        check_seed(seed)
        if not 0 <= strength <= 1:
            raise ValueError(f"strength={strength} must lie between 0 (neutral) and 1 (full expressions)")
        rng, count = np.random.default_rng(seed), len(self.expression_names)
        weights = np.zeros(count)
        chosen = rng.choice(count, size=min(count, int(rng.integers(1, _MOST_EXPRESSIONS + 1))), replace=False)
        weights[chosen] = strength * rng.uniform(0, 1, size=len(chosen))
        return weights

    def vertices(
        self, identity: ArrayLike | None = None, expression: ArrayLike | None = None
    ) -> Float[np.ndarray, "n 3"]:
        """The vertices of `head`."""
        total = self._held["neutral"].astype(np.float64)
        for name, given in (("identities", identity), ("expressions", expression)):
            if given is None:
                continue
            weights, offsets = as_numbers(name, given), self._held[name]
            if weights.shape != (len(offsets),):
                raise ValueError(f"{name} take {len(offsets)} weights, got shape {weights.shape}")
            used = np.flatnonzero(weights)
            total += np.einsum("k,knd->nd", weights[used], offsets[used].astype(np.float64))
        return total

    def head(
        self, identity: ArrayLike | None = None, expression: ArrayLike | None = None, *, name: str = "head"
    ) -> Mesh:
        """The head with these weights; the mean one, or the neutral expression, where none are given.

        Parameters
        ----------
        identity : a weight for each identity, see `random_identity`
        expression : a weight for each of `expression_names`, see `random_expression`
        name : what to call the mesh
        """
        return Mesh(self.vertices(identity, expression), self.faces, name=name)

    @property
    def _held(self) -> dict[str, np.ndarray]:
        return self._arrays  # type: ignore[attr-defined]


def _checked(arrays: dict[str, np.ndarray], path: Path) -> dict[str, np.ndarray]:
    names = ("neutral", "faces", "identities", "expressions", "expression_names")
    missing = [name for name in names if name not in arrays]
    if missing:
        raise ValueError(f"{path} has no {', no '.join(missing)}; it should hold {WHAT}")
    n = len(arrays["neutral"])
    expected = {
        "neutral": (n, 3),
        "identities": (len(arrays["identities"]), n, 3),
        "expressions": (len(arrays["expression_names"]), n, 3),
    }
    for name, shape in expected.items():
        if arrays[name].shape != shape:
            raise ValueError(f"{path}: {name} has shape {arrays[name].shape}, expected {shape}")
    Mesh(arrays["neutral"], arrays["faces"], name=str(path))
    return arrays | {"faces": arrays["faces"].astype(np.int64)}
