"""Words of others, such as names of files, as they may stand in Markdown."""

from __future__ import annotations

import re


def escaped(text: str) -> str:
    """The text in one line that Markdown shows as it is: no HTML, no link, no picture, no new cell of a table.

    >>> print(escaped("<img src=x>|a\\nb [c](d).ply"))
    &lt;img src=x&gt;\\|a b \\[c\\](d).ply
    """
    line = "".join(character if character.isprintable() else " " for character in text)
    # a backslash before a letter is one, before a mark it would take away its meaning
    line = re.sub(r"\\(?=[^\w\s]|$)|[`*\[\]|]", r"\\\g<0>", line)
    return re.sub(r"&(?=[#\w])", "&amp;", line).replace("<", "&lt;").replace(">", "&gt;")
