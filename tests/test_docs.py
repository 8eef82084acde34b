"""Python in the README and the documentation runs, and what they point at is there."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def python_blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)


# what tutorials say in Python needs what they say in commands; test_tutorials runs both
SCRIPTS = [page for page in PAGES if python_blocks(page) and not page.name.startswith("tutorial-")]


@pytest.mark.parametrize("page", SCRIPTS, ids=lambda page: page.name)
def test_python_in_a_page_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a page run one after the other, in one namespace, as a reader would type them."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for number, block in enumerate(python_blocks(page), start=1):
        exec(compile(block, f"{page.name}, block {number}", "exec"), namespace)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_files_that_a_page_points_at_are_there(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", page.read_text())
    # the gallery is made when the documentation is built, which checks these
    missing = [t for t in targets if not t.startswith("gallery/") and not (page.parent / t).exists()]
    assert missing == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_make_commands_in_a_page_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"(?:`|\$ |^)make ([a-z]+)", page.read_text(), re.MULTILINE))
    assert named <= targets


# folders whose `__init__` names what users import
PUBLIC = [
    "partwhole",
    *(
        f"partwhole.{folder}"
        for folder in (
            "criterion",
            "datasets",
            "deformation",
            "embedding",
            "engines",
            "evaluation",
            "geodesics",
            "matching",
            "matching.methods",
            "mesh",
            "registration",
            "spectral",
            "transfer",
        )
    ),
]


@pytest.mark.parametrize("package", PUBLIC)
def test_the_glossary_has_every_public_class(package: str) -> None:
    named = set(re.findall(r"\w+", (ROOT / "docs" / "glossary.md").read_text()))
    module = import_module(package)
    assert [name for name in module.__all__ if inspect.isclass(getattr(module, name)) and name not in named] == []


@pytest.mark.parametrize("package", PUBLIC)
def test_the_reference_has_every_public_class_and_function(package: str) -> None:
    reference = (ROOT / "docs" / "api.md").read_text()
    if f".. automodule:: {package}\n" in reference:
        return
    named, module = set(re.findall(r"\w+", reference)), import_module(package)
    held = {name: getattr(module, name) for name in module.__all__}
    assert [k for k, v in held.items() if (inspect.isclass(v) or inspect.isfunction(v)) and k not in named] == []
