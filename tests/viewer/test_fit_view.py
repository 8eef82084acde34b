"""The view of a fit in a real browser: what was seen and what was made up, the sliders, and triangles that are bad."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from partwhole.registration import FittedTemplate
from partwhole.registration.result import SOURCE_COLORS
from partwhole.viewer.page.export import export_report
from partwhole.viewer.page.results import scene_of_result

Browse = Callable[..., Any]


@pytest.fixture(scope="module")
def report(fitted: FittedTemplate, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("fit") / "report.html"
    export_report(scene_of_result(fitted), path)
    return path.as_uri()


def slide(page: Any, name: str, value: float, event: str = "input") -> None:
    page.script(
        f"(() => {{ const e = document.getElementById('{name}'); e.value = {value}; "
        f"e.dispatchEvent(new Event('{event}')); }})()"
    )


def fitted_panel(picture: np.ndarray) -> np.ndarray:
    return picture[:, picture.shape[1] // 2 :]


def share_of(picture: np.ndarray, color: np.ndarray) -> float:
    """Of the pixels that are not background, those that have a colour, in whatever light."""
    pixels = picture.reshape(-1, 3).astype(float)
    pixels = pixels[np.ptp(pixels, axis=1) + (255 - pixels.max(axis=1)) > 20]
    off = pixels / np.linalg.norm(pixels, axis=1, keepdims=True) - color / np.linalg.norm(color)
    return float((np.linalg.norm(off, axis=1) < 0.1).mean())


def test_the_fit_is_shown_first(report: str, browse: Browse) -> None:
    page = browse(report)
    assert page.script("[...document.querySelectorAll('#views button')].map((b) => b.innerText)")[:2] == [
        "Fit",
        "Correspondence",
    ]
    titles = page.script("[...document.querySelectorAll('.panel h2')].map((h) => h.innerText.split('\\n')[0])")
    assert titles == ["Scan", "Fitted template"]
    legend = page.text("#legend")
    assert "seen by the scan" in legend
    assert "made up: the scan saw nothing there" in legend
    assert "turned over: 1 triangle" in legend
    assert "intersecting: 2 pairs of triangles" in legend
    assert "turned over" in page.text("#warnings")
    # other views, and back by its key
    page.view("trust")
    page.key("f")
    assert page.script("partwhole.state.view") == "fit"
    assert page.script("document.querySelectorAll('.panel').length") == 2


def test_what_was_made_up_has_another_colour(report: str, browse: Browse) -> None:
    page = browse(report)
    for source, other in ((0, 2), (2, 0)):
        page.script(f"partwhole.scene.fit.arrays.fit_source.fill({source})")
        page.script("partwhole.scene.fit.coats.clear(); partwhole.refresh()")
        picture = fitted_panel(page.picture())
        assert share_of(picture, SOURCE_COLORS[source]) > 0.5
        assert share_of(picture, SOURCE_COLORS[other]) < 0.05


def test_sliders_move_the_template_and_lay_the_scan_over_it(
    report: str, browse: Browse, fitted: FittedTemplate
) -> None:
    page = browse(report)
    title = "document.querySelectorAll('.panel h2')[1].innerText"
    heights = (
        "(() => { const { low, high } = partwhole.state.cameras.fit.extent(partwhole.scene.fit.surface); "
        "return high[1] - low[1]; })()"
    )
    before, tall = page.picture(), page.script(heights)
    slide(page, "blend", 0)
    assert page.script(title).startswith("Template at rest")
    assert page.script(heights) > 1.05 * tall
    assert not np.array_equal(page.picture(), before)
    slide(page, "blend", 50)
    assert page.script(title).startswith("Template, 50")
    slide(page, "blend", 100)
    assert np.array_equal(page.picture(), before)
    # the scan covers what it saw, and no more
    slide(page, "opacity", 100)
    assert "the scan, over the template" in page.text("#legend")
    green = np.array([0x45, 0xB0, 0x8C])
    assert share_of(fitted_panel(before), green) < 0.02
    assert share_of(fitted_panel(page.picture()), green) > 0.3


def test_coats_have_their_own_range(report: str, browse: Browse) -> None:
    page = browse(report)
    field = "document.getElementById('limit').parentElement.hidden"
    assert page.script(field)
    page.click('#fit-coat [value="distance"]')
    assert not page.script(field)
    assert "How far the template is from the scan" in page.text("#legend")
    first = page.text("#legend .ends")
    slide(page, "limit", 7, "change")
    assert page.text("#legend .ends") != first
    assert "7 % or more" in page.text("#legend .ends").replace("\u00a0", " ")
    page.click('#fit-coat [value="error"]')
    assert "Expected distance of a vertex" in page.text("#legend")


def test_a_click_tells_what_a_vertex_rests_on(report: str, browse: Browse, fitted: FittedTemplate) -> None:
    page = browse(report)

    def details() -> dict[str, str]:
        code = "[...document.querySelectorAll('#details dt')].map((t) => [t.innerText, t.nextSibling.innerText])"
        return dict(page.script(code))

    vertex = page.click_vertex(1, skip=5)
    said = details()
    assert said["vertex of the template"] == str(vertex)
    assert said["source"] == fitted.source_names[int(fitted.source[vertex])]
    assert float(said["distance to the scan"].split()[0]) == pytest.approx(fitted.distance[vertex], rel=0.06)
    # on the scan: the vertex, and where it lies on the template
    vertex = page.click_vertex(0, skip=5)
    said = details()
    assert said["vertex of the scan"] == str(vertex)
    assert said["vertex of the template"] == str(fitted.match.vertex_map[vertex])
    page.click_vertex(1, skip=5)
    page.script(f"partwhole.chooseVertex({fitted.match.part.n_vertices - 1})")
    assert details()["on the template"] == "lies apart from it"


def test_the_fitted_template_is_downloaded(report: str, browse: Browse, fitted: FittedTemplate, tmp_path: Path) -> None:
    from partwhole.mesh import read_mesh

    page = browse(report)
    page.downloads_to(tmp_path)
    slide(page, "blend", 30)  # what is saved is the fit all the same
    page.script("document.querySelector('[data-action=\"ply-fit\"]').click()")
    path = tmp_path / "ball-fitted-to-scan.ply"
    page.until(path.exists)
    assert np.allclose(read_mesh(path).vertices, fitted.mesh.vertices, atol=1e-5)
