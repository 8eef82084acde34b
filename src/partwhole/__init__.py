"""Match a part of a surface to the whole it came from, and know which distances on the part can be trusted."""

from partwhole._version import __version__

# what type checkers take for true; `typing` itself is not imported here, nor is anything else
TYPE_CHECKING = False

if TYPE_CHECKING:
    from partwhole import datasets
    from partwhole.criterion import Criterion, boundary_criterion, same_loop_criterion, wormhole_criterion
    from partwhole.embedding import TCIE, WHCIE, WeightedMDS
    from partwhole.geodesics import (
        Metric,
        geodesic_distances,
        metric_at_vertices,
        metric_on_faces,
        scale_invariant_metric,
        uniform_metric,
    )
    from partwhole.matching import Matcher, TrainingConfig, WormholeLoss, evaluate, match, match_parts, train
    from partwhole.mesh import (
        Mesh,
        as_mesh,
        decimate,
        farthest_points,
        read_mesh,
        refine_boundary,
        remesh,
        repair,
        write_mesh,
    )
    from partwhole.registration import FitOptions, FittedTemplate, fit, merge
    from partwhole.saved import load

__all__ = [
    "TCIE",
    "WHCIE",
    "Criterion",
    "FitOptions",
    "FittedTemplate",
    "Matcher",
    "Mesh",
    "Metric",
    "TrainingConfig",
    "WeightedMDS",
    "WormholeLoss",
    "__version__",
    "as_mesh",
    "boundary_criterion",
    "datasets",
    "decimate",
    "evaluate",
    "farthest_points",
    "fit",
    "geodesic_distances",
    "load",
    "match",
    "match_parts",
    "merge",
    "metric_at_vertices",
    "metric_on_faces",
    "read_mesh",
    "refine_boundary",
    "remesh",
    "repair",
    "same_loop_criterion",
    "scale_invariant_metric",
    "train",
    "uniform_metric",
    "wormhole_criterion",
    "write_mesh",
]

# where to look for a name, those that are quickly imported first; each is a name as well
_FOLDERS = (
    "mesh",
    "geodesics",
    "criterion",
    "datasets",
    "embedding",
    "matching",
    "registration",
    "saved",
    "evaluation",
    "deformation",
    "spectral",
    "transfer",
    "store",
    "viewer",
)
_WITH_TORCH = ("Matcher", "WormholeLoss", "evaluate", "train")

if not TYPE_CHECKING:  # a type checker that saw it would believe in any name

    def __getattr__(name: str) -> object:
        # names are imported when they are used: the program must be able to say that it was interrupted before NumPy is
        # there, and torch and scikit-learn are for those who need them
        from importlib import import_module

        if name in _FOLDERS:
            return import_module(f"{__name__}.{name}")
        if name in __all__:
            for folder in _FOLDERS:
                home = import_module(f"{__name__}.{folder}")
                if name in home.__all__:
                    value = globals()[name] = getattr(home, name)
                    return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    from importlib.util import find_spec

    # `help(partwhole)` asks for every name in this list, and must not end because torch is not installed
    without = () if find_spec("torch") else _WITH_TORCH
    return sorted({*globals(), *__all__, *_FOLDERS}.difference(without))
