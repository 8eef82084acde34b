from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from partwhole.viewer.report import Heading, Picture, Rows, Text, write_report


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    from matplotlib.image import imsave

    (tmp_path / "pictures").mkdir()
    imsave(tmp_path / "pictures" / "a.png", np.zeros((2, 2, 3)))
    blocks = [
        Text("Angles < 90° & `code <b>`"),
        Heading("Numbers"),
        Rows(("name", "error"), [("a|b", "1.5"), ("<script>alert(1)</script>", "2")]),
        Picture(tmp_path / "pictures" / "a.png", 'a "black" square'),
    ]
    return write_report(tmp_path, "Parts & wholes", blocks)


def test_everything_is_inside_and_nothing_is_taken_for_markup(files: dict[str, Path]) -> None:
    page = files["report.html"].read_text()
    assert "<title>Parts &amp; wholes</title>" in page
    assert "<p>Angles &lt; 90° &amp; <code>code &lt;b&gt;</code></p>" in page
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert 'alt="a &quot;black&quot; square"' in page
    assert page.count("data:image/png;base64,") == 1
    assert "default-src 'none'" in page


def test_markdown_lies_beside_its_pictures(files: dict[str, Path]) -> None:
    lines = files["report.md"].read_text().splitlines()
    assert lines[0] == "# Parts & wholes"
    assert "## Numbers" in lines
    assert "| a\\|b | 1.5 |" in lines
    assert '![a "black" square](pictures/a.png)' in lines
