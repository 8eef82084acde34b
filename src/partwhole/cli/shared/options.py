"""Options that several commands share, said in the same words everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

Method = Literal["fast_marching", "dijkstra", "exact"]

MethodOption = Annotated[
    Method,
    typer.Option(help="How to measure: fast marching (accurate and fast), along edges (with a proof), exactly (slow)."),
]
SoundOption = Annotated[
    bool,
    typer.Option("--sound", help="Allow for paths that leave inside a boundary edge: a proof for exact distances."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object and nothing else.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
SeedOption = Annotated[int, typer.Option(help="For every random choice; the same seed gives the same result.", min=0)]
OutputOption = Annotated[
    Path | None, typer.Option("--output", "-o", help="Folder for the results, made if it isn't there.")
]
