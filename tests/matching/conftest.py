from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch

from partwhole.datasets import BodiesRecipe, Pairs
from partwhole.matching import PreparedPairs, Surface, TrainingConfig, prepare_pairs, surface_of
from partwhole.mesh import Mesh
from partwhole.store.cache import Cache

# helpers of the tests beside them, loaded by `_load`; there is nothing in them to collect
collect_ignore = ["references.py", "small.py"]


def _load(module: str) -> ModuleType:
    # tests are no package, so that none can import another by accident; these are loaded by their paths
    name = f"partwhole_test_matching_{module}"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{module}.py"))
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> Iterator[None]:
    # what is small is slower on several threads, and sums would depend on their number
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def references() -> ModuleType:
    """Slow ways to what the library computes fast."""
    return _load("references")


@pytest.fixture(scope="session")
def small() -> ModuleType:
    """Small surfaces, pairs and choices."""
    return _load("small")


@pytest.fixture(scope="session")
def config(small: ModuleType) -> TrainingConfig:
    """Choices for runs that take a fraction of a second."""
    return small.config()


@pytest.fixture(scope="session")
def pairs(small: ModuleType) -> Pairs:
    """Parts of two lopsided balls, with ground truth; parts and wholes differ in size."""
    return small.pairs()


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Cache:
    """Eigenpairs of what the tests share."""
    return Cache(tmp_path_factory.mktemp("eigenpairs"))


@pytest.fixture(scope="session")
def prepared(pairs: Pairs, config: TrainingConfig, cache: Cache) -> PreparedPairs:
    """The pairs, prepared for training."""
    return prepare_pairs(pairs, config, cache=cache)


@pytest.fixture(scope="session")
def hands() -> BodiesRecipe:
    """A recipe whose blocks are quick to make, in any process."""
    return BodiesRecipe(plans=("hand",), n_vertices=200, poses=1)


@pytest.fixture(scope="session")
def hand_blocks(hands: BodiesRecipe, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of three of these, made in this process, with twelve eigenpairs."""
    from partwhole.matching import PairStream

    folder, few = tmp_path_factory.mktemp("blocks"), TrainingConfig(map_eigenpairs=12, diffusion_eigenpairs=12)
    PairStream(hands, few, blocks=3, workers=0, folder=folder).pair_at(0, 0)
    return folder


@pytest.fixture(scope="session")
def surface(cache: Cache) -> Callable[[Mesh], Surface]:
    """surface(mesh): its operators, with few eigenpairs."""
    return lambda mesh: surface_of(mesh, eigenpairs=20, diffusion_eigenpairs=16, cache=cache)
