"""The tutorials can be followed: what they say is run, what they show is printed, and their pictures are made."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

DOCS = Path(__file__).parents[1] / "docs"


@pytest.fixture(scope="module")
def tutorials() -> ModuleType:
    spec = importlib.util.spec_from_file_location("tutorials", DOCS / "tutorials.py")
    assert spec is not None
    assert spec.loader is not None
    sys.modules["tutorials"] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_everything_in_the_tutorials_works(tutorials: ModuleType) -> None:
    """Pictures go where the documentation looks for them, so that it need not make them again."""
    seen = tutorials.make()
    for page in tutorials.PAGES:
        pictures = [step.text.partition(":")[0] for step in tutorials.steps_of(page) if step.kind == "picture"]
        assert pictures
        assert all((DOCS / name).stat().st_size > 500 for name in pictures)
        # every picture that is shown is made, and every one that is made is shown
        assert sorted(pictures) == sorted(
            line.split()[1] for line in page.read_text().splitlines() if line.startswith("```{image}")
        )
    if not seen:
        pytest.skip(
            "every command ran, but no picture of the page: no Chromium; install it, or name it in PARTWHOLE_CHROMIUM"
        )


def test_a_page_that_shows_what_is_not_printed_is_found_out(tutorials: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(
        "Do this:\n\n```console\n$ printf 'took 4.6 s\\nwrote  a\\n'  # some words\ntook 4.5 s\nwrote a\n```\n"
    )
    reader = tutorials.Reader(tmp_path, tmp_path / "tutorials", None)
    reader.follow(page)  # rounding and spaces may differ
    page.write_text("```console\n$ printf 'took 3 s\\nwrote a\\n'\nwrote b\n```\n")
    with pytest.raises(AssertionError, match="does not print\nwrote b\n"):
        reader.follow(page)


def test_numbers_that_have_drifted_are_found_out(tutorials: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    block = "```console\n$ printf 'off by 3.65 %%, 12 of 20\\n'\noff by 1.73 %, 12 of 20\n```\n"
    page.write_text(block)
    reader = tutorials.Reader(tmp_path, tmp_path / "tutorials", None)
    with pytest.raises(AssertionError, match=r"(?s)prints\noff by 3.65 %.*where the page says\noff by 1.73 %"):
        reader.follow(page)
    page.write_text(f"<!-- numbers within 60 %: seeds differ -->\n{block}")
    reader.follow(page)
    # it holds for one block
    page.write_text(f"<!-- numbers within 60 %: seeds differ -->\n{block}{block}")
    with pytest.raises(AssertionError, match="differs by more than 10%"):
        reader.follow(page)
    updating = tutorials.Reader(tmp_path, tmp_path / "tutorials", None, update=True)
    updating.follow(page)
    assert updating.changed == {"off by 1.73 %, 12 of 20": "off by 3.65 %, 12 of 20"}


def test_a_command_that_fails_is_found_out(tutorials: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```console\n$ partwhole match nothing.ply\n```\n")
    with pytest.raises(AssertionError, match="give a part and a whole") as raised:
        tutorials.Reader(tmp_path, tmp_path / "tutorials", None).follow(page)
    assert raised.value.__notes__ == ["in page.md:1"]


def test_without_a_browser_something_stands_for_a_picture(tutorials: ModuleType, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("<!-- picture tutorials/seen.png: view=trust -->\n")
    tutorials.Reader(tmp_path, tmp_path / "tutorials", None).follow(page)
    assert (tmp_path / "tutorials" / "seen.png").stat().st_size > 500
