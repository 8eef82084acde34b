"""What the server answers, and to whom: each promise about security has its test."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from partwhole.mesh.io import FORMATS
from partwhole.viewer.page.export import page_html
from partwhole.viewer.page.packing import unpack
from partwhole.viewer.page.scene import Scene
from partwhole.viewer.page.server import PageServer
from partwhole.viewer.page.session import Session

Answer = tuple[int, http.client.HTTPMessage, bytes]


@pytest.fixture
def server(scene: Scene, serve: Callable[..., PageServer]) -> PageServer:
    return serve(Session(scene, method="dijkstra", largest_upload=100_000))


def ask(
    server: PageServer,
    path: str,
    *,
    method: str = "GET",
    token: str | None = None,
    host: str | None = None,
    body: bytes | None = None,
    **headers: str,
) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    try:
        connection.putrequest(method, path, skip_host=True)
        connection.putheader("Host", host or f"127.0.0.1:{server.server_port}")
        connection.putheader("X-Partwhole-Token", server.token if token is None else token)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        if body is not None and "Content_Length" not in headers:
            connection.putheader("Content-Length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def reason(answer: Answer) -> str:
    return json.loads(answer[2])["error"]


def test_the_address_opens_the_page(server: PageServer) -> None:
    place = urlsplit(server.address)
    assert place.hostname == "127.0.0.1"
    status, headers, body = ask(server, f"{place.path}?{place.query}", token="")
    assert (status, headers["Content-Type"], body.decode()) == (200, "text/html; charset=utf-8", page_html())


def test_answers_come_from_the_session(server: PageServer) -> None:
    for path in ("/scene", "/trust?vertex=3", "/pair?vertex=3&other=9", "/rings?vertex=3", "/distortion"):
        status, headers, body = ask(server, path)
        assert (status, headers["Content-Type"]) == (200, "application/octet-stream")
        unpack(body)
    assert json.loads(ask(server, "/job")[2]) == {"number": 0, "job": None}
    assert b'id="scene"' in ask(server, "/report")[2]


def test_only_this_machine_is_served(server: PageServer) -> None:
    assert server.server_address[0] == "127.0.0.1"
    others = {info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)} - {"127.0.0.1"}
    for address in others:
        with pytest.raises(OSError, match=r"refused|unreachable|timed out"):
            socket.create_connection((address, server.server_port), timeout=2).close()


@pytest.mark.parametrize("path", ["/", "/scene", "/trust?vertex=1", "/report", "/job", "/nothing"])
@pytest.mark.parametrize("token", ["", "wrong", "ä"])
def test_nobody_is_served_without_the_token(server: PageServer, path: str, token: str) -> None:
    answer = ask(server, path, token=token.encode().decode("latin-1"))
    assert answer[0] == 403
    assert "token" in reason(answer)


def test_nothing_is_taken_without_the_token(server: PageServer) -> None:
    for path in ("/upload?role=part&name=a.off", "/open"):
        assert ask(server, path, method="POST", token="", body=b"OFF")[0] == 403
    assert server.session.number == 0


def test_tokens_are_long_and_differ(scene: Scene) -> None:
    tokens = []
    for _ in range(3):
        with PageServer(Session(scene)) as server:
            tokens.append(parse_qs(urlsplit(server.address).query)["token"][0])
    assert len(set(tokens)) == 3
    assert min(map(len, tokens)) >= 32


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1.evil.example:80", "localhost:1"])
def test_names_that_were_made_to_point_here_are_refused(server: PageServer, host: str) -> None:
    answer = ask(server, "/scene", host=host)
    assert answer[0] == 403
    assert "this machine only" in reason(answer)


def test_localhost_is_this_machine(server: PageServer) -> None:
    assert ask(server, "/job", host=f"localhost:{server.server_port}")[0] == 200


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1"])
def test_other_pages_may_not_ask(server: PageServer, origin: str) -> None:
    answer = ask(server, "/scene", Origin=origin)
    assert answer[0] == 403
    assert "another page" in reason(answer)
    assert answer[1]["Access-Control-Allow-Origin"] is None


@pytest.mark.parametrize(
    "path",
    ["/../../../../etc/passwd", "/..%2f..%2fetc/passwd", "//etc/passwd", "/etc/passwd", "/page/main.js", "/part.ply",
     "/scene/../../etc/passwd", "/%2e%2e/", "/scene%00", "file:///etc/passwd"],
)  # fmt: skip
def test_no_file_can_be_asked_for(server: PageServer, path: str) -> None:
    status, _, body = ask(server, path)
    assert status == 404
    assert b"root:" not in body


def test_a_dropped_file_never_lands_outside_and_never_stays(
    server: PageServer, result_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    data = (result_folder / "part.ply").read_bytes()
    for name in ("../../../outside.ply", "/etc/outside.ply", "..\\outside.ply", "x/../../outside.ply\0"):
        status, _, body = ask(server, f"/upload?role=part&name={quote(name)}", method="POST", body=data)
        assert status == 200
        assert json.loads(body)["name"] == "outside.ply"
    assert list(tmp_path.iterdir()) == []


def test_every_format_that_is_read_can_be_chosen() -> None:
    offered = re.search(r'id="meshes"[^>]*accept="([^"]*)"', page_html())
    assert offered is not None
    assert sorted(offered[1].split(",")) == sorted(f".{ending}" for ending in FORMATS)


def test_dropped_files_are_limited_in_size(server: PageServer) -> None:
    path = "/upload?role=part&name=a.off"
    answer = ask(server, path, method="POST", body=b"x" * 100_001)
    assert answer[0] == 413
    assert "at most" in reason(answer)
    # nothing of it is read, and the connection ends: the rest is not taken for another request
    assert answer[1]["Connection"] == "close"
    assert ask(server, path, method="POST", body=b"", Content_Length="999999999999")[0] == 413
    assert ask(server, path, method="POST", body=b"", Content_Length="9" * 5000)[0] == 413
    assert ask(server, path, method="POST", body=b"", Content_Length="-1")[0] == 411
    assert ask(server, path, method="POST")[0] == 411


def test_dropped_files_go_through_the_reader_that_checks_all(server: PageServer) -> None:
    path = "/upload?role=part&name=scan.off"
    answer = ask(server, path, method="POST", body=b"OFF 3 1 0\n0 0 0\n1 0 0\nnan 1 0\n3 0 1 2\n")
    assert answer[0] == 400
    assert reason(answer).startswith("scan.off: vertex 2 ")
    assert reason(ask(server, path, method="POST", body=b"OFF 3 1 0\n0 0 0\n1 0 0\n0 1 0\n3 0 1 7\n")).startswith(
        "scan.off"
    )
    assert server.session.number == 0


def test_a_file_that_takes_long_holds_up_nothing_else(
    server: PageServer, result_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, go_on = threading.Event(), threading.Event()

    def slow(*_: object) -> object:
        reading.set()
        go_on.wait(60)
        raise ValueError("read at last")

    monkeypatch.setattr("partwhole.viewer.page.session.decode_mesh", slow)
    monkeypatch.setattr("partwhole.viewer.page.server.LONGEST_WAIT", 0.01)
    path = "/upload?role=part&name=a.off"
    with ThreadPoolExecutor(1) as pool:
        uploaded = pool.submit(ask, server, path, method="POST", body=b"OFF")
        try:
            assert reading.wait(20)
            for question in ("/", "/job", "/scene", "/trust?vertex=3"):
                assert ask(server, question)[0] == 200
            # one file at a time, so that many at once do not fill the memory
            answer = ask(server, path, method="POST", body=b"OFF")
            assert answer[0] == 503
            assert "another file is still being read" in reason(answer)
            server.close()  # ends although the file is still being read
        finally:
            go_on.set()
        assert reason(uploaded.result(20)) == "read at last"


def test_a_file_that_came_only_in_part_is_refused(server: PageServer) -> None:
    # what lines are there make a surface, but not the one that was sent
    body = b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n"
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as line:
        head = f"POST /upload?role=part&name=a.obj HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n"
        head += f"X-Partwhole-Token: {server.token}\r\nContent-Length: {len(body) + 9}\r\n\r\n"
        line.sendall(head.encode() + body)
        line.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: line.recv(4096), b""))
    assert answer.startswith(b"HTTP/1.1 400")
    assert b"only 32 of the 41 bytes of the file arrived" in answer


@pytest.mark.parametrize(
    "request_line",
    [b"\x00\xff\xfe", b"GET", b"GET / HTTP/9.9", b"POST /upload HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: x",
     b"GET //[ HTTP/1.1", b"GET /" + 70_000 * b"a" + b" HTTP/1.1", b"GET / HTTP/1.1\r\n" + 200 * b"A: b\r\n"],
)  # fmt: skip
def test_requests_that_are_none_do_no_harm(server: PageServer, request_line: bytes) -> None:
    # the server may hang up before it has heard all
    with suppress(OSError), socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as line:
        line.sendall(request_line + b"\r\n\r\n")
        line.shutdown(socket.SHUT_WR)
        line.recv(100)
    assert ask(server, "/job")[0] == 200


def test_every_answer_has_a_policy(server: PageServer) -> None:
    for answer in (ask(server, "/"), ask(server, "/scene"), ask(server, "/nothing"), ask(server, "/", token="")):
        policy = answer[1]["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'sha256-")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer[1]["X-Content-Type-Options"] == "nosniff"
        assert answer[1]["Referrer-Policy"] == "no-referrer"
        assert answer[1]["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    "query", ["", "vertex=", "vertex=-1", "vertex=1e3", "vertex=²", "vertex=" + "9" * 40, "vertex=99999"]
)
def test_numbers_that_are_none_are_told(server: PageServer, query: str) -> None:
    answer = ask(server, f"/trust?{quote(query, safe='=')}")
    assert answer[0] == 400
    assert "vertex" in reason(answer)


def test_a_fault_is_told_and_the_server_goes_on(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> bytes:
        raise RuntimeError("broken")

    monkeypatch.setattr(server.session, "trust_bytes", broken)
    answer = ask(server, "/trust?vertex=1")
    assert answer[0] == 500
    assert reason(answer) == "a fault of partwhole, RuntimeError: broken"
    assert ask(server, "/scene")[0] == 200


def test_other_methods_are_not_known(server: PageServer) -> None:
    for method in ("PUT", "DELETE", "OPTIONS"):
        assert ask(server, "/scene", method=method)[0] == 501


def test_a_port_that_is_taken_is_told(server: PageServer, scene: Scene) -> None:
    with pytest.raises(ValueError, match=rf"port {server.server_port} can't be had .*; 0 takes any that is free"):
        PageServer(Session(scene), port=server.server_port)
