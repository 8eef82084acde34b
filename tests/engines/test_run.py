from __future__ import annotations

import builtins
import inspect
import os
import signal
import sys
import threading
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from partwhole.engines import EngineOptions, Lost, Shard, run_tasks
from partwhole.engines.options import Engine
from partwhole.engines.run import grouped

ENGINES: tuple[Engine, ...] = ("serial", "processes", "dask")


def options(engine: Engine, **more: Any) -> EngineOptions:
    if engine == "dask":
        pytest.importorskip("distributed")
    return EngineOptions(engine, 2 if engine != "serial" else None, **more)


def runs_of(folder: Path) -> Counter[str]:
    return Counter((folder / "log.txt").read_text().split())


@pytest.mark.parametrize("engine", ENGINES)
def test_every_task_is_done_once(engine: Engine, tmp_path: Path) -> None:
    import engine_tasks as tasks

    found = dict(run_tasks(partial(tasks.square, tmp_path), range(30), options(engine), sizes=[1] * 30, small=2))
    assert found == {number: f"{number}.txt" for number in range(30)}
    assert [(tmp_path / f"{number}.txt").read_text() for number in range(30)] == [str(n**2) for n in range(30)]
    assert set(runs_of(tmp_path).values()) == {1}
    assert list(run_tasks(partial(tasks.square, tmp_path), [], options(engine))) == []


@pytest.mark.parametrize("engine", ENGINES)
def test_what_a_task_raises_ends_the_run(engine: Engine) -> None:
    import engine_tasks as tasks

    with pytest.raises(ValueError, match="2 is not allowed; give another number"):
        list(run_tasks(tasks.raises, range(6), options(engine)))


@pytest.mark.parametrize("engine", ["processes", "dask"])
def test_a_task_that_ends_its_process_is_lost_and_no_other(engine: Engine, tmp_path: Path) -> None:
    import engine_tasks as tasks

    do = partial(tasks.ends_its_process, tmp_path)
    found = dict(run_tasks(do, range(8), options(engine, allowed_failures=1), sizes=[1] * 8, small=4))
    assert isinstance(found[5], Lost)
    assert "memory may be short" in found[5].reason
    assert {n: found[n] for n in found if n != 5} == {n: f"{n}.txt" for n in range(8) if n != 5}


def test_processes_use_one_thread_each() -> None:
    import engine_tasks as tasks

    assert dict(run_tasks(tasks.threads, range(2), options("processes"))) == {
        k: {"numba": 1, "blas": 1} for k in (0, 1)
    }


def kill_now_and_then(folder: Path, every: float, ended: threading.Event) -> None:
    """Kill one of the workers again and again; they name themselves in files."""
    while not ended.wait(every):
        for named in folder.glob("worker-*"):
            pid = int(named.name.partition("-")[2])
            named.unlink()
            try:
                os.kill(pid, signal.SIGKILL)
                break
            except ProcessLookupError:
                continue


@pytest.mark.parametrize(("engine", "every"), [("processes", 0.5), pytest.param("dask", 1.5, marks=pytest.mark.slow)])
def test_workers_that_are_killed_cost_no_more_than_what_they_were_at(
    engine: Engine, every: float, tmp_path: Path
) -> None:
    import engine_tasks as tasks

    ended = threading.Event()
    killer = threading.Thread(target=kill_now_and_then, args=(tmp_path, every, ended))
    killer.start()
    try:
        found = dict(run_tasks(partial(tasks.slow_square, tmp_path), range(40), options(engine, allowed_failures=50)))
    finally:
        ended.set()
        killer.join()
    assert found == {number: f"{number}.txt" for number in range(40)}
    # what is written is not computed again; a process can be killed between the line and the file
    assert sum(runs_of(tmp_path).values()) <= 40 + 4


def test_shards_share_the_tasks() -> None:
    shards = [Shard.read(f"{k}/3") for k in range(3)]
    assert [sum(shard.has(number) for shard in shards) for number in range(10)] == [1] * 10
    assert str(shards[2]) == "2/3"
    for text in ("3/3", "1", "-1/3", "a/b", "0/0"):
        with pytest.raises(ValueError, match="shard must be i/n with i from 0 to n - 1"):
            Shard.read(text)


def test_options_that_do_not_go_together() -> None:
    with pytest.raises(ValueError, match="engine must be one of serial, processes, dask, got 'threads'"):
        inspect.unwrap(EngineOptions.__init__)(object.__new__(EngineOptions), "threads")
    with pytest.raises(ValueError, match="scheduler tcp://x:1 is for engine dask, not for engine serial"):
        EngineOptions(scheduler="tcp://x:1")
    with pytest.raises(ValueError, match="workers must be at least 1, got 0"):
        EngineOptions("processes", 0)


def test_small_tasks_are_put_together_but_not_too_many() -> None:
    assert grouped([5] * 4, 2, small=10) == [[0], [1], [2], [3]]
    groups = grouped([1] * 1000, 2, small=1000)
    assert max(map(len, groups)) <= 16
    assert [k for group in groups for k in group] == list(range(1000))
    assert grouped([], 2, small=3) == []


def test_dask_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "distributed":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.delitem(sys.modules, "distributed", raising=False)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ValueError, match=r'engine dask needs dask\.distributed: .*pip install "distributed>=2024\.8"'):
        list(run_tasks(str, [1], EngineOptions("dask")))


def test_no_scheduler_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed")
    monkeypatch.setattr("partwhole.engines.cluster.PATIENCE", "1s")
    with pytest.raises(ValueError, match=r"no dask scheduler answers at tcp://127\.0\.0\.1:9"):
        list(run_tasks(str, [1], EngineOptions("dask", scheduler="tcp://127.0.0.1:9")))


def test_a_cluster_whose_workers_die_while_they_start(monkeypatch: pytest.MonkeyPatch) -> None:
    distributed = pytest.importorskip("distributed")
    tried = []

    def fails(**options: Any) -> None:
        tried.append(options["n_workers"])
        raise RuntimeError("Nanny failed to start.")

    monkeypatch.setattr(distributed, "LocalCluster", fails)
    with pytest.raises(ValueError, match=r"a dask cluster of 2 workers can't be started here \(Nanny failed to start"):
        list(run_tasks(str, [1], options("dask")))
    assert tried == [2, 2, 2]


@pytest.mark.slow
def test_a_scheduler_that_goes_away(tmp_path: Path) -> None:
    import subprocess

    import engine_tasks as tasks

    pytest.importorskip("distributed")
    file = tmp_path / "scheduler.json"
    command = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--scheduler-file", str(file), "--port", "0"]
    scheduler = subprocess.Popen([*command, "--no-dashboard"], stderr=subprocess.DEVNULL)
    worker = None
    try:
        while not file.exists():
            time.sleep(0.1)
        import json

        address = json.loads(file.read_text())["address"]
        worker = subprocess.Popen(
            [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard"],
            stderr=subprocess.DEVNULL,
        )
        found = run_tasks(partial(tasks.slow_square, tmp_path), range(400), EngineOptions("dask", scheduler=address))
        first = [next(found)[0] for _ in range(5)]
        scheduler.kill()
        with pytest.raises(ValueError, match=r"does not answer any more .*what is finished is kept"):
            list(found)
        assert all((tmp_path / f"{number}.txt").exists() for number in first)
    finally:
        for process in (scheduler, worker):
            if process is not None:
                process.kill()
                process.wait()
