"""Words and choices that `mask` and `demo` share."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from partwhole.cli.shared.criteria import all_criteria, example_vertex, guarantee
from partwhole.datasets.shapes.primitives import sphere_cap
from partwhole.geodesics import geodesic_distances


@pytest.mark.parametrize(("method", "sound"), list(product(["dijkstra", "exact", "fast_marching"], [False, True])))
def test_a_proof_is_claimed_only_where_there_is_one(method, sound: bool) -> None:
    proved = guarantee(method, sound).startswith("proved")
    assert proved == (method == "dijkstra" or (method == "exact" and sound))
    assert guarantee(method, sound, "it is a Klein bottle").startswith("not proved")


def test_the_vertex_to_draw_is_one_whose_regions_differ() -> None:
    cap = sphere_cap(300, 2.4)
    rows = np.arange(0, 300, 7)
    D = geodesic_distances(cap, method="dijkstra")
    everything = all_criteria(cap, D).criteria
    vertex = example_vertex(everything)
    assert everything[0].mask[vertex].sum() > 1
    assert everything[-1].mask[vertex].sum() > everything[0].mask[vertex].sum()
    some = all_criteria(cap, D, rows=rows).criteria
    assert example_vertex(some) in rows


def test_a_reason_given_leaves_the_same_loop_criterion_out() -> None:
    cap = sphere_cap(60, 1.5)
    trust = all_criteria(cap, geodesic_distances(cap, method="dijkstra"), no_sphere="it is a torus")
    assert list(trust.by_kind) == ["boundary", "wormhole"]
    assert trust.not_applied == {"same-loop": "it is a torus"}
