from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from partwhole.criterion import consistency, summarise, wormhole_criterion
from partwhole.criterion.study import KINDS
from partwhole.datasets.shapes.primitives import plane
from partwhole.mesh import Mesh


def test_counts(torn_sphere) -> None:
    torn = torn_sphere(0, n_vertices=300)
    D, W = torn.D_part, torn.D_whole
    off = ~np.eye(len(D), dtype=bool)
    study = consistency(torn.part, D, W, tolerances=(1e-6, 0.05))
    for row in study.rows:
        consistent = off & (np.abs(D - W) <= row.tolerance * W)
        mask = wormhole_criterion(torn.part, D).mask & off
        assert row.n_pairs == off.sum()
        assert row.n_consistent == consistent.sum()
        assert row.consistent == consistent.sum() / off.sum()
        assert row.found("wormhole") == (consistent & mask).sum() / consistent.sum()
        assert row.of("wormhole").n_guaranteed == mask.sum()
        assert [g.n_false for g in row.criteria] == [0, 0, 0]
        assert row.found("boundary") < row.found("wormhole") <= row.found("same-loop")


def test_false_guarantees_are_counted(torn_sphere) -> None:
    torn = torn_sphere(1)
    n = len(torn.D_part)
    whole = torn.D_whole / 2
    row = consistency(torn.part, torn.D_part, whole, criteria=["wormhole"], tolerances=[0.1]).rows[0]
    assert row.n_consistent == 0
    assert row.of("wormhole").n_false == wormhole_criterion(torn.part, torn.D_part).n_guaranteed > n
    assert np.isnan(row.found("wormhole"))


def test_sound_and_single_precision(torn_sphere) -> None:
    torn = torn_sphere(2, n_vertices=300)
    plain = consistency(torn.part, torn.D_part, torn.D_whole).rows[0]
    D, W = torn.D_part.astype(np.float32), torn.D_whole.astype(np.float32)
    single = consistency(torn.part, D, W).rows[0]
    sound = consistency(torn.part, D, W, sound=True).rows[0]
    for kind in KINDS:
        assert single.found(kind) == pytest.approx(plain.found(kind), abs=1e-3)
        assert sound.found(kind) < single.found(kind)
        assert sound.of(kind).n_false == single.of(kind).n_false == 0


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch, torn_sphere) -> None:
    torn = torn_sphere(3)
    study = consistency(torn.part, torn.D_part, torn.D_whole)
    monkeypatch.setattr("partwhole.criterion.study.BLOCK_ENTRIES", 1000)
    assert consistency(torn.part, torn.D_part, torn.D_whole) == study


def test_infinite_distances(graph_distances) -> None:
    sheet = plane((4, 4))
    D = graph_distances(sheet)
    two = Mesh(np.concatenate([sheet.vertices] * 2), np.concatenate([sheet.faces, sheet.faces + 16]))
    apart = graph_distances(two)
    joined = np.block([[D, D + 1], [D + 1, D]])
    criteria = ["boundary", "wormhole"]
    both = consistency(two, apart, apart, criteria=criteria).rows[0]
    assert (both.n_pairs, both.n_consistent) == (2 * 16 * 15, 2 * 16 * 15)
    torn_apart = consistency(two, apart, joined, criteria=criteria).rows[0]
    assert (torn_apart.n_pairs, torn_apart.n_consistent) == (32 * 31, 2 * 16 * 15)
    assert all(g.n_false == 0 for g in torn_apart.criteria)


def test_summary(torn_sphere) -> None:
    studies = []
    for seed in range(3):
        torn = torn_sphere(seed)
        studies.append(consistency(torn.part, torn.D_part, torn.D_whole, tolerances=(1e-6, 0.01)))
    summary = summarise(studies)
    assert (summary.n_shapes, summary.kinds) == (3, KINDS)
    shares = [s.rows[1].found("same-loop") for s in studies]
    assert summary.rows[1].found[2].mean == pytest.approx(np.mean(shares))
    assert summary.rows[1].found[2].std == pytest.approx(np.std(shares))
    assert summary.rows[0].consistent.mean == pytest.approx(np.mean([s.rows[0].consistent for s in studies]))
    assert summary.rows[0].n_false == (0, 0, 0)
    lines = summary.table().splitlines()
    assert lines[0].startswith("| tolerance | consistent | boundary, of these | wormhole, of these")
    assert len(lines) == 4
    assert lines[2].startswith("| 1e-06 | ")
    assert f"{100 * np.mean(shares):.1f} ± {100 * np.std(shares):.1f} %" in lines[3]
    assert len({line.count("|") for line in lines}) == 1


def test_errors(torn_sphere) -> None:
    torn = torn_sphere(0)
    D, W = torn.D_part, torn.D_whole
    with pytest.raises(ValueError, match=r"D_whole has shape \(3, 3\).*np.ix_"):
        consistency(torn.part, D, W[:3, :3])
    with pytest.raises(ValueError, match="D_whole contains nan"):
        consistency(torn.part, D, np.full_like(W, np.nan))
    for criteria in (["wormhole", "wormhole"], ["wormholes"]):
        with pytest.raises(ValueError, match="criteria must be distinct and among"):
            consistency.__wrapped__(torn.part, D, W, criteria=criteria)  # past the check of the annotation
    study = consistency(torn.part, D, W, criteria=["boundary"])
    with pytest.raises(ValueError, match="got 2 kinds"):
        summarise([study, replace(study, sound=True)])
    with pytest.raises(ValueError, match="got 0 kinds"):
        summarise([])
