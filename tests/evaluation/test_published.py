"""Published numbers, and the table they stand in beside ours."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

from partwhole.evaluation import PUBLISHED, Evaluation, PairResult, Protocol, error_table, published_rows


def test_every_row_is_there_once() -> None:
    assert len({(row.method, row.learning, row.data) for row in PUBLISHED}) == len(PUBLISHED)
    assert [len(published_rows(data)) for data in ("PFAUST-M", "PFAUST-H")] == [5, 5]
    assert list(published_rows("PFAUST-M"))[:2] == ["DPFM, supervised", "Unsupervised DPFM"]
    assert len(published_rows("SHREC'16 HOLES")) == 19
    assert len(published_rows("SHREC'16 HOLES", refined=False)) == 9
    assert published_rows("SHREC'16 CUTS", refined=True)["Wormhole → refined, unsupervised"] == {"micro": 4.3}


def test_they_stand_beside_ours() -> None:
    ours = Evaluation([PairResult("p", np.array([0.05]))], Protocol(data="PFAUST-H test"))
    table = error_table({**published_rows("PFAUST-H"), "ours": ours})
    assert table.rows[4][:3] == ("Wormhole, unsupervised", "6.70", "–")
    assert table.rows[5][:3] == ("ours", "5.00", "5.00")
    assert table.protocols[0] == "as published, by its own protocol"


def test_data_that_nobody_published() -> None:
    with pytest.raises(ValueError, match=r"nothing published is known for data='TOSCA'.*known are PFAUST-M"):
        inspect.unwrap(published_rows)("TOSCA")
    with pytest.raises(ValueError, match="refined=True"):
        published_rows("PFAUST-M", refined=True)
