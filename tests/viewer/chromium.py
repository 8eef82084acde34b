"""A browser without a window, driven through a pipe by the Chrome DevTools protocol; nothing to install but Chromium."""

from __future__ import annotations

import base64
import io
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_OPTIONS = (
    "--headless",
    "--no-sandbox",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
)
# half the work for pages that nobody looks at
QUICK = (
    # the graphics card is imitated: it shall draw what the page draws, once, and nothing else
    "--disable-gpu-compositing",
    "--webgl-antialiasing-mode=none",
    # one page after the other is shown by the same process, which is started once
    "--process-per-site",
    "--renderer-process-limit=1",
    "--disable-features=BackForwardCache",
)
# what holds once the page has drawn its first picture
READY = "document.body?.dataset.ready && document.body.dataset.drawn"


def find_chromium() -> str | None:
    """The browser in PARTWHOLE_CHROMIUM or on the path; None if there is none."""
    given = os.environ.get("PARTWHOLE_CHROMIUM")
    return given or next((path for name in _NAMES if (path := shutil.which(name))), None)


class Chromium:
    """A browser that nobody has used before; `tab` opens pages that know nothing of each other."""

    def __init__(self, program: str, *, options: tuple[str, ...] = ()) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="partwhole-chromium-", ignore_cleanup_errors=True)
        to_browser, self._to = os.pipe()
        self._from, from_browser = os.pipe()
        # it reads its orders from descriptor 3 and answers on 4
        shell = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
        words = [program, *_OPTIONS, *options, f"--user-data-dir={self._profile.name}", "about:blank"]
        self._process = subprocess.Popen(
            ["bash", "-c", shell, *words],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._rest, self._number = b"", 0
        self._tabs: dict[str, Tab] = {}

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._to)
        os.close(self._from)
        self._profile.cleanup()

    def tab(self, **knobs: Any) -> Tab:
        """A new page, with cookies and storage of its own; see `Tab`."""
        context = self.send("Target.createBrowserContext")["browserContextId"]
        target = self.send("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._tabs[session] = tab = Tab(self, session, context)
        tab.begin(**knobs)
        return tab

    def send(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Give an order and wait for its answer."""
        self._number += 1
        order: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            order["sessionId"] = session
        data = json.dumps(order).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        while True:
            message = self._read()
            if message.get("id") == self._number:
                assert "error" not in message, f"{method}: {message['error']}"
                return message["result"]

    def _read(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            more = os.read(self._from, 1 << 20)
            assert more, "the browser has ended"
            self._rest += more
        text, self._rest = self._rest.split(b"\0", 1)
        message = json.loads(text)
        tab = self._tabs.get(message.get("sessionId"))
        if tab is not None:
            tab.note(message.get("method"), message.get("params", {}))
        return message


class Tab:
    """One page; everything it complained of is in `complaints`, see also `asked`."""

    def __init__(self, browser: Chromium, session: str, context: str) -> None:
        self._browser, self._session, self._context = browser, session, context
        self.complaints: list[str] = []
        self._requests: list[tuple[str, str]] = []
        self._opening = False
        for domain in ("Page", "Runtime", "Network", "Log", "DOM"):
            self.send(f"{domain}.enable")

    def begin(self, *, size: tuple[int, int] = (1200, 760), dark: bool = False) -> None:
        """As if nobody had used it: what another test did to it is undone, in a fraction of the time that a new one takes."""
        self.unplug(False)
        self.send("Emulation.setTouchEmulationEnabled", enabled=False)
        self.resize(*size)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])

    def __enter__(self) -> Tab:
        return self

    def __exit__(self, *_: object) -> None:
        self._browser.send("Target.disposeBrowserContext", browserContextId=self._context)

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Give an order and wait for its answer."""
        return self._browser.send(method, self._session, **parameters)

    @property
    def asked(self) -> list[str]:
        """Every address that the page asked for."""
        return [address for _, address in self._requests]

    def note(self, method: str | None, said: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            details = said["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(a.get("value", a.get("description"))) for a in said["args"]))
        elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            # how fast a graphics card is that is imitated says nothing
            if "GL Driver Message (OpenGL, Performance" not in said["entry"]["text"]:
                self.complaints.append(said["entry"]["text"])
        elif method == "Network.requestWillBeSent":
            self._requests.append((said["loaderId"], said["request"]["url"]))
        elif method == "Page.frameNavigated" and self._opening and "parentId" not in said["frame"]:
            # what the page before complained of, and asked for, is of no interest any more
            self.complaints, self._opening = [], False
            self._requests = [request for request in self._requests if request[0] == said["frame"]["loaderId"]]

    def until(self, found: Callable[[], Any], seconds: float = 30) -> Any:
        end = time.monotonic() + seconds
        while not (result := found()):
            assert time.monotonic() < end, "waited in vain"
            time.sleep(0.02)
        return result

    # --- what a person does

    def open(self, address: str, *, ready: str = READY) -> None:
        """Go there, and wait until an expression holds."""
        self.script("document.body?.removeAttribute('data-ready')")  # that of the page before
        self._opening = True
        self.send("Page.navigate", url=address)
        self.wait(ready)

    def resize(self, width: int, height: int, *, phone: bool = False) -> None:
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def script(self, code: str) -> Any:
        """The value of an expression in the page; promises are awaited."""
        found = self.send("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True, userGesture=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"].get("exception", {}).get("description")
        return found["result"].get("value")

    def wait(self, condition: str, *, seconds: float = 30) -> None:
        """Until an expression holds."""
        self.until(lambda: self.script(f"Boolean({condition})"), seconds)

    def text(self, selector: str) -> str:
        return self.script(f"document.querySelector({json.dumps(selector)})?.innerText ?? ''")

    def click(self, selector: str) -> None:
        x, y = self.middle(selector)
        self.click_at(x, y)

    def middle(self, selector: str) -> tuple[float, float]:
        code = f"""(() => {{ const e = document.querySelector({json.dumps(selector)});
            e.scrollIntoView({{block: "nearest"}}); const r = e.getBoundingClientRect();
            return [r.left + r.width / 2, r.top + r.height / 2]; }})()"""
        x, y = self.script(code)
        return x, y

    def click_at(self, x: float, y: float, *, modifiers: int = 0) -> None:
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1, modifiers=modifiers)

    def drag(self, start: tuple[float, float], end: tuple[float, float], *, steps: int = 6) -> None:
        self.send("Input.dispatchMouseEvent", type="mousePressed", x=start[0], y=start[1], button="left", clickCount=1)
        for k in range(1, steps + 1):
            x, y = (a + (b - a) * k / steps for a, b in zip(start, end, strict=True))
            self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, button="left", buttons=1)
        self.send("Input.dispatchMouseEvent", type="mouseReleased", x=end[0], y=end[1], button="left", clickCount=1)

    def key(self, key: str) -> None:
        for kind in ("keyDown", "keyUp"):
            self.send(
                "Input.dispatchKeyEvent", type=kind, key=key, text=key if len(key) == 1 and kind == "keyDown" else ""
            )

    def drop(self, *files: Path, at: tuple[float, float] = (300, 300)) -> None:
        data = {"items": [], "files": [str(file) for file in files], "dragOperationsMask": 1}
        for kind in ("dragEnter", "dragOver", "drop"):
            self.send("Input.dispatchDragEvent", type=kind, x=at[0], y=at[1], data=data)

    def unplug(self, out: bool = True) -> None:
        """No network any more; False plugs it in again."""
        self.send(
            "Network.emulateNetworkConditions", offline=out, latency=0, downloadThroughput=-1, uploadThroughput=-1
        )

    def downloads_to(self, folder: Path) -> None:
        self._browser.send(
            "Browser.setDownloadBehavior",
            behavior="allow",
            downloadPath=str(folder),
            browserContextId=self._context,
        )

    def screenshot(self, path: Path | None = None) -> np.ndarray:
        """The page as (height, width, 3) numbers from 0 to 255."""
        from PIL import Image

        data = base64.b64decode(self.send("Page.captureScreenshot", format="png", optimizeForSpeed=True)["data"])
        if path is not None:
            path.write_bytes(data)
        return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))

    # --- what is on the page of partwhole

    def seen_vertex(self, panel: int = 0, *, skip: int = 0) -> tuple[int, float, float]:
        """A vertex that can be clicked in a panel, and where it is; only what is drawn can be."""
        self.settle()
        vertex, x, y = self.script(
            f"""(() => {{
                const panel = partwhole.panels.list[{panel}], {{ surface, camera }} = panel;
                const box = panel.frame.getBoundingClientRect(), aspect = box.width / box.height;
                const {{ clip }} = camera.matrices(surface.radius, aspect);
                let skip = {skip};
                for (let v = 0; v < surface.size; v++) {{
                    const p = surface.point(v);
                    const [x, y, , w] = [0, 1, 2, 3].map(
                        (r) => clip[r] * p[0] + clip[4 + r] * p[1] + clip[8 + r] * p[2] + clip[12 + r]);
                    const left = Math.round(box.left + (x / w + 1) / 2 * box.width);
                    const top = Math.round(box.top + (1 - y / w) / 2 * box.height);
                    const across = 2 * (left - box.left) / box.width - 1, up = 1 - 2 * (top - box.top) / box.height;
                    const {{ origin, direction }} = camera.ray(across, up, surface.radius, aspect);
                    if (surface.hit(origin, direction) === v && skip-- <= 0) return [v, left, top];
                }}
            }})()"""
        )
        return vertex, x, y

    def click_vertex(self, panel: int = 0, *, skip: int = 0, shift: bool = False) -> int:
        """Click a vertex that is seen in a panel; its number."""
        vertex, x, y = self.seen_vertex(panel, skip=skip)
        self.click_at(x, y, modifiers=8 if shift else 0)
        return vertex

    def view(self, name: str) -> None:
        self.click(f'[data-view="{name}"]')

    def picture(self) -> np.ndarray:
        """What is drawn, without words: the part of a screenshot that is the stage."""
        words = ".panel h2, #wiper, #blender, #status"
        hidden = f"document.querySelectorAll('{words}').forEach((e) => {{ e.style.visibility = '%s'; }})"
        self.script(hidden % "hidden")
        left, top, width, height = self.script(
            "(() => { const r = document.getElementById('stage').getBoundingClientRect();"
            " return [r.left, r.top, r.width, r.height].map(Math.round); })()"
        )
        self.settle()
        shot = self.screenshot()[top : top + height, left : left + width]
        self.script(hidden % "")
        return shot

    def settle(self) -> None:
        """Until two frames were drawn."""
        self.script("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))")
