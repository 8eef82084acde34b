from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

import partwhole as pw
from partwhole.mesh import Mesh
from partwhole.spectral import Eigenpairs, eigenpairs


@dataclass(frozen=True)
class PosedBody:
    """One body twice, in the units of the rest pose with area 1; vertex i is the same place in both."""

    rest: Mesh
    posed: Mesh
    rest_basis: Eigenpairs
    posed_basis: Eigenpairs

    def error(self, vertex_map: np.ndarray, truth: np.ndarray) -> float:
        return float(np.linalg.norm(self.rest.vertices[vertex_map] - self.rest.vertices[truth], axis=1).mean())


@pytest.fixture(scope="session")
def body() -> PosedBody:
    made = pw.datasets.make_body("biped", 800)
    rest, factor = made.rest.to_unit_area()
    posed = made.pose(1).scaled(factor)
    return PosedBody(rest, posed, eigenpairs(rest, 150), eigenpairs(posed, 150))


def join(*meshes: Mesh) -> Mesh:
    """Several surfaces as the components of one."""
    offsets = np.cumsum([0, *(mesh.n_vertices for mesh in meshes)])
    faces = [mesh.faces + offset for mesh, offset in zip(meshes, offsets, strict=False)]
    return Mesh(np.concatenate([mesh.vertices for mesh in meshes]), np.concatenate(faces))


def with_coincident_vertices(mesh: Mesh) -> Mesh:
    """Two ends of an edge at one place: two faces of area zero."""
    vertices = mesh.vertices.copy()
    a, b = mesh.edges[len(mesh.edges) // 2]
    vertices[a] = vertices[b]
    return Mesh(vertices, mesh.faces)


@pytest.fixture(scope="session")
def joined() -> Callable[..., Mesh]:
    return join


DEFECTS = {
    "sphere": pw.datasets.sphere(300),
    "plane": pw.datasets.plane(200),
    "torus": pw.datasets.torus(n_vertices=300),
    "slivers": pw.datasets.slivers(300),
    "coincident": with_coincident_vertices(pw.datasets.sphere(300)),
    "components": join(pw.datasets.sphere(120), pw.datasets.plane(100), pw.datasets.sphere(120)),
    "one triangle": Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]),
    "two at a vertex": Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [-1, 0, 0], [0, -1, 1]], [[0, 1, 2], [0, 3, 4]]),
    "three at an edge": Mesh(
        [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0, -1, 0]], [[0, 1, 2], [0, 1, 3], [0, 1, 4]]
    ),
    "mixed orientation": Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 3, 2]]),
}


@pytest.fixture(params=DEFECTS)
def any_surface(request: pytest.FixtureRequest) -> Mesh:
    return DEFECTS[request.param]
