"""The server behind the page: it serves this machine only, requires a token, and answers from the session only.

There are no paths to files here: an address names one of a few questions, and answers come from memory.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

from partwhole.viewer.page.export import content_security_policy, page_html, report_bytes
from partwhole.viewer.page.session import Session

_ADDRESS = "127.0.0.1"
_BINARY = "application/octet-stream"
_JSON = "application/json"
LONGEST_WAIT = 30  # seconds, for a file that was dropped before


class PageServer(ThreadingHTTPServer):
    """Serves one session on the loopback address, at a port that is free.

    Parameters
    ----------
    session : what the page shows
    port : 0 for any that is free
    """

    daemon_threads = True

    def __init__(self, session: Session, *, port: int = 0) -> None:
        self.session = session
        self.token = secrets.token_urlsafe(24)
        self.receiving = threading.Lock()
        try:
            super().__init__((_ADDRESS, port), _Handler)
        except OSError as error:
            raise ValueError(f"port {port} can't be had ({error.strerror}); 0 takes any that is free") from None

    @property
    def address(self) -> str:
        """What to open in a browser; whoever has it can see the page."""
        return f"http://{_ADDRESS}:{self.server_port}/?token={self.token}"

    def close(self) -> None:
        """End, and give the port back; for a server that runs in another thread."""
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a browser that closes a connection early."""


class _Refused(Exception):
    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    server: PageServer
    server_version = "partwhole"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        session = self.server.session
        answers: dict[str, Callable[[dict[str, str]], tuple[str, bytes]]] = {
            "/": lambda q: ("text/html; charset=utf-8", page_html().encode()),
            "/scene": lambda q: (_BINARY, session.scene_bytes()),
            "/trust": lambda q: (_BINARY, session.trust_bytes(_number(q, "vertex"), q.get("method"))),
            "/pair": lambda q: (
                _BINARY,
                session.pair_bytes(_number(q, "vertex"), _number(q, "other"), q.get("method")),
            ),
            "/rings": lambda q: (_BINARY, session.rings_bytes(_number(q, "vertex"))),
            "/errors": lambda q: (_BINARY, session.errors_bytes()),
            "/distortion": lambda q: (_BINARY, session.distortion_bytes()),
            "/report": lambda q: (_BINARY, page_html(report_bytes(session.shown())).encode()),
            "/job": lambda q: (_JSON, _json({"number": session.number, "job": session.job and session.job.to_json()})),
        }
        self._answer(answers)

    def do_POST(self) -> None:
        session = self.server.session
        answers: dict[str, Callable[[dict[str, str]], tuple[str, bytes]]] = {
            "/upload": lambda q: (_JSON, _json(self._received(q.get("role", ""), q.get("name", "")))),
            "/match": lambda q: (_JSON, _json(session.match_again(self._body()))),
            "/swap": lambda q: (_JSON, _json(session.swap())),
            "/open": lambda q: (_JSON, _json(session.open_uploads(swapped=q.get("swapped") == "yes"))),
        }
        self._answer(answers)

    def _answer(self, answers: dict[str, Callable[[dict[str, str]], tuple[str, bytes]]]) -> None:
        try:
            place = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(place.query, keep_blank_values=True).items()}
            self._check(query)
            if place.path not in answers:
                raise _Refused(404, "there is nothing at this address")
            kind, data = answers[place.path](query)
            status = 200
        except _Refused as refused:
            status, kind, data = refused.status, _JSON, _json({"error": str(refused)})
        except (ValueError, OSError) as error:
            status, kind, data = 400, _JSON, _json({"error": " ".join(str(error).split())})
        except Exception as fault:  # the page says it; the server goes on
            status, kind, data = 500, _JSON, _json({"error": f"a fault of partwhole, {type(fault).__name__}: {fault}"})
        self._send(status, kind, data)

    def _check(self, query: dict[str, str]) -> None:
        port = self.server.server_port
        # a page elsewhere whose name was made to point here would bring its own name
        if self.headers.get("Host") not in (f"{_ADDRESS}:{port}", f"localhost:{port}"):
            raise _Refused(403, "the page is served to this machine only")
        origin = self.headers.get("Origin")
        if origin is not None and origin not in (f"http://{_ADDRESS}:{port}", f"http://localhost:{port}"):
            raise _Refused(403, "another page may not ask here")
        given = self.headers.get("X-Partwhole-Token") or query.get("token", "")
        if not secrets.compare_digest(given.encode(), self.server.token.encode()):
            raise _Refused(403, "the address lacks its token; open the one that `partwhole view` printed")

    def _received(self, role: str, name: str) -> dict[str, Any]:
        # one at a time, since each may take much memory; other questions are answered meanwhile
        if not self.server.receiving.acquire(timeout=LONGEST_WAIT):
            raise _Refused(503, "another file is still being read; wait for it, or restart `partwhole view`")
        try:
            return self.server.session.upload(role, name, self._body())
        finally:
            self.server.receiving.release()

    def _body(self) -> bytes:
        length = self.headers.get("Content-Length", "")
        if not (length.isascii() and length.isdecimal()):
            raise _Refused(411, "the size of the file is not said")
        largest = self.server.session.largest_upload
        if len(length) > 18 or int(length) > largest:
            limit = largest / (1 << 20)
            size = f"{int(length) / (1 << 20):.1f}" if len(length) <= 18 else "too many"
            raise _Refused(413, f"the file has {size} MiB; at most {limit:g} are taken here")
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            raise _Refused(400, f"only {len(body)} of the {length} bytes of the file arrived; drop it again")
        return body

    def _send(self, status: int, kind: str, data: bytes) -> None:
        # a body that was not read would be taken for the next request
        self.close_connection = self.close_connection or status != 200
        self.send_response(status)
        headers = {
            "Content-Type": kind,
            "Content-Length": str(len(data)),
            "Cache-Control": "no-store",
            "Content-Security-Policy": f"{content_security_policy(live=True)}; frame-ancestors 'none'",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Referrer-Policy": "no-referrer",
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
        }
        if self.close_connection:
            headers["Connection"] = "close"
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing: the terminal belongs to the command."""


def _number(query: dict[str, str], name: str) -> int:
    text = query.get(name, "")
    if not (text.isascii() and text.isdecimal()) or len(text) > 12:
        raise ValueError(f"{name} must be the number of a vertex, got {text[:40]!r}")
    return int(text)


def _json(value: Any) -> bytes:
    # half a character, from a name that is not UTF-8, becomes the escape that JSON has for it
    return json.dumps(value, ensure_ascii=False).encode(errors="backslashreplace")
