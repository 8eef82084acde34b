from __future__ import annotations

import numpy as np
import pytest

from partwhole.viewer.gallery import Card, Section, write_gallery

COLORS = {"seen": "#3465a4", "made up": "#e4d0aa"}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    from matplotlib.image import imsave

    folder = tmp_path_factory.mktemp("gallery")
    imsave(folder / "a.png", np.random.default_rng(0).random((1200, 2400, 3)))
    cards = [
        Card("<script>", "failed", "failed", reason="no <b>faces"),
        Card(
            "a b#1?",
            "warned",
            "fitted",
            "a b#1?",
            shares={"seen": 0.75, "made up": 0.25},
            facts=[("expected error", "3 %"), ("more", "1"), ("distance", "2 %"), ("√area", "9")],
            warnings=["check it"],
            picture=folder / "a.png",
            caption='a "scan"',
        ),
        Card("javascript:x", "fine", "fitted", "javascript:x", facts=[("expected error", "1 %")]),
    ]
    sections = [
        Section("Mean & more", "of all", [("component", "explains"), ("1", "90 %")], folder / "a.png", "it", "s")
    ]
    write_gallery(folder / "g.html", "3 scans", "1 failed.", cards, colors=COLORS, sections=sections)
    return (folder / "g.html").read_text()


def test_everything_is_inside_and_nothing_is_taken_for_markup(page: str) -> None:
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "no &lt;b&gt;faces" in page
    assert 'alt="a &quot;scan&quot;"' in page
    assert page.count("data:image/jpeg;base64,") == 2
    assert "default-src 'none'" in page
    assert "Mean &amp; more" in page


def test_links_lead_to_folders_beside_the_page(page: str) -> None:
    assert 'href="./a%20b%231%3F/"' in page
    # no scheme, whatever it is called
    assert 'href="./javascript%3Ax/"' in page
    assert page.count("open its folder") == 3


def test_the_overview_has_a_line_for_each_card_in_their_order(page: str) -> None:
    table = page[page.index('<table class="overview">') : page.index("</table>")]
    assert [table.count(f'href="#r{number}"') for number in range(3)] == [1, 1, 1]
    assert table.index("#r0") < table.index("#r1") < table.index("#r2")
    assert 'class="warned">fitted, 1 warning</td>' in table
    assert "width:75.0%;background:#3465a4" in table
    assert "√area" not in table


def test_pictures_are_made_small(page: str) -> None:
    import base64
    import io

    from PIL import Image

    data = page.split("data:image/jpeg;base64,")[1].split('"')[0]
    with Image.open(io.BytesIO(base64.b64decode(data))) as image:
        assert image.size == (800, 400)
