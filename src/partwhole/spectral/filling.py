"""Eigenpairs of many surfaces, by processes that share a cache."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from partwhole.mesh.surface import Mesh
from partwhole.spectral.cached import cached_eigenpairs, is_cached
from partwhole.store.cache import Cache
from partwhole.store.cores import available_cores

# a process needs about a second to start, as long as two shapes of 5000 vertices take
_WORTH_A_PROCESS = 3


def fill_cache(
    meshes: Sequence[Mesh],
    k: int,
    cache: Cache,
    *,
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> None:
    """Put the eigenpairs of every mesh that are not there yet into the cache: `cached_eigenpairs` then only reads.

    Parameters
    ----------
    meshes : surfaces; of one with fewer than k vertices, as many eigenpairs as it has vertices
    k : how many eigenpairs of each
    cache : where they go
    workers : processes; default as many as there are cores
    progress : called with (meshes done, meshes in all)
    """
    missing = [mesh for mesh in meshes if not is_cached(mesh, min(k, mesh.n_vertices), cache)]
    known = len(meshes) - len(missing)
    done = known

    def report(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(done, len(meshes))

    report(0)
    count = min(workers or available_cores(), len(missing) // _WORTH_A_PROCESS)
    # the largest first, dealt out in turns, so that all end at about the same time
    missing.sort(key=lambda mesh: -mesh.n_vertices)
    with ExitStack() as stack:
        files = [] if count < 2 else _dealt_out([missing[number::count] for number in range(count)], stack)
        if not files:
            for mesh in missing:
                cached_eigenpairs(mesh, min(k, mesh.n_vertices), cache)
                report(1)
            return
        started = []
        try:
            for path in files:
                started.append(_start(path, k, cache))
            for process in started:
                assert process.stdout is not None
                for _ in process.stdout:
                    report(1)
                _, errors = process.communicate()
                if process.returncode:
                    # a process that was killed, for its memory say, has no last words
                    reason = errors.decode().strip().splitlines() or [f"a process ended with {process.returncode}"]
                    raise ValueError(f"eigenpairs could not be computed: {reason[-1]}")
        finally:
            for process in started:
                process.kill()
                process.communicate()


def _start(path: Path, k: int, cache: Cache) -> subprocess.Popen[bytes]:
    one_thread = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    paths = os.pathsep.join(entry for entry in sys.path if entry)
    return subprocess.Popen(
        [sys.executable, "-m", "partwhole.spectral.filling", str(path), str(k), str(cache.folder)],
        env={**os.environ, **one_thread, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _dealt_out(hands: Sequence[Sequence[Mesh]], stack: ExitStack) -> list[Path]:
    """A file for each process, or none where nothing can be written."""
    try:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        files = [folder / f"{number}.npz" for number in range(len(hands))]
        for path, meshes in zip(files, hands, strict=True):
            _write_meshes(path, meshes)
    except OSError:
        return []
    return files


def _write_meshes(path: Path, meshes: Sequence[Mesh]) -> None:
    np.savez(path, **{f"{what}{i}": getattr(m, what) for i, m in enumerate(meshes) for what in ("vertices", "faces")})


def _fill_from(path: Path, k: int, cache: Cache) -> None:
    with np.load(path, allow_pickle=False) as file:
        for number in range(len(file.files) // 2):
            mesh = Mesh(file[f"vertices{number}"], file[f"faces{number}"], name=f"mesh {number}")
            cached_eigenpairs(mesh, min(k, mesh.n_vertices), cache)
            print(number, flush=True)


if __name__ == "__main__":
    # whoever asked for them says what is wrong with the cache
    _fill_from(Path(sys.argv[1]), int(sys.argv[2]), Cache(sys.argv[3], tell=lambda text: None))
