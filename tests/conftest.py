"""What all tests share: shapes in annotations are checked, real data is found through PARTWHOLE_DATA."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import functools
import gc
import importlib
import inspect
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import jaxtyping
import pytest
from beartype import BeartypeConf, beartype
from hypothesis import HealthCheck, settings
from jaxtyping import install_import_hook
from jaxtyping._storage import get_shape_memo

os.environ.setdefault("MPLBACKEND", "agg")  # no test may need a screen


class _KernelsAsTheyAre(MetaPathFinder):
    """Imports cpu/ and cuda/ modules unchanged: numba and triton compile functions and can't see through a wrapper.

    The descent is left alone too: its steps are so small, and so many, that checking them takes longer than they do.
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        kernel = fullname.startswith("partwhole.") and {"cpu", "cuda"} & set(fullname.split("."))
        if kernel or fullname == "partwhole.embedding.solver.descent":
            return PathFinder.find_spec(fullname, path, target)
        return None


def _types_named(function: FunctionType) -> list[object] | None:
    """What the annotations of a function name; None if a name can't be looked up here, as those for mypy alone."""
    known = {**vars(builtins), **function.__globals__}
    types: list[object] = []
    for annotation in function.__annotations__.values():
        if not isinstance(annotation, str):
            types.append(annotation)
            continue
        for node in ast.walk(ast.parse(annotation, mode="eval")):
            if isinstance(node, ast.Name):
                if node.id not in known:
                    return None
                types.append(known[node.id])
    return types


def _checked(function: Any = None, *, typechecker: Any = None) -> Any:
    """jaxtyped, but a function without arrays has no shapes to compare, and is left to the type checker."""
    if function is None:
        return functools.partial(_checked, typechecker=typechecker)
    if isinstance(function, type):
        # the __init__ of a dataclass; one that is written out is checked already
        if dataclasses.is_dataclass(function) and not hasattr(function.__init__, "__wrapped__"):
            init: Any = function.__init__  # type: ignore[misc]
            function.__init__ = _checked_once(init, _types_named(init))  # type: ignore[misc]
        return function
    named = _types_named(function)
    if named is None or any("jaxtyping" in repr(thing) for thing in named):
        return _checked_once(function, named)
    return typechecker(function)


def _checked_once(function: FunctionType, named: list[object] | None) -> Any:
    """As jaxtyped does, each call is a scope of its own for the names of dimensions; but nothing is checked twice.

    jaxtyped binds all arguments at every call, and checks them a second time with the result. What yields is left to it:
    its arguments are checked when the first thing is asked for, which is after the call.
    """
    if named is None or inspect.isgeneratorfunction(function):
        return _jaxtyped(function, typechecker=_typechecker)
    checked = _typechecker(function)

    @functools.wraps(function)
    def in_its_own_scope(*args: Any, **kwargs: Any) -> Any:
        with _SCOPE:
            return checked(*args, **kwargs)

    return in_its_own_scope


def _sizes(annotation: Any) -> tuple[int | str | None, ...] | None:
    """What an annotation says of each dimension: its size, its name or nothing; None if it says more than that."""
    sizes: list[int | str | None] = []
    for word in annotation.dim_str.split():
        if word != "_" and not word.isdecimal() and not (word.isidentifier() and word[0] != "_"):
            return None
        sizes.append(None if word == "_" else int(word) if word.isdecimal() else word)
    return tuple(sizes)


def _is_array(annotation: Any, thing: Any) -> bool:
    """As jaxtyping says; but it is asked for each kind of array once, and then sizes are all that is compared.

    It is also asked about all that does not fit, and finds the words for it.
    """
    kinds = annotation.__dict__.get("kinds")
    if kinds is None:
        annotation.kinds = kinds = {}
    kind = type(thing), getattr(thing, "dtype", None)
    sizes = kinds.get(kind)
    if sizes is not None and len(sizes) == len(thing.shape):
        known = get_shape_memo()[0]
        new: dict[str, int] = {}
        for asked, size in zip(sizes, thing.shape, strict=True):
            if isinstance(asked, str):
                asked = known[asked] if asked in known else new.setdefault(asked, size)
            if asked is not None and asked != size:
                break
        else:
            known.update(new)
            return True
    right = _asked_jaxtyping(annotation, thing)
    if right and kind not in kinds:
        kinds[kind] = _sizes(annotation)
    return right


# Every annotated function of the library is checked by beartype while the tests run, array shapes included. An int may
# stand where a float is asked for, as type checkers have it.
_SCOPE = jaxtyping.jaxtyped("context")
_typechecker = beartype(conf=BeartypeConf(is_pep484_tower=True, violation_type=jaxtyping.TypeCheckError))
_jaxtyped, jaxtyping.jaxtyped = jaxtyping.jaxtyped, _checked
_arrays = type(jaxtyping.AbstractArray)
_asked_jaxtyping, _arrays.__instancecheck__ = _arrays.__instancecheck__, _is_array  # type: ignore[method-assign]
assert "partwhole" not in sys.modules, "partwhole was imported before its annotations could be checked"
install_import_hook("partwhole", "beartype.beartype(conf=beartype.BeartypeConf(is_pep484_tower=True))")
sys.meta_path.insert(0, _KernelsAsTheyAre())

# A first call may compile a kernel, so there's no deadline; the same examples come on every machine, so that a failure
# in CI can be repeated.
settings.register_profile(
    "partwhole", deadline=None, derandomize=True, database=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("partwhole")


def pytest_collection(session: pytest.Session) -> None:
    """Bodies take a second each to make and never change: all tests of a process that ask for the same one share it."""
    if session.config.getoption("numprocesses", None) and not hasattr(session.config, "workerinput"):
        return  # this process hands tests out, and runs none
    gc.disable()  # until all tests are found: what is imported and collected stays
    make_body = importlib.import_module("partwhole.datasets.shapes.bodies.body").make_body
    kept_body = functools.lru_cache(maxsize=100)(make_body)

    @functools.wraps(make_body)
    def make_body_once(plan: object = "biped", n_vertices: object = 5000, *, seed: object = 0) -> object:
        return (kept_body if isinstance(seed, int) else make_body)(plan, n_vertices, seed=seed)

    for place in ("shapes.bodies.body", "shapes.bodies", "synthetic.generated", ""):
        module = importlib.import_module(f"partwhole.datasets.{place}".rstrip("."))
        module.make_body = make_body_once  # type: ignore[attr-defined]


def pytest_collection_finish() -> None:
    """What is there by now is there to the end; to look through it for garbage would take longer than many a test."""
    gc.freeze()
    gc.enable()


def pytest_configure(config: pytest.Config) -> None:
    # notes and defaults depend on whether there is a GPU; the tests that need one are asked for with -m gpu
    if "not gpu" in config.option.markexpr:
        os.environ["CUDA_VISIBLE_DEVICES"] = ""


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The folder that holds the published data sets; tests that ask for it are skipped where there is none."""
    folder = os.environ.get("PARTWHOLE_DATA")
    if not folder:
        pytest.skip("PARTWHOLE_DATA is not set")
    root = Path(folder)
    if not root.is_dir():
        pytest.fail(f"PARTWHOLE_DATA is {folder}, which is no folder")
    return root


# a piece of the reason why tests are skipped; what they are, why they did not run, and how they would
_LEFT_OUT = (
    (
        "moto_server",
        "of the cache on S3",
        "s3fs or moto_server is missing",
        ".venv/bin/pip install s3fs 'moto[server]' && .venv/bin/pytest {files}",
    ),
    ("no Chromium", "of the page", "no Chromium", "apt-get install chromium && .venv/bin/pytest {files}"),
    (
        "PARTWHOLE_DATA is not set",
        "on published data",
        "PARTWHOLE_DATA is not set",
        "PARTWHOLE_DATA=FOLDER .venv/bin/pytest -m 'real_data and not slow and not gpu' {files}",
    ),
)


# around all others, so that it comes last
@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> Generator[None, object, object]:
    """A line for each kind of tests that did not run here, with the command for them; `make test` ends with these."""
    result = yield
    skipped = terminalreporter.stats.get("skipped", [])
    lines = []
    for reason, what, why, command in _LEFT_OUT:
        missed = [report.nodeid for report in skipped if reason in str(report.longrepr)]
        if missed:
            files = " ".join(sorted({nodeid.partition("::")[0] for nodeid in missed}))
            count = f"{len(missed)} test{'s' * (len(missed) > 1)} {what}"
            lines.append(f"{count} did not run, {why}; run by: {command.format(files=files)}")
            terminalreporter.write_line(lines[-1], yellow=True)
    if "PARTWHOLE_LEFT_OUT" in os.environ:
        Path(os.environ["PARTWHOLE_LEFT_OUT"]).write_text("".join(f"{line}\n" for line in lines))
    return result


# what takes longest begins first, so that no worker is left with it at the end
_LONG = ("test_tutorials.py", "test_page.py", "test_exact.py", "test_docs.py", "test_everything.py")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _LONG.index(item.path.name) if item.path.name in _LONG else len(_LONG))
    if os.environ.get("PARTWHOLE_DATA"):
        return
    for item in items:
        if item.get_closest_marker("real_data"):
            item.add_marker(pytest.mark.skip(reason="PARTWHOLE_DATA is not set"))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Mounts a disk of 4 MB, or mounts it again with other options; only root can do that, and not everywhere."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = []

    def mount(options: str) -> Path:
        words = ["mount", "-t", "tmpfs", "-o", f"remount,{options}" if mounted else options, "tmpfs", str(place)]
        try:
            done = subprocess.run(words, capture_output=True, check=False).returncode == 0
        except OSError:
            done = False
        if not done:
            pytest.skip("no disk can be mounted here")
        mounted.append(words)
        return place

    mount("size=4m")
    yield mount
    subprocess.run(["umount", str(place)], check=True)
