"""`Surface` and `SurfacePair`: what the network and the losses need of a mesh, and of a pair, as tensors."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from partwhole.criterion import boundary_criterion, same_loop_criterion, wormhole_criterion
from partwhole.criterion.distances import PartDistances
from partwhole.criterion.loops import check_piece_of_sphere, twice_genus
from partwhole.geodesics import geodesic_distances
from partwhole.geodesics.distances import DistanceMethod
from partwhole.matching.config import LossConfig, Mask, MaskedBy
from partwhole.mesh import Mesh, SurfaceLike, as_mesh
from partwhole.mesh.surface import integrated_mean_curvature
from partwhole.spectral import (
    Eigenpairs,
    cached_eigenpairs,
    heat_kernel_signature,
    wave_kernel_signature,
)
from partwhole.spectral import eigenpairs as compute_eigenpairs
from partwhole.spectral.eigen import operator_arrays
from partwhole.store.cache import Cache, CacheGiven

# for surfaces of area 1, the same on the part and on the whole, so that signatures can be compared
_HEAT_TIMES = np.geomspace(0.004, 0.5, 16)
_WAVE_ENERGIES = np.log(np.geomspace(20, 1500, 16))
_WAVE_WIDTH = 0.4
CURVATURE_TIME = 0.0002

# vertices among which distances are compared: the sum over all pairs is known well enough from some
SCORED_VERTICES = 700
# weights of guaranteed pairs are area · area, up to rounding
_ROUNDING = 1e-4


class Operators(NamedTuple):
    """What a network needs to know of a surface. There may be leading dimensions: a batch of surfaces of one size.

    Attributes
    ----------
    mass : vertex areas; 0 for vertices that only fill up a batch
    values : λ, the lowest eigenvalues of the Laplacian
    basis : Φ, gx Φ and gy Φ: the eigenfunctions, and their gradients in the frame of each vertex
    """

    mass: Float[Tensor, "*batch n"]
    values: Float[Tensor, "*batch k"]
    basis: Float[Tensor, "*batch n 3 k"]


@dataclass(frozen=True, eq=False, repr=False)
class Surface:
    """What the network and the losses need of a mesh. Leading dimensions, where there are any, are a batch.

    Attributes
    ----------
    points, normals : of the vertices, float32 like everything here
    signatures : of the vertices, that bending does not change; none where nothing uses them
    mass : vertex areas
    values, functions : eigenpairs
    basis : the first eigenfunctions and their gradients, see `Operators`
    distances : geodesic; only where a loss needs them
    weights : of pairs of vertices in the loss: mask × area × area; only on parts that a loss needs
    mask : of pairs of vertices, from 0 to 1: which distances can be trusted; only on wholes, for a loss that asks for it
    curvature : mean curvature, a little smoothed
    absent : −inf for vertices that only fill up a batch and no soft map may reach, 0 for the others; None: there are none
    truth, truth_shares : for each vertex of a part its vertex of the whole, and how much it counts in a loss that takes the
        ground truth: its share of the area, 0 where the truth is not known; only where a loss needs them
    kept : some vertices, and the surface at these, which is what a loss sees of a large surface; None: it sees all of them
    """

    points: Float[Tensor, "*batch n 3"]
    normals: Float[Tensor, "*batch n 3"]
    signatures: Float[Tensor, "*batch n s"]
    mass: Float[Tensor, "*batch n"]
    values: Float[Tensor, "*batch k"]
    functions: Float[Tensor, "*batch n k"]
    basis: Float[Tensor, "*batch n 3 d"]
    distances: Float[Tensor, "n n"] | None = None
    weights: Float[Tensor, "n n"] | None = None
    mask: Float[Tensor, "n n"] | None = None
    curvature: Float[Tensor, "*batch n"] | None = None
    absent: Float[Tensor, "n"] | None = None
    truth: Int[Tensor, "n"] | None = None
    truth_shares: Float[Tensor, "n"] | None = None
    kept: tuple[Tensor, Surface] | None = None

    def __len__(self) -> int:
        return self.points.shape[-2]

    def __repr__(self) -> str:
        return f"Surface({len(self)} vertices, {self.values.shape[-1]} eigenpairs, on {self.points.device})"

    @property
    def operators(self) -> Operators:
        """What the network needs to know, beside its inputs."""
        return Operators(self.mass, self.values[..., : self.basis.shape[-1]], self.basis)

    @cached_property
    def guaranteed(self) -> Bool[Tensor, "n n"]:
        """Pairs of a part that count fully in the loss: whose distances are guaranteed by its criterion."""
        assert self.weights is not None
        return self.weights >= (1 - _ROUNDING) * (self.mass[:, None] * self.mass)

    def to(self, device: str | torch.device) -> Surface:
        """The same on another device."""
        held = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "kept"}
        kept = None if self.kept is None else (self.kept[0].to(device), self.kept[1].to(device))
        moved = {name: None if value is None else value.to(device) for name, value in held.items()}
        return Surface(**moved, kept=kept)

    def in_loss(self, features: Float[Tensor, "n f"]) -> tuple[Float[Tensor, "m f"], Surface]:
        """Features and surface as a loss sees them: at the vertices that are kept, or at all."""
        if self.kept is None:
            return features, self
        vertices, surface = self.kept
        return features[vertices], surface

    def with_loss(
        self, distances: Tensor | None, weights: Tensor | None = None, *, mask: Tensor | None = None
    ) -> Surface:
        """The same with distances, and the weights of the pairs of a part, or the mask of those of a whole."""
        return replace(self, distances=distances, weights=weights, mask=mask)

    def with_truth(self, truth: Int[Tensor, "n"], shares: Float[Tensor, "n"]) -> Surface:
        """The same, a part, with its ground truth on a whole."""
        return replace(self, truth=truth, truth_shares=shares)


def surface_of(
    mesh: SurfaceLike,
    *,
    eigenpairs: int = 200,
    diffusion_eigenpairs: int = 128,
    with_signatures: bool = True,
    cache: CacheGiven = None,
) -> Surface:
    """Operators of a mesh, as tensors in main memory.

    Parameters
    ----------
    mesh : in the units of `Pair`: those of a whole of area 1
    eigenpairs : how many; fewer if the mesh has fewer vertices
    diffusion_eigenpairs : how many of them the network uses
    with_signatures : False where nothing uses them; there are none then
    cache : where eigenpairs are kept

    Examples
    --------
    >>> from partwhole.datasets import sphere
    >>> surface_of(sphere(300).scaled(0.28), eigenpairs=50)
    Surface(300 vertices, 50 eigenpairs, on cpu)
    """
    mesh = as_mesh(mesh)
    kept = None if cache is None else Cache.meant(cache)
    return tensors_of(arrays_of(mesh, eigenpairs, diffusion_eigenpairs, kept, with_signatures=with_signatures))


def arrays_of(
    mesh: Mesh, eigenpairs: int, diffusion_eigenpairs: int, cache: Cache | None, *, with_signatures: bool = True
) -> dict[str, np.ndarray]:
    """The same as arrays, which cross from one process to another."""
    k = min(eigenpairs, mesh.n_vertices)
    pairs = compute_eigenpairs(mesh, k) if cache is None else cached_eigenpairs(mesh, k, cache)
    found = {
        "signatures": signatures(pairs) if with_signatures else np.empty((mesh.n_vertices, 0)),
        "functions": pairs.functions,
        "curvature": smoothed_curvature(mesh, pairs),
    }
    single = {name: np.ascontiguousarray(array, np.float32) for name, array in found.items()}
    return {**operator_arrays(mesh, pairs, min(k, diffusion_eigenpairs)), **single}


def tensors_of(arrays: dict[str, np.ndarray]) -> Surface:
    return Surface(**{name: torch.from_numpy(array) for name, array in arrays.items()})


def signatures(basis: Eigenpairs) -> Float[np.ndarray, "n 32"]:
    """4πt HKS(t) and WKS at times and frequencies that are the same for all surfaces in the units of `Pair`.

    4πt HKS(t) is 1 in the middle of a plane, whatever t.
    """
    heat = heat_kernel_signature(basis, _HEAT_TIMES) * (4 * np.pi * _HEAT_TIMES)
    return np.concatenate([heat, wave_kernel_signature(basis, _WAVE_ENERGIES, width=_WAVE_WIDTH)], axis=1)


def smoothed_curvature(mesh: Mesh, basis: Eigenpairs) -> Float[np.ndarray, "n"]:
    """Φ exp(−λ t) Φᵀ h, h the integrated mean curvature, t a short time: how the surface bends, without the triangles."""
    coefficients = basis.functions.T @ integrated_mean_curvature(mesh)
    return basis.functions @ (np.exp(-basis.values * CURVATURE_TIME) * coefficients)


def distances_of(mesh: Mesh, *, method: DistanceMethod, device: str) -> Float[Tensor, "n n"]:
    """Geodesic distances between all vertices, on the device, float32."""
    if device == "cuda" and method != "exact":
        return geodesic_distances(mesh, method=method, dtype=np.float32, device="cuda")
    return torch.from_numpy(np.asarray(geodesic_distances(mesh, method=method, dtype=np.float32))).to(device)


def pair_weights(
    mesh: SurfaceLike,
    distances: Float[Tensor, "n n"],
    mass: Float[Tensor, "n"],
    *,
    criterion: MaskedBy = "wormhole",
    mask: Mask = "soft",
) -> Float[Tensor, "n n"]:
    """W_ij = M_ij A_i A_j, M the mask of a criterion, 1 without one; 0 where the distance is infinite, mask or not.

    Examples
    --------
    >>> from partwhole.datasets import sphere_cap
    >>> cap = sphere_cap(100)
    >>> D = distances_of(cap, method="dijkstra", device="cpu")
    >>> areas = torch.from_numpy(cap.vertex_areas).float()
    >>> W = pair_weights(cap, D, areas, criterion="none")
    >>> bool(torch.isclose(W.sum(), areas.sum() ** 2))
    True
    """
    return pair_mask(as_mesh(mesh), distances, criterion=criterion, mask=mask) * (mass[:, None] * mass)


def pair_mask(
    mesh: Mesh,
    distances: Float[Tensor, "n n"],
    *,
    criterion: MaskedBy = "wormhole",
    mask: Mask = "soft",
    among: PartDistances | None = None,
) -> Float[Tensor, "n n"]:
    """M, the mask of a criterion, 1 without one; 0 where the distance is infinite, mask or not.

    Parameters
    ----------
    mesh, distances : the surface, and the distances on it
    criterion, mask : see `LossConfig`
    among : what `distances_among` gave, if the distances are those between chosen vertices

    Examples
    --------
    Nothing is missing from a sphere, so all of its distances can be trusted:

    >>> from partwhole.datasets import sphere
    >>> ball = sphere(60)
    >>> bool((pair_mask(ball, distances_of(ball, method="dijkstra", device="cpu")) == 1).all())
    True
    """
    finite = distances.isfinite()
    if criterion == "none":
        return finite.float()
    compute: Any = {"boundary": boundary_criterion, "wormhole": wormhole_criterion, "same_loop": same_loop_criterion}
    if distances.is_cuda:
        found = compute[criterion](mesh, distances, device="cuda")
        masked = found.soft_mask if mask == "soft" else found.mask
    else:
        found = compute[criterion](mesh, distances.numpy() if among is None else among)
        masked = torch.tensor(found.soft_mask if mask == "soft" else found.mask)
    return torch.where(finite, masked.float(), 0)


def outside(
    distance: Float[Tensor, "*#any"], least: Float[Tensor, "*#any"], most: Float[Tensor, "*#any"]
) -> Float[Tensor, "..."]:
    """How far a distance lies outside of its bounds: max(least − d, d − most, 0).

    Examples
    --------
    >>> outside(torch.tensor([1.0, 2.5, 4.0]), torch.tensor(2.0), torch.tensor(3.0)).tolist()
    [1.0, 0.0, 1.0]
    """
    return torch.maximum(least - distance, distance - most).clamp(min=0)


def consistency(
    distance: Float[Tensor, "*#any"],
    least: Float[Tensor, "*#any"],
    most: Float[Tensor, "*#any"],
    tolerance: Float[Tensor, "*#any"],
) -> Float[Tensor, "..."]:
    """exp(−gap² / 2 tolerance²), with the gap by which a distance lies outside of its bounds.

    Examples
    --------
    >>> consistency(torch.tensor([2.5, 9.0]), torch.tensor(2.0), torch.tensor(3.0), torch.tensor(0.1)).tolist()
    [1.0, 0.0]
    """
    return torch.exp((outside(distance, least, most) / tolerance).square() / -2)


def distance_bounds(part: Surface, rows: Int[Tensor, "k"]) -> tuple[Float[Tensor, "k p"], Float[Tensor, "k p"]]:
    """Between which the distances on the whole lie, from some vertices of a part to all of them: min(K, D) and D.

    Of pieces without a way between them nothing is known: 0 and infinity.

    Parameters
    ----------
    part : with distances D, and weights by a criterion with the threshold K
    rows : vertices of the part
    """
    assert part.distances is not None
    assert part.weights is not None
    D = part.distances[rows].float()
    trusted = part.weights[rows] / (part.mass[rows, None] * part.mass).clamp(min=1e-30)
    # distances between pieces are infinite, or written as 0 by `surface_pair`
    apart = (D.isinf() | (D == 0)) & (torch.arange(len(part), device=rows.device) != rows[:, None])
    return torch.where(apart, 0, trusted.clamp(0, 1) * D), torch.where(apart, torch.inf, D)


def distance_distortion(vertex_map: Int[Tensor, "p"], part: Surface, whole: Surface) -> Float[Tensor, ""]:
    """Σ W_ij (D_whole(map i, map j) − D_part(i, j))² / Σ W_ij, over a sample of the vertices."""
    if part.distances is None or part.weights is None or whole.distances is None:
        raise ValueError("distances of part or whole are not known; give them with Surface.with_loss")
    # evenly through the numbers of the vertices: the same ones each time, from everywhere
    sample = torch.linspace(0, len(part) - 1, min(SCORED_VERTICES, len(part)), device=part.mass.device).round().long()
    ends = vertex_map[sample]
    W = part.weights[sample][:, sample]
    found = whole.distances[ends][:, ends].to(W.dtype)
    return (W * (found - part.distances[sample][:, sample]).square()).sum() / W.sum()


def low_passed(D: Float[Tensor, "n n"], whole: Surface, k: int) -> Float[Tensor, "n n"]:
    """Π D Πᵀ with Π = Φ Φᵀ A on the first k eigenfunctions: P Π in the place of P gives the same loss as D so changed."""
    functions = whole.functions[:, :k]
    once = functions @ ((functions * whole.mass[:, None]).T @ D)
    return functions @ ((functions * whole.mass[:, None]).T @ once.T)


def whole_with_loss(
    whole: Surface,
    mesh: Mesh,
    D: Float[Tensor, "n n"],
    loss: LossConfig,
    *,
    criterion: MaskedBy,
    among: PartDistances | None = None,
) -> Surface:
    """The whole with distances as the loss sees them, and with its mask if the loss asks for one.

    Parameters
    ----------
    whole, mesh : the surface, and the mesh it is of
    D : distances on it
    loss : whether they are low-passed, and whether there is a mask
    criterion : of the mask
    among : see `pair_mask`
    """
    mask = None
    if loss.masked_sides == "both":
        mask = pair_mask(mesh, D, criterion=criterion, mask=loss.mask, among=among)
    return whole.with_loss(D if loss.low_pass is None else low_passed(D, whole, loss.low_pass), mask=mask)


@dataclass(frozen=True, eq=False, repr=False)
class SurfacePair:
    """Two surfaces ready to be matched.

    Attributes
    ----------
    part, whole : with distances, and the part with weights
    meshes : of the part and of the whole, in the same units
    criterion : by which pairs count
    notes : what is unusual
    """

    part: Surface
    whole: Surface
    meshes: tuple[Mesh, Mesh]
    criterion: MaskedBy
    notes: tuple[str, ...] = ()

    @property
    def guaranteed(self) -> Bool[Tensor, "p p"]:
        """Pairs of the part whose distances are guaranteed by the criterion."""
        return self.part.guaranteed

    def whole_in_loss(self, loss: LossConfig) -> Surface:
        """The whole as a loss sees it."""
        assert self.whole.distances is not None
        return whole_with_loss(self.whole, self.meshes[1], self.whole.distances, loss, criterion=self.criterion)

    def moved(self, part: Surface, whole: Surface, factor: float) -> SurfacePair:
        """The same pair with the surfaces moved, and the part scaled by a factor."""
        meshes = (self.meshes[0].scaled(factor), self.meshes[1]) if factor != 1 else self.meshes
        return replace(self, part=part, whole=whole, meshes=meshes)


def surface_pair(
    meshes: tuple[Mesh, Mesh],
    surfaces: tuple[Surface, Surface],
    distances: tuple[Float[Tensor, "p p"], Float[Tensor, "n n"]],
    loss: LossConfig,
) -> SurfacePair:
    """Two surfaces with their distances, and the part with weights.

    Parameters
    ----------
    meshes : of the part and of the whole, in units in which the whole has area 1
    surfaces : their operators
    distances : on both
    loss : which criterion, and which mask
    """
    (part, whole), (of_part, of_whole), (on_part, on_whole) = meshes, surfaces, distances
    criterion, notes = _criterion(loss.criterion, part, whole)
    weights = pair_weights(part, on_part, of_part.mass, criterion=criterion, mask=loss.mask)
    # weights are 0 at infinite distances, but 0 · inf is not
    with_loss = of_part.with_loss(torch.where(on_part.isfinite(), on_part, 0), weights)
    return SurfacePair(with_loss, of_whole.with_loss(on_whole), meshes, criterion, notes)


def _criterion(wanted: MaskedBy, part: Mesh, whole: Mesh) -> tuple[MaskedBy, tuple[str, ...]]:
    """The criterion that is asked for, or the wormhole criterion where that one is not proved."""
    if wanted != "same_loop":
        return wanted, ()
    try:
        check_piece_of_sphere(part)
    except ValueError:
        return "wormhole", ("the wormhole criterion is used: the part is not a connected piece of a sphere",)
    if not whole.is_closed or twice_genus(whole):
        return "wormhole", ("the wormhole criterion is used: the whole is not a sphere",)
    return wanted, ()
