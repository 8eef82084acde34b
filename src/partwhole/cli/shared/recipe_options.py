"""Pairs that are generated during training: the options `--recipe`, `--assets` and `--blocks`, and what they mean."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

if TYPE_CHECKING:
    from partwhole.datasets import PairRecipe

RecipeName = Literal["default", "bodies"]

RecipeOption = Annotated[
    RecipeName | None,
    typer.Option(
        help="Generate the training pairs: default, as for the built-in model, or bodies, which needs no files; "
        "replaces --data."
    ),
]
AssetsOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Folder with the files that --recipe default needs: bodies_cc0.npz (people from MakeHuman's assets, CC0) and "
        "faces_mit.npz (heads of ICT-FaceKit, MIT licence).",
    ),
]
BlocksOption = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Number of blocks of pairs to generate; 600 by default. Each takes about 55 MB of the device's memory, "
        "and of disk space until the run is complete.",
    ),
]

# blocks, unless their number is given
BLOCKS = 600
# surfaces of a block of bodies have so many vertices at least, of those at most
_SMALLEST = 0.4


def recipe_from(name: RecipeName, assets: Path | str | None, vertices: int | None, seed: int) -> PairRecipe:
    """The recipe of this name.

    Parameters
    ----------
    name : of the recipe
    assets : folder of its files
    vertices : of its surfaces, at most
    seed : of all pairs

    Examples
    --------
    >>> recipe_from("bodies", None, 500, seed=1).n_vertices
    (200, 500)
    """
    from partwhole.datasets import BodiesRecipe, DefaultRecipe

    if name == "bodies":
        if assets is not None:
            raise ValueError("--recipe bodies needs no --assets; leave them out")
        sizes: dict[str, Any] = {} if vertices is None else {"n_vertices": (int(_SMALLEST * vertices), vertices)}
        return BodiesRecipe(seed=seed, **sizes)
    if vertices is not None:
        raise ValueError("--vertices does not go with --recipe default, whose sizes are fixed; leave it out")
    if assets is None:
        raise ValueError(
            f"--assets is missing: the folder with {' and '.join(map(str, DefaultRecipe.ASSETS))}; or --recipe bodies, which "
            "needs no files"
        )
    return DefaultRecipe(assets, seed=seed)


def recipe_files(assets: Path | str | None) -> list[Path]:
    """The files that a recipe reads."""
    from partwhole.datasets import DefaultRecipe

    return [] if assets is None else [Path(assets) / asset.file for asset in DefaultRecipe.ASSETS]
