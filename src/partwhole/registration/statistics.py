"""Mean shape and principal components of surfaces that share one triangulation, such as templates fitted to many scans."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from partwhole.mesh import Mesh, SurfaceLike, as_mesh, write_mesh
from partwhole.mesh.formats.common import counted
from partwhole.store.arguments import (
    as_array,
    as_numbers,
    check_number,
    check_whole_number,
    checked_path,
    in_short,
)
from partwhole.store.compute import nearest_rotation, with_fixed_signs
from partwhole.store.storage import atomic_write

Alignment = Literal["similarity", "rigid"]

# the mean has settled when it moves by less, in units of its size
_SETTLED, _MOST_STEPS = 1e-10, 200
# standard deviations below this, in units of the mean's size, are rounding and no component
_NOTHING = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class ShapeStatistics:
    """Mean and principal components of k shapes: shape i is mean + Σ_j scores_ij · components_j, aligned.

    Attributes
    ----------
    mean : centred at the origin, oriented like the first shape; its size is the geometric mean of the sizes of the shapes
    components : orthonormal, by decreasing variance: Σ_v weights_v components_iv · components_jv = δ_ij
    scores : of each shape along each component: the root mean square displacement of the surface, in the units of `mean`
    variances : of the scores, Σ_i scores_ij² / (k − 1)
    weights : of the vertices: their shares of the area, which sum to 1
    aligned : the shapes, aligned to the mean
    scales : factor of each shape; 1 if sizes were kept
    seen : which vertices of each shape count; None: all
    faces : of all shapes; None if arrays were given
    total_variance : of all components, also of those that were left out
    settled : whether the mean converged
    """

    mean: Float[np.ndarray, "n 3"]
    components: Float[np.ndarray, "m n 3"]
    scores: Float[np.ndarray, "k m"]
    variances: Float[np.ndarray, "m"]
    weights: Float[np.ndarray, "n"]
    aligned: Float[np.ndarray, "k n 3"]
    scales: Float[np.ndarray, "k"]
    seen: Bool[np.ndarray, "k n"] | None
    faces: Int[np.ndarray, "f 3"] | None
    total_variance: float
    settled: bool

    def __repr__(self) -> str:
        shares = ", ".join(f"{100 * share:.0f} %" for share in self.explained[:3])
        return f"ShapeStatistics({len(self.scores)} shapes, {len(self.mean)} vertices, components {shares or 'none'})"

    @property
    def explained(self) -> Float[np.ndarray, "m"]:
        """The share of the variance that each component explains."""
        return self.variances / self.total_variance if self.total_variance > 0 else self.variances

    @property
    def deviations(self) -> Float[np.ndarray, "m"]:
        """The standard deviation of the shapes along each component."""
        return np.sqrt(self.variances)

    @property
    def distances(self) -> Float[np.ndarray, "k"]:
        """Root mean square distance of each aligned shape from the mean, over the vertices that count."""
        away = _counting(self.aligned - self.mean, self.seen)
        return np.sqrt(np.einsum("v,ivc,ivc->i", self.weights, away, away))

    @property
    def never_seen(self) -> Bool[np.ndarray, "n"]:
        """Vertices that count in no shape: the mean there is over all shapes, and the components are 0."""
        return np.zeros(len(self.mean), bool) if self.seen is None else np.asarray(~self.seen.any(axis=0))

    def shape(self, scores: ArrayLike) -> Float[np.ndarray, "n 3"]:
        """mean + Σ_j scores_j · components_j, for as many of the first components as there are scores."""
        given = as_numbers("scores", scores).reshape(-1)
        if not np.isfinite(given).all():
            raise ValueError(f"scores must be finite, got {in_short(given.tolist())}")
        if len(given) > len(self.components):
            raise ValueError(f"scores has {len(given)} entries for {len(self.components)} components; give fewer")
        return np.asarray(self.mean + np.einsum("j,jvc->vc", given, self.components[: len(given)]))

    def mode(self, component: int, deviations: float = 2.0) -> Float[np.ndarray, "n 3"]:
        """mean + deviations · σ_j · components_j, the components counted from 0."""
        check_whole_number("component", component)
        check_number("deviations", deviations)
        if not 0 <= component < len(self.components):
            raise ValueError(f"component={component} must be from 0 to {len(self.components) - 1}, the components")
        return np.asarray(self.mean + deviations * self.deviations[component] * self.components[component])

    def save(
        self, folder: str | os.PathLike[str], *, names: Sequence[str] | None = None, modes: int = 3
    ) -> dict[str, Path]:
        """Write mean.ply, components.npz, components.csv, scores.csv and the meshes of the first modes; their paths by name.

        component-1-minus.ply and component-1-plus.ply are the mean ∓ 2 standard deviations of the first component. Without
        faces there are no meshes.

        Parameters
        ----------
        folder : created if missing
        names : of the shapes; 1, 2, … by default
        modes : number of components to write meshes of
        """
        k, place = len(self.scores), checked_path("folder", folder)
        if place.exists() and not place.is_dir():
            raise ValueError(f"{place} is a file; statistics are saved in a folder")
        check_whole_number("modes", modes)
        if modes < 0:
            raise ValueError(f"modes={modes} must not be negative")
        if isinstance(names, str) or not (names is None or isinstance(names, Sequence)):
            raise ValueError(f"names must be a list with a name for each shape, got {in_short(names)}")
        called = [str(at) for at in range(1, k + 1)] if names is None else list(map(str, names))
        if len(called) != k:
            raise ValueError(f"names has {len(called)} entries for {k} shapes")
        place.mkdir(parents=True, exist_ok=True)
        numbers = range(1, len(self.components) + 1)
        shapes = {"mean.ply": self.mean}
        for j in numbers[:modes]:
            shapes |= {
                f"component-{j}-{side}.ply": self.mode(j - 1, by) for side, by in (("minus", -2.0), ("plus", 2.0))
            }
        files = {}
        # meshes of more components than there are now must not stay
        for stale in place.glob("component-*-*.ply"):
            stale.unlink()
        if self.faces is not None:
            for name, vertices in shapes.items():
                files[name] = place / name
                write_mesh(Mesh(vertices, self.faces), files[name])
        each = np.column_stack([self.scales, self.distances, self.scores]).tolist()
        shares = np.column_stack([self.deviations, self.explained, np.cumsum(self.explained)]).tolist()
        tables: dict[str, list[list[Any]]] = {
            "scores.csv": [["name", "scale", "distance", *numbers]]
            + [[name, *row] for name, row in zip(called, each, strict=True)],
            "components.csv": [["component", "deviation", "explained", "explained_so_far"]]
            + [[number, *row] for number, row in zip(numbers, shares, strict=True)],
        }
        for name, rows in tables.items():
            files[name] = place / name
            text = io.StringIO()
            csv.writer(text, lineterminator="\n").writerows(rows)
            with atomic_write(files[name]) as file:
                file.write(text.getvalue().encode(errors="backslashreplace"))
        arrays: dict[str, Any] = {
            "mean": self.mean,
            "components": self.components,
            "scores": self.scores,
            "variances": self.variances,
            "total_variance": self.total_variance,
            "weights": self.weights,
            "scales": self.scales,
            "names": np.array(called),
        }
        if self.faces is not None:
            arrays["faces"] = self.faces
        if self.seen is not None:
            arrays["seen"] = self.seen
        files["components.npz"] = place / "components.npz"
        with atomic_write(files["components.npz"]) as file:
            np.savez_compressed(file, **arrays)
        return files


def shape_statistics(
    shapes: Sequence[SurfaceLike] | np.ndarray,
    *,
    seen: ArrayLike | None = None,
    alignment: Alignment = "similarity",
    n_components: int | None = None,
) -> ShapeStatistics:
    """Generalised Procrustes alignment, then principal components: argmin Σ_i Σ_v w_v |x_iv − g_i(mean)_v|² / |x_i|².

    The minimum is over the mean and over a similarity g_i for each shape; the aligned shape is g_i⁻¹(x_i). Components are the
    singular vectors of the aligned shapes less their mean, in the metric of the weights w, the shares of the area.

    Parameters
    ----------
    shapes : at least two surfaces with the same triangulation, or an array of their vertices, with equal weights
    seen : for each shape, which vertices count, such as `fitted.source == 0`. Alignment and mean are of these; in the
        components a vertex that does not count lies at the mean
    alignment : "similarity", or "rigid", which keeps sizes, so that they are among the components
    n_components : largest number to keep; None: all, at most one less than shapes. Equal shapes have none

    Examples
    --------
    >>> from partwhole.datasets import sphere
    >>> ball = sphere(200).vertices
    >>> z = ball * [0, 0, 1] - ball * [0.5, 0.5, 0]  # longer and thinner: neither a motion nor a scale
    >>> found = shape_statistics(np.stack([ball + t * z for t in (-0.2, 0.0, 0.1, 0.1)]))
    >>> found.explained[:1].round(3).tolist(), bool(np.allclose(found.mean, ball, atol=0.01))
    ([1.0], True)
    """
    if alignment not in get_args(Alignment):
        raise ValueError(f'alignment must be "similarity" or "rigid", got {alignment!r}')
    x, faces, w = _shapes(shapes)
    counts = _checked_seen(seen, x, w)
    most = len(x) - 1
    if n_components is not None:
        check_whole_number("n_components", n_components)
        if not 0 <= n_components <= most:
            raise ValueError(f"n_components={n_components} must be from 0 to {most}, one less than there are shapes")
        most = n_components
    of_each = np.broadcast_to(w, x.shape[:2]) if counts is None else w * counts
    of_each = of_each / of_each.sum(axis=1, keepdims=True)
    # where nothing counts, vertices have no say in where the mean lies
    of_mean = w if counts is None else w * counts.any(axis=0)
    y, sizes, settled = _aligned(x, of_each, of_mean / of_mean.sum(), similar=alignment == "similarity")
    size = float(np.exp(np.log(sizes).mean()))
    y *= size
    scales = size / sizes if alignment == "similarity" else np.ones(len(x))
    mean = _mean(y, of_each)
    away = _counting(y - mean, counts)
    U, s, Vt = np.linalg.svd((away * np.sqrt(w)[:, None]).reshape(len(x), -1), full_matrices=False)
    keep = min(most, int((s / np.sqrt(len(x) - 1) > _NOTHING * size).sum()))
    flat = with_fixed_signs(Vt[:keep].T).T
    turned = np.einsum("jq,jq->j", flat, Vt[:keep])
    with np.errstate(divide="ignore", invalid="ignore"):
        components = np.where(w[:, None] > 0, flat.reshape(keep, x.shape[1], 3) / np.sqrt(w)[:, None], 0.0)
    return ShapeStatistics(
        mean,
        components,
        U[:, :keep] * s[:keep] * np.sign(turned),
        s[:keep] ** 2 / (len(x) - 1),
        w,
        y,
        scales,
        counts,
        faces,
        float((s**2).sum() / (len(x) - 1)),
        settled,
    )


def _shapes(
    given: Sequence[SurfaceLike] | np.ndarray,
) -> tuple[Float[np.ndarray, "k n 3"], Int[np.ndarray, "f 3"] | None, Float[np.ndarray, "n"]]:
    """Vertices of all shapes, their faces, and the weights of the vertices."""
    faces = None
    if isinstance(given, np.ndarray):
        if given.ndim != 3 or given.shape[2] != 3:
            raise ValueError(f"shapes must be an array (shapes, vertices, 3), got one of the shape {given.shape}")
        x, w = as_numbers("shapes", given), np.ones(given.shape[1])
    else:
        if isinstance(given, str) or not isinstance(given, Sequence):
            raise ValueError(f"shapes must be a list of surfaces, or an array of their vertices, got {in_short(given)}")
        meshes = [as_mesh(one, name=f"shapes[{at}]") for at, one in enumerate(given)]
        _check_count(len(meshes))
        for at, mesh in enumerate(meshes[1:], start=1):
            if not np.array_equal(mesh.faces, meshes[0].faces) or mesh.n_vertices != meshes[0].n_vertices:
                raise ValueError(
                    f"shapes[{at}] has another triangulation than shapes[0]; give surfaces with the same faces, such as one "
                    "template fitted to several scans"
                )
        faces = meshes[0].faces
        x = np.stack([mesh.vertices for mesh in meshes])
        # whatever the sizes of the shapes
        w = np.sum([mesh.vertex_areas / mesh.area for mesh in meshes], axis=0)
    _check_count(len(x))
    if x.shape[1] < 3:
        raise ValueError(f"shapes have {x.shape[1]} vertices each; give at least three")
    if not np.isfinite(x).all():
        raise ValueError("shapes must be finite; leave out those with NaN or inf")
    return x, faces, w / w.sum()


def _check_count(k: int) -> None:
    if k < 2:
        raise ValueError(f"shapes has {counted(k, 'entry', 'entries')}; statistics need at least two")


def _checked_seen(
    seen: ArrayLike | None, x: Float[np.ndarray, "k n 3"], w: Float[np.ndarray, "n"]
) -> Bool[np.ndarray, "k n"] | None:
    if seen is None:
        return None
    found = as_array("seen must be True or False for each vertex of each shape", seen)
    if found.dtype != bool or found.shape != x.shape[:2]:
        raise ValueError(
            f"seen must be True or False for each of {x.shape[1]} vertices of {len(x)} shapes, got an array of "
            f"{found.dtype} and the shape {found.shape}"
        )
    few = np.flatnonzero((found & (w > 0)).sum(axis=1) < 3)
    if len(few):
        raise ValueError(f"seen[{few[0]}] has fewer than three vertices with an area; leave that shape out")
    return found


def _aligned(
    x: Float[np.ndarray, "k n 3"], of_each: Float[np.ndarray, "k n"], w: Float[np.ndarray, "n"], *, similar: bool
) -> tuple[Float[np.ndarray, "k n 3"], Float[np.ndarray, "k"], bool]:
    """The shapes aligned to their mean, which has size 1 and is oriented like the first; their sizes; whether it converged.

    Each shape in turn: shift and rotate it onto the mean, and divide it by the factor by which the mean fits it best; then
    take the mean again.
    """
    x = x - np.einsum("iv,ivc->ic", of_each, x)[:, None]
    first = np.sqrt(np.einsum("iv,ivc->i", of_each, x**2))
    if not (first > 0).all():
        raise ValueError(f"shapes[{int(np.argmin(first))}] has all its vertices in one place; leave it out")
    sizes = first if similar else np.full(len(x), np.exp(np.log(first).mean()))
    y = x / sizes[:, None, None]
    mean, R = y[0], np.eye(3)[None]
    settled = False
    for _ in range(_MOST_STEPS):
        # shapes of which other vertices count have another middle
        middles = np.einsum("iv,vc->ic", of_each, mean)[:, None]
        about = mean - middles
        R = nearest_rotation(np.einsum("iv,iva,ivb->iab", of_each, about, x))
        turned = np.einsum("iab,ivb->iva", R, x)
        if similar:
            sizes = np.einsum("iv,iva->i", of_each, about * turned) / np.einsum("iv,iva->i", of_each, about**2)
            if not (sizes > 0).all():
                raise ValueError(f"shapes[{int(np.argmin(sizes))}] does not fit the others at any size; leave it out")
        y = turned / sizes[:, None, None] + middles
        new = _mean(y, of_each)
        new = new - w @ new
        if similar:
            new = new / np.sqrt(w @ (new**2).sum(axis=1))
        moved, mean = float(np.sqrt(w @ ((new - mean) ** 2).sum(axis=1))), new
        if moved < _SETTLED:
            settled = True
            break
    return y @ R[0], sizes, settled


def _mean(y: Float[np.ndarray, "k n 3"], of_each: Float[np.ndarray, "k n"]) -> Float[np.ndarray, "n 3"]:
    """Of the shapes in which a vertex counts; of all where it counts in none."""
    counts = (of_each > 0).astype(np.float64)
    counts[:, ~(counts > 0).any(axis=0)] = 1.0
    return np.asarray(np.einsum("iv,ivc->vc", counts / counts.sum(axis=0), y))


def _counting(away: Float[np.ndarray, "k n 3"], seen: Bool[np.ndarray, "k n"] | None) -> Float[np.ndarray, "k n 3"]:
    return away if seen is None else away * seen[:, :, None]
