from __future__ import annotations

import pytest

from partwhole.store.markdown import escaped


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
