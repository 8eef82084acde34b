"""A gallery of many results, worst first: one HTML file with the pictures inside."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import quote

from partwhole.store.arguments import displayable
from partwhole.viewer.report import html_page

Level = Literal["failed", "warned", "fine"]

# pixels; a page with hundreds of pictures has to stay small enough to send, and titles in them are as large as the text
_WIDEST, _HIGHEST = 1100, 400
_QUALITY = 85


@dataclass(frozen=True)
class Card:
    """One result.

    Attributes
    ----------
    name : heading
    level : "failed", "warned" or "fine", which decides the colour at its side
    state : such as "fitted"
    folder : of its files, relative to the page; empty if there is none
    reason : why it failed
    shares : fractions of the surface, by the names of their colours
    facts : names and values
    warnings : sentences
    picture : a PNG file
    caption : what the picture shows
    """

    name: str
    level: Level
    state: str
    folder: str = ""
    reason: str = ""
    shares: Mapping[str, float] | None = None
    facts: Sequence[tuple[str, str]] = ()
    warnings: Sequence[str] = ()
    picture: Path | None = None
    caption: str = ""


@dataclass(frozen=True)
class Section:
    """A section about all results together.

    Attributes
    ----------
    heading, text : shown above it
    rows : of a table, the header first
    picture : a PNG file
    caption : of the picture
    folder : of its files, relative to the page
    """

    heading: str
    text: str
    rows: Sequence[Sequence[str]] = ()
    picture: Path | None = None
    caption: str = ""
    folder: str = ""


def write_gallery(
    path: Path,
    title: str,
    text: str,
    cards: Sequence[Card],
    *,
    colors: Mapping[str, str],
    sections: Sequence[Section] = (),
) -> None:
    """Write the page, which needs no other files and no network, with links to the folders of the results.

    Parameters
    ----------
    path : of the HTML file
    title, text : a line and a paragraph above the results
    cards : the results, in the order in which they are shown
    colors : CSS colours of the shares, by name
    sections : shown below the overview
    """
    from partwhole.store.storage import atomic_write

    legend = "".join(f'<span><i style="background:{color}"></i>{_text(name)}</span>' for name, color in colors.items())
    body = [
        f"<p>{_text(text)}</p>",
        f'<p class="legend">{legend}</p>',
        _overview(cards, colors),
        *map(_section, sections),
        *(_card(number, card, colors) for number, card in enumerate(cards)),
    ]
    with atomic_write(path) as file:
        # names need not be UTF-8
        file.write(html_page(title, "\n".join(body), _STYLE).encode(errors="backslashreplace"))


def _overview(cards: Sequence[Card], colors: Mapping[str, str]) -> str:
    names = list(dict.fromkeys(name for card in cards for name, _ in card.facts[:_IN_OVERVIEW]))
    head = "".join(f"<th>{_text(name)}</th>" for name in names)
    lines = []
    for number, card in enumerate(cards):
        facts = dict(card.facts)
        cells = "".join(f"<td>{_text(facts.get(name, ''))}</td>" for name in names)
        count = len(card.warnings) if card.level != "failed" else 0
        said = _text(card.state) + (f", {count} warning{'s' * (count > 1)}" if count else "")
        lines.append(
            f'<tr><td><a href="#r{number}">{_text(card.name)}</a></td><td class="{card.level}">{said}</td>'
            f"<td>{_bar(card, colors)}</td>{cells}</tr>"
        )
    rows = "\n".join(lines)
    return f'<table class="overview">\n<tr><th></th><th></th><th></th>{head}</tr>\n{rows}\n</table>'


# facts of a card that stand in the overview too
_IN_OVERVIEW = 3


def _card(number: int, card: Card, colors: Mapping[str, str]) -> str:
    name = _text(card.name)
    link = f' <a class="folder" href="{_address(card.folder)}">open its folder</a>' if card.folder else ""
    body = [f'<h2>{name} <small class="{card.level}">{_text(card.state)}</small>{link}</h2>']
    if card.reason:
        body.append(f"<p>{_text(card.reason)}</p>")
    if card.shares:
        told = ", ".join(f"{100 * share:.0f} % {_text(part)}" for part, share in card.shares.items())
        body.append(f'<p class="shares">{_bar(card, colors)} {told}</p>')
    if card.warnings:
        body.append("<ul>" + "".join(f"<li>{_text(line)}</li>" for line in card.warnings) + "</ul>")
    if card.picture is not None:
        body.append(_figure(card.picture, card.caption))
    if card.facts:
        pairs = "".join(f"<div><dt>{_text(fact)}</dt><dd>{_text(value)}</dd></div>" for fact, value in card.facts)
        body.append(f"<dl>{pairs}</dl>")
    return f'<section id="r{number}" class="card {card.level}">\n' + "\n".join(body) + "\n</section>"


def _section(section: Section) -> str:
    link = f' <a class="folder" href="{_address(section.folder)}">open its folder</a>' if section.folder else ""
    body = [f"<h2>{_text(section.heading)}{link}</h2>", f"<p>{_text(section.text)}</p>"]
    if section.picture is not None:
        body.append(_figure(section.picture, section.caption))
    if section.rows:
        first, *others = section.rows
        lines = ["".join(f"<th>{_text(cell)}</th>" for cell in first)]
        lines += ["".join(f"<td>{_text(cell)}</td>" for cell in row) for row in others]
        body.append("<table>\n" + "\n".join(f"<tr>{line}</tr>" for line in lines) + "\n</table>")
    return '<section class="card">\n' + "\n".join(body) + "\n</section>"


def _bar(card: Card, colors: Mapping[str, str]) -> str:
    if not card.shares:
        return ""
    parts = "".join(
        f'<i style="width:{100 * share:.1f}%;background:{colors[name]}" title="{_text(name)} {100 * share:.0f} %"></i>'
        for name, share in card.shares.items()
    )
    return f'<span class="bar">{parts}</span>'


def _figure(path: Path, caption: str) -> str:
    said = _text(caption)
    return f'<figure><img loading="lazy" src="data:image/jpeg;base64,{_small(path)}" alt="{said}"></figure>'


def _small(path: Path) -> str:
    """The picture as a JPEG, at most as wide as it is shown, in base64."""
    from PIL import Image

    buffer = io.BytesIO()
    with Image.open(path, formats=("PNG",)) as image:
        shown = image.convert("RGB")
        shown.thumbnail((_WIDEST, _HIGHEST))
        shown.save(buffer, format="JPEG", quality=_QUALITY, optimize=True)
    return base64.b64encode(buffer.getvalue()).decode()


def _address(folder: str) -> str:
    # a relative path is no scheme, whatever it is called
    return "./" + quote(folder.encode(errors="surrogateescape")) + "/"


def _text(given: str) -> str:
    return html.escape(displayable(given))


_STYLE = """
body { max-width: 72rem; }
h2 { margin: 0 0 .3rem; font-size: 1.15rem; display: flex; gap: .7rem; align-items: baseline; }
h2 a.folder { margin-left: auto; font-size: .85rem; font-weight: normal; }
small { font-weight: normal; }
.card { border: 1px solid #8884; border-left: 6px solid #8886; border-radius: 6px; padding: .8rem 1rem; margin: 1rem 0; }
.card.failed { border-left-color: #c62f3c; }
.card.warned { border-left-color: #dd9a1f; }
.card.fine { border-left-color: #3f9a63; }
small.failed, td.failed { color: #d34552; }
small.warned, td.warned { color: #c07f0c; }
small.fine, td.fine { color: #3f9a63; }
.card p, .card ul { margin: .3rem 0; }
.card figure { margin: .6rem 0; }
.card img { display: block; border-radius: 4px; }
dl { display: flex; flex-wrap: wrap; gap: .2rem 1.6rem; margin: .4rem 0 0; }
dt { opacity: .7; font-size: .8rem; }
dd { margin: 0; }
.bar { display: inline-flex; width: 9rem; height: .75rem; border-radius: 3px; overflow: hidden; vertical-align: middle; }
.bar i { display: block; }
.legend span { margin-right: 1.2rem; }
.legend i { display: inline-block; width: .9rem; height: .9rem; border-radius: 3px; margin-right: .4rem;
  vertical-align: -.1rem; }
table.overview td:nth-child(2) { text-align: left; }
table.overview td:first-child, table.overview td:nth-child(2) { white-space: nowrap; }
table.overview a { color: inherit; }
"""
