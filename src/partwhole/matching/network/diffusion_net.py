"""DiffusionNet (Sharp et al. 2022): features of vertices, as a function of inputs there and of the surface's operators.

A block lets each channel diffuse over the surface for a time that it learns, compares the gradients of channels, and mixes
the three at each vertex. It knows the surface through its operators alone, so triangulations do not matter.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from itertools import combinations
from typing import Any, ClassVar, get_args

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from partwhole.matching.config import NetworkConfig, NetworkInputs
from partwhole.matching.network.surface import Operators, Surface

# diffusion times stay above this: negative ones would make heat flow back
_SHORTEST = 1e-8
# on surfaces with more vertices blocks are computed again for their gradient, instead of keeping everything for it: a third
# of the memory, for a third more time
RECOMPUTED_BEYOND = 30_000
# long thin products are quicker in pieces, which all of a GPU can work on
_PIECES = 16

# of rotation invariants:
# diffusion times of positions, for a whole of area 1: from details that 100 eigenfunctions can show to half of a body
_TIMES = tuple(0.0015 * 2.2**k for k in range(8))
# of which these for normals: at longer times their mean is that of the missing region
_NORMAL_TIMES = slice(0, 6, 2)
# about one over the usual length of each vector, on bodies of all kinds
_GAINS = (1.6, 4.0, 4.0, 4.0, 4.0, 4.0, 4.5, 7.0, 1.0, 1.7, 3.5, 10.0)
_VECTORS = len(_GAINS)


class Network(nn.Module, ABC):
    """What training and `Matcher` need of a network. `DiffusionNet` is one; others are given to `train(network=...)`.

    A subclass has an `encode`; `pair` where part and whole are to be seen together; `after_step` where weights must stay in a
    range; and `rotate_inputs` where the network sees positions and is to serve shapes with another vertical.
    """

    # whether it encodes several surfaces of one size at once, of which some vertices, of area 0, only fill up and change
    # nothing for the others, in `pair` neither: then steps of training on a GPU are recorded, which is several times faster
    takes_batches: ClassVar[bool] = False

    @abstractmethod
    def encode(self, surface: Surface) -> Float[Tensor, "*batch n f"]:
        """Features of the vertices of one surface."""

    def pair(
        self,
        of_part: Float[Tensor, "p f"],
        of_whole: Float[Tensor, "n f"],
        present: tuple[Bool[Tensor, "p"], Bool[Tensor, "n"]] | None = None,
    ) -> tuple[Float[Tensor, "p g"], Float[Tensor, "n g"]]:
        """Features of part and whole after both were seen together; as they are, unless a network says otherwise.

        `present` says which vertices are there, and do not only fill up a batch. It is given only in steps that are recorded,
        so only networks with `takes_batches` need it.
        """
        return of_part, of_whole

    def after_step(self) -> None:
        """Called after each step of the optimiser."""

    def rotate_inputs(self, R: Float[Tensor, "3 3"]) -> None:
        """From now on, see surfaces turned by R."""
        raise ValueError(
            f"{type(self).__name__} does not say how it serves shapes with another vertical; write its rotate_inputs, or "
            "train it with this vertical"
        )


class DiffusionNet(Network):
    """Features (n, `outputs`) of vertices from inputs (n, `inputs`) there.

    Parameters
    ----------
    inputs, outputs : channels
    width : channels inside
    blocks : how many
    dropout : share of channels left out in the MLPs while training

    Examples
    --------
    >>> from partwhole.datasets import sphere
    >>> from partwhole.matching import surface_of
    >>> ball = surface_of(sphere(100), eigenpairs=20)
    >>> network = DiffusionNet(6, 16, width=8, blocks=2)
    >>> network(torch.cat([ball.points, ball.normals], dim=1), ball.operators).shape
    torch.Size([100, 16])
    """

    takes_batches: ClassVar[bool] = True

    def __init__(self, inputs: int, outputs: int, *, width: int = 128, blocks: int = 4, dropout: float = 0.5) -> None:
        super().__init__()
        self.first = nn.Linear(inputs, width)
        self.blocks = nn.ModuleList([Block(width, dropout) for _ in range(blocks)])
        self.last = nn.Linear(width, outputs)
        self._sees: NetworkInputs | None = next(
            (kind for kind in get_args(NetworkInputs) if channels_of(kind) == inputs), None
        )

    def encode(self, surface: Surface) -> Float[Tensor, "*batch n f"]:
        if self._sees is None:
            raise ValueError(f"a network with {self.first.in_features} input channels can't see a surface; call it")
        return self(inputs_of(surface, self._sees), surface.operators)

    def forward(self, inputs: Float[Tensor, "*batch n c"], operators: Operators) -> Float[Tensor, "*batch n f"]:
        if inputs.shape[-1] != self.first.in_features:
            raise ValueError(
                f"the inputs have {inputs.shape[-1]} channels, the network was made for {self.first.in_features}; "
                "prepare the surfaces with the inputs it was trained on"
            )
        x = self.first(inputs)
        large = x.requires_grad and x.shape[-2] > RECOMPUTED_BEYOND
        for block in self.blocks:
            x = checkpoint(block, x, operators, use_reentrant=False) if large else block(x, operators)
        return self.last(x)

    def after_step(self) -> None:
        """Move diffusion times that a step has made negative back to (almost) 0."""
        with torch.no_grad():
            for block in self.blocks:
                block.time.clamp_(min=_SHORTEST)

    def rotate_inputs(self, R: Float[Tensor, "3 3"]) -> None:
        if self._sees in ("xyz", "xyz+signatures"):
            # position and normal come first
            with torch.no_grad():
                for columns in (slice(0, 3), slice(3, 6)):
                    self.first.weight[:, columns] = self.first.weight[:, columns] @ R


def new_network(config: NetworkConfig) -> DiffusionNet:
    """A network with random weights, drawn from torch's generator."""
    return DiffusionNet(
        channels_of(config.inputs), config.features, width=config.width, blocks=config.blocks, dropout=config.dropout
    )


def shapes_of(tensors: Mapping[str, Tensor]) -> dict[str, tuple[int, ...]]:
    """The shape of each tensor, by its name."""
    return {name: tuple(tensor.shape) for name, tensor in tensors.items()}


def is_made_by(config: NetworkConfig, network: Network) -> bool:
    """Whether `new_network(config)` makes this network, but for its weights.

    >>> small = NetworkConfig(width=8, blocks=1)
    >>> is_made_by(small, new_network(small)), is_made_by(small, new_network(NetworkConfig(width=9, blocks=1)))
    (True, False)
    """
    if type(network) is not DiffusionNet:
        return False
    # only the sizes matter, and they need no memory
    with torch.device("meta"):
        return shapes_of(network.state_dict()) == shapes_of(new_network(config).state_dict())


class Block(nn.Module):
    """x + MLP(x, diffused x, gradient features of diffused x)"""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.time = nn.Parameter(torch.full((width,), _SHORTEST))
        self.rotation = ComplexLinear(width)
        self.mix = nn.Sequential(
            nn.Linear(3 * width, width),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(width, width),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(width, width),
        )

    def forward(self, x: Float[Tensor, "*batch n c"], operators: Operators) -> Float[Tensor, "*batch n c"]:
        learned = self.time, self.rotation.real.weight, self.rotation.imaginary.weight
        return x + self.mix(torch.cat([x, *diffused_with_features(x, *learned, *operators)], dim=-1))


class ComplexLinear(nn.Module):
    """z ↦ A z without offset, A complex: (Re A gx − Im A gy) + i (Im A gx + Re A gy) for z = gx + i gy."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.real = nn.Linear(width, width, bias=False)
        self.imaginary = nn.Linear(width, width, bias=False)

    def forward(self, gx: Float[Tensor, "*n c"], gy: Float[Tensor, "*n c"]) -> tuple[Tensor, Tensor]:
        return self.real(gx) - self.imaginary(gy), self.imaginary(gx) + self.real(gy)


def diffuse(
    x: Float[Tensor, "*batch n c"], time: Float[Tensor, "c"], operators: Operators
) -> tuple[Float[Tensor, "*batch n c"], Float[Tensor, "*batch n c"], Float[Tensor, "*batch n c"]]:
    """u = Φ exp(−λ t) Φᵀ A x, channel by channel with its own t, and ∇u = (gx Φ, gy Φ) exp(−λ t) Φᵀ A x.

    The gradients of eigenfunctions were taken once and for all, so those of u cost no more than u itself.
    """
    mass, values, basis = operators
    coefficients = basis[..., 0, :].transpose(-1, -2) @ (mass[..., None] * x)
    decayed = torch.exp(-values[..., None] * time) * coefficients
    u, gx, gy = (basis @ decayed[..., None, :, :]).unbind(-2)
    return u, gx, gy


def gradient_features(
    gx: Float[Tensor, "*n c"], gy: Float[Tensor, "*n c"], rotation: ComplexLinear
) -> Float[Tensor, "*n c"]:
    """tanh Re(z̄ ⊙ A z), z = gx + i gy: angles between the gradients of channels. The frame at a vertex does not matter:
    turned by θ, z and A z are both multiplied by e^{iθ}, which z̄ ⊙ A z does not see."""
    real, imaginary = rotation(gx, gy)
    return torch.tanh(gx * real + gy * imaginary)


# --- the same in one piece, with the gradient written out: automatic differentiation takes more than twice as many
# operations, and on a GPU these are so small that their number is what takes the time


def diffused_with_features(
    x: Float[Tensor, "*batch n c"],
    time: Float[Tensor, "c"],
    real: Float[Tensor, "c c"],
    imaginary: Float[Tensor, "c c"],
    mass: Float[Tensor, "*batch n"],
    values: Float[Tensor, "*batch k"],
    basis: Float[Tensor, "*batch n 3 k"],
) -> tuple[Float[Tensor, "*batch n c"], Float[Tensor, "*batch n c"]]:
    """u = Φ exp(−λ t) Φᵀ A x, and tanh Re(z̄ ⊙ M z) with z = gx + i gy the gradient of u and M = real + i imaginary.

    Parameters
    ----------
    x : channels at the vertices
    time, real, imaginary : what is learned
    mass, values, basis : see `Operators`
    """
    return _Diffused.apply(x, time, real, imaginary, mass, values, basis)


class _Diffused(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, time: Tensor, real: Tensor, imaginary: Tensor, mass: Tensor, values: Tensor, basis: Tensor
    ) -> tuple[Tensor, Tensor]:
        width = x.shape[-1]
        coefficients = _summed(basis[..., 0, :], mass[..., None] * x)
        decay = torch.exp(-values[..., None] * time)
        # row i: u, gx and gy at vertex i, side by side
        spread = (basis.flatten(-3, -2) @ (decay * coefficients)).view(*x.shape[:-1], 3 * width)
        gradient = spread[..., width:]
        turn = torch.cat([torch.cat([real, -imaginary], dim=1), torch.cat([imaginary, real], dim=1)])
        turned = torch.nn.functional.linear(gradient, turn)
        features = torch.tanh((gradient * turned).unflatten(-1, (2, width)).sum(dim=-2))
        ctx.save_for_backward(mass, values, basis, coefficients, decay, spread, turn, turned, features)
        return spread[..., :width].clone(), features

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_u: Tensor, of_features: Tensor) -> tuple[Tensor | None, ...]:
        mass, values, basis, coefficients, decay, spread, turn, turned, features = ctx.saved_tensors
        width = features.shape[-1]
        gradient = spread[..., width:]
        # of the argument of tanh, the same for both components
        slope = (of_features * (1 - features * features))[..., None, :]
        of_turned = (gradient.unflatten(-1, (2, width)) * slope).flatten(-2)
        of_gradient = (turned.unflatten(-1, (2, width)) * slope).flatten(-2)
        of_gradient = of_gradient + of_turned @ turn
        of_turn = _summed(of_turned, gradient)
        while of_turn.ndim > 2:
            of_turn = of_turn.sum(dim=0)
        of_real = of_turn[:width, :width] + of_turn[width:, width:]
        of_imaginary = of_turn[width:, :width] - of_turn[:width, width:]

        of_spread = torch.cat([of_u, of_gradient], dim=-1).view(*basis.shape[:-1], width)
        of_decayed = _summed(basis.flatten(-3, -2), of_spread.flatten(-3, -2))
        of_coefficients = decay * of_decayed
        of_time = -(values[..., None] * of_coefficients * coefficients).sum(dim=tuple(range(values.ndim)))
        of_x = mass[..., None] * (basis[..., 0, :] @ of_coefficients)
        return of_x, of_time, of_real, of_imaginary, None, None, None


def _summed(left: Float[Tensor, "*batch n k"], right: Float[Tensor, "*batch n c"]) -> Float[Tensor, "*batch k c"]:
    """leftᵀ right, in pieces of the long side."""
    n = left.shape[-2]
    if n % _PIECES:
        return left.transpose(-1, -2) @ right
    pieces = (_PIECES, n // _PIECES)
    return (left.unflatten(-2, pieces).transpose(-1, -2) @ right.unflatten(-2, pieces)).sum(dim=-3)


def inputs_of(surface: Surface, kind: NetworkInputs) -> Float[Tensor, "*batch n c"]:
    """What the network sees of each vertex."""
    if kind == "invariants":
        few = surface.basis.shape[-1]
        eigenpairs = surface.values[..., :few], surface.basis[..., 0, :]
        return rotation_invariants(surface.points, surface.normals, surface.mass, *eigenpairs)
    seen = {
        "xyz": (surface.points, surface.normals),
        "signatures": (surface.signatures,),
        "xyz+signatures": (surface.points, surface.normals, surface.signatures),
    }[kind]
    return torch.cat(seen, dim=-1)


def channels_of(kind: NetworkInputs) -> int:
    """How many numbers the network sees of each vertex."""
    return {"xyz": 6, "signatures": 32, "xyz+signatures": 38, "invariants": count_of_invariants()}[kind]


def rotation_invariants(
    points: Float[Tensor, "*batch n 3"],
    normals: Float[Tensor, "*batch n 3"],
    mass: Float[Tensor, "*batch n"],
    values: Float[Tensor, "*batch k"],
    functions: Float[Tensor, "*batch n k"],
) -> Float[Tensor, "*batch n c"]:
    """asinh of ⟨v_i, v_j⟩ for i ≤ j and of det(v_i, v_j, v_k) for i < j < k, of the vectors v of `smoothed_vectors`.

    What a vertex sees of its surroundings that no rotation changes. Positions and normals depend on how a scan lies in
    space, and a network would have to learn that this does not matter. Their smoothed versions are vectors that turn with
    the surface: lengths and angles of these vectors stay, and so do the volumes they span, whose signs tell left from
    right. A mirror image has the same products and the opposite volumes.

    Parameters
    ----------
    points, normals : of the vertices
    mass : vertex areas; 0 for vertices that only fill up a batch
    values, functions : eigenpairs

    Examples
    --------
    >>> from partwhole.datasets import sphere
    >>> from partwhole.matching import surface_of
    >>> ball = surface_of(sphere(200).scaled(0.28), eigenpairs=20)
    >>> given = ball.points, ball.normals, ball.mass, ball.values, ball.functions
    >>> rotation_invariants(*given).shape[1] == count_of_invariants()
    True
    """
    vectors = smoothed_vectors(points, normals, mass, values, functions)
    (i, j), (first, second), triples = _indices(str(points.device))
    columns = vectors.transpose(-1, -2)
    products = (vectors @ columns)[..., i, j]
    # (v_i × v_j) · v_k for all i < j and all k, of which those with j < k are kept
    areas = torch.linalg.cross(vectors[..., first, :], vectors[..., second, :])
    volumes = (areas @ columns).flatten(-2)[..., triples]
    return torch.asinh(torch.cat([products, volumes], dim=-1))


def count_of_invariants() -> int:
    """How many there are at each vertex."""
    m = _VECTORS
    return m * (m + 1) // 2 + m * (m - 1) * (m - 2) // 6


def smoothed_vectors(
    points: Float[Tensor, "*batch n 3"],
    normals: Float[Tensor, "*batch n 3"],
    mass: Float[Tensor, "*batch n"],
    values: Float[Tensor, "*batch k"],
    functions: Float[Tensor, "*batch n k"],
) -> Float[Tensor, "*batch n v 3"]:
    """Vectors that turn with the surface: (x_{t−} − x_t) / √t and n_t, with x_t = Φ exp(−λ t) Φᵀ A x the surface smoothed for
    a time t, x_{t−} for the time before (at first x itself), and n_t the normals likewise; each times a constant, so that
    all have lengths about 1.
    """
    times, gains = _constants(str(points.device))
    # about the middle: far from the origin, differences lose their digits
    centred = points - (mass[..., None] * points).sum(dim=-2, keepdim=True) / mass.sum(dim=-1)[..., None, None]
    both = torch.cat([centred, normals], dim=-1)
    coefficients = functions.transpose(-1, -2) @ (mass[..., None] * both)
    decay = torch.exp(-values[..., None] * times)
    # one product for all times: columns are (time, coordinate)
    decayed = (decay[..., :, None] * coefficients[..., None, :]).flatten(-2)
    smooth = (functions @ decayed).unflatten(-1, (len(_TIMES), 6))
    path = torch.cat([centred[..., None, :], smooth[..., :3]], dim=-2)
    steps = (path[..., :-1, :] - path[..., 1:, :]) / times.sqrt()[:, None]
    return gains * torch.cat([steps, normals[..., None, :], smooth[..., _NORMAL_TIMES, 3:]], dim=-2)


# kept, since a CUDA graph that is being recorded can't copy from main memory
@cache
def _constants(device: str) -> tuple[Float[Tensor, "t"], Float[Tensor, "v 1"]]:
    return torch.tensor(_TIMES, device=device), torch.tensor(_GAINS, device=device)[:, None]


@cache
def _indices(device: str) -> tuple[Int[Tensor, "2 p"], Int[Tensor, "2 q"], Int[Tensor, "t"]]:
    """Numbers (i, j) of the vectors with i ≤ j, those with i < j, and where i < j < k are among all ((i, j), k)."""
    pairs = list(combinations(range(_VECTORS), 2))
    triples = [row * _VECTORS + k for row, (_, j) in enumerate(pairs) for k in range(j + 1, _VECTORS)]
    found = torch.triu_indices(_VECTORS, _VECTORS), torch.tensor(pairs).T.contiguous(), torch.tensor(triples)
    return found[0].to(device), found[1].to(device), found[2].to(device)
