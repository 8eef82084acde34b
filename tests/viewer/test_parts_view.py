"""The view of two parts in a real browser: partners in the same colours, the rest grey, both turned together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from partwhole.matching.parts.result import PartsMatch
from partwhole.viewer.page.export import export_report
from partwhole.viewer.page.results import scene_of_result

Browse = Callable[..., Any]


@pytest.fixture(scope="module")
def report(two_parts: PartsMatch, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("parts") / "report.html"
    export_report(scene_of_result(two_parts), path)
    return path.as_uri()


def coloured(picture: np.ndarray) -> float:
    """Of the pixels that are not background, those that are not grey."""
    pixels = picture.reshape(-1, 3).astype(float)
    spread = np.ptp(pixels, axis=1)
    drawn = pixels.max(axis=1) < 235
    return float((spread[drawn] > 40).mean())


def test_what_is_shared_is_shown_first(report: str, browse: Browse) -> None:
    page = browse(report)
    assert page.script("[...document.querySelectorAll('#views button')].map((b) => b.innerText)") == [
        "Shared",
        "Overlap",
        "Confidence",
        "Trust",
    ]
    titles = page.script("[...document.querySelectorAll('.panel h2')].map((h) => h.innerText.split('\\n')[0])")
    assert titles == ["First part", "Second part"]
    assert "Partners have the same colour" in page.text("#legend")
    assert "nobody matched them" in page.text("#warnings")
    assert "a note" in page.text("#notes")
    assert page.script("document.getElementById('add').hidden")
    assert page.script("document.getElementById('linked').checked")


def test_what_only_one_part_has_is_grey(report: str, browse: Browse) -> None:
    page = browse(report)
    for role in ("part", "whole"):
        page.script(f"partwhole.scene.arrays.{role}_shared.fill(1)")
    page.script("partwhole.coats = {}; partwhole.refresh()")
    assert coloured(page.picture()) > 0.5
    for role in ("part", "whole"):
        page.script(f"partwhole.scene.arrays.{role}_shared.fill(0)")
    page.script("partwhole.coats = {}; partwhole.refresh()")
    assert coloured(page.picture()) < 0.05


def test_partners_have_the_same_colour(report: str, browse: Browse, two_parts: PartsMatch) -> None:
    page = browse(report)
    v, w = (int(number) for number in two_parts.partners[7])
    paint = "partwhole.coats.shared.{}.paint.slice(3 * {}, 3 * {} + 3).map((x) => Math.round(1000 * x)).join()"
    assert page.script(paint.format("part", v, v)) == page.script(paint.format("whole", w, w))
    alone = int(np.flatnonzero(~two_parts.b_to_a.shared)[0])
    assert page.script(paint.format("whole", alone, alone)) != page.script(paint.format("whole", w, w))
    page.script(f"partwhole.chooseVertex({v})")
    assert str(w) in page.text("#details").split("\n")
    assert "0.90" in page.text("#details")
    alone = int(np.flatnonzero(~two_parts.a_to_b.shared)[0])
    page.script(f"partwhole.chooseVertex({alone})")
    assert "none" in page.text("#details").split("\n")
    # nothing is marked on the other part, where there is no partner
    assert page.script("partwhole.panels.list[1].dots.length") == 0


def test_the_probability_of_overlap(report: str, browse: Browse) -> None:
    page = browse(report)
    page.view("overlap")
    assert "How probable it is that a vertex is on both parts" in page.text("#legend")
    page.view("confidence")
    assert "How sure each match is, and that there is one" in page.text("#legend")
