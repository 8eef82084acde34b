"""Riemannian metrics on a surface, given as edge lengths, with the lower bound that the wormhole criterion needs.

A metric M measures a tangent vector e as √(eᵀ M e). The surface's own metric is M = I. The criterion compares paths outside
the part, of which only the straight length is known, with paths inside it, measured with M: it needs a number c with
√(eᵀ M e) ≥ c |e| everywhere, √C_M, the square root of the smallest eigenvalue of M over the surface. On a mesh a metric is
its edge lengths, so the bound is also taken over every direction in every triangle laid out with them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from partwhole.mesh import Mesh, SurfaceLike, as_mesh
from partwhole.store.arguments import as_numbers, check_number

_FLAT = 1e-12  # a triangle has no area if it has less, squared, than so much of the square that two of its sides span


@dataclass(frozen=True)
class Metric:
    """Edge lengths under a metric, and `lower_bound` = √C_M, the number that a criterion takes as `metric_bound`.

    The bound is taken over the given surface; 0 where three lengths violate the triangle inequality. For a criterion on a
    part it must hold on the missing region too, which is not known, and edges of the part must be as long as on the whole.
    The caller has to ensure both. A uniform metric satisfies both. Curvature next to a new boundary is not that of the whole;
    and an edge that `metric_on_faces` gives the mean of its two faces has one of them on the boundary of a part: make such
    metrics from the whole, and take the lengths of the part's edges from there.
    `edge_bound` is the bound along edges alone, which is enough for graph distances and often larger.
    """

    edge_lengths: Float[np.ndarray, "e"]
    lower_bound: float
    edge_bound: float
    name: str

    def __post_init__(self) -> None:
        if not np.isfinite(self.edge_lengths).all() or (self.edge_lengths < 0).any():
            raise ValueError(f"metric {self.name!r}: edge lengths must be finite and not negative")


def metric_at_vertices(mesh: SurfaceLike, values: ArrayLike, *, name: str = "per vertex") -> Metric:
    """|uv| under M = (√(eᵀ M_u e) + √(eᵀ M_v e)) / 2, e = v − u, for a scalar (M = value · I) or a 3×3 matrix per vertex.

    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> metric = metric_at_vertices(square, [1, 9, 9, 1])
    >>> metric.edge_lengths.round(2).tolist(), metric.edge_bound
    ([2.0, 2.83, 1.0, 3.0, 2.0], 1.0)
    """
    mesh = as_mesh(mesh)
    tensors = _checked(values, mesh.n_vertices, "vertex")
    along = mesh.vertices[mesh.edges[:, 1]] - mesh.vertices[mesh.edges[:, 0]]
    at_start, at_end = (_measure(tensors[mesh.edges[:, end]], along) for end in (0, 1))
    used = np.unique(mesh.faces)
    return _metric(mesh, (at_start + at_end) / 2, _smallest_eigenvalue(tensors[used], mesh.vertex_normals[used]), name)


def metric_on_faces(mesh: SurfaceLike, values: ArrayLike, *, name: str = "per face") -> Metric:
    """|uv| under M = the mean, over the faces at the edge, of √(eᵀ M_f e), for a scalar or a 3×3 matrix per face.

    Computed from a part, boundary edges lack the values of the missing faces, so they are not as long as on the whole,
    unless both faces have the same value: a criterion with such a metric proves nothing about the whole.
    """
    mesh = as_mesh(mesh)
    tensors = _checked(values, mesh.n_faces, "face")
    along = mesh.vertices[mesh.edges[:, 1]] - mesh.vertices[mesh.edges[:, 0]]
    edge = mesh.opposite_edges.reshape(-1)
    measured = _measure(np.repeat(tensors, 3, axis=0), along[edge])
    lengths = np.bincount(edge, weights=measured, minlength=len(mesh.edges)) / mesh.faces_per_edge
    return _metric(mesh, lengths, _smallest_eigenvalue(tensors, mesh.face_normals), name)


def uniform_metric(mesh: SurfaceLike, scale: float) -> Metric:
    """M = scale² · I: every length times `scale`."""
    mesh = as_mesh(mesh)
    check_number("scale", scale)
    if not scale > 0:
        raise ValueError(f"scale must be positive, got {scale}")
    return Metric(mesh.edge_lengths * scale, float(scale), float(scale), f"uniform scale {scale:g}")


def scale_invariant_metric(mesh: SurfaceLike, *, regulariser: float = 1e-2) -> Metric:
    """M = √(K² + ε²) · I, K the Gaussian curvature: lengths no longer change when the surface is scaled.

    K is the angle defect divided by the vertex area, smoothed once over the neighbours; ε = `regulariser` times 4π/area, the
    mean curvature of a sphere of that area, keeps the lengths in flat regions positive and is the metric's lower bound.
    """
    mesh = as_mesh(mesh)
    check_number("regulariser", regulariser)
    if not regulariser > 0:
        raise ValueError(f"regulariser must be positive, got {regulariser}")
    if mesh.area == 0:
        raise ValueError(f"{mesh.name} has area 0; its curvature is not defined")
    defect, area = mesh.angle_defects.copy(), mesh.vertex_areas.copy()
    defect[mesh.boundary_vertices] = 0  # the turning of the boundary is not Gaussian curvature
    for total in (defect, area):
        np.add.at(total, mesh.edges, total[mesh.edges[:, ::-1]])
    curvature = np.divide(defect, area, out=np.zeros_like(defect), where=area > 0)
    floor = regulariser * 4 * np.pi / mesh.area
    return metric_at_vertices(mesh, np.hypot(curvature, floor), name="scale-invariant")


def _checked(values: ArrayLike, count: int, what: str) -> Float[np.ndarray, "k 3 3"]:
    array = as_numbers("values", values)
    if array.shape == (count,):
        array = array[:, None, None] * np.eye(3)
    if array.shape != (count, 3, 3):
        raise ValueError(f"values must have shape ({count},) or ({count}, 3, 3), one per {what}, got {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"values must be finite; {int((~np.isfinite(array)).sum())} are not")
    if not np.allclose(array, array.transpose(0, 2, 1), rtol=1e-9, atol=0):
        raise ValueError(f"values must be symmetric matrices, one per {what}; use (M + M.transpose(0, 2, 1)) / 2")
    return array


def _measure(tensors: Float[np.ndarray, "k 3 3"], vectors: Float[np.ndarray, "k 3"]) -> Float[np.ndarray, "k"]:
    squared = np.einsum("ki,kij,kj->k", vectors, tensors, vectors)
    if (squared < 0).any():
        raise ValueError(f"metric is not positive: eᵀ M e = {squared.min():.3g} along an edge")
    return np.sqrt(squared)


def _metric(mesh: Mesh, lengths: Float[np.ndarray, "e"], smallest_eigenvalue: float, name: str) -> Metric:
    long = mesh.edge_lengths > 0
    edge_bound = float((lengths[long] / mesh.edge_lengths[long]).min(initial=np.inf))
    squared = min(smallest_eigenvalue, edge_bound**2, _smallest_stretch(mesh, lengths))
    return Metric(lengths, float(np.sqrt(max(squared, 0.0))), edge_bound, name)


def _smallest_eigenvalue(tensors: Float[np.ndarray, "k 3 3"], normals: Float[np.ndarray, "k 3"]) -> float:
    """Of the matrices restricted to the tangent planes."""
    # lift the normal direction out of the way: its eigenvalue becomes larger than any tangential one
    lift = np.abs(tensors).sum(axis=(1, 2)) + 1
    keep = np.eye(3) - normals[:, :, None] * normals[:, None, :]
    tangential = keep @ tensors @ keep + lift[:, None, None] * normals[:, :, None] * normals[:, None, :]
    return float(np.linalg.eigvalsh(tangential)[:, 0].min())


def _smallest_stretch(mesh: Mesh, lengths: Float[np.ndarray, "e"]) -> float:
    """min over triangles and directions e of |e|² under the new lengths divided by |e|² in space.

    With u, v two sides of a triangle, both are quadratic forms in the coordinates (α, β) of e = αu + βv, and the minimum
    is the smaller root λ of det(G_new − λ G) = 0: of λ² area − λ trace + area_new = 0, so area_new / trace for a triangle
    that is flat in space. One that is flat under both has no say if it is only scaled, and 0 if it slides along itself.
    """
    # in units of the longest edges, so that fourth powers neither overflow nor vanish
    unit, unit_new = (float(sides.max()) or 1.0 for sides in (mesh.edge_lengths, lengths))
    in_space = np.square(mesh.edge_lengths[mesh.opposite_edges] / unit)
    new = np.square(lengths[mesh.opposite_edges] / unit_new)
    (a, b, c), (p, q, r) = (_gram(squares) for squares in (in_space, new))
    # rounded so that the bound is rather too low: in needles little is left of these differences
    error = 8 * np.finfo(float).eps
    area, area_new = np.maximum(a * c - b * b, 0), p * r - q * q - error * p * r
    trace = p * c + r * a - 2 * q * b + error * (p * c + r * a)
    flat = (area <= _FLAT * a * c) & (area_new <= _FLAT * p * r)
    with np.errstate(divide="ignore", invalid="ignore"):  # sides, or whole triangles, without any length
        # by the form that does not cancel
        stretch = 2 * area_new / (trace + np.sqrt(np.maximum(trace**2 - 4 * area * area_new, 0)))
        of_sides = new / in_space
        only_scaled = np.nanmax(of_sides, axis=1, initial=0) <= np.nanmin(of_sides, axis=1, initial=np.inf) * (
            1 + _FLAT
        )
    stretch[flat] = np.where(only_scaled[flat], np.inf, 0)
    return float(np.nanmin(stretch, initial=np.inf)) * (unit_new / unit) ** 2


def _gram(squares: Float[np.ndarray, "m 3"]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """u·u, u·v, v·v for the sides u, v from corner 0 to corners 1 and 2, from the squared lengths opposite each corner."""
    opposite, to_second, to_first = squares.T
    return to_first, (to_first + to_second - opposite) / 2, to_second
