"""The package as a whole: what importing it costs, what it offers, and how its folders may use one another."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import partwhole as pw

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "partwhole"


def run_python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("heavy", ["torch", "triton", "numba", "matplotlib", "typer", "sklearn", "pandas"])
def test_importing_partwhole_leaves_heavy_libraries_alone(heavy: str) -> None:
    assert run_python(f"import sys, partwhole; print({heavy!r} in sys.modules)").strip() == "False"


def test_importing_partwhole_prints_nothing_and_leaves_random_state_alone() -> None:
    code = "import numpy as np; np.random.seed(1); import partwhole; print(np.random.random())"
    assert run_python(code) == run_python(code.replace("import partwhole; ", ""))


def test_public_names_are_there_and_explained() -> None:
    assert len(pw.__all__) == len(set(pw.__all__))
    for name in pw.__all__:
        value = getattr(pw, name)
        assert name.startswith("__") or value.__doc__, f"pw.{name} has no docstring"


def test_importing_partwhole_imports_nothing_else() -> None:
    code = "import sys; before = {*sys.modules}; import partwhole; print(sorted({*sys.modules} - before))"
    assert run_python(code).strip() == "['partwhole', 'partwhole._version']"


def test_every_public_name_is_listed_before_it_is_used() -> None:
    assert run_python("import partwhole as pw; print(sorted({*pw.__all__} - {*dir(pw)}))").strip() == "[]"


def test_help_works_without_torch() -> None:
    # the names that are not listed are those that end in the hint, no more and no fewer
    code = """
import importlib.machinery, pydoc, sys
find = importlib.machinery.PathFinder.find_spec
importlib.machinery.PathFinder.find_spec = lambda name, *more: None if name == "torch" else find(name, *more)
import partwhole as pw
assert "geodesic_distances" in pydoc.render_doc(pw)
for name in pw.__all__:
    try:
        getattr(pw, name)
        needs_torch = False
    except ModuleNotFoundError as hint:
        needs_torch = "needs torch: " in str(hint)
    assert needs_torch == (name not in dir(pw)), name
"""
    run_python(code)


@pytest.mark.parametrize("folder", ["mesh", "matching", "evaluation", "spectral", "viewer", "embedding"])
def test_folders_are_there_without_an_import_of_their_own(folder: str) -> None:
    assert run_python(f"import partwhole as pw; print(pw.{folder}.__name__)").strip() == f"partwhole.{folder}"


def test_a_name_that_is_not_there() -> None:
    with pytest.raises(AttributeError, match="module 'partwhole' has no attribute 'magic'"):
        _ = pw.magic


def test_public_names_are_all_in_the_reference() -> None:
    pages = "".join(page.read_text() for page in (ROOT / "docs").glob("api*.md"))
    missing = [name for name in pw.__all__ if not name.startswith("__") and not re.search(rf"\b{name}\b", pages)]
    assert missing == []


@pytest.mark.parametrize(
    "folder", ["mesh", "geodesics", "criterion", "datasets", "embedding", "matching", "evaluation", "spectral"]
)
def test_every_public_class_is_in_the_glossary(folder: str) -> None:
    glossary = (ROOT / "docs/glossary.md").read_text()
    home = getattr(pw, folder)
    nouns = [name for name in home.__all__ if isinstance(getattr(home, name), type)]
    assert [name for name in nouns if not re.search(rf"\b{name}(s|es)?\b", glossary)] == []


def test_the_package_is_typed() -> None:
    assert (PACKAGE / "py.typed").exists()


def test_every_folder_has_its_place_in_the_layers() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())
    layers = settings["tool"]["importlinter"]["contracts"][0]["layers"]
    named = {name.split(".")[1] for layer in layers for name in re.split(r"\s*[|:]\s*", layer)}
    assert {file.parent.name for file in PACKAGE.glob("*/__init__.py")} <= named


def test_one_version_everywhere() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    newest = re.search(r"^## (\d+\.\d+\.\d+)", changelog, re.MULTILINE)
    cited = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    assert newest is not None
    assert cited is not None
    assert {newest[1], cited[1]} == {pw.__version__}


def test_constraints_are_exact() -> None:
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9_.\-]+==[0-9][0-9A-Za-z.]*", line)] == []
