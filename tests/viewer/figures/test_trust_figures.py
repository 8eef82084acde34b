"""Figures: what is in the picture, and that files are whole."""

from __future__ import annotations

from pathlib import Path

import matplotlib.image as image
import numpy as np
import pytest

from partwhole.criterion.thresholds import wormhole_criterion
from partwhole.datasets.shapes.primitives import sphere_cap
from partwhole.geodesics import geodesic_distances
from partwhole.viewer.figures.render import CHOSEN, GUARANTEED, rgb
from partwhole.viewer.figures.trust_figures import Region, heat_figure, shares_figure, trust_figure, two_sides

CAP = sphere_cap(300, 2.2)
UPPER = CAP.vertices[:, 2] > 0.3
BLUE, ORANGE = GUARANTEED["wormhole"], GUARANTEED["boundary"]


def share_of(picture: np.ndarray, color: str) -> float:
    """Share of pixels whose hue is that of `color`: the same ratios between its channels, whatever the light."""
    pixels = picture[..., :3].reshape(-1, 3)
    saturated = np.ptp(pixels, axis=1) > 0.15
    pixels = pixels[saturated]
    wanted = rgb(color)
    cosine = pixels @ wanted / (np.linalg.norm(pixels, axis=1) * np.linalg.norm(wanted))
    return float((cosine > 0.995).sum() / saturated.size)


def test_the_regions_are_where_they_should_be(tmp_path: Path) -> None:
    target = tmp_path / "trust.png"
    regions = [Region("few", UPPER & False, color=ORANGE), Region("many", UPPER, color=BLUE)]
    trust_figure(CAP, int(CAP.vertices[:, 0].argmax()), regions, panel_height=200, path=target)
    picture = image.imread(target)
    left, right = np.array_split(picture, 2, axis=1)
    assert share_of(left, ORANGE) < 0.002
    assert share_of(left, BLUE) < 0.002
    assert share_of(right, BLUE) > 0.05
    assert share_of(left, CHOSEN) > 0.0001
    assert [p.name for p in tmp_path.iterdir()] == ["trust.png"]


def test_the_same_figure_is_the_same_file(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        trust_figure(CAP, 0, [Region("upper", UPPER)], title="a cap", panel_height=120, path=tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_titles_and_shares_are_written() -> None:
    figure = trust_figure(CAP, 0, [Region("upper", UPPER), Region("all", UPPER | True, note="closed")], panel_height=60)
    texts = [text.get_text() for text in figure.texts]
    assert texts[:2] == ["upper", f"{UPPER.mean():.0%} of the vertices guaranteed".replace("%", " %")]
    assert texts[2:] == ["all", "closed"]


def test_the_edge_of_a_region_never_moves_a_vertex_to_the_other_side() -> None:
    margin = np.array([np.inf, 1.0, 0.0, -1e-18, -2.0, -np.inf, np.nan])
    mask = np.array([True, True, True, True, False, False, False])
    np.testing.assert_array_equal(two_sides(Region("", mask, margin)) > 0.5, mask)
    np.testing.assert_array_equal(two_sides(Region("", mask)) > 0.5, mask)
    everywhere = np.ones(3, bool)
    np.testing.assert_array_equal(two_sides(Region("", everywhere, np.full(3, np.inf))) > 0.5, everywhere)


def test_a_heat_map_has_its_colours_and_a_bar(tmp_path: Path) -> None:
    height = (CAP.vertices[:, 2] + 1) / 2
    figure = heat_figure(CAP, 5, [height, 1 - height], ["up", "down"], panel_height=150, path=tmp_path / "heat.png")
    assert len(figure.axes) == 3
    picture = image.imread(tmp_path / "heat.png")
    assert share_of(picture, "#fde725") > 0.001  # the yellow end of viridis
    assert share_of(picture, "#21918c") > 0.001  # and its middle


def test_shares_are_drawn_to_length(tmp_path: Path) -> None:
    bars = [("boundary", 0.1, ORANGE), ("wormhole", 0.4, BLUE)]
    figure = shares_figure(bars, consistent=0.5, title="pairs", path=tmp_path / "shares.png")
    assert [bar.get_width() for bar in figure.axes[0].patches[:2]] == [0.1, 0.4]
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert {"10 %", "40 %", "consistent 50 %"} <= set(texts)
    picture = image.imread(tmp_path / "shares.png")
    assert share_of(picture, BLUE) > 2 * share_of(picture, ORANGE) > 0


def test_pyplot_is_never_touched() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from partwhole.viewer.figures.trust_figures import shares_figure as s;"
        "assert 'matplotlib' not in sys.modules;"
        "s([('a', 0.5, 'red')]); print('matplotlib.pyplot' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "False"


@pytest.mark.parametrize("vertex", [-1, 300])
def test_a_vertex_that_is_not_there(vertex: int) -> None:
    for draw in (
        lambda: trust_figure(CAP, vertex, [Region("upper", UPPER)]),
        lambda: heat_figure(CAP, vertex, [UPPER * 1.0], ["upper"]),
    ):
        with pytest.raises(ValueError, match=f"vertex {vertex} is not in .*, whose vertices are 0 to 299"):
            draw()


def test_bad_panels_are_named() -> None:
    with pytest.raises(ValueError, match=r"upper: mask must have shape \(300,\), got \(7,\)"):
        trust_figure(CAP, 0, [Region("upper", UPPER[:7])])
    with pytest.raises(ValueError, match="0 panels and 0 titles"):
        trust_figure(CAP, 0, [])
    with pytest.raises(ValueError, match="1 panels and 2 titles"):
        heat_figure(CAP, 0, [UPPER * 1.0], ["a", "b"], panel_height=50)
    with pytest.raises(ValueError, match="limits must rise"):
        heat_figure(CAP, 0, [UPPER * 1.0], ["a"], limits=(1.0, 1.0))


def test_a_region_is_taken_from_the_row_of_its_vertex() -> None:
    D = geodesic_distances(CAP, method="dijkstra")
    rows = np.array([7, 250, 31])
    every, some = wormhole_criterion(CAP, D), wormhole_criterion(CAP, D, rows=rows)
    np.testing.assert_array_equal(Region.of(some, 31).mask, every.mask[31])
    np.testing.assert_array_equal(Region.of(every, 31).margin, Region.of(some, 31).margin)
    assert Region.of(every, 31).color == BLUE
    with pytest.raises(ValueError, match="vertex 8 is not among the 3 rows"):
        Region.of(some, 8)
