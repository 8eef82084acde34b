"""A report as one HTML file, pictures inside, and as Markdown beside its pictures."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from partwhole.store.arguments import escaped
from partwhole.store.storage import atomic_write


@dataclass(frozen=True)
class Heading:
    """A heading below the title."""

    text: str


@dataclass(frozen=True)
class Text:
    """A paragraph; `words` between backticks are set as code."""

    text: str


@dataclass(frozen=True)
class Rows:
    """A table."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Picture:
    """A PNG file, and what is to be seen there."""

    path: Path
    caption: str


Block = Heading | Text | Rows | Picture

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid #8884; }
th:first-child, td:first-child { text-align: left; }
figure { margin: 1.5rem 0; }
img { max-width: 100%; background: #fff; }
figcaption { opacity: .75; }
"""
_CODE = re.compile(r"`([^`]+)`")


def write_report(folder: Path, title: str, blocks: Sequence[Block]) -> dict[str, Path]:
    """report.html, which needs no other file and no network, and report.md.

    Parameters
    ----------
    folder : where they go; pictures lie in it or below
    title : of the report
    blocks : what it says, from top to bottom
    """
    files = {name: folder / name for name in ("report.html", "report.md")}
    for file, text in zip(files.values(), (_html(title, blocks), _markdown(title, blocks, folder)), strict=True):
        with atomic_write(file) as out:
            out.write(text.encode(errors="backslashreplace"))  # names need not be UTF-8
    return files


def html_page(title: str, body: str, style: str = "") -> str:
    """A page that loads nothing: pictures are inside, and there are no scripts.

    Parameters
    ----------
    title : plain text
    body : HTML
    style : CSS, behind that of all reports
    """
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}{style}</style>\n</head>\n<body>\n"
        f"<h1>{html.escape(title)}</h1>\n{body}\n</body>\n</html>\n"
    )


def _html(title: str, blocks: Sequence[Block]) -> str:
    return html_page(title, "\n".join(map(_element, blocks)))


def _element(block: Block) -> str:
    if isinstance(block, Heading):
        return f"<h2>{html.escape(block.text)}</h2>"
    if isinstance(block, Text):
        return "<p>" + _CODE.sub(r"<code>\1</code>", html.escape(block.text)) + "</p>"
    if isinstance(block, Rows):
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in block.head)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>\n" for row in block.rows
        )
        return f"<table>\n<tr>{head}</tr>\n{rows}</table>"
    data = base64.b64encode(block.path.read_bytes()).decode()
    caption = html.escape(block.caption)
    return (
        f'<figure><img src="data:image/png;base64,{data}" alt="{caption}"><figcaption>{caption}</figcaption></figure>'
    )


def _markdown(title: str, blocks: Sequence[Block], folder: Path) -> str:
    lines = [f"# {escaped(title)}", ""]
    for block in blocks:
        if isinstance(block, Heading):
            lines += [f"## {escaped(block.text)}", ""]
        elif isinstance(block, Text):
            lines += [block.text, ""]
        elif isinstance(block, Rows):
            table = (block.head, ["---"] * len(block.head), *block.rows)
            lines += ["| " + " | ".join(map(escaped, row)) + " |" for row in table]
            lines += [""]
        else:
            lines += [f"![{escaped(block.caption)}]({block.path.relative_to(folder).as_posix()})", ""]
    return "\n".join(lines)
