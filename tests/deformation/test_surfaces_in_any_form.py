"""Every public function takes a surface in any form, not only as a `Mesh`."""

from __future__ import annotations

import dataclasses
import inspect
from importlib import import_module
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from partwhole.deformation import (
    ElasticSurface,
    FitOptions,
    flipped_faces,
    intersecting_faces,
    mirror_map,
    register,
    register_in_levels,
    sources_of,
)
from partwhole.mesh import Mesh

FOLDERS = ("mesh", "geodesics", "criterion", "datasets", "embedding", "matching", "registration", "evaluation",
           "deformation", "spectral", "transfer")  # fmt: skip


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_public_function_asks_for_a_mesh(folder: str) -> None:
    home = import_module(f"partwhole.{folder}")
    asks = []
    for name in home.__all__:
        given = getattr(home, name)
        # dataclasses hold what was checked before
        if (
            callable(given)
            and not dataclasses.is_dataclass(given)
            and getattr(given, "__module__", "").startswith("partwhole")
        ):
            called = given.__init__ if inspect.isclass(given) else given
            told = inspect.signature(called).parameters.values()
            asks += [f"{name}({parameter.name})" for parameter in told if parameter.annotation in ("Mesh", Mesh)]
    assert asks == []


def pair(mesh: Mesh) -> tuple[np.ndarray, np.ndarray]:
    return mesh.vertices, mesh.faces


def of_trimesh(mesh: Mesh) -> Any:
    return SimpleNamespace(vertices=mesh.vertices, faces=mesh.faces)


def test_a_template_and_a_scan_are_registered_whatever_they_are(bent: Any) -> None:
    quick = FitOptions(steps=1)
    wanted = register(bent.template, bent.scan, bent.guide, options=quick)
    for call in (register, register_in_levels):
        found = call(of_trimesh(bent.template), pair(bent.scan), bent.guide, options=quick)
        assert np.array_equal(found.vertices, wanted.vertices)
    sources = sources_of(pair(bent.template), of_trimesh(bent.scan), bent.guide, wanted)
    assert np.array_equal(sources.source, sources_of(bent.template, bent.scan, bent.guide, wanted).source)


def test_a_surface_is_checked_and_mirrored_whatever_it_is(bent: Any) -> None:
    template, rotations = bent.template, np.tile(np.eye(3), (bent.template.n_vertices, 1, 1))
    assert len(flipped_faces(pair(template), template.vertices, rotations)) == 0
    assert len(intersecting_faces(of_trimesh(template))) == 0
    box = [[1, 0, 0], [-1, 0, 0], [0, 0, 2], [0, 3, 0.5]], [[0, 1, 2], [0, 1, 3], [0, 2, 3], [1, 2, 3]]
    assert mirror_map(box)[0].tolist() == [1, 0, 2, 3]
    at_rest = ElasticSurface(of_trimesh(template))
    assert np.allclose(at_rest.laplacian @ template.vertices, at_rest.forces(rotations))


def test_an_error_says_which_surface_it_is(bent: Any) -> None:
    empty = SimpleNamespace(vertices=np.empty((0, 3)), faces=np.empty((0, 3), int))
    with pytest.raises(ValueError, match="template has no vertices"):
        register(empty, bent.scan, bent.guide)
    with pytest.raises(ValueError, match="scan has no vertices"):
        register_in_levels(bent.template, empty, bent.guide)
