"""What landmarks say of places."""

from __future__ import annotations

import torch

from partwhole.matching.readout.landmarks import LandmarkDistances


def test_only_those_that_are_sure_are_places_of_the_map() -> None:
    none = torch.zeros((2, 9))
    marks = LandmarkDistances(
        part=torch.tensor([5, 8]),
        whole=torch.tensor([3, 17]),
        least=none,
        most=none,
        on_whole=torch.zeros((2, 20)),
        tolerance=none + 1,
        pull=none,
        sure=torch.tensor([True, False]),
        contradictions=torch.zeros(2),
        alone=torch.tensor([False, True]),
        weight=1.0,
    )
    assert marks.sure_pairs.tolist() == [[5, 3]]
    assert marks.held(torch.arange(9)).tolist() == [0, 1, 2, 3, 4, 3, 6, 7, 8]
