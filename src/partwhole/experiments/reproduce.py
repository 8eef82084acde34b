"""`partwhole reproduce`: the group of commands that compute the tables and figures of the paper again."""

from __future__ import annotations

import typer

from partwhole.experiments.consistent_pairs import consistent_pairs
from partwhole.experiments.figures import figures
from partwhole.experiments.matching.ablation import ablation
from partwhole.experiments.matching.benchmarks import pfaust, shrec16
from partwhole.experiments.matching.built_in import models
from partwhole.experiments.matching.parts import parts
from partwhole.experiments.swiss_roll import swiss_roll

reproduce = typer.Typer(
    rich_markup_mode="markdown",
    help="Compute the tables and figures of the paper again, beside the published numbers.",
    epilog="Example: partwhole reproduce consistent-pairs --data DIR --set H --shapes 10",
)
reproduce.command("consistent-pairs", epilog="Example: partwhole reproduce consistent-pairs --data DIR --set H")(
    consistent_pairs
)
reproduce.command(
    "pfaust",
    epilog="Example: partwhole reproduce pfaust --data DIR --set H --device cuda\n\n"
    "Example: partwhole reproduce pfaust --data DIR --set H --model run0 --model run1",
)(pfaust)
reproduce.command("shrec16", epilog="Example: partwhole reproduce shrec16 --data DIR --device cuda")(shrec16)
reproduce.command(
    "ablation", epilog="Example: partwhole reproduce ablation --data DIR --set shrec16-holes --device cuda"
)(ablation)
reproduce.command("swiss-roll", epilog="Example: partwhole reproduce swiss-roll --shape hole --noise 0 --seeds 2")(
    swiss_roll
)
reproduce.command("models", epilog="Example: partwhole reproduce models --data DIR --device cuda")(models)
reproduce.command("parts", epilog="Example: partwhole reproduce parts --data DIR")(parts)
reproduce.command(
    "figures",
    epilog="Example: partwhole reproduce figures --data DIR --model default --output figures\n\n"
    "Example: partwhole reproduce figures --only regions --only shares",
)(figures)


@reproduce.callback()
def _group() -> None:
    """Compute the tables and figures of the paper again, beside the published numbers."""
