from __future__ import annotations

import base64
import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from partwhole.cli.main import main
from partwhole.datasets import cut_balls, sphere
from partwhole.mesh.io import write_mesh
from partwhole.viewer.page.packing import unpack


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `partwhole match --output` leaves, and the truth beside it."""
    folder = tmp_path_factory.mktemp("result")
    cut = cut_balls(sphere(200), [5], 0.6)
    write_mesh(cut.part, folder / "part.ply")
    write_mesh(cut.whole, folder / "whole.ply")
    np.savez(folder / "map.npz", vertex_map=cut.vertex_map, confidence=np.ones(cut.part.n_vertices, np.float32))
    np.savez(folder / "truth.npz", vertex_map=cut.vertex_map)
    return folder


@pytest.mark.parametrize("name", ["x.txt", "page", "scan.ply", "html"])
def test_a_page_is_called_one(name: str, result: Path, tmp_path: Path, one_error: Callable[..., str]) -> None:
    told = one_error("view", result, "--export", tmp_path / name)
    assert told == f"--export {tmp_path / name} is an HTML page; give a name that ends in .html"
    assert not (tmp_path / name).exists()


def test_a_page_in_the_folder_of_its_result(result: Path, one_error: Callable[..., str]) -> None:
    for _ in range(2):
        assert main(["view", str(result), "--export", str(result / "Page.HTM"), "--quiet"]) == 0
    (result / "linked.html").symlink_to(result / "map.npz")
    assert "linked.html would overwrite" in one_error("view", result, "--export", result / "linked.html")


def test_a_report_is_written(result: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "report.html"
    assert main(["view", str(result), "--truth", str(result / "truth.npz"), "--export", str(path)]) == 0
    assert capsys.readouterr().out == f"wrote {path}\n"
    assert path.read_text().startswith("<!DOCTYPE html>")
    assert main(["view", str(result / "part.ply"), "--export", str(path), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == {"export": str(path), "bytes": path.stat().st_size, "notes": []}


def test_a_report_measures_along_edges_whatever_was_asked_for(
    result: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["view", str(result), "--method", "exact", "--sound", "--export", str(tmp_path / "r.html")]) == 0
    assert "note: --method and --sound are for the page that is served" in capsys.readouterr().err


# a program that is started in the background may find interruptions ignored
INTERRUPTIBLE = (
    "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler); "
    "from partwhole.cli.main import main; sys.exit(main())"
)


def test_the_page_is_served_until_it_is_interrupted(result: Path) -> None:
    command = [sys.executable, "-c", INTERRUPTIBLE]
    command += ["view", str(result), "--no-open", "--json", "--method", "dijkstra"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            address = json.loads(program.stdout.readline())["address"]
            before, _, query = address.partition("?")
            with urllib.request.urlopen(f"{before}scene?{query}", timeout=20) as answer:
                meta, arrays = unpack(answer.read())
            assert meta["title"] == "part → whole"
            assert meta["method"] == "dijkstra"
            assert "map" in arrays
            os.kill(program.pid, signal.SIGINT)
            assert program.wait(20) == 0
            assert program.stderr is not None
            assert program.stderr.read() == ""
        finally:
            program.kill()


# a match that never ends, in a thread that Python would wait for
ENDLESS = """
import threading, time
from concurrent.futures import ThreadPoolExecutor
import partwhole.viewer.page.session
def matched(*_, **__):
    with ThreadPoolExecutor(1) as pool:
        pool.submit(time.sleep, 1000).result()
partwhole.viewer.page.session.matched = matched
"""


def test_an_interruption_ends_the_page_while_it_computes(result: Path) -> None:
    command = [sys.executable, "-c", ENDLESS + INTERRUPTIBLE, "view", "--no-open", "--json"]
    command += [str(result / "part.ply"), str(result / "whole.ply")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
        try:
            assert program.stdout is not None
            address = json.loads(program.stdout.readline())["address"]
            before, _, query = address.partition("?")
            with urllib.request.urlopen(f"{before}job?{query}", timeout=20) as answer:
                assert json.loads(answer.read())["job"]["state"] == "running"
            os.kill(program.pid, signal.SIGINT)
            assert program.wait(20) == 0
            assert program.stderr is not None
            assert program.stderr.read() == ""
        finally:
            program.kill()


def test_the_browser_is_opened(
    result: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    monkeypatch.setattr("os._exit", lambda code: None)  # what is measured in the background ends by itself here
    monkeypatch.setattr("socketserver.BaseServer.serve_forever", _interrupted)
    assert main(["view", str(result)]) == 0
    out = capsys.readouterr().out
    assert out.splitlines() == [f"open {opened[0]} (Ctrl-C ends)", "closed"]
    assert opened[0].startswith("http://127.0.0.1:")
    assert main(["view", "--no-open", "--quiet"]) == 0
    assert len(opened) == 1


def _interrupted(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_large_surfaces_are_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_mesh(sphere(20_500), tmp_path / "large.ply")
    assert main(["view", str(tmp_path / "large.ply"), "--export", str(tmp_path / "large.html")]) == 0
    assert "note: large.ply has 20500 vertices; 20000 of them are drawn" in capsys.readouterr().err


def test_a_report_with_a_model_is_matched_first(
    result: Path, runs: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    meshes = [str(result / name) for name in ("part.ply", "whole.ply")]
    assert main(["view", *meshes, "--model", str(runs[0]), "--export", str(tmp_path / "m.html"), "--debug"]) == 0
    assert '"map":' in _scene_header(tmp_path / "m.html")
    assert "matching, step 4 of 6" in capsys.readouterr().out


def test_a_report_without_a_model_says_so(
    result: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("partwhole.matching.network.weights.model_names", tuple)
    meshes = [str(result / name) for name in ("part.ply", "whole.ply")]
    assert main(["view", *meshes, "--export", str(tmp_path / "m.html")]) == 0
    assert "note: no map: this installation comes without a trained model" in capsys.readouterr().err
    assert '"map":' not in _scene_header(tmp_path / "m.html")


def _scene_header(path: Path) -> str:
    text = re.search(r'id="scene">([^<]*)<', path.read_text())
    assert text is not None
    data = base64.b64decode(text[1])
    return data[4 : 4 + int.from_bytes(data[:4], "little")].decode()


def test_what_is_wrong_is_said_in_one_line(result: Path, tmp_path: Path, one_error: Callable[..., str]) -> None:
    assert "does not exist" in one_error("view", tmp_path / "none.ply")
    assert "has neither map.npz nor result.json" in one_error("view", tmp_path)
    assert "not 3 paths" in one_error("view", *[result / "part.ply"] * 3)
    assert "--truth needs a result" in one_error("view", "--truth", result / "truth.npz")
    assert "compared with a map only" in one_error("view", result / "part.ply", "--truth", result / "truth.npz")
    assert "--export needs something to show" in one_error("view", "--export", tmp_path / "a.html")
    assert "does not exist" in one_error("view", result, "--export", tmp_path / "no" / "a.html")
    assert "has no model.safetensors" in one_error("view", result, "--model", tmp_path)
