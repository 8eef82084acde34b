"""What dask workers, and whole runs, that are killed cost: thousand parts through `dataset make`, `mask` and `match`.

    python benchmarks/interrupted.py [--parts 1000] [--every 10] [--model default] [--read-out features] [--folder DIR]

Each command runs three times: undisturbed, one shape after the other; with `--engine dask`, while the older of two workers is
killed every few seconds, if something was completed since the last time, and the whole run once, in its middle, to be started
again; and as three shards at once. All files
are compared byte by byte. Every process notes which parts it begins to read and which results it completes, so what was
computed twice is counted, not guessed.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from engines import ONE_THREAD, contents
from recording import heading, save, table

# of every process of the runs: parts that are opened to be read, and results that get their names
NOTES = """
import os, sys

def _note(event, args):
    if event == "open" and isinstance(args[0], str) and "/parts/" in args[0] and not args[2] & (os.O_WRONLY | os.O_RDWR):
        _write("begun", args[0])
    elif event == "os.rename":
        _write("made", os.fsdecode(args[1]))

def _write(what, path):
    line = f"{what} {os.getpid()} {path}\\n".encode()
    to = os.open(os.environ["NOTES"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    os.write(to, line)
    os.close(to)

if "NOTES" in os.environ:
    sys.addaudithook(_note)
"""


class Run:
    """One way to run a command, with what it cost.

    Parameters
    ----------
    folder : where the command runs
    result : pattern of the file that is written last of each shape
    """

    def __init__(self, folder: Path, result: str) -> None:
        self.folder, self.result = folder, result
        self.notes = folder / "notes.txt"
        self.kills = self.restarts = 0
        self.wall = self.processor = 0.0

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "partwhole", *words, "--quiet"]
        paths = [str(self.folder.parent / "hook"), os.environ.get("PYTHONPATH", "")]
        more = {"NOTES": str(self.notes), "PYTHONPATH": os.pathsep.join(filter(None, paths)), **ONE_THREAD}
        return subprocess.Popen(command, cwd=self.folder, env={**os.environ, **more})

    def wait(self, *runs: subprocess.Popen[bytes]) -> None:
        for run in runs:
            if run.wait():
                raise SystemExit(f"{run.args} ended with {run.returncode}")

    def finished(self) -> int:
        return len(list(self.folder.glob(self.result)))

    def undisturbed(self, *words: str) -> None:
        self.wait(self.start(*words))

    def as_shards(self, *words: str) -> None:
        self.wait(*[self.start(*words, "--shard", f"{k}/3") for k in range(3)])

    def killed(self, every: float, count: int, *words: str) -> None:
        """On dask: workers are killed again and again, and the run itself when half of the results are there."""
        while True:
            run = self.start(*words, "--engine", "dask", "--workers", "2")
            ended = threading.Event()
            killer = threading.Thread(target=self._kill_workers, args=(run.pid, every, ended))
            killer.start()
            try:
                while run.poll() is None and (self.restarts or self.finished() < count // 2):
                    time.sleep(0.2)
                if run.poll() is None:
                    run.send_signal(signal.SIGKILL)
                    run.wait()
                    self.restarts += 1
                    continue
            finally:
                ended.set()
                killer.join()
            self.wait(run)
            return

    def _kill_workers(self, of: int, every: float, ended: threading.Event) -> None:
        seen = self.made_by_workers(of)
        while not ended.wait(every):
            # on a busy machine a worker needs longer than that to load its libraries
            workers, made = workers_of(of), self.made_by_workers(of)
            if workers and made > seen:
                seen = made
                with suppress(ProcessLookupError):
                    os.kill(workers[0], signal.SIGKILL)
                    self.kills += 1

    def made_by_workers(self, of: int) -> int:
        """Files that processes other than this one have completed so far."""
        lines = self.notes.read_text().splitlines() if self.notes.exists() else []
        return sum(line.startswith("made ") and not line.startswith(f"made {of} ") for line in lines)

    def counts(self) -> tuple[int, int]:
        """How many shapes were begun, by whichever process, and results completed more than once."""
        lines = [line.split(" ", 2) for line in self.notes.read_text().splitlines()]
        begun = {(pid, path) for what, pid, path in lines if what == "begun"}
        results = {str(path) for path in self.folder.glob(self.result)}
        made = Counter(path for what, _, path in lines if what == "made" and path in results)
        return len(begun), sum(count - 1 for count in made.values())


def write_list(root: Path, count: int) -> None:
    """A list of so many pairs, evenly from all bodies."""
    made = root / "make-undisturbed/out"
    head, *rows = (made / "pairs.csv").read_text().splitlines()
    (made / "some.csv").write_text("\n".join([head, *(rows[k * len(rows) // count] for k in range(count))]) + "\n")


def workers_of(run: int) -> list[int]:
    """The workers of a run on this machine, the older ones first."""
    found = []
    for place in Path("/proc").iterdir():
        with suppress(OSError, ValueError):
            pid = int(place.name)
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == run and "spawn_main" in (place / "cmdline").read_text():
                found.append(pid)
    return sorted(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", type=int, default=1000)
    parser.add_argument("--of-each", type=int, default=100, help="parts that are cut from each body")
    parser.add_argument("--matched", type=int, help="parts that are matched, if not all")
    parser.add_argument("--every", type=float, default=10.0, help="seconds between two workers that are killed")
    parser.add_argument("--model", default="default", help="that matches")
    parser.add_argument("--read-out", default="features")
    parser.add_argument("--commands", default="make,mask,match")
    parser.add_argument("--folder", type=Path, help="for everything that is made; a temporary one if not given")
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    print(heading(), flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        root = (given.folder or Path(temporary)).resolve()
        (root / "hook").mkdir(parents=True, exist_ok=True)
        (root / "hook/sitecustomize.py").write_text(NOTES)
        rows, numbers = [], {}
        bodies = ("--bodies", str(given.parts // given.of_each), "--plan", "biped", "--poses", "1", "--vertices", "500")
        cut = ("--parts", str(given.of_each // 2), "--recipe", "holes", "--pairs", "own", "-o", "out")
        match = ("match", "--pairs", "set/some.csv", "--model", given.model, "--read-out", given.read_out)
        commands = {
            "make": (("dataset", "make", *bodies, *cut), "out/parts/*"),
            "mask": (("mask", "set/parts", "--no-figure", "-o", "out"), "out/*/summary.json"),
            "match": (
                (*match, "--no-pictures", "--no-cache", "-o", "out"),
                "out/*/summary.json",
            ),
        }
        for name in given.commands.split(","):
            words, result = commands[name]
            count = given.parts
            if name == "match":
                write_list(root, count := given.matched or count)
            for way in ("undisturbed", "killed", "shards"):
                run = Run(root / f"{name}-{way}", result)
                run.folder.mkdir()
                if name != "make":
                    (run.folder / "set").symlink_to(root / "make-undisturbed/out")
                before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
                if way == "undisturbed":
                    run.undisturbed(*words)
                elif way == "killed":
                    run.killed(given.every, count, *words)
                else:
                    run.as_shards(*words)
                after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - start
                processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                begun, twice = run.counts()
                there, wanted = contents(run.folder / "out"), contents(root / f"{name}-undisturbed/out")
                visible = {path: data for path, data in there.items() if not path.startswith(".")}
                same = "yes" if visible == wanted else "no"
                cells = [run.finished(), run.kills, run.restarts, begun if name != "make" else "", twice, same]
                rows.append([name, way, *map(str, cells), f"{wall:.0f}", f"{processor:.0f}"])
                print(*rows[-1], f"load {os.getloadavg()[0]:.1f}", flush=True)
                numbers[f"{name} {way}"] = {
                    "results": run.finished(),
                    "workers killed": run.kills,
                    "runs killed": run.restarts,
                    "begun": begun,
                    "completed again": twice,
                    "same": same,
                    "seconds": wall,
                }
    head = ["command", "run", "results", "workers killed", "runs killed", "begun", "completed again", "same bytes"]
    print(table([*head, "s", "CPU s"], rows))
    save(given.output, numbers)


if __name__ == "__main__":
    main()
