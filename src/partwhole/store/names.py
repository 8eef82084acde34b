"""Names as they can be shown, whatever bytes a file's name is made of."""

from __future__ import annotations

import unicodedata


def displayable(text: str) -> str:
    r"""A name in one line of printable characters: others are written as escapes, blanks of every width as one blank.

    Names of files need not be UTF-8; Python keeps a byte that is not as half a character, which no output takes.

    >>> displayable("sc\udcffan\n.ply"), displayable("scan\u202f2.ply"), displayable("Knochen ä 骨.ply")
    ('sc\\xffan\\n.ply', 'scan 2.ply', 'Knochen ä 骨.ply')
    """
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(character: str) -> str:
    if character.isprintable():
        return character
    if "\udc80" <= character <= "\udcff":  # a byte that is not UTF-8
        return f"\\x{ord(character) - 0xDC00:02x}"
    return " " if unicodedata.category(character) == "Zs" else character.encode("unicode_escape").decode("ascii")
