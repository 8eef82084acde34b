"""`partwhole reproduce`: the tables of the paper, computed again."""

from __future__ import annotations

import typer

from partwhole.cli.consistent_pairs import consistent_pairs

reproduce = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="Compute the tables of the paper again, and print them beside it.",
    epilog="Example: partwhole reproduce consistent-pairs --data DIR --set H --shapes 10",
)
reproduce.command("consistent-pairs", epilog="Example: partwhole reproduce consistent-pairs --data DIR --set H")(
    consistent_pairs
)


@reproduce.callback()
def _tables() -> None:
    """Compute the tables of the paper again, and print them beside it."""
