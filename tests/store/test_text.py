"""Names in Markdown and in figures, whatever they are made of, and sizes in bytes."""

from __future__ import annotations

import io
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure

from partwhole.store.arguments import escaped
from partwhole.store.text import as_text, bytes_of, size_in_words


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("scan_1 (left).ply", "scan_1 (left).ply"),
        ("<script>alert(1)</script>.ply", "&lt;script&gt;alert(1)&lt;/script&gt;.ply"),
        ("&lt;b&gt; & co", "&amp;lt;b&amp;gt; & co"),
        ("a|b", r"a\|b"),
        (r"a\|b", r"a\\\|b"),
        (r"C:\scans\a.ply", r"C:\scans\a.ply"),
        ("two\nlines\r\tand \x1b[0m", r"two lines  and  \[0m"),
        ("![x](http://y) `code` **bold**", r"!\[x\](http://y) \`code\` \*\*bold\*\*"),
        ("über → 名前", "über → 名前"),
    ],
)
def test_marks_lose_their_meaning_and_words_stay(given: str, shown: str) -> None:
    assert escaped(given) == shown


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("0.0", 0),
        ("0 GB", 0),
        ("7 B", 7),
        ("20 GB", 20 * 10**9),
        ("500MB", 500 * 10**6),
        (" 1.5 kb ", 1500),
        ("2.TiB", 2 << 40),
        ("0.29 GB", 290_000_000),
        ("3 mib", 3 << 20),
    ],
)
def test_sizes_as_people_write_them(text: str, size: int) -> None:
    assert bytes_of(text) == size


@pytest.mark.parametrize(
    "text", ["", "20", "GB", "-1 GB", "1,5 GB", "1e3 B", "inf GB", "nan", "٣ GB", "9" * 400 + "GB"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a size; give a number and a unit, such as 20 GB or 500 MB"):
        bytes_of(text)


@given(st.integers(0, 10**17))
def test_words_are_read_back_to_three_digits(size: int) -> None:
    words = size_in_words(size)
    assert bytes_of(words.replace("bytes", "B").replace("byte", "B")) == pytest.approx(size, rel=0.005)
    assert len(words) <= 9


@pytest.mark.parametrize(
    "name",
    [r"$\frac{.ply", "a$b$c", "$", "a\nb\tc", "骨 \N{BONE} עצם.ply", os.fsdecode(b"sc\xffan.ply"), "\x00\x1b[31m", "x" * 500,
     "_^{}\\", "‮gnp.exe", ""],
)  # fmt: skip
def test_any_name_can_stand_in_a_figure(name: str) -> None:
    figure = Figure(figsize=(2, 1))
    figure.text(0.5, 0.5, as_text(name))
    figure.savefig(io.BytesIO(), format="png")
    assert len(as_text(name)) <= 62
    assert as_text(name).isprintable()


def test_names_that_are_fine_stay() -> None:
    assert as_text("scan of Zoë → whole.ply") == "scan of Zoë → whole.ply"
