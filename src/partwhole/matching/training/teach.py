"""A network taught by another: the maps of the teacher stand in the place of the ground truth.

What distances can't tell, such as front and back, a teacher finds out by trying several yaw_steps,
and is right for most pairs. A network that learns from all of these maps at once follows the most of them.
"""

from __future__ import annotations

from dataclasses import replace

import torch

from partwhole.matching.evaluation import maps_of
from partwhole.matching.matcher import Matcher
from partwhole.matching.readout.soft_map import ReadOut
from partwhole.matching.training.prepared_pairs import PreparedPairs, Report


def with_teacher_maps(
    stock: PreparedPairs, teacher: Matcher, *, read_out: ReadOut = "spectral", progress: Report | None = None
) -> PreparedPairs:
    """The same pairs, with the teacher's maps for their truth; no ground truth is used.

    Parameters
    ----------
    stock : prepared for the loss, on the device of the teacher
    teacher : gives a map for each pair, at the yaw_steps that it was made for
    read_out : how the maps are read, see `Matcher.vertex_map`
    progress : called with ("teaching", pairs done, pairs in all)
    """
    truths = {}
    maps = maps_of(teacher, stock, read_out)
    for done, ((p, w), (found, _)) in enumerate(zip(stock.pairs, maps, strict=True)):
        if progress is not None and done % 20 == 0:
            progress("teaching", done, len(stock))
        mass = stock.parts[p].mass
        truths[p, w] = found.to(torch.int64), mass / mass.sum()
    if progress is not None:
        progress("teaching", len(stock), len(stock))
    return replace(stock, truths=truths, teacher=str(teacher.card.get("name", "network")))
