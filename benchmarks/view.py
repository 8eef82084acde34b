"""`partwhole view` as a user meets it: seconds until the page can be used, and how soon it answers, in headless Chromium.

python benchmarks/view.py [--large] [--repeat 3] [--save FILE.json]

A part and a whole of 5000 vertices each with a map between them; with --large a scan of 200 000 vertices beside a template
of 50 000. The program starts anew each time; the browser, as most people's, is running already. It has no graphics card here
and draws in software, which is the slowest way there is.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

import partwhole as pw
from match import subdivided
from recording import heading, save, table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "viewer"))
import chromium

# vertices of the part that are clicked, one after the other
_CLICKS = 12
_TURNS = 20


def write_result(folder: Path, *, part: pw.Mesh, whole: pw.Mesh, vertex_map: np.ndarray) -> Path:
    """What `partwhole match` leaves, as far as the page needs it."""
    folder.mkdir()
    pw.write_mesh(part, folder / "part.ply")
    pw.write_mesh(whole, folder / "whole.ply")
    confidence = np.linspace(0, 1, len(vertex_map), dtype=np.float32)
    np.savez(folder / "map.npz", vertex_map=vertex_map, confidence=confidence, doubtful=confidence < 0.1)
    return folder


def usual_result(folder: Path) -> tuple[Path, str]:
    """Bodies of the same proportions and different size: a part with 5000 vertices, and a whole with as many."""
    fine, body = (pw.datasets.make_body("biped", size, seed=2) for size in (8050, 5000))
    cut = pw.datasets.random_cuts(fine.pose(seed=4), "pfaust-h", seed=6)
    nearest = cKDTree(body.rest.vertices).query(fine.rest.vertices[cut.vertex_map])[1]
    result = write_result(folder / "usual", part=cut.part, whole=body.pose(seed=0), vertex_map=nearest)
    return result, f"{cut.part.n_vertices} / 5000"


def large_result(folder: Path) -> tuple[Path, str]:
    """A scan of 200 000 vertices; its template has a quarter of the triangles."""
    body = pw.datasets.make_body("biped", 14_000, seed=1)
    template, still = (subdivided(pose) for pose in (body.pose(3), body.pose(2)))
    scan = subdivided(still)
    # vertices that were there keep their numbers, and those in the middle of an edge come after
    upwards = np.arange(scan.n_vertices)
    upwards[still.n_vertices :] = still.edges[:, 0]
    lowest = float(np.quantile(scan.vertices[:, 1], 0.1))
    cut = pw.datasets.cut_plane(scan, (0, lowest, 0), (0, 1, 0))
    result = write_result(folder / "large", part=cut.part, whole=template, vertex_map=upwards[cut.vertex_map])
    return result, f"{cut.part.n_vertices} / {template.n_vertices}"


@contextmanager
def served(result: Path) -> Iterator[tuple[str, float]]:
    """The address of the page, and when the program began."""
    start = time.perf_counter()
    words = [sys.executable, "-m", "partwhole.cli.main", "view", str(result), "--no-open", "--json"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as program:
        assert program.stdout is not None
        try:
            yield json.loads(program.stdout.readline())["address"], start
        finally:
            program.terminate()


def answers(page: Any, view: str, found: str) -> list[list[float]]:
    """Milliseconds from the choice of a vertex to the answer, and until it is drawn, for some vertices."""
    page.view(view)
    code = """(async () => {
        const page = window.partwhole, { state, scene } = page, took = [];
        const soon = () => new Promise((go) => setTimeout(go, 1));
        for (let k = 1; k <= %d; k++) {
            await new Promise((go) => requestAnimationFrame(go));
            const start = performance.now(), { camera } = page.panels.list[0];
            const { origin, direction } = camera.ray(0, 0, scene.part.radius, 1);
            scene.part.hit(origin, direction); // what a click does first
            page.chooseVertex(Math.floor(k * scene.part.size / %d) - 1);
            while (!state.found.%s) {
                // one whose pairs are all guaranteed is given another to look at
                if (state.found.trust && state.other === null) page.chooseOther(0);
                if (performance.now() - start > 20000) throw new Error("no answer");
                await soon();
            }
            const answered = performance.now() - start;
            while (page.drawing) await soon();
            took.push([answered, performance.now() - start]);
        }
        return took;
    })()"""
    return page.script(code % (_CLICKS, _CLICKS, found))


def frames(page: Any) -> list[float]:
    """Milliseconds of drawing a frame while the surfaces turn, as finely as the page then decides to."""
    code = """(async () => {
        const page = window.partwhole, took = [], pixel = new Uint8Array(4), { gl } = page.painter;
        const draw = page.drawNow.bind(page);
        page.drawNow = (...given) => {
            const start = performance.now();
            draw(...given);
            gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel); // until all is drawn
            took.push(performance.now() - start);
        };
        while (took.length < %d) {
            page.panels.list[0].camera.turn(5, 1);
            page.turned(page.panels.list[0]);
            await new Promise((go) => requestAnimationFrame(go));
        }
        delete page.drawNow;
        return took;
    })()"""
    page.script("if (!document.getElementById('linked').checked) document.getElementById('linked').click()")
    return page.script(code % _TURNS)


def measured(browser: Any, result: Path) -> dict[str, Any]:
    """Everything of one start."""
    with served(result) as (address, start), browser.tab(size=(1280, 800)) as page:
        numbers: dict[str, Any] = {"address": time.perf_counter() - start}
        page.open(address)
        numbers["page"] = time.perf_counter() - start
        page.wait("window.partwhole?.scene.part && document.body.dataset.drawn > 1", seconds=120)
        numbers["surfaces"] = time.perf_counter() - start
        numbers["click"] = answers(page, "correspondence", "rings")
        numbers["turning"] = frames(page)
        numbers["trust"] = answers(page, "trust", "trust")
        numbers["wormhole"] = answers(page, "trust", "pair")
        numbers["turning four"] = frames(page)
        assert page.complaints == []
    return numbers


def described(name: str, runs: list[dict[str, Any]]) -> list[str]:
    """A line of the table: medians."""

    def start(key: str) -> str:
        return f"{statistics.median(run[key] for run in runs):.1f}"

    def answer(key: str) -> str:
        took = np.array([ms for run in runs for ms in run[key]])
        # an answer has two times: when it is there, and when it is drawn
        return " / ".join(f"{median:.0f}" for median in np.atleast_1d(np.median(took, axis=0)))

    return [name, *map(start, ("address", "page", "surfaces")), *map(answer, _ANSWERS)]


_ANSWERS = ("click", "trust", "wormhole", "turning", "turning four")
_HEAD = ["part / whole vertices", "address, s", "page, s", "surfaces, s", "click, ms", "trust explorer, ms"]
_HEAD += ["... and wormhole, ms", "a frame, ms", "... of four panels, ms"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--large", action="store_true", help="the scan of 200 000 vertices too")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--save", type=Path)
    given = parser.parse_args()
    program = chromium.find_chromium()
    if program is None:
        raise SystemExit("no Chromium: install it, or name it in PARTWHOLE_CHROMIUM")
    rows, kept = [], {}
    with tempfile.TemporaryDirectory() as place, chromium.Chromium(program) as browser:
        for make in [usual_result] + [large_result] * given.large:
            result, name = make(Path(place))
            runs = [measured(browser, result) for _ in range(given.repeat)]
            kept[name] = runs
            rows.append(described(name, runs))
    print(f"{heading()}; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; medians; answers: there / drawn")
    print(table(_HEAD, rows))
    save(given.save, kept)


if __name__ == "__main__":
    main()
