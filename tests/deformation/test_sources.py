"""Seen, between, unseen: known from the cut."""

from __future__ import annotations

from typing import Any

import numpy as np

from partwhole.deformation import SOURCES, sources_of
from partwhole.mesh import Mesh


def test_what_was_seen_is_known(bent: Any, registered: Any) -> None:
    found = sources_of(bent.template, bent.scan, bent.guide, registered)
    seen = found.source == 0
    # vertices on the scan's own boundary may count as either
    inside = bent.seen.copy()
    inside[bent.numbers[bent.scan.boundary_vertices]] = False
    assert seen[inside].mean() > 0.99
    assert not seen[~bent.seen].any()
    assert set(np.unique(found.source)) <= set(SOURCES)


def test_what_is_farther_from_the_scan_is_less_sure(bent: Any, registered: Any) -> None:
    found = sources_of(bent.template, bent.scan, bent.guide, registered)
    far = found.away > 0.05
    assert far.any()
    assert (found.source[far] == 2).all()
    assert (found.source[(found.away > 0) & ~far] == 1).all()
    assert found.confidence[far].max() < found.confidence[found.source == 0].min()
    assert found.expected_error[far].min() > found.expected_error[found.source == 0].mean()
    # where the map is sure, lengths in √area: expected error 0.006 + 0.2 d + 0.6 d², confidence exp(−d / 0.1)
    d = found.away[far]
    np.testing.assert_allclose(found.expected_error[far], 0.006 + 0.2 * d + 0.6 * d**2)
    np.testing.assert_allclose(found.confidence[far], np.exp(-d / 0.1))


def test_where_nothing_was_seen_nothing_is_sure(bent: Any, registered: Any) -> None:
    elsewhere = Mesh(bent.scan.vertices + 100.0, bent.scan.faces)
    found = sources_of(bent.template, elsewhere, bent.guide, registered)
    assert (found.source == 2).all()
    assert (found.confidence < 1e-3).all()
    assert np.isinf(found.away).all()
