"""What no rotation changes: tested by rotating."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from partwhole.matching import Surface
from partwhole.matching.network.diffusion_net import count_of_invariants, inputs_of, rotation_invariants
from partwhole.mesh import Mesh

PRODUCTS = 12 * 13 // 2


def seen(surface: Surface) -> Tensor:
    return inputs_of(surface, "invariants")


@pytest.fixture(scope="module")
def lump(small, surface: Callable[[Mesh], Surface]) -> Surface:
    """In double precision, where rounding is no excuse."""
    single = surface(small.lopsided(110))
    return replace(
        single, **{name: getattr(single, name).double() for name in ("points", "normals", "mass", "values", "basis")}
    )


def moved(surface: Surface, R: Tensor, shift: Tensor | float = 0.0) -> Surface:
    return replace(surface, points=surface.points @ R.T + shift, normals=surface.normals @ R.T)


def test_there_are_products_and_volumes_at_every_vertex(lump: Surface) -> None:
    assert seen(lump).shape == (len(lump), count_of_invariants())
    assert count_of_invariants() == PRODUCTS + 220
    assert seen(lump).isfinite().all()
    # they tell vertices apart
    assert torch.cdist(seen(lump), seen(lump)).fill_diagonal_(torch.inf).min() > 0.01


def test_rotations_and_translations_change_nothing(lump: Surface) -> None:
    torch.manual_seed(0)
    for _ in range(5):
        R = torch.linalg.qr(torch.randn(3, 3, dtype=torch.float64)).Q
        R = R * torch.linalg.det(R)
        torch.testing.assert_close(seen(moved(lump, R, 5 * torch.randn(3).double())), seen(lump), rtol=0, atol=1e-9)


def test_a_mirror_image_has_the_opposite_volumes(lump: Surface) -> None:
    mirrored = seen(moved(lump, torch.diag(torch.tensor([-1.0, 1.0, 1.0], dtype=torch.float64))))
    torch.testing.assert_close(mirrored[:, :PRODUCTS], seen(lump)[:, :PRODUCTS])
    torch.testing.assert_close(mirrored[:, PRODUCTS:], -seen(lump)[:, PRODUCTS:])
    assert seen(lump)[:, PRODUCTS:].abs().max() > 0.1


def test_vertices_of_area_0_change_nothing(lump: Surface) -> None:
    """They fill up a batch, with whatever was there before."""
    torch.manual_seed(0)
    n, k = len(lump), lump.basis.shape[-1]
    functions = lump.basis[:, 0]
    given = lump.points, lump.normals, lump.mass, functions
    filling = (
        torch.randn(7, 3).double(),
        torch.randn(7, 3).double(),
        torch.zeros(7).double(),
        torch.randn(7, k).double(),
    )
    points, normals, mass, more = (torch.cat(pair) for pair in zip(given, filling, strict=True))
    found = rotation_invariants(points, normals, mass, lump.values[:k], more)
    torch.testing.assert_close(found[:n], seen(lump))


def test_a_batch_is_as_good_as_one_after_the_other(lump: Surface) -> None:
    torch.manual_seed(0)
    bent = lump.points + 0.1 * torch.randn(len(lump), 3).double()
    k = lump.basis.shape[-1]
    both = [torch.stack(pair) for pair in ((lump.points, bent), *((x, x) for x in (lump.normals, lump.mass)))]
    eigenpairs = lump.values[:k].expand(2, k), lump.basis[:, 0].expand(2, len(lump), k)
    found = rotation_invariants(*both, *eigenpairs)
    torch.testing.assert_close(found[0], seen(lump))
    torch.testing.assert_close(found[1], seen(replace(lump, points=bent)))
