"""The real page in a real browser: what people see and touch."""

from __future__ import annotations

import csv
import json
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from partwhole.criterion import boundary_criterion
from partwhole.datasets import GroundTruth
from partwhole.datasets.cutting.cuts import Cut
from partwhole.geodesics import geodesic_distances
from partwhole.matching.result import LandmarkResult
from partwhole.mesh import LandmarkPair, Mesh, read_landmark_pairs, read_mesh
from partwhole.mesh.io import write_mesh
from partwhole.viewer.figures.render import outward_normals
from partwhole.viewer.page import session as session_module
from partwhole.viewer.page.export import export_report
from partwhole.viewer.page.scene import Scene
from partwhole.viewer.page.server import PageServer
from partwhole.viewer.page.session import Session
from partwhole.viewer.page.trust_explorer import TrustExplorer

Serve = Callable[..., PageServer]
Browse = Callable[..., Any]
PICTURES = Path(__file__).with_name("pictures")
VISIBLE = 30  # of 255, in one of three colours


def wait_for_file(folder: Path, pattern: str) -> Path:
    end = time.monotonic() + 20
    # a browser puts an empty file in the place first
    while not (
        found := [path for path in folder.glob(pattern) if path.suffix != ".crdownload" and path.stat().st_size]
    ):
        assert time.monotonic() < end, f"no {pattern} came"
        time.sleep(0.02)
    return found[0]


def looks_as_kept(picture: np.ndarray, name: str) -> bool:
    """Whether it looks like the small picture that was kept: no more than some cells along edges differ visibly.

    Graphics cards and drivers round differently, and place an edge a pixel of the page further, an eighth of a cell.
    PARTWHOLE_KEEP_PICTURES=1 keeps what is seen now.
    """
    from PIL import Image

    small = Image.fromarray(picture).resize((120, 90), Image.Resampling.BOX)
    path = PICTURES / f"{name}.png"
    if os.environ.get("PARTWHOLE_KEEP_PICTURES"):
        PICTURES.mkdir(exist_ok=True)
        small.save(path)
    kept = np.asarray(Image.open(path).convert("RGB"), dtype=float)
    off = np.abs(np.asarray(small, dtype=float) - kept).max(axis=2)
    return bool((off > VISIBLE).mean() < 0.02 and off.mean() < VISIBLE / 5)


def test_a_result_is_shown(scene: Scene, serve: Serve, browse: Browse) -> None:
    server = serve(Session(scene))
    page = browse(server.address)
    assert page.text("h1") == "scan → ball"
    assert page.script("document.title") == "scan → ball · partwhole"
    names = page.script("[...document.querySelectorAll('#views button')].map((b) => b.innerText)")
    assert names == ["Correspondence", "Texture", "Confidence", "Distortion", "Trust"]
    headings = page.script("[...document.querySelectorAll('.panel h2')].map((h) => h.innerText.split('\\n'))")
    assert [heading[0] for heading in headings] == ["Part", "Whole"]
    assert f"{scene.part.full.n_vertices} vertices, 2 boundary loops" in headings[0][1]
    # every request went to the server, and nowhere else
    assert all(address.startswith((server.address.split("?")[0], "data:")) for address in page.asked)


def test_pictures_are_as_they_were(scene: Scene, cut: Cut, serve: Serve, browse: Browse) -> None:
    known = replace(scene, truth=GroundTruth.of_map(np.roll(cut.vertex_map, 5)))
    page = browse(serve(Session(known, method="dijkstra")).address, size=(1272, 760))
    page.script("partwhole.chooseVertex(57)")
    for view, found in (
        ("correspondence", "rings"),
        ("texture", "rings"),
        ("confidence", "rings"),
        ("errors", "errors"),
        ("distortion", "distortion"),
        ("trust", "pair"),
    ):
        page.view(view)
        page.wait(f"partwhole.state.found.{found}")
        assert looks_as_kept(page.picture(), view), view


def test_wrong_pictures_are_seen_to_be_wrong(scene: Scene, serve: Serve, browse: Browse) -> None:
    page = browse(serve(Session(scene, method="dijkstra")).address, size=(1272, 760))
    page.script("partwhole.chooseVertex(57)")
    for view, spoil in (
        # the colour map the other way round
        ("confidence", "const t = coat.table; coat.table = t.map((_, k) => t[1020 - 4 * (k >> 2) + k % 4])"),
        # red for blue
        ("correspondence", "coat.paint = coat.paint.map((_, k) => coat.paint[k - k % 3 + 2 - k % 3])"),
        # looked at from a little beside
        ("texture", "camera.turn(8, 0)"),
    ):  # fmt: skip
        page.view(view)
        page.wait("partwhole.state.found.rings")
        assert looks_as_kept(page.picture(), view), view
        page.script(f"(() => {{ const {{ coat, camera }} = partwhole.panels.list[0]; {spoil}; partwhole.draw(); }})()")
        assert not looks_as_kept(page.picture(), view), view


def test_dark_is_dark(scene: Scene, serve: Serve, browse: Browse) -> None:
    page = browse(serve(Session(scene)).address, dark=True)
    shot = page.screenshot()
    assert np.median(shot) < 60
    page.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "light"}])
    page.settle()
    assert np.median(page.screenshot()) > 200


def test_a_click_shows_the_match(scene: Scene, serve: Serve, browse: Browse) -> None:
    assert scene.vertex_map is not None
    assert scene.confidence is not None
    page = browse(serve(Session(scene)).address)
    vertex = page.click_vertex(0, skip=9)
    page.wait("partwhole.state.found.rings")
    details = dict(
        page.script("[...document.querySelectorAll('#details dt')].map((t) => [t.innerText, t.nextSibling.innerText])")
    )
    assert details["vertex of the part"] == str(vertex)
    assert details["its match on the whole"] == str(scene.vertex_map[vertex])
    assert float(details["confidence"]) == pytest.approx(scene.confidence[vertex], abs=1e-3)
    assert page.script("document.getElementById('vertex').value") == str(vertex)
    # the same from the other side: a click on the whole finds the vertex of the part that goes there
    target = page.click_vertex(1, skip=30)
    page.wait("partwhole.state.found.rings")
    picked = page.script("partwhole.state.picked")
    away = np.linalg.norm(scene.whole.mesh.vertices[scene.vertex_map] - scene.whole.mesh.vertices[target], axis=1)
    assert away[picked] <= away.min() + 1e-5


def test_a_drag_turns_and_linked_cameras_follow(scene: Scene, serve: Serve, browse: Browse) -> None:
    page = browse(serve(Session(scene)).address)
    angles = "Object.values(partwhole.state.cameras).map((c) => [c.azimuth, c.elevation])"
    before = page.script(angles)
    page.drag((200, 300), (300, 340))
    after = page.script(angles)
    assert after[0] != before[0]
    assert after[1] == before[1]
    assert page.script("partwhole.state.picked") is None  # a drag is no click
    page.click("#linked")
    state = "Object.values(partwhole.state.cameras).map((c) => [c.azimuth, c.elevation, c.zoom])"
    before = np.array(page.script(state))
    page.drag((200, 300), (240, 310))
    page.send("Input.dispatchMouseEvent", type="mouseWheel", x=200, y=300, deltaX=0, deltaY=-100)
    page.wait(f"Object.values(partwhole.state.cameras)[1].zoom > {before[1, 2]}")
    after = np.array(page.script(state))
    # both turn by as much, and grow by as much, whatever they looked like before
    turned = (after - before)[:, :2]
    assert np.abs(turned[0]).min() > 1
    np.testing.assert_allclose(turned[0], turned[1], atol=1e-9)
    np.testing.assert_allclose(after[0, 2] / before[0, 2], after[1, 2] / before[1, 2])
    # and one that starts again takes the other along
    page.script("document.querySelector('.panel').focus()")
    page.key("0")
    page.settle()
    page.settle()
    np.testing.assert_allclose(np.array(page.script(state))[:, :2], page.script(
        "Object.values(partwhole.state.cameras).map((c) => [c.start.azimuth, c.start.elevation])"))  # fmt: skip


def test_what_is_slow_to_draw_turns_coarsely_and_rests_finely(scene: Scene, serve: Serve, browse: Browse) -> None:
    page = browse(serve(Session(scene)).address)
    fine = page.picture()
    # as if the browser had told of frames that take long
    page.script("Object.assign(partwhole.motion, { fineness: 0.4, coarse: true })")
    page.script(
        "window.drawn = []; const draw = partwhole.painter.draw.bind(partwhole.painter);"
        "partwhole.painter.draw = (...given) => { drawn.push([partwhole.painter.coarse, partwhole.painter.pixel]);"
        " draw(...given); }"
    )
    page.script(
        "const { camera } = partwhole.panels.list[0]; camera.turn(30, 0); partwhole.turned(partwhole.panels.list[0])"
    )
    page.wait("drawn.some(([coarse, pixel]) => coarse && pixel < 0.5)")
    page.wait("drawn.length && !drawn.at(-1)[0] && drawn.at(-1)[1] === 1")  # soon after it rests
    page.script("camera.turn(-30, 0); partwhole.draw()")
    page.settle()
    assert np.abs(fine.astype(int) - page.picture()).mean() < 1
    count, all_of_them = page.script("[partwhole.scene.part.coarseFaces.length, partwhole.scene.part.faces.length]")
    assert 0 < count <= all_of_them


def test_all_can_be_done_from_the_keyboard(scene: Scene, serve: Serve, browse: Browse) -> None:
    page = browse(serve(Session(scene)).address)
    page.script("document.querySelector('#views button[aria-checked=true]').focus()")
    page.key("ArrowRight")
    assert page.script("partwhole.state.view") == "texture"
    assert page.script("document.activeElement.getAttribute('aria-checked')") == "true"
    page.script("document.querySelector('.panel').focus()")
    page.key("3")
    assert page.script("partwhole.state.view") == "confidence"
    page.key("6")  # errors, which are not known here
    page.key("9")  # there are not so many
    page.script("document.getElementById('vertex').focus()")
    page.key("1")  # is a number to be typed here
    assert page.script("partwhole.state.view") == "confidence"
    page.script("document.getElementById('boundaries').focus()")
    page.key("2")  # nobody types into a box to be ticked
    assert page.script("partwhole.state.view") == "texture"
    page.script("document.querySelector('.panel').focus()")
    azimuth = page.script("partwhole.state.cameras.part.azimuth")
    page.key("ArrowLeft")
    assert page.script("partwhole.state.cameras.part.azimuth") != azimuth
    page.key("+")
    page.key("0")
    page.key("Enter")
    page.wait("partwhole.state.picked !== null")
    page.script("document.getElementById('vertex').value = 11; document.getElementById('choose').requestSubmit()")
    assert page.script("partwhole.state.picked") == 11
    page.script("document.getElementById('choose').noValidate = true; document.getElementById('vertex').value = 99999;"
                "document.getElementById('choose').requestSubmit()")  # fmt: skip
    assert "there is no vertex 99999" in page.text("#status")
    unlabelled = page.script(
        "[...document.querySelectorAll('button, input, select')].filter((e) => !e.hidden && !e.textContent.trim()"
        " && !e.labels?.length && !e.ariaLabel).map((e) => e.outerHTML)"
    )
    assert unlabelled == []
    assert page.script("document.querySelector('#status').getAttribute('aria-live')") == "polite"


def test_a_view_has_the_same_key_whatever_else_is_shown(scene: Scene, cut: Cut, serve: Serve, browse: Browse) -> None:
    keys = {"plain": "1", "correspondence": "1", "texture": "2", "confidence": "3", "distortion": "4", "trust": "5"}
    known = replace(scene, truth=GroundTruth.of_map(cut.vertex_map))
    for shown in (scene, known, Scene.of(cut.part, cut.whole)):
        page = browse(serve(Session(shown, match=False)).address)
        views = page.script("[...document.querySelectorAll('#views button')].map((b) => [b.dataset.view, b.title])")
        for view, title in views:
            key = (keys | {"errors": "6"})[view]
            page.key(key)
            assert page.script("partwhole.state.view") == view
            # a pointer that rests on the button is told, and so is who reads the hint
            assert title.endswith(f"key {key}")
            assert f"{key} {page.text(f'[data-view={view}]')}" in page.text("#hint")


def test_the_slider_between_before_and_after_shows_what_it_stands_at(
    scene: Scene, serve: Serve, browse: Browse
) -> None:
    page = browse(serve(Session(scene)).address)

    def at(value: int) -> np.ndarray:
        page.script(f"document.getElementById('wipe').value = {value}")
        page.script("document.getElementById('wipe').dispatchEvent(new Event('input'))")
        page.settle()
        return page.picture().astype(int)

    # at its right end, where "after" stands, it begins, and shows the map itself
    at_first = page.picture().astype(int)
    assert page.script("document.getElementById('wipe').value") == "100"
    words = page.script("[...document.querySelector('#wiper').children].map((e) => e.innerText)")
    assert words[0].startswith("before")
    assert words[2] == "after"
    after, between, before = at(100), at(50), at(0)
    assert np.abs(after - at_first).max() < 12
    panel = after.shape[1] // 2
    changed = [(np.abs(a - b).max(axis=2) > 12) for a, b in ((after, before), (after, between), (between, before))]
    assert changed[0][:, : panel - 4].mean() > 0.01
    for apart in changed:
        assert apart[:, panel + 4 :].mean() == 0  # the whole stays as it is
    # in between the line stands where the slider does: to its left the map after refinement, to its right the one before
    assert changed[1][:, : panel // 2 - 90].mean() == 0
    assert changed[1][:, panel // 2 + 90 : panel - 4].mean() > 0.01
    assert changed[2][:, panel // 2 + 90 : panel - 4].mean() == 0
    assert changed[2][:, : panel // 2 - 90].mean() > 0.01
    # the map before is the one before
    np.testing.assert_array_equal(
        page.script("Array.from(partwhole.panels.list[0].coat.before.slice(0, 3))"),
        page.script(
            "Array.from(partwhole.panels.list[1].coat.paint.subarray(3 * partwhole.scene.before[0]).slice(0, 3))"
        ),
    )
    assert page.script("document.getElementById('wipe').ariaValueText") == "before refinement"


def test_the_trust_explorer(scene: Scene, serve: Serve, browse: Browse) -> None:
    page = browse(serve(Session(scene)).address)
    page.view("trust")
    titles = page.script("partwhole.panels.list.map((p) => p.title)")
    assert titles[:2] == ["C_T, boundary criterion", "C_W, wormhole criterion"]
    page.wait("partwhole.state.found.pair")  # of the vertex that it opens with
    vertex = page.click_vertex(1, skip=20)
    page.wait(f"partwhole.state.found.pair && partwhole.state.found.trust?.vertex === {vertex}")
    row = TrustExplorer.of(scene.part.mesh).row(vertex)
    shares = page.script("partwhole.state.found.trust.shares")
    for kind in ("boundary", "wormhole", "same-loop"):
        # but for a vertex or two that rounding decides
        assert shares[kind.replace("-", "_")] == pytest.approx(
            row.guaranteed(kind).mean(), abs=2.5 / len(row.distances)
        )
    assert page.script("partwhole.panels.list.length") == 4
    # the pair that misses its threshold by most is explained without being asked for
    other = page.script("partwhole.state.other")
    assert not row.guaranteed("wormhole")[other]
    assert "so nothing is proved" in page.text("#details")
    assert "Not proved: fast marching is approximate" in page.text("#details")
    # what is under the pointer is told as well
    under, x, y = page.seen_vertex(1, skip=20)
    names = {"boundary": "C_T", "wormhole": "C_W", "same-loop": "C_L"}
    by = ", ".join(name for kind, name in names.items() if row.guaranteed(kind)[under])
    page.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    page.wait(f"partwhole.panels.list[1].frame.innerText.includes('vertex {under}, guaranteed by {by}')")
    # and another one with Shift
    chosen = page.click_vertex(1, skip=60, shift=True)
    page.wait(f"partwhole.state.found.pair.other === {chosen}")
    assert f"{vertex} and {chosen}" in page.text("#details")
    assert page.script("partwhole.state.picked") == vertex
    hole = page.script("partwhole.state.found.pair.wormhole")
    assert hole["to_boundary"] + hole["across"] + hole["from_boundary"] == pytest.approx(
        row.thresholds["wormhole"][chosen], rel=1e-4
    )


def test_trust_opens_with_a_vertex_that_tells_something(
    scene: Scene, serve: Serve, browse: Browse, tmp_path: Path
) -> None:
    export_report(scene, tmp_path / "report.html")
    part = scene.part.mesh
    guaranteed = boundary_criterion(part, geodesic_distances(part, method="dijkstra")).mask.mean(axis=1)
    to_the_eye = outward_normals(part) @ scene.part.camera.axes[2]
    for address in (serve(Session(scene)).address, (tmp_path / "report.html").as_uri()):
        page = browse(address)
        page.view("trust")
        page.wait("partwhole.state.found.pair")
        vertex = page.script("partwhole.state.picked")
        assert page.script("document.getElementById('vertex').value") == str(vertex)
        # one that is seen at once, and more is guaranteed with it than with most
        assert to_the_eye[vertex] > 0.2
        assert guaranteed[vertex] > np.median(guaranteed[to_the_eye > 0.3])
        shares = page.script("partwhole.state.found.trust.shares")
        assert 0.01 < shares["boundary"] < shares["wormhole"] < 1
        # no two panels look alike
        boxes, shot = page.script("partwhole.panels.boxes()"), page.picture().astype(int)
        places = [{name: int(value) for name, value in box.items()} for box in boxes]
        seen = [
            shot[p["top"] + 2 : p["top"] + p["height"] - 2, p["left"] + 2 : p["left"] + p["width"] - 2] for p in places
        ]
        for k, one in enumerate(seen):
            for other in seen[:k]:
                height, width = (min(a, b) for a, b in zip(one.shape[:2], other.shape[:2], strict=True))
                apart = np.abs(one[:height, :width] - other[:height, :width]).max(axis=2)
                assert (apart > 30).mean() > 0.005
    # who has chosen a vertex already keeps it
    page.view("correspondence")
    page.script("partwhole.chooseVertex(3)")
    page.view("trust")
    assert page.script("partwhole.state.picked") == 3


def test_a_drag_turns_after_a_click_with_shift(scene: Scene, serve: Serve, browse: Browse) -> None:
    page = browse(serve(Session(scene)).address)
    page.view("trust")
    page.wait("partwhole.state.found.pair")
    chosen = page.click_vertex(0, skip=40, shift=True)
    page.wait(f"partwhole.state.found.pair.other === {chosen}")
    page.click_vertex(2, skip=60, shift=True)
    assert page.script("getSelection().toString()") == ""
    for x, y in (page.seen_vertex(1, skip=50)[1:], page.middle(".panel h2 small")):
        azimuth = page.script("partwhole.state.cameras.part.azimuth")
        page.drag((x, y), (x + 80, y))
        assert page.script("partwhole.state.cameras.part.azimuth") != azimuth


def test_distances_with_a_proof_can_be_chosen(scene: Scene, serve: Serve, browse: Browse) -> None:
    page = browse(serve(Session(scene)).address)
    page.view("trust")
    page.script("partwhole.chooseVertex(40)")
    page.wait("partwhole.state.found.trust?.vertex === 40")
    page.script(
        "const m = document.getElementById('method'); m.value = 'dijkstra'; m.dispatchEvent(new Event('change'))"
    )
    page.wait("partwhole.state.found.trust && partwhole.state.found.pair")
    assert "Proved: a guaranteed pair has the same distance along edges on the whole" in page.text("#details")
    row = TrustExplorer.of(scene.part.mesh, method="dijkstra").row(40)
    assert page.script("partwhole.state.found.trust.shares.wormhole") == pytest.approx(
        row.guaranteed("wormhole").mean(), abs=2.5 / len(row.distances)
    )


def test_a_part_without_holes_is_guaranteed_altogether(cut: Cut, serve: Serve, browse: Browse) -> None:
    page = browse(serve(Session(Scene.of(cut.whole))).address)
    assert page.script("[...document.querySelectorAll('#views button')].map((b) => b.innerText)") == [
        "Surfaces",
        "Trust",
    ]
    page.view("trust")
    page.wait("partwhole.state.found.trust")
    assert "Every distance to this vertex is guaranteed" in page.text("#details")


@pytest.fixture
def two_files(cut: Cut, tmp_path: Path) -> tuple[Path, Path]:
    write_mesh(cut.part.scaled(1000), tmp_path / "scan.ply")
    write_mesh(cut.whole, tmp_path / "template.obj")
    return tmp_path / "scan.ply", tmp_path / "template.obj"


def test_two_files_are_dropped_and_matched(
    cut: Cut, two_files: tuple[Path, Path], serve: Serve, browse: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = threading.Event()

    def slow(scene: Scene, *, tell: Callable[[str], None], **_: object) -> Scene:
        tell("computing features")
        go_on.wait(30)
        return replace(scene, vertex_map=cut.vertex_map, confidence=np.ones(cut.part.n_vertices))

    monkeypatch.setattr(session_module, "matched", slow)
    page = browse(serve(Session(None)).address)
    assert "Drop a part and its whole here" in page.text("#welcome")
    page.drop(*reversed(two_files))  # in the wrong order: the one with holes is the part, whatever its units
    page.wait("document.getElementById('status').innerText.startsWith('computing features')")
    assert page.text("h1") == "scan.ply → template.obj"
    assert page.script("partwhole.scene.map") is None
    go_on.set()
    page.wait("partwhole.scene.map")
    assert page.text("#status").startswith("matched in")
    assert page.script("Array.from(partwhole.scene.map)") == cut.vertex_map.tolist()
    # the other way round, if the guess was wrong
    page.click('[data-action="swap"]')
    page.wait("document.querySelector('h1').innerText === 'template.obj → scan.ply'")


def test_a_pair_that_looks_swapped_is_asked_about(cut: Cut, serve: Serve, browse: Browse, tmp_path: Path) -> None:
    question = "the part has no boundary and the whole has holes; are they swapped?"
    # as `match` leaves it: its warnings have the question too
    scene = Scene.of(cut.whole, cut.part, np.zeros(cut.whole.n_vertices, np.int64), warnings=(question, "and more"))
    page = browse(serve(Session(scene, match=False)).address)
    said = page.script("[...document.querySelectorAll('#warnings p')].map((p) => p.firstChild.textContent)")
    assert said == [question.capitalize(), "and more"]
    page.click("#warnings button")
    page.wait("partwhole.scene.part.meta.loops === 2 && partwhole.scene.whole.meta.loops === 0")
    assert page.text("#warnings") == ""
    # in a report nothing can be swapped, but the question stands
    export_report(Scene.of(cut.whole, cut.part), tmp_path / "report.html")
    page = browse((tmp_path / "report.html").as_uri())
    assert page.text("#warnings") == question.capitalize()
    assert page.script("document.querySelectorAll('#warnings button').length") == 0


def test_files_one_after_the_other(two_files: tuple[Path, Path], serve: Serve, browse: Browse) -> None:
    page = browse(serve(Session(None, match=False)).address)
    page.drop(two_files[0])
    page.wait("document.querySelector('h1').innerText === 'scan.ply'")
    page.drop(two_files[1])
    page.wait("document.querySelector('h1').innerText === 'scan.ply → template.obj'")


def test_what_is_wrong_with_a_file_is_said(
    scene: Scene, tmp_path: Path, serve: Serve, browse: Browse, two_files: tuple[Path, Path]
) -> None:
    (tmp_path / "broken.off").write_text("OFF 3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 9\n")
    page = browse(serve(Session(scene, largest_upload=200_000)).address)
    page.drop(tmp_path / "broken.off")
    page.wait("document.getElementById('status').className === 'wrong'")
    assert "broken.off: face 0 (line 5) uses vertex 9" in page.text("#status")
    assert page.text("h1") == "scan → ball"  # what was there stays
    page.drop(*two_files, tmp_path / "broken.off")
    page.wait("document.getElementById('status').innerText.startsWith('3 files were dropped')")
    (tmp_path / "large.off").write_bytes(b" " * 300_000)
    page.drop(tmp_path / "large.off")
    page.wait("document.getElementById('status').innerText.startsWith('large.off has 0.3 MiB; at most 0.2 MiB')")
    # the browser reports refusals in its console; the page has said them in words
    assert all("400" in complaint for complaint in page.complaints)
    page.complaints.clear()


def test_without_a_model_it_says_what_can_be_done(
    two_files: tuple[Path, Path], serve: Serve, browse: Browse, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "partwhole.matching.pipeline", None)
    page = browse(serve(Session(None)).address)
    page.drop(*two_files)
    page.wait("document.getElementById('status').innerText.includes('no map was found')")
    page.view("trust")
    page.click_vertex(0)
    page.wait("partwhole.state.found.trust")


def test_downloads(scene: Scene, cut: Cut, serve: Serve, browse: Browse, tmp_path: Path) -> None:
    page = browse(serve(Session(scene)).address)
    page.downloads_to(tmp_path)
    page.script("document.getElementById('downloads').open = true")
    for action in ("csv", "npz", "ply-part", "png"):
        page.click(f'#downloads [data-action="{action}"]')
    with wait_for_file(tmp_path, "*.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(row["whole_vertex"]) for row in rows] == cut.vertex_map.tolist()
    assert [int(row["part_vertex"]) for row in rows] == list(range(cut.part.n_vertices))
    with np.load(wait_for_file(tmp_path, "*.npz")) as held:
        np.testing.assert_array_equal(held["vertex_map"], cut.vertex_map)
        assert held["vertex_map"].dtype == np.int64
        assert held["doubtful"].dtype == bool
        np.testing.assert_allclose(held["confidence"], np.float32(scene.confidence))
    path = wait_for_file(tmp_path, "*-part.ply")
    assert path.name == "scan-ball-part.ply"
    mesh = read_mesh(path)
    np.testing.assert_allclose(mesh.vertices, cut.part.vertices, atol=1e-6)
    np.testing.assert_array_equal(mesh.faces, cut.part.faces)
    from PIL import Image

    with Image.open(wait_for_file(tmp_path, "*.png")) as picture:
        assert picture.width == 2 * page.script("document.getElementById('stage').clientWidth")
        assert len(picture.getcolors(1 << 24)) > 1000


def test_a_picture_as_texture(scene: Scene, serve: Serve, browse: Browse, tmp_path: Path) -> None:
    from PIL import Image

    Image.new("RGB", (8, 8), (250, 20, 20)).save(tmp_path / "red.png")
    page = browse(serve(Session(scene)).address)
    page.view("texture")
    field = page.send("DOM.querySelector", nodeId=page.send("DOM.getDocument")["root"]["nodeId"], selector="#picture")
    page.send("DOM.setFileInputFiles", files=[str(tmp_path / "red.png")], nodeId=field["nodeId"])
    page.wait("partwhole.painter.picture")
    shot = page.picture().astype(int)
    assert ((shot[..., 0] > 100) & (shot[..., 1] < 80)).mean() > 0.2
    page.downloads_to(tmp_path)
    page.script("document.querySelector('[data-action=ply-part]').click()")
    data = wait_for_file(tmp_path, "*.ply").read_bytes()
    colors = data.partition(b"end_header\n")[2][24:27]
    assert np.abs(np.frombuffer(colors, np.uint8).astype(int) - [250, 20, 20]).max() <= 1


def test_a_report_opens_with_the_network_off(scene: Scene, tmp_path: Path, browse: Browse) -> None:
    path = tmp_path / "report.html"
    export_report(scene, path)
    page = browse(path.as_uri())
    page.unplug()
    page.send("Page.reload")
    page.wait("document.body?.dataset.ready && window.partwhole")
    assert "This is a report" in page.text("#notes")
    assert page.script("[...document.querySelectorAll('[data-action=open]')].every((b) => b.hidden)")
    vertex = page.click_vertex(0, skip=15)
    page.wait("partwhole.state.found.rings")
    page.view("distortion")
    page.wait("partwhole.state.found.distortion")
    page.view("trust")
    page.wait("partwhole.state.found.pair")
    # what the browser measures is what Python measures along edges
    row = TrustExplorer.of(scene.part.mesh, method="dijkstra").row(vertex)
    found = json.loads(
        page.script(
            f"partwhole.engine.trust({vertex}).then((row) => JSON.stringify(Object.fromEntries("
            "Object.entries(row).filter(([, v]) => v?.length).map(([k, v]) => [k, Array.from(v)]))))"
        )
    )
    np.testing.assert_allclose(found["distances"], row.distances, rtol=1e-5)
    for kind in ("boundary", "wormhole", "same-loop"):
        np.testing.assert_allclose(found[kind.replace("-", "_")], row.thresholds[kind], rtol=1e-5, atol=1e-6)
    assert [address for address in page.asked if not address.startswith(("file:", "data:", "blob:"))] == []


def test_the_page_writes_a_report(scene: Scene, serve: Serve, browse: Browse, tmp_path: Path) -> None:
    page = browse(serve(Session(scene)).address)
    page.downloads_to(tmp_path)
    page.script("document.querySelector('[data-action=report]').click()")
    report = wait_for_file(tmp_path, "*.html")
    again = browse(report.as_uri())
    assert again.text("h1") == "scan → ball"


def test_a_phone(scene: Scene, serve: Serve, browse: Browse) -> None:
    page = browse(serve(Session(scene)).address)
    page.resize(390, 780, phone=True)
    page.wait("document.getElementById('stage').getBoundingClientRect().width === 390")
    assert page.script("document.documentElement.scrollWidth") <= 390
    page.wait("partwhole.panels.boxes().every((box) => box.left + box.width <= 391 && box.height > 100)")
    page.view("trust")
    page.send("Emulation.setTouchEmulationEnabled", enabled=True)
    _, x, y = page.seen_vertex(0, skip=12)
    page.send("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
    page.send("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    page.wait("partwhole.state.found.trust")


def test_a_surface_fills_its_panel_until_somebody_zooms(scene: Scene, serve: Serve, browse: Browse) -> None:
    page = browse(serve(Session(scene)).address)
    reach = """(() => { const { surface, camera } = partwhole.panels.list[0], [box] = partwhole.panels.boxes();
        const { clip } = camera.matrices(surface.radius, box.width / box.height);
        return Math.max(...Array.from({ length: surface.size }, (_, v) => {
            const p = surface.point(v), [x, y, , w] = [0, 1, 2, 3].map(
                (r) => clip[r] * p[0] + clip[4 + r] * p[1] + clip[8 + r] * p[2] + clip[12 + r]);
            return Math.max(Math.abs(x), Math.abs(y)) / w; })); })()"""
    for width in (1200, 520):
        page.resize(width, 760)
        page.settle()
        page.settle()
        assert 0.75 < page.script(reach) <= 1
    page.script("partwhole.panels.list[0].camera.magnify(2); partwhole.draw()")
    zoom = page.script("partwhole.panels.list[0].camera.zoom")
    page.resize(1200, 760)
    page.settle()
    page.settle()
    assert page.script("partwhole.panels.list[0].camera.zoom") == zoom


def test_landmarks_are_clicked_and_steer_the_match(
    cut: Cut, scene: Scene, serve: Serve, browse: Browse, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pins and landmarks are listed, joined by lines, saved, taken away, and sent to be matched with."""

    def again(given: Scene, **_: object) -> Scene:
        became = [LandmarkResult(one.part, one.whole, one.label, 0.25) for one in given.landmarks]
        return replace(given, vertex_map=np.roll(cut.vertex_map, 3), landmarks=tuple(became))

    monkeypatch.setattr(session_module, "matched", again)
    page = browse(serve(Session(scene)).address)
    pinned = page.click_vertex(0, skip=9)
    page.key("p")
    page.key("p")  # once is enough
    page.key("l")
    part = page.click_vertex(0, skip=60)
    assert "the same place on the whole" in page.text("#adding")
    whole = page.click_vertex(1, skip=30)
    assert page.text("#adding") == ""
    rows = page.script("[...document.querySelectorAll('#marked span')].map((s) => s.innerText)")
    assert rows == [f"1 · {pinned} → {cut.vertex_map[pinned]}, pin", f"2 · {part} → {whole}"]
    page.settle()
    assert page.script("document.querySelectorAll('#lines line').length") == 2
    # from where the vertex is seen in one panel to where it is seen in the other
    ends = page.script("['x1', 'y1'].map((a) => Number(document.querySelectorAll('#lines line')[1].getAttribute(a)))")
    under = page.script(
        "(([x, y]) => { const b = partwhole.panels.boxes()[0], { camera, surface } = partwhole.panels.list[0];"
        "const r = camera.ray(2 * (x - b.left) / b.width - 1, 1 - 2 * (y - b.top) / b.height, surface.radius,"
        f"b.width / b.height); return surface.hit(r.origin, r.direction); }})({json.dumps(ends)})"
    )
    assert under == part
    page.downloads_to(tmp_path)
    page.click("#save-marks")
    saved = wait_for_file(tmp_path, "*-landmarks.csv")
    pairs, _ = read_landmark_pairs(saved, cut.part, cut.whole)
    assert pairs == (
        LandmarkPair(pinned, int(cut.vertex_map[pinned]), "1"),
        LandmarkPair(part, whole, "2"),
    )
    page.click("#again")
    page.wait("partwhole.scene.meta.landmarks.length === 1")
    rows = page.script("[...document.querySelectorAll('#marked span')].map((s) => s.innerText)")
    # the pin follows the new map
    assert rows == [
        f"1 · {part} → {whole}\n25.0\u00a0% of √area off without it",
        f"2 · {pinned} → {np.roll(cut.vertex_map, 3)[pinned]}, pin",
    ]
    assert page.script("document.getElementById('again').hidden")
    page.click("#marked button")
    assert not page.script("document.getElementById('again').hidden")
    page.key("l")
    page.key("Escape")
    assert page.text("#adding") == ""


def test_colours_their_range_and_triangles_are_chosen(scene: Scene, serve: Serve, browse: Browse) -> None:
    page = browse(serve(Session(scene, method="dijkstra")).address)
    page.view("distortion")
    page.wait("partwhole.state.found.distortion")
    before = page.text("#legend .ends")
    choose = (
        "(([id, v]) => { const e = document.getElementById(id); e.value = v; e.dispatchEvent(new Event('change')); })"
    )
    page.script(f"{choose}(['limit', '2.5'])")
    assert page.text("#legend .ends") != before
    assert "2.5\u00a0% or more" in page.text("#legend .ends")
    paint = "partwhole.panels.list[0].coat.paint[0]"
    wide = page.script(paint)
    page.script(f"{choose}(['limit', '5'])")
    assert page.script(paint) == pytest.approx(wide / 2, rel=1e-5)
    page.script(f"{choose}(['colors', 'grey'])")
    assert page.script("[...partwhole.panels.list[0].coat.table.slice(0, 3)]") == [22, 22, 22]
    page.click("#wireframe")
    lines = page.script("partwhole.panels.list[0].lines.map((line) => line.segments.length / 6)")
    assert lines[0] == len(scene.part.mesh.edges)
    page.view("texture")
    assert page.script("document.getElementById('limit').parentElement.hidden")


def test_simplified_surfaces_keep_the_numbers_of_the_file(cut: Cut, serve: Serve, browse: Browse) -> None:
    scene = Scene.of(cut.part, cut.whole, cut.vertex_map).simplified(350)
    page = browse(serve(Session(scene)).address)
    assert "of them are drawn" in page.text("#notes")
    shown = page.click_vertex(0, skip=10)
    number = int(scene.part.to_full[shown])
    details = page.text("#details")
    assert f"vertex of the part\n{number}\n" in details
    assert f"its match on the whole\n{cut.vertex_map[number]}" in details


@pytest.mark.parametrize("report", [False, True])
def test_what_is_measured_on_a_simplified_surface_is_not_proved(
    cut: Cut, serve: Serve, browse: Browse, tmp_path: Path, report: bool
) -> None:
    scene = Scene.of(cut.part).simplified(350)
    if report:
        export_report(scene, tmp_path / "report.html")
        address = (tmp_path / "report.html").as_uri()
    else:
        address = serve(Session(scene, method="dijkstra")).address
    page = browse(address)
    assert "proved for" not in page.text("#notes").replace("not proved for", "")
    page.view("trust")
    page.script("partwhole.chooseVertex(40)")
    page.wait("partwhole.state.found.trust")
    assert "Not proved: distances are measured on a simplified surface" in page.text("#details")
    assert "which is not proved" in page.text("#legend")
    page.wait("partwhole.state.found.pair")
    page.script(
        "const found = partwhole.state.found.trust;"
        "partwhole.chooseOther(found.distances.findIndex((d, v) => v !== 40 && d < found.wormhole[v]))"
    )
    page.wait("partwhole.state.found.pair?.other === partwhole.state.other")
    assert "guaranteed, and not proved, as said above" in page.text("#details")


def test_an_address_without_its_token_shows_no_page(scene: Scene, serve: Serve, browse: Browse) -> None:
    server = serve(Session(scene))
    page = browse(server.address)
    page.send("Page.navigate", url=server.address.split("?")[0])
    page.wait("document.body?.innerText.includes('lacks its token')")
    assert all("403" in complaint for complaint in page.complaints)
    page.complaints.clear()


def test_a_server_that_has_ended_is_told(scene: Scene, serve: Serve, browse: Browse) -> None:
    server = serve(Session(scene))
    page = browse(server.address)
    page.unplug()
    page.click_vertex(0)
    page.wait("document.getElementById('status').innerText.includes('does not answer')")
    page.complaints.clear()


def test_a_graphics_card_may_be_taken_away(scene: Scene, serve: Serve, browse: Browse) -> None:
    page = browse(serve(Session(scene)).address)
    before = page.picture()
    page.script("window.lost = partwhole.painter.gl.getExtension('WEBGL_lose_context'); lost.loseContext()")
    page.wait("partwhole.painter.gl.isContextLost()")
    page.script("setTimeout(() => lost.restoreContext(), 50)")
    page.wait("!partwhole.painter.gl.isContextLost()")
    page.settle()
    after = page.picture()
    page.complaints.clear()  # the browser tells of the loss
    assert np.abs(before.astype(int) - after).mean() < 1


def test_a_browser_that_can_not_draw_is_told(scene: Scene, serve: Serve, browse: Browse) -> None:
    server = serve(Session(scene))
    page = browse("about:blank", ready="true", options=("--disable-3d-apis",))
    page.send("Page.navigate", url=server.address)
    page.wait("document.body?.dataset.ready === 'failed'")
    assert "this browser has no WebGL 2" in page.text("#status")
    page.complaints.clear()  # the browser tells of it too


def test_pieces_that_are_apart(cut: Cut, serve: Serve, browse: Browse) -> None:
    two = Mesh(
        np.concatenate([cut.part.vertices, cut.whole.vertices + 3.0]),
        np.concatenate([cut.part.faces, cut.whole.faces + cut.part.n_vertices]),
    )
    page = browse(serve(Session(Scene.of(two))).address)
    page.script("partwhole.chooseVertex(5)")
    page.wait("partwhole.state.found.rings")
    page.view("trust")
    page.wait("partwhole.state.found.pair")
    assert "CL does not apply" in page.text("#details")
    assert page.script("partwhole.state.found.trust.soft[partwhole.scene.part.size - 1]") == 0
    page.script(f"partwhole.chooseOther({cut.part.n_vertices + 3})")
    page.wait(f"partwhole.state.found.pair.other === {cut.part.n_vertices + 3}")
    assert "∞" in page.text("#details")


def test_names_are_shown_as_they_are_and_never_run(scene: Scene, serve: Serve, browse: Browse, tmp_path: Path) -> None:
    evil = "<img src=x onerror='window.run=1'><script>window.run=1</script>"
    part = Mesh(scene.part.full.vertices, scene.part.full.faces, name=evil)
    named = Scene.of(part, title=evil, notes=(evil,), warnings=(evil,))
    export_report(named, tmp_path / "report.html")
    for address in (serve(Session(named)).address, (tmp_path / "report.html").as_uri()):
        page = browse(address)
        assert page.text("h1") == evil
        assert evil in page.text(".panel h2")
        assert evil in page.text("#notes")
        assert evil in page.text("#warnings")
        assert page.script("document.querySelectorAll('img').length") == 0
        assert page.script("window.run") is None
