"""A small set of one's own, and a network that is trained on it in a second."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from partwhole.cli.main import main
from partwhole.cli.shared.options import written
from partwhole.datasets import cut_balls, sphere
from partwhole.mesh import Mesh
from partwhole.mesh.io import write_mesh

# of a network that has a few hundred weights
CHOICES = ("width=8", "blocks=1", "features=8", "map_eigenpairs=15", "diffusion_eigenpairs=15", "distances=dijkstra")


@pytest.fixture(autouse=True)
def _no_cache_of_the_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PARTWHOLE_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def small_network() -> Iterator[list[str]]:
    """Options of `train` for a small network."""
    import torch

    # what is small is slower on several threads
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield [word for choice in CHOICES for word in ("--with", choice)]
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def make_own_set() -> Callable[..., Path]:
    """Makes a folder with parts of a ball that looks different from every side."""

    def make(folder: Path, parts: int = 4, *, truths: int | None = None) -> Path:
        for name in ("wholes", "parts", "maps"):
            (folder / name).mkdir(parents=True)
        ball = sphere(150, jitter=0.3)
        x, y, z = ball.vertices.T
        whole = Mesh(ball.vertices * (1 + 0.2 * x + 0.3 * z * y**2)[:, None] * [1.0, 0.8, 1.4], ball.faces)
        write_mesh(whole, folder / "wholes/ball.ply")
        for k in range(parts):
            cut = cut_balls(whole, [7 + 20 * k], 0.6)
            write_mesh(cut.part, folder / f"parts/part{k}.ply")
            if truths is None or k < truths:
                np.savez(folder / f"maps/part{k}.npz", vertex_map=cut.vertex_map)
        return folder

    return make


@pytest.fixture(scope="session")
def own_set(tmp_path_factory: pytest.TempPathFactory, make_own_set: Callable[..., Path]) -> Path:
    """Four parts with ground truth."""
    return make_own_set(tmp_path_factory.mktemp("data") / "mine")


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory, own_set: Path, small_network: list[str]) -> list[Path]:
    """Two training runs that differ in their seeds, with validated weights."""
    folder = tmp_path_factory.mktemp("runs")
    made = [folder / "one", folder / "two"]
    for seed, run in enumerate(made):
        words = [
            "train",
            "--data",
            own_set,
            "--iterations",
            "4",
            "--seed",
            seed,
            "--output",
            run,
            "--no-cache",
            "--validate",
        ]
        assert main([*map(str, words), *small_network, "--quiet"]) == 0
    return made


@pytest.fixture(scope="session")
def undeclared() -> Callable[..., list[Path]]:
    """Gives the files in a folder that no pattern fits, of those that a command says it writes."""

    def found(folder: Path, writes: Sequence[str]) -> list[Path]:
        return sorted({path for path in folder.rglob("*") if path.is_file()} - set(written(folder, writes)))

    return found


@pytest.fixture
def one_error(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Runs the program and gives the line that it ends with, in error."""

    def run(*words: object) -> str:
        assert main([*map(str, words)]) == 2
        out, err = capsys.readouterr()
        assert out == ""
        lines = [line for line in err.splitlines() if not line.startswith("note: ")]
        assert len(lines) == 1
        assert lines[0].startswith("error: ")
        return lines[0].removeprefix("error: ")

    return run
