"""A bar that bends, the part of it that is seen, and where all of it truly is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from partwhole.datasets import sphere
from partwhole.deformation.register import Guide, Registration, register
from partwhole.mesh import Mesh


@dataclass(frozen=True)
class Bent:
    """A long ellipsoid, at rest and bent about y by an angle that grows along x; the scan lacks its middle."""

    template: Mesh
    whole: Mesh
    scan: Mesh
    numbers: np.ndarray

    @property
    def guide(self) -> Guide:
        return Guide.of(self.numbers)

    @property
    def seen(self) -> np.ndarray:
        found = np.zeros(self.template.n_vertices, bool)
        found[self.numbers] = True
        return found


def bent_by(angle: float, n_vertices: int = 300) -> Bent:
    ball = sphere(n_vertices)
    unit = Mesh(ball.vertices * [3.0, 1.0, 0.7], ball.faces).to_unit_area()[0]
    x, y, z = unit.vertices.T
    turn = angle * np.clip(x / np.ptp(x) + 0.5, 0, 1)
    radius = np.ptp(x) / max(angle, 1e-9)
    whole = Mesh(np.stack([(radius - z) * np.sin(turn), y, radius - (radius - z) * np.cos(turn)], axis=1), unit.faces)
    keep = np.abs(x) > 0.08
    scan, numbers = whole.submesh(keep)
    return Bent(unit, whole, scan, numbers)


@pytest.fixture(scope="session")
def bent() -> Bent:
    return bent_by(1.2)


@pytest.fixture(scope="session")
def registered(bent: Bent) -> Registration:
    """The template bent onto the scan."""
    return register(bent.template, bent.scan, bent.guide)
