"""Runs the tutorials as a reader would, from the first command to the last, and makes their pictures on the way.

A page is a script. Lines of a console block that begin with `$` are run, what stands below them must be among what they
print, Python blocks are executed, and a comment says what to take a picture of:

    <!-- picture tutorials/page.png: view=texture look=120 -->      the page that `partwhole view` has just opened
    <!-- picture tutorials/map.png: file=scan-match/map.png -->     a file that a command has written

Numbers in the output may differ by a tenth from those on the page, since other processors round otherwise, or by as much as a
comment above the block allows: that much differs between seeds. Beyond it the page is wrong, and
`python docs/tutorials.py --update` writes the new numbers into it.

    <!-- numbers within 30 %: seeds 0 to 5 give 3.3 to 4.2 -->

Words for the page: view=NAME, look=VERTEX (choose it and turn to it), drop=FILE,FILE, set=SLIDER:VALUE,SLIDER:VALUE,
press=VALUE (of a radio button), size=WIDTHxHEIGHT, scroll=PIXELS (of what stands beside), dark. Pages go on where the one
before ended, in one folder.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "viewer"))
import chromium

DOCS = Path(__file__).parent
ROOT = DOCS.parent
PICTURES = DOCS / "tutorials"
PAGES = tuple(DOCS / f"tutorial-{name}.md" for name in ("match", "trust", "complete", "train"))

_STEP = re.compile(
    r"^```console\n(?P<console>.*?)^```$|^```python\n(?P<python>.*?)^```$|^<!-- picture (?P<picture>.*?) -->$"
    r"|^<!-- numbers within (?P<numbers>\d+) %.*? -->$",
    re.MULTILINE | re.DOTALL,
)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SIZE = (1180, 720)
_WITHIN = 0.1


@dataclass(frozen=True)
class Step:
    """A block of commands, of Python, a picture, or what numbers may differ by, and the line of the page where it stands."""

    kind: str
    text: str
    place: str


def steps_of(page: Path) -> Iterator[Step]:
    """What a page tells its reader to do, and the pictures of it."""
    text = page.read_text()
    for found in _STEP.finditer(text):
        kind = str(found.lastgroup)
        yield Step(kind, found[kind], f"{page.name}:{text.count(chr(10), 0, found.start()) + 1}")


@dataclass
class Reader:
    """Somebody who follows the pages in a folder of their own.

    Parameters
    ----------
    folder : where everything is done
    pictures : where pictures go; their names are relative to the folder above it
    browser : None where there is no Chromium; then nothing is seen of pages
    update : collect numbers that have changed, instead of finding fault with them
    """

    folder: Path
    pictures: Path
    browser: Any
    update: bool = False
    names: dict[str, Any] = field(default_factory=dict)
    changed: dict[str, str] = field(default_factory=dict)
    _within: float = _WITHIN
    _open: ExitStack = field(default_factory=ExitStack)
    _tab: Any = None

    def follow(self, page: Path) -> None:
        """Do all that a page says, as in a new session of Python."""
        self.names = {}
        do = {"console": self._console, "python": self._python, "picture": self._picture, "numbers": self._numbers}
        with self._open:
            for step in steps_of(page):
                try:
                    do[step.kind](step)
                except Exception as error:
                    error.add_note(f"in {step.place}")
                    raise

    def _console(self, step: Step) -> None:
        commands: list[tuple[str, list[str]]] = []
        for line in step.text.splitlines():
            if line.startswith("$ "):
                commands.append((line[2:], []))
            elif line.strip():
                commands[-1][1].append(line)
        for command, shown in commands:
            words = shlex.split(command, comments=True)
            if words[:2] == ["partwhole", "view"] and "--export" not in words:
                self._view(words)
            else:
                within = math.inf if self.update else self._within
                printed = _as_printed(self._run(command), shown, f"{step.place}: {command}", within)
                self.changed |= {line: now for line, now in zip(shown, printed, strict=True) if line != now}
        self._within = _WITHIN

    def _numbers(self, step: Step) -> None:
        self._within = int(step.text) / 100

    def _python(self, step: Step) -> None:
        with chdir(self.folder):
            exec(compile(step.text, step.place, "exec"), self.names)

    def _run(self, command: str) -> str:
        """What a command prints: notes first, which would otherwise stand anywhere."""
        words = shlex.split(command, comments=True)
        if words[0] == "partwhole" and not {"|", ">", "&&", ";"} & set(words):
            return self._run_here(words[1:])
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=self.folder,
            env=_surroundings(self.folder),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
        return done.stderr + done.stdout

    def _run_here(self, words: list[str]) -> str:
        """What partwhole prints, run in this process: to import it anew for each command takes longer than most of them."""
        from partwhole.cli.main import main

        said, printed = StringIO(), StringIO()
        surroundings = mock.patch.dict(os.environ, _surroundings(self.folder))
        with chdir(self.folder), surroundings, redirect_stderr(said), redirect_stdout(printed):
            code = main(words)
        assert code == 0, f"partwhole {shlex.join(words)}\n{printed.getvalue()}{said.getvalue()}"
        return said.getvalue() + printed.getvalue()

    def _view(self, words: list[str]) -> None:
        """Open the page, and keep it open until the next one, or the end."""
        self._open.close()
        self._tab = None
        program = subprocess.Popen(
            [*words, "--no-open", "--json"],
            cwd=self.folder,
            env=_surroundings(self.folder),
            stdout=subprocess.PIPE,
            text=True,
        )
        assert program.stdout is not None
        self._open.callback(program.stdout.close)
        self._open.callback(program.wait)
        self._open.callback(program.terminate)
        address = json.loads(program.stdout.readline())["address"]
        if self.browser is not None:
            self._tab = self._open.enter_context(self.browser.tab(size=_SIZE))
            self._tab.open(address)

    def _picture(self, step: Step) -> None:
        name, _, words = step.text.partition(":")
        given = dict(word.partition("=")[::2] for word in shlex.split(words))
        target = self.pictures.parent / name.strip()
        target.parent.mkdir(exist_ok=True)
        if "file" in given:
            shutil.copyfile(self.folder / given["file"], target)
        elif self.browser is None:
            _stand_in(target)
        else:
            assert self._tab is not None, "no page is open"
            self._photograph(target, given)

    def _photograph(self, target: Path, given: dict[str, str]) -> None:
        page = self._tab
        if "drop" in given:
            page.drop(*((self.folder / name).resolve() for name in given["drop"].split(",")))
            page.wait("window.partwhole?.scene.map", seconds=120)
        if "view" in given:
            page.view(given["view"])
        if "look" in given:
            page.script(f"partwhole.lookAt({int(given['look'])})")
            page.wait(f"partwhole.state.found.{'pair' if given.get('view') == 'trust' else 'rings'}")
        for name, value in (word.split(":") for word in given.get("set", "").split(",") if word):
            page.script(
                f"(() => {{ const e = document.getElementById({name!r}); e.value = {int(value)}; "
                "e.dispatchEvent(new Event('input')); })()"
            )
        if "press" in given:
            page.click(f'[type="radio"][value="{given["press"]}"]')
        page.send("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if "dark" in given else "light"}])  # fmt: skip
        width, height = map(int, given["size"].split("x")) if "size" in given else _SIZE
        page.resize(width, height)
        # what is on its way comes first: errors and distortion are measured when they are looked at
        page.wait("!partwhole.drawing && !document.getElementById('status').innerText.startsWith('measuring')")
        page.script(f"document.querySelector('aside').scrollTop = {int(given.get('scroll', 0))}")
        page.settle()
        page.screenshot(target)
        assert page.complaints == []


def _surroundings(folder: Path) -> dict[str, str]:
    """The program of this Python comes first, and nothing is known from an earlier time."""
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": programs, "PARTWHOLE_CACHE": str(folder / ".cache")}


def _plain(line: str) -> str:
    """A line without its numbers, and without what depends on them: spaces, rules, and plurals."""
    without = re.sub(r"\bregions\b", "region", _NUMBER.sub("#", line))
    return re.sub(r"[\s─]+", " ", without).strip()


def _drifted(shown: str, printed: str, within: float) -> bool:
    """Whether a number differs from the one shown in its place by more than this share, and one unit of its last digit.

    What is doubtful may differ by a per cent: a few vertices, on a map of which nearly all is sure.
    """
    for a, b in zip(_NUMBER.findall(shown), _NUMBER.findall(printed), strict=True):
        unit = 1.0 if "doubtful" in shown else 10.0 ** -len(a.partition(".")[2])
        if abs(float(a) - float(b)) > within * max(float(a), float(b)) + unit:
            return True
    return False


def _as_printed(printed: str, shown: list[str], place: str, within: float) -> list[str]:
    """What the page shows of the output, as it was printed: in that order; `...` stands for what is left out."""
    lines, found = iter(printed.splitlines()), []
    for line in shown:
        if line.strip(" .…─"):
            now = next((other for other in lines if _plain(other) == _plain(line)), None)
            assert now is not None, f"{place} does not print\n{line}\nas the page says, but\n{printed}"
            assert not _drifted(line, now, within), (
                f"{place} prints\n{now}\nwhere the page says\n{line}\nwhich differs by more than {within:.0%}; "
                "python docs/tutorials.py --update writes the new numbers"
            )
            found.append(now.rstrip())
        else:
            found.append(line)
    return found


def _stand_in(target: Path) -> None:
    from PIL import Image, ImageDraw

    picture = Image.new("RGB", (600, 60), "white")
    ImageDraw.Draw(picture).text((20, 22), "This picture is made with Chromium, which was not there.", fill="black")
    picture.save(target)


def program() -> str | None:
    """The browser, if there is one."""
    found = chromium.find_chromium()
    return found if found is not None and shutil.which(found) is not None else None


def state_of_sources() -> str:
    """Changes whenever the pictures may."""
    digest = hashlib.sha256()
    sources = [path for path in (ROOT / "src").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    for path in sorted([*sources, *PAGES, Path(__file__), Path(chromium.__file__)]):
        digest.update(str(path.relative_to(ROOT)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def make(*, pictures: Path = PICTURES, update: bool = False) -> bool:
    """Follow all pages; true if the pages of the program were seen, for which Chromium is needed."""
    found, state = program(), state_of_sources()
    stamp = pictures / "made.json"
    stamp.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(prefix="partwhole-tutorials-") as folder, ExitStack() as stack:
        browser = None if found is None else stack.enter_context(chromium.Chromium(found))
        for page in PAGES:
            reader = Reader(Path(folder), pictures, browser, update)
            reader.follow(page)
            if update:
                lines = page.read_text().split("\n")
                page.write_text("\n".join(reader.changed.get(line, line) for line in lines))
    stamp.write_text(json.dumps({"state": state, "seen": found is not None}))
    return found is not None


def make_if_changed() -> None:
    """For the documentation: the tests, or an earlier build, may have made the pictures of these very sources."""
    try:
        made = json.loads((PICTURES / "made.json").read_text())
    except (OSError, ValueError):
        made = {}
    if made.get("state") != state_of_sources() or made.get("seen") != (program() is not None):
        make()


if __name__ == "__main__":
    make(update="--update" in sys.argv[1:])
