from __future__ import annotations

import numpy as np
import pytest
import torch

from partwhole.matching import NetworkConfig
from partwhole.matching.methods.dpfm import Attention, DPFMNetwork, Parts, overlap_of


def test_attention_is_its_definition() -> None:
    torch.manual_seed(0)
    layer = Attention(8).double()
    x, y = torch.randn(5, 8).double(), torch.randn(7, 8).double()
    q, k, v = layer.query(x), layer.key(y), layer.value(y)
    seen = []
    for head in range(4):
        columns = slice(2 * head, 2 * head + 2)
        shares = torch.softmax(q[:, columns] @ k[:, columns].T / 2**0.5, dim=1)
        seen.append(shares @ v[:, columns])
    hidden = layer.wide(torch.cat([x, layer.merge(torch.cat(seen, dim=1))], dim=1))
    hidden = torch.nn.functional.instance_norm(hidden.T[None])[0].T
    torch.testing.assert_close(layer(x, y), x + layer.narrow(torch.relu(hidden)))


def test_the_network_keeps_the_plain_features() -> None:
    network = DPFMNetwork(NetworkConfig(features=8, width=8, blocks=1)).eval()
    one, other = torch.randn(5, 8), torch.randn(7, 8)
    part, whole = (Parts.of(features) for features in network.pair(one, other))
    assert torch.equal(part.plain, one)
    assert torch.equal(whole.plain, other)
    assert part.attended.shape == (5, 8)
    assert whole.overlap.shape == (7,)


def test_the_order_of_vertices_does_not_matter() -> None:
    torch.manual_seed(0)
    network = DPFMNetwork(NetworkConfig(features=8, width=8, blocks=1)).eval()
    one, other = torch.randn(5, 8), torch.randn(7, 8)
    order = torch.tensor([3, 1, 6, 0, 5, 2, 4])
    first, second = network.pair(one, other), network.pair(one, other[order])
    torch.testing.assert_close(second[0], first[0])
    torch.testing.assert_close(second[1], first[1][order])


def test_what_fills_up_is_not_seen() -> None:
    torch.manual_seed(0)
    network = DPFMNetwork(NetworkConfig(features=8, width=8, blocks=1)).eval()
    one, other = torch.randn(5, 8), torch.randn(7, 8)
    expected = network.pair(one, other)
    filled = [torch.cat([real, 100 * torch.randn(3, 8)]) for real in (one, other)]
    present = [torch.arange(len(rows)) < len(rows) - 3 for rows in filled]
    found = network.pair(*filled, tuple(present))
    for ours, theirs, there in zip(found, expected, present, strict=True):
        torch.testing.assert_close(ours[there], theirs)


def test_the_overlap_is_where_the_part_lies(prepared) -> None:
    part, whole = prepared.surfaces(*prepared.pairs[1])
    # the part was cut from the whole where it lies
    nearest = torch.cdist(part.points, whole.points).argmin(dim=1)
    covered = overlap_of(part.with_truth(nearest, part.mass / part.mass.sum()), whole)
    assert covered[nearest].all()
    share = float(whole.mass[covered].sum() / whole.mass.sum())
    assert share == pytest.approx(float(part.mass.sum() / whole.mass.sum()), abs=0.25)
    assert not covered.all()
    assert np.isfinite(share)


@pytest.mark.gpu
def test_the_overlap_does_not_depend_on_rounded_products(prepared) -> None:
    part, whole = prepared.surfaces(*prepared.pairs[0])
    nearest = torch.cdist(part.points, whole.points).argmin(dim=1)
    part = part.with_truth(nearest, part.mass / part.mass.sum())
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        found = overlap_of(part.to("cuda"), whole.to("cuda")).cpu()
    finally:
        torch.set_float32_matmul_precision(before)
    assert (found == overlap_of(part, whole)).float().mean() > 0.99


def test_wrong_arguments(prepared) -> None:
    _, whole = prepared.surfaces(*prepared.pairs[0])
    with pytest.raises(ValueError, match="features=6 must be a multiple of 4"):
        DPFMNetwork(NetworkConfig(features=6, width=8, blocks=1))
    with pytest.raises(ValueError, match="the overlap needs the ground truth"):
        overlap_of(whole, whole)
