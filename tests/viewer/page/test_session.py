from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from partwhole.datasets import GroundTruth
from partwhole.datasets.cutting.cuts import Cut
from partwhole.matching.parts.result import PartsMatch
from partwhole.mesh import LandmarkPair, Mesh
from partwhole.mesh.io import write_mesh
from partwhole.viewer.page import session as module
from partwhole.viewer.page.matching import NoModel
from partwhole.viewer.page.packing import unpack
from partwhole.viewer.page.results import scene_of_result
from partwhole.viewer.page.scene import Scene
from partwhole.viewer.page.session import Session
from partwhole.viewer.page.trust_explorer import TrustExplorer


@pytest.fixture
def off_file(cut: Cut, tmp_path: Path) -> Callable[[Mesh], bytes]:
    def write(mesh: Mesh) -> bytes:
        write_mesh(mesh, tmp_path / "mesh.off")
        return (tmp_path / "mesh.off").read_bytes()

    return write


def ended(session: Session, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while session.job is None or session.job.state == "running":
        assert time.monotonic() < end
        time.sleep(0.01)


def test_an_empty_session_says_so() -> None:
    session = Session(None)
    assert unpack(session.scene_bytes())[0]["number"] == 0
    for ask in (lambda: session.trust_bytes(0), lambda: session.rings_bytes(0), session.distortion_bytes):
        with pytest.raises(ValueError, match="nothing is shown yet"):
            ask()
    with pytest.raises(ValueError, match="no file was dropped yet"):
        session.open_uploads()


def test_trust_is_that_of_the_explorer(scene: Scene) -> None:
    session = Session(scene, method="dijkstra")
    meta, arrays = unpack(session.trust_bytes(9))
    row = TrustExplorer.of(scene.part.mesh, method="dijkstra").row(9)
    np.testing.assert_array_equal(arrays["distances"], row.distances)
    np.testing.assert_array_equal(arrays["same_loop"], row.thresholds["same-loop"])
    assert meta["no_same_loop"] is None
    assert session.explorer() is session.explorer()


def test_another_method_may_be_asked_for(scene: Scene) -> None:
    session = Session(scene, method="fast_marching", sound=True)
    assert session.explorer().sound
    along_edges = session.explorer("dijkstra")
    assert (along_edges.method, along_edges.sound) == ("dijkstra", False)
    assert session.explorer("dijkstra") is along_edges
    np.testing.assert_array_equal(
        unpack(session.trust_bytes(9, "dijkstra"))[1]["distances"], along_edges.row(9).distances
    )
    with pytest.raises(ValueError, match="method must be one of fast_marching, dijkstra, exact, got 'guess'"):
        session.pair_bytes(1, 2, "guess")


def test_a_pair_has_its_wormhole_and_its_way(scene: Scene) -> None:
    meta, arrays = unpack(Session(scene).pair_bytes(9, 500))
    ways = {name: way.reshape(-1, 3) for name, way in arrays.items()}
    middle = unpack(scene.to_bytes())[0]["part"]["centre"]
    points = scene.part.mesh.vertices - middle
    np.testing.assert_allclose(ways["geodesic"][[0, -1]], points[[500, 9]], atol=1e-6)
    np.testing.assert_allclose(ways["out"][0], points[meta["wormhole"]["leaves"]], atol=1e-6)
    np.testing.assert_allclose(ways["back"][0], points[meta["wormhole"]["returns"]], atol=1e-6)


def test_rings_start_at_a_vertex_and_at_its_match(scene: Scene) -> None:
    _, arrays = unpack(Session(scene).rings_bytes(12))
    assert scene.vertex_map is not None
    assert arrays["part"].argmin() == 12
    assert arrays["whole"].argmin() == scene.vertex_map[12]


def test_errors_and_distortions(scene: Scene, cut: Cut) -> None:
    known = Session(replace(scene, truth=GroundTruth.of_map(cut.vertex_map)))
    assert unpack(known.errors_bytes())[1]["errors"].max() == 0
    assert set(unpack(known.distortion_bytes())[1]) == {"distortion", "distortion_before"}


def test_dropped_files_are_shown_and_matched(
    cut: Cut, off_file: Callable[[Mesh], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        module,
        "matched",
        lambda scene, **_: replace(scene, vertex_map=cut.vertex_map, confidence=np.ones(len(cut.vertex_map))),
    )
    session = Session(None)
    read = session.upload("part", "C:\\scans\\my scan.off", off_file(cut.part))
    assert (read["name"], read["vertices"], read["loops"]) == ("my scan.off", cut.part.n_vertices, 2)
    session.upload("whole", "ball.off", off_file(cut.whole))
    assert session.open_uploads() == {"title": "my scan.off → ball.off"}
    ended(session)
    assert session.job is not None
    assert session.job.to_json()["state"] == "done"
    shown = session.shown()
    assert shown.title == "my scan.off → ball.off"
    np.testing.assert_array_equal(shown.vertex_map, cut.vertex_map)
    assert session.number == 2


def test_dropped_files_may_come_in_the_wrong_order(cut: Cut, off_file: Callable[[Mesh], bytes]) -> None:
    session = Session(None, match=False)
    session.upload("part", "ball.off", off_file(cut.whole))
    session.upload("whole", "scan.off", off_file(cut.part))
    session.open_uploads(swapped=True)
    assert session.shown().title == "scan.off → ball.off"
    session.upload("part", "alone.off", off_file(cut.part))
    session.open_uploads()
    assert session.shown().title == "alone.off"
    assert session.shown().whole is None


def test_what_is_shown_can_be_swapped(cut: Cut) -> None:
    session = Session(Scene.of(cut.whole, cut.part, warnings=("of the map that was",)), match=False)
    asked = session.shown().swapped
    assert asked == "the part has no boundary and the whole has holes; are they swapped?"
    assert session.swap() == {"title": f"{cut.part.name} → {cut.whole.name}"}
    shown = session.shown()
    assert shown.whole is not None
    assert (shown.part.full, shown.whole.full) == (cut.part, cut.whole)
    assert (shown.swapped, shown.warnings, shown.vertex_map) == (None, (), None)
    alone = Session(Scene.of(cut.part), match=False)
    with pytest.raises(ValueError, match="there is no whole to swap the part with"):
        alone.swap()


def test_a_match_that_fails_is_told_in_words(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = replace(scene, vertex_map=None, vertex_map_before=None, confidence=None, doubtful=None)
    for fault, told in (
        (NoModel("no map: no model"), "no map: no model"),
        (RuntimeError("x\ny"), "no map was found: x y"),
    ):

        def failing(*_: object, fault: Exception = fault, **__: object) -> Scene:
            raise fault

        monkeypatch.setattr(module, "matched", failing)
        session = Session(bare)
        session.warm_up().join()
        ended(session)
        assert session.job is not None
        assert (session.job.state, session.job.stage) == ("failed", told)


def test_a_match_is_done_again_with_landmarks(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def again(given: Scene, **_: object) -> Scene:
        return replace(given, map_notes=("again",))

    monkeypatch.setattr(module, "matched", again)
    session = Session(scene)
    assert session.match_again(b'[[3, 7, "nose"]]') == {"landmarks": 1}
    ended(session)
    assert session.shown().landmarks == (LandmarkPair(3, 7, "nose"),)
    assert session.shown().map_notes == ("again",)
    for wrong, told in (
        (b"[[3, 7]]", "landmarks should be a list of"),
        (b"3", "landmarks should be a list of"),
        (b"not JSON", "landmarks should be a list of"),
        (b'[[3, 100000, "nose"]]', "landmark 'nose': vertex 100000 of ball, which has the vertices 0 to"),
    ):
        with pytest.raises(ValueError, match=told):
            session.match_again(wrong)
    with pytest.raises(ValueError, match="there is no whole to match to"):
        Session(Scene.of(scene.part.full)).match_again(b"[]")


def test_a_match_for_what_is_no_longer_shown_is_dropped(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = replace(scene, vertex_map=None, vertex_map_before=None, confidence=None, doubtful=None)
    session = Session(bare)

    def late(*_: object, tell: Callable[[str], None], **__: object) -> Scene:
        session.show(Scene.of(scene.part.full))
        return scene

    monkeypatch.setattr(module, "matched", late)
    started: list[threading.Thread] = []
    start = threading.Thread.start
    monkeypatch.setattr(threading.Thread, "start", lambda thread: (started.append(thread), start(thread)))
    number = session.number
    session.begin_match()
    # threads of other tests may begin at any moment
    (matching,) = (thread for thread in started if thread.name == f"match of scene {number}")
    matching.join()
    assert session.shown().whole is None
    assert session.job is None


def test_a_match_ends_when_something_else_is_opened_and_the_next_waits_for_it(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    bare = replace(scene, vertex_map=None, vertex_map_before=None, confidence=None, doubtful=None)
    first, go_on = threading.Event(), threading.Event()
    at_once: list[int] = []
    calls: list[str] = []

    def slow(*_: object, tell: Callable[[str], None], **__: object) -> Scene:
        at_once.append(1)
        calls.append("begun")
        first.set()
        try:
            assert go_on.wait(20)
            tell("half")  # ends here, if something else is shown
            calls.append("half")
            assert len(at_once) == 1
        finally:
            at_once.pop()
        return scene

    monkeypatch.setattr(module, "matched", slow)
    session = Session(bare)
    session.begin_match()
    assert first.wait(20)
    session.show(bare)
    session.begin_match()
    go_on.set()
    ended(session)
    assert session.job is not None
    assert session.job.state == "done"
    assert calls == ["begun", "begun", "half"]


def test_what_is_shown_does_not_wait_for_what_was(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    measuring, go_on = threading.Event(), threading.Event()
    before, now = (TrustExplorer.of(scene.part.mesh, method="dijkstra") for _ in range(2))

    def slow(*_: object, **__: object) -> TrustExplorer:
        measuring.set()
        assert go_on.wait(20)
        return before

    session = Session(scene, method="dijkstra", match=False)
    monkeypatch.setattr(module, "explorer_of", slow)
    thread = threading.Thread(target=session.explorer)
    thread.start()
    try:
        assert measuring.wait(20)
        session.show(scene)
        monkeypatch.setattr(module, "explorer_of", lambda *_, **__: now)
        assert session.explorer() is now
    finally:
        go_on.set()
        thread.join(20)
    assert session.explorer() is now


def test_a_file_that_can_not_be_read_is_told_by_its_name(cut: Cut, off_file: Callable[[Mesh], bytes]) -> None:
    session = Session(None)
    with pytest.raises(ValueError, match="not as 'both'"):
        session.upload("both", "a.off", b"")
    with pytest.raises(ValueError, match=r"^scan.off: the file is empty"):
        session.upload("part", "scan.off", b"")
    with pytest.raises(ValueError, match=r"^passwd: neither the ending"):
        session.upload("part", "../../etc/passwd", b"root")
    twice = b"OFF 3 2 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n3 0 1 1\n"
    with pytest.raises(ValueError, match=r"^twice.off: face 1 .* uses a vertex twice.*partwhole mask --repair"):
        session.upload("part", "twice.off", twice)
    # the name says one format, the contents another: read by its contents, with a note
    read = session.upload("part", "scan.ply", off_file(cut.part))
    assert read["notes"] == ["scan.ply: read as OFF because of its contents, although its ending is '.ply'"]
    assert session.upload("part", "", off_file(cut.part))["name"] == "mesh"


def test_what_goes_wrong_in_the_background_is_told_when_it_is_asked_for(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> TrustExplorer:
        raise RuntimeError("broken")

    monkeypatch.setattr(module, "explorer_of", broken)
    session = Session(scene)
    session.warm_up().join()
    assert capsys.readouterr().err == ""
    with pytest.raises(RuntimeError, match="broken"):
        session.trust_bytes(1)


def test_large_surfaces_are_simplified_in_the_background(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partwhole.viewer.page.scene.MOST_SHOWN", 300)
    go = threading.Event()
    simplified = Scene.simplified

    def waiting(self: Scene, **_: object) -> Scene:
        assert go.wait(20)
        return simplified(self, 300)

    monkeypatch.setattr(Scene, "simplified", waiting)
    session = Session(None)
    session.open(scene)
    assert session.job is not None
    assert (session.job.stage, session.job.state) == ("simplifying large surfaces for display", "running")
    assert session.scene is None
    go.set()
    end = time.monotonic() + 20
    while session.scene is None:
        assert time.monotonic() < end
        time.sleep(0.01)
    assert session.shown().part.is_simplified


def test_a_fault_of_simplifying_is_told(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partwhole.viewer.page.scene.MOST_SHOWN", 300)

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("no\nmemory")

    monkeypatch.setattr(Scene, "simplified", broken)
    session = Session(None)
    session.open(scene)
    ended(session)
    assert session.job is not None
    assert session.job.to_json()["stage"] == "can't be simplified: no memory"


def test_what_was_opened_last_is_shown(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("partwhole.viewer.page.scene.MOST_SHOWN", 300)
    session, alone = Session(None), Scene.of(scene.part.full)
    simplified = threading.Event()

    def slow(self: Scene, **_: object) -> Scene:
        session.show(alone)
        simplified.set()
        return self

    monkeypatch.setattr(Scene, "simplified", slow)
    session.open(scene)
    assert simplified.wait(20)
    time.sleep(0.1)
    assert session.shown() is alone


def test_two_parts_are_neither_swapped_nor_matched_again(two_parts: PartsMatch) -> None:
    session = Session(scene_of_result(two_parts), match=False)
    with pytest.raises(ValueError, match="two parts are the same either way round"):
        session.swap()
    with pytest.raises(ValueError, match="two parts are matched without landmarks"):
        session.match_again(b"[]")
