"""Eigenpairs kept in a cache: computed once, and for many surfaces by several processes that share the cache."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache as once
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from partwhole.mesh import Mesh, SurfaceLike, as_mesh
from partwhole.spectral.eigen import Eigenpairs, eigenpairs
from partwhole.store.arguments import Progress
from partwhole.store.cache import Cache
from partwhole.store.compute import available_cores

# raised with every change of the code that changes the numbers
_SCHEMA = 1


def cached_eigenpairs(mesh: SurfaceLike, k: int, cache: Cache) -> Eigenpairs:
    """`eigenpairs(mesh, k)`, from the cache if it was computed before with the same libraries, else put there.

    Examples
    --------
    >>> import tempfile
    >>> from partwhole.datasets import sphere
    >>> cache = Cache(tempfile.mkdtemp())
    >>> first = cached_eigenpairs(sphere(200), 10, cache)
    >>> again = cached_eigenpairs(sphere(200), 10, cache)
    >>> bool((first.functions == again.functions).all())
    True
    """
    mesh = as_mesh(mesh)
    key = _key(mesh, k)
    found = cache.get(key)
    if found is not None:
        return Eigenpairs(found["values"], found["functions"], found["mass"])
    computed = eigenpairs(mesh, k)
    cache.put(key, {"values": computed.values, "functions": computed.functions, "mass": computed.mass})
    return computed


def is_cached(mesh: Mesh, k: int, cache: Cache) -> bool:
    """Whether there is a file for them; `cached_eigenpairs` still makes sure that it is whole."""
    return cache.has(_key(mesh, k))


@once
def _versions() -> dict[str, str]:
    return {name: version(name) for name in ("numpy", "scipy", "robust-laplacian")}


def _key(mesh: Mesh, k: int) -> dict[str, Any]:
    return {
        "what": "eigenpairs",
        "schema": _SCHEMA,
        "libraries": _versions(),
        "mesh": mesh.content_hash,
        "k": k,
    }


# a process needs about a second to start, as long as two shapes of 5000 vertices take
_WORTH_A_PROCESS = 3
# what a process runs; the one that started it reports what is wrong with the cache
_WORKER = """
import sys
from pathlib import Path
from partwhole.spectral.cached import fill_from_file
from partwhole.store.cache import Cache
fill_from_file(Path(sys.argv[1]), int(sys.argv[2]), Cache(sys.argv[3], tell=lambda text: None))
"""


def fill_cache(
    meshes: Sequence[Mesh],
    k: int,
    cache: Cache,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    label: str = "eigenfunctions",
) -> None:
    """Put the eigenpairs of every mesh that are not there yet into the cache: `cached_eigenpairs` then only reads.

    Parameters
    ----------
    meshes : surfaces; of one with fewer than k vertices, as many eigenpairs as it has vertices
    k : how many eigenpairs of each
    cache : where they go
    workers : processes; default as many as there are cores
    progress : called with (label, meshes done, meshes in all)
    label : what `progress` is told is being computed
    """
    missing = [mesh for mesh in meshes if not is_cached(mesh, min(k, mesh.n_vertices), cache)]
    done = len(meshes) - len(missing)

    def report(more: int) -> None:
        nonlocal done
        done += more
        if progress is not None:
            progress(label, done, len(meshes))

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
        [sys.executable, "-c", _WORKER, str(path), str(k), cache.place],
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


def fill_from_file(path: Path, k: int, cache: Cache) -> None:
    """What one process does: the eigenpairs of every mesh in a file, and a line of output for each."""
    with np.load(path, allow_pickle=False) as file:
        for number in range(len(file.files) // 2):
            mesh = Mesh(file[f"vertices{number}"], file[f"faces{number}"], name=f"mesh {number}")
            cached_eigenpairs(mesh, min(k, mesh.n_vertices), cache)
            print(number, flush=True)
