"""A part with two holes, a map of it, a server for them, and a browser to look at the page with."""

from __future__ import annotations

import importlib.util
import json
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from partwhole.datasets import cut_balls, cut_plane, sphere
from partwhole.datasets.cutting.cuts import Cut
from partwhole.matching.parts.result import PartnerMap, PartsMatch
from partwhole.matching.result import CoarseMatch, Fit, MatchResult
from partwhole.matching.scans.prepare import Scaling
from partwhole.mesh import Mesh
from partwhole.mesh.barycentric import BarycentricMap
from partwhole.mesh.io import write_mesh
from partwhole.registration import FittedTemplate
from partwhole.viewer.page.scene import Scene
from partwhole.viewer.page.server import PageServer
from partwhole.viewer.page.session import Session

collect_ignore = ["chromium.py"]


@pytest.fixture(scope="session")
def cut() -> Cut:
    """A dented ball that lost two pieces."""
    ball = sphere(700, jitter=0.2)
    x, y, z = ball.vertices.T
    dented = Mesh(ball.vertices * (1 + 0.25 * x + 0.2 * z * y)[:, None] * [1.0, 0.8, 1.4], ball.faces, name="ball")
    return cut_balls(dented, [30, 400], np.array([0.45, 0.5]))


@pytest.fixture(scope="session")
def scene(cut: Cut) -> Scene:
    """The part, the whole, the true map, and another before it."""
    before = np.roll(cut.vertex_map, 40)
    confidence = np.linspace(0, 1, cut.part.n_vertices)
    return Scene.of(
        cut.part,
        cut.whole,
        cut.vertex_map,
        confidence=confidence,
        doubtful=confidence < 0.1,
        vertex_map_before=before,
        title="scan → ball",
    )


@pytest.fixture(scope="session")
def result_folder(scene: Scene, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `partwhole match --output` leaves."""
    folder = tmp_path_factory.mktemp("result")
    assert scene.whole is not None
    write_mesh(scene.part.full, folder / "part.ply")
    write_mesh(scene.whole.full, folder / "whole.ply")
    np.savez(
        folder / "map.npz",
        vertex_map=scene.vertex_map,
        vertex_map_before=scene.vertex_map_before,
        confidence=np.float32(scene.confidence),
        doubtful=scene.doubtful,
    )
    (folder / "summary.json").write_text(json.dumps({"part": "data/scan.ply", "whole": "ball.off"}))
    return folder


@pytest.fixture(scope="session")
def two_parts() -> PartsMatch:
    """Two halves of a dented ball and what they share, as if by hand; the second was turned about."""
    ball = sphere(500, jitter=0.2)
    x, y, z = ball.vertices.T
    whole = Mesh(ball.vertices * (1 + 0.25 * x + 0.2 * z * y)[:, None] * [1.0, 0.8, 1.4], ball.faces)
    one, other = (cut_plane(whole, (0, 0, -0.3 * s), (0, 0, s)) for s in (1.0, -1.0))
    R, t = np.array([[0.0, -1, 0], [1, 0, 0], [0, 0, 1]]), np.array([3.0, 2.0, 1.0])
    alignment = np.eye(4)
    alignment[:3, :3], alignment[:3, 3] = R, t
    ways = []
    for here, there in ((one, other), (other, one)):
        shared = np.isin(here.vertex_map, there.vertex_map)
        partner = np.searchsorted(there.vertex_map, here.vertex_map).clip(max=there.part.n_vertices - 1)
        overlap = np.where(shared, 0.9, 0.1)
        ways.append(PartnerMap(partner, overlap, 0.8 * overlap, np.ones(len(partner), bool)))
    a = Mesh(one.part.vertices, one.part.faces, name="upper.ply")
    b = Mesh(other.part.vertices @ R.T + t, other.part.faces, name="lower.ply")
    said = ("nobody matched them",)
    return PartsMatch(a, b, *ways, 0.9, whole.area, 0.5, 0.0, alignment, 0.0, "by hand", ("a note",), said, 0.0)


@pytest.fixture(scope="session")
def fitted(cut: Cut) -> FittedTemplate:
    """The whole fitted to the part, as if by hand: at three times its size and elsewhere, with triangles that are bad."""
    p, n = cut.part.n_vertices, cut.whole.n_vertices
    scan = Mesh(3 * cut.part.vertices + 5, cut.part.faces, name="scan")
    sure = np.full(p, 0.9)
    found = MatchResult(
        part=scan,
        whole=cut.whole,
        vertex_map=cut.vertex_map,
        confidence=sure,
        matched=np.ones(p, bool),
        functional_map=np.eye(2),
        vertex_map_before=None,
        losses=(),
        fit=Fit(0.5, "wormhole", 0.01, 0.0, 0.9, 0.0, None, None, 0.01),
        regions=(),
        scaling=Scaling((1 / 3,), "given"),
        factor=1 / 3,
        up=None,
        yaw=None,
        coarse=CoarseMatch(scan, cut.whole, cut.vertex_map, sure),
        read_out="lateration",
        model="by hand",
        notes=(),
        warnings=(),
        seconds={},
    )
    bent = cut.whole.vertices * [1.0, 1.0, 0.9]
    seen = np.isin(np.arange(n), cut.vertex_map)
    return FittedTemplate(
        mesh=Mesh(3 * bent + 5, cut.whole.faces, name="ball"),
        source=np.where(seen, 0, np.where(bent[:, 2] > 0, 1, 2)),
        distance=np.linspace(0, 0.1, n),
        confidence=np.full(n, 0.5),
        expected_error=np.linspace(0.1, 0.3, n),
        barycentric=BarycentricMap.at_vertices(cut.vertex_map, np.arange(p) != p - 1),
        match=found,
        flipped=np.array([4]),
        intersections=np.array([[8, 9], [8, 40]]),
        warnings=("1 triangle of the fitted template turned over; see flipped",),
        notes=("a note of the fit",),
        seconds={},
    )


@pytest.fixture
def serve() -> Iterator[Callable[..., PageServer]]:
    """Serves a session until the test ends."""
    with ExitStack() as stack:

        def start(session: Session) -> PageServer:
            server = stack.enter_context(PageServer(session))
            thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
            thread.start()
            stack.callback(thread.join, 10)
            stack.callback(server.shutdown)
            return server

        yield start


def _load_chromium() -> ModuleType:
    # tests are no package, so that none can import another by accident; this is loaded by its path
    name = "partwhole_tests_chromium"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("chromium.py"))
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    found = _load_chromium().find_chromium()
    if found is not None and shutil.which(found) is not None:
        return
    # marks, so that the summary tells it in one line
    missing = pytest.mark.skip(reason="no Chromium: install it, or name it in PARTWHOLE_CHROMIUM")
    for item in items:
        if "browse" in getattr(item, "fixturenames", ()):
            item.add_marker(missing)


@pytest.fixture(scope="session")
def chromium() -> ModuleType:
    return _load_chromium()


@pytest.fixture(scope="session")
def program(chromium: ModuleType) -> str:
    """The browser's program."""
    return chromium.find_chromium()


@pytest.fixture(scope="session")
def browser(chromium: ModuleType, program: str) -> Iterator[object]:
    with chromium.Chromium(program, options=chromium.QUICK) as started:
        yield started


@pytest.fixture(scope="session")
def tab(browser: Any) -> Iterator[Any]:
    """The tab that pages are opened in, one after the other: a new one each time would take most of the time."""
    with browser.tab() as opened:
        yield opened


@pytest.fixture
def browse(chromium: ModuleType, program: str, tab: Any) -> Iterator[Callable[..., object]]:
    """Opens a page, in the place of the one before; it must not have complained when another is opened or the test ends."""
    with ExitStack() as stack:
        used: list[Any] = []

        def start(
            address: str, *, ready: str = chromium.READY, options: tuple[str, ...] = (), **knobs: object
        ) -> object:
            for page in used:
                assert page.complaints == []
            page = tab
            if options:  # those of a whole browser
                page = stack.enter_context(stack.enter_context(chromium.Chromium(program, options=options)).tab())
            page.begin(**{"size": (800, 480), **knobs})
            used.append(page)
            page.open(address, ready=ready)
            return page

        yield start
        for page in used:
            assert page.complaints == []
