"""Engines against each other: the same masks and matches one after the other, in processes, and on a dask cluster here.

python benchmarks/engines.py [--parts 24] [--vertices 1000] [--workers 2] [--engines serial,processes,dask] [--repeats 2]

Every run is a process of its own, with one thread a library. The engines take turns, so that what else the machine does meets
all of them; the quickest turn of each counts. Results are compared byte by byte.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from recording import heading, save, table

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
COMMANDS = {
    "mask": ("mask", "set/parts", "--no-figure"),
    "match": ("match", "set/parts", "set/wholes", "--no-pictures", "--no-cache"),
}


def timed(folder: Path, *words: str) -> tuple[float, float]:
    """Seconds that a command takes, and seconds of the processor."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    command = [sys.executable, "-m", "partwhole", *words, "--quiet"]
    subprocess.run(command, cwd=folder, env={**os.environ, **ONE_THREAD}, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - start, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def _load() -> str:
    return f"{os.getloadavg()[0]:.1f}"


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", type=int, default=24)
    parser.add_argument("--vertices", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--engines", default="serial,processes,dask")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--output", type=Path)
    given = parser.parse_args()
    engines = given.engines.split(",")
    print(heading())
    print(f"{given.parts} parts of bodies with {given.vertices} vertices, {given.workers} workers; load {_load()}")
    rows, numbers = [], {}
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        bodies = ("--bodies", "2", "--poses", "1", "--vertices", str(given.vertices), "--parts", str(given.parts // 4))
        timed(root, "dataset", "make", *bodies, "--pairs", "own", "--recipe", "holes", "-o", "set")
        for name, words in COMMANDS.items():
            took: dict[str, list[tuple[float, float]]] = {engine: [] for engine in engines}
            for turn in range(given.repeats):
                for engine in engines:
                    where = () if engine == "serial" else ("--workers", str(given.workers))
                    output = f"{name}-{turn}-{engine}/out"
                    place = root / output
                    place.mkdir(parents=True)
                    os.symlink(root / "set", place.parent / "set")
                    took[engine].append(timed(place.parent, *words, "-o", "out", "--engine", engine, *where))
                    assert contents(place) == contents(root / f"{name}-0-{engines[0]}/out"), (
                        f"{engine} gives other results"
                    )
            held = sum(map(len, contents(root / f"{name}-0-{engines[0]}/out").values())) / given.parts
            quickest = {engine: min(runs) for engine, runs in took.items()}
            for engine, (wall, processor) in quickest.items():
                ratio = quickest[engines[0]][0] / wall
                cells = [f"{wall:.1f}", f"{wall / given.parts:.2f}", f"{processor / given.parts:.2f}", f"{ratio:.2f}"]
                rows.append([name, engine, *cells, f"{held / 1e6:.2f}"])
                numbers[f"{name} {engine}"] = {"seconds": wall, "processor": processor, "bytes": held}
    print(table(["command", "engine", "s", "s a part", "CPU s a part", f"× {engines[0]}", "MB a part"], rows))
    print(f"load at the end {_load()}")
    save(given.output, numbers)


if __name__ == "__main__":
    main()
