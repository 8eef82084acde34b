"""DiffusionNet, and its pieces against their definitions and automatic differentiation."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from torch import Tensor

from partwhole.datasets import plane, sphere
from partwhole.matching.network import diffusion_net
from partwhole.matching.network.diffusion_net import (
    Block,
    ComplexLinear,
    DiffusionNet,
    Operators,
    channels_of,
    diffuse,
    diffused_with_features,
    gradient_features,
    inputs_of,
)
from partwhole.mesh import Mesh
from partwhole.spectral import eigenpairs, gradients, laplacian


def operators(mesh: Mesh, k: int) -> Operators:
    """In double precision."""
    basis, frame = eigenpairs(mesh, k), gradients(mesh)
    stacked = np.stack([basis.functions, frame.gx @ basis.functions, frame.gy @ basis.functions], axis=1)
    return Operators(*(torch.from_numpy(np.array(array)) for array in (basis.mass, basis.values, stacked)))


def turned(given: Operators, angles: Tensor) -> Operators:
    """The same surface with the frame of each vertex turned."""
    functions, gx, gy = given.basis.unbind(1)
    c, s = angles.cos()[:, None], angles.sin()[:, None]
    return Operators(given.mass, given.values, torch.stack([functions, c * gx - s * gy, s * gx + c * gy], dim=1))


def random_network(inputs: int = 5, outputs: int = 7, *, seed: int = 0, **sizes: int) -> DiffusionNet:
    torch.manual_seed(seed)
    network = DiffusionNet(inputs, outputs, **({"width": 6, "blocks": 3} | sizes)).double().eval()
    for block in network.blocks:
        # untrained times are zero, where nothing diffuses
        block.time.data.uniform_(0.0, 0.1)
    return network


# products are taken in pieces where the number of vertices allows it
@pytest.fixture(params=[60, 64])
def mesh(request: pytest.FixtureRequest) -> Mesh:
    return sphere(request.param, jitter=0.5, seed=3)


@pytest.mark.parametrize("k", [1, 10, None])
def test_diffusion_is_the_heat_flow_of_the_projected_function(mesh, references, k) -> None:
    n, rng = mesh.n_vertices, np.random.default_rng(0)
    k = k or n
    x, times = rng.standard_normal((n, 4)), np.array([0.0, 0.01, 0.3, 5.0])
    basis, frame = eigenpairs(mesh, k), gradients(mesh)
    expected = references.diffused(basis.reconstruct(basis.project(x)), times, laplacian(mesh))
    u, gx, gy = diffuse(torch.from_numpy(x), torch.from_numpy(times), operators(mesh, k))
    np.testing.assert_allclose(u, expected, atol=1e-6)
    np.testing.assert_allclose(gx, frame.gx @ expected, atol=1e-5)
    np.testing.assert_allclose(gy, frame.gy @ expected, atol=1e-5)


def test_a_long_time_leaves_the_mean(mesh) -> None:
    x, n = torch.from_numpy(np.random.default_rng(1).standard_normal((mesh.n_vertices, 3))), mesh.n_vertices
    given = operators(mesh, n)
    u, *_ = diffuse(x, torch.tensor([0.0, 1e-8, 1e4], dtype=torch.float64), given)
    torch.testing.assert_close(u[:, :2], x[:, :2], atol=1e-5, rtol=0)
    mean = given.mass @ x[:, 2] / given.mass.sum()
    torch.testing.assert_close(u[:, 2], mean.expand(n))


def test_heat_never_flows_back(mesh) -> None:
    network = random_network()
    network.blocks[1].time.data.copy_(torch.tensor([-3.0, -1e-3, 0.0, 1e-3, 0.1, 3.0]))
    before = network.blocks[0].time.clone()
    network.after_step()
    assert torch.equal(network.blocks[0].time, before)
    assert network.blocks[1].time.tolist() == pytest.approx([1e-8, 1e-8, 1e-8, 1e-3, 0.1, 3.0])
    assert all(block.time.min() > 0 for block in DiffusionNet(3, 4, width=5).blocks)
    # times of (next to) zero still learn
    fresh = DiffusionNet(5, 7, width=6, blocks=1).double()
    fresh(torch.randn(mesh.n_vertices, 5, dtype=torch.float64), operators(mesh, 20)).square().sum().backward()
    assert (fresh.blocks[0].time.grad != 0).all()


def test_complex_linear_is_a_complex_matrix() -> None:
    torch.manual_seed(0)
    layer = ComplexLinear(5).double()
    gx, gy = torch.randn(2, 11, 5, dtype=torch.float64)
    A = torch.complex(layer.real.weight, layer.imaginary.weight)
    real, imaginary = layer(gx, gy)
    torch.testing.assert_close(torch.complex(real, imaginary), torch.complex(gx, gy) @ A.T)


def test_gradient_features_are_those_of_complex_arithmetic(references) -> None:
    torch.manual_seed(1)
    layer = ComplexLinear(5).double()
    gx, gy = torch.randn(2, 11, 5, dtype=torch.float64)
    expected = references.gradient_features(gx, gy, layer.real.weight, layer.imaginary.weight)
    torch.testing.assert_close(gradient_features(gx, gy, layer), expected)


def test_gradient_features_do_not_see_the_frames(references) -> None:
    torch.manual_seed(2)
    layer = ComplexLinear(5).double()
    gx, gy = torch.randn(2, 40, 5, dtype=torch.float64)
    z = torch.complex(gx, gy) * torch.exp(2j * math.pi * torch.rand(40, 1, dtype=torch.float64))
    torch.testing.assert_close(gradient_features(z.real, z.imag, layer), gradient_features(gx, gy, layer))
    # what this would not forgive
    A = layer.real.weight, layer.imaginary.weight
    wrong = references.gradient_features_of_the_research_copy
    assert (wrong(z.real, z.imag, *A) - wrong(gx, gy, *A)).abs().mean() > 0.05


def test_the_network_does_not_see_the_frames(mesh) -> None:
    given, network = operators(mesh, 20), random_network()
    x = torch.randn(mesh.n_vertices, 5, dtype=torch.float64)
    other = turned(given, 2 * math.pi * torch.rand(mesh.n_vertices, dtype=torch.float64))
    torch.testing.assert_close(network(x, other), network(x, given))
    # it does see gradients
    flat = given._replace(basis=given.basis * torch.tensor([1.0, 0.0, 0.0]).double()[:, None])
    assert (network(x, flat) - network(x, given)).abs().max() > 0.01


def test_vertex_order_does_not_matter(mesh) -> None:
    given, network = operators(mesh, 20), random_network()
    x, order = torch.randn(mesh.n_vertices, 5).double(), torch.randperm(mesh.n_vertices)
    shuffled = Operators(given.mass[order], given.values, given.basis[order])
    torch.testing.assert_close(network(x[order], shuffled), network(x, given)[order])


def test_signs_of_eigenfunctions_do_not_matter(mesh) -> None:
    given, network = operators(mesh, 20), random_network()
    x, signs = torch.randn(mesh.n_vertices, 5, dtype=torch.float64), torch.randn(20).sign()
    torch.testing.assert_close(network(x, given._replace(basis=given.basis * signs)), network(x, given))


@pytest.mark.parametrize("n", [70, 80])
def test_a_batch_of_two_is_two_calls(mesh, n) -> None:
    """Vertices that fill up the smaller surface hold anything; their area is zero."""
    network, square = random_network(), plane(41)
    one, two = operators(mesh, 20), operators(square, 20)
    x, y = torch.randn(mesh.n_vertices, 5, dtype=torch.float64), torch.randn(41, 5, dtype=torch.float64)
    inputs = torch.randn(2, n, 5, dtype=torch.float64)
    basis = torch.randn(2, n, 3, 20, dtype=torch.float64)
    mass = torch.zeros(2, n, dtype=torch.float64)
    for number, (values, given) in enumerate(((x, one), (y, two))):
        inputs[number, : len(values)], mass[number, : len(values)] = values, given.mass
        basis[number, : len(values)] = given.basis
    found = network(inputs, Operators(mass, torch.stack([one.values, two.values]), basis))
    assert found.shape == (2, n, 7)
    torch.testing.assert_close(found[0, : len(x)], network(x, one))
    torch.testing.assert_close(found[1, : len(y)], network(y, two))


def test_a_block_adds_to_what_it_is_given(mesh) -> None:
    block = Block(4, 0.0).double()
    block.mix[-1].weight.data.zero_()
    block.mix[-1].bias.data.zero_()
    x = torch.randn(mesh.n_vertices, 4, dtype=torch.float64)
    torch.testing.assert_close(block(x, operators(mesh, 10)), x)


def test_the_sizes_of_the_paper() -> None:
    network = DiffusionNet(6, 256)
    assert network.last.out_features == 256
    assert len(network.blocks) == 4
    assert all(block.time.shape == (128,) and block.mix[2].p == 0.5 for block in network.blocks)


def test_dropout_works_in_training_alone(mesh) -> None:
    given, network = operators(mesh, 20), random_network()
    x = torch.randn(mesh.n_vertices, 5, dtype=torch.float64)
    assert torch.equal(network(x, given), network(x, given))
    network.train()
    assert not torch.equal(network(x, given), network(x, given))


def test_large_surfaces_have_the_same_features_and_gradients(mesh, monkeypatch) -> None:
    """Blocks that are computed again draw the same dropout."""
    given, network = operators(mesh, 20), random_network().train()
    x = torch.randn(mesh.n_vertices, 5, dtype=torch.float64)
    found = []
    for limit in (diffusion_net.RECOMPUTED_BEYOND, 10):
        monkeypatch.setattr(diffusion_net, "RECOMPUTED_BEYOND", limit)
        network.zero_grad()
        torch.manual_seed(1)
        features = network(x, given)
        features.square().sum().backward()
        found.append([features.detach(), *(weight.grad for weight in network.parameters())])
    assert all(torch.equal(one, other) for one, other in zip(*found, strict=True))


def test_other_inputs_than_it_was_made_for(mesh) -> None:
    with pytest.raises(ValueError, match="have 6 channels, the network was made for 5; prepare the surfaces"):
        random_network()(torch.randn(mesh.n_vertices, 6, dtype=torch.float64), operators(mesh, 5))


def given(n: int, k: int, c: int, batch: tuple[int, ...] = ()) -> tuple[list[Tensor], Operators]:
    """What is learned and what is known of a surface; random, in double precision."""
    generator = torch.Generator().manual_seed(n + k + c)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=torch.float64, generator=generator)

    learned = [normal(*batch, n, c), normal(c).abs(), normal(c, c), normal(c, c)]
    known = Operators(normal(*batch, n).abs(), normal(*batch, k).abs(), 0.3 * normal(*batch, n, 3, k))
    return [tensor.requires_grad_() for tensor in learned], known


def defined(x: Tensor, time: Tensor, real: Tensor, imaginary: Tensor, known: Operators) -> tuple[Tensor, Tensor]:
    rotation = ComplexLinear(len(time)).double()
    u, gx, gy = diffuse(x, time, known)

    def turn(a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
        return a @ real.T - b @ imaginary.T, a @ imaginary.T + b @ real.T

    rotation.forward = turn  # type: ignore[method-assign]
    return u, gradient_features(gx, gy, rotation)


@pytest.mark.parametrize("batch", [(), (2,)])
@pytest.mark.parametrize("n", [13, 32])  # as one product, and in pieces
def test_values_and_gradients_are_those_of_the_definition(n: int, batch: tuple[int, ...]) -> None:
    learned, known = given(n, 7, 5, batch)
    expected = defined(*learned, known)
    found = diffused_with_features(*learned, *known)
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other)
    weights = [torch.randn_like(output) for output in expected]
    gradients = [
        torch.autograd.grad(sum((w * o).sum() for w, o in zip(weights, outputs, strict=True)), learned)
        for outputs in (found, expected)
    ]
    for one, other in zip(*gradients, strict=True):
        torch.testing.assert_close(one, other)


def test_gradients_by_differences() -> None:
    learned, known = given(8, 4, 3)
    assert torch.autograd.gradcheck(lambda *tensors: diffused_with_features(*tensors, *known), learned)


@pytest.mark.parametrize("kind", ["xyz", "signatures", "xyz+signatures", "invariants"])
def test_inputs(surface, kind) -> None:
    made = surface(sphere(60))
    seen = inputs_of(made, kind)
    assert seen.shape == (60, channels_of(kind))
    if "xyz" in kind:
        assert torch.equal(seen[:, :3], made.points)
        assert torch.equal(seen[:, 3:6], made.normals)
    if "signatures" in kind:
        assert torch.equal(seen[:, -32:], made.signatures)
