"""Published methods beside the built-in models, by one interface; imported when they are used.

`built_in_method("pfm")` is what `pw.match(part, whole, model="pfm")` matches with. `docs/methods.md` has a card for each.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from partwhole.matching.network.weights import ADAPTATION, LEARNED, METHODS, check_method_name, method_in

if TYPE_CHECKING:
    from partwhole.matching.methods.descriptor_maps import DescriptorMaps
    from partwhole.matching.methods.direct_match_net import DirectMatchNet, DirectMatchNetLPF, Wormhole
    from partwhole.matching.methods.dpfm import DPFM, DPFMHoles
    from partwhole.matching.methods.fsp import FSP
    from partwhole.matching.methods.geomfmaps import GeomFMaps
    from partwhole.matching.methods.learned import LearnedMethod
    from partwhole.matching.methods.pfm import PFM
    from partwhole.matching.methods.refined import RefinedMethod
    from partwhole.matching.methods.robust_fmnet import RobustFMNet
    from partwhole.matching.methods.unsupervised_dpfm import UnsupervisedDPFM
    from partwhole.matching.search.method import Method

__all__ = [
    "DPFM",
    "FSP",
    "PFM",
    "DPFMHoles",
    "DescriptorMaps",
    "DirectMatchNet",
    "DirectMatchNetLPF",
    "GeomFMaps",
    "LearnedMethod",
    "RefinedMethod",
    "RobustFMNet",
    "UnsupervisedDPFM",
    "Wormhole",
    "built_in_method",
    "learned_method",
    "load_method",
    "refined_by",
]

_ADAPTATION_STEPS = 15

_HOMES = {
    "DescriptorMaps": "descriptor_maps",
    "DPFM": "dpfm",
    "DPFMHoles": "dpfm",
    "DirectMatchNet": "direct_match_net",
    "DirectMatchNetLPF": "direct_match_net",
    "FSP": "fsp",
    "GeomFMaps": "geomfmaps",
    "LearnedMethod": "learned",
    "PFM": "pfm",
    "RefinedMethod": "refined",
    "RobustFMNet": "robust_fmnet",
    "UnsupervisedDPFM": "unsupervised_dpfm",
    "Wormhole": "direct_match_net",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def learned_method(name: str) -> type[LearnedMethod]:
    """The class of a method that is to be trained, by its name in `LEARNED`.

    Examples
    --------
    >>> learned_method("robust-fmnet").published.loss.temperature
    0.07
    """
    if name not in LEARNED:
        raise ValueError(f"there is no method {name!r} to train; there are {', '.join(LEARNED)}")
    found: type[LearnedMethod] = __getattr__(LEARNED[name].kind)
    return found


def load_method(path: str | Path, *, device: str = "cpu") -> Method:
    """What a file of weights holds: a `Matcher`, or a learned method if its card says so."""
    name = method_in(path)
    if name is not None:
        return learned_method(name).load(path, device=device)
    from partwhole.matching.matcher import Matcher

    return Matcher.load(path, device=device)


def refined_by(method: Method, by: str) -> Method:
    """The method with its maps refined, by "zoomout", "pmf" or "adapt": the published 15 steps of test-time adaptation, for
    methods that learn without ground truth.

    Examples
    --------
    >>> refined_by(built_in_method("descriptors"), "pmf").card["name"]
    'descriptors+pmf'
    """
    if by != ADAPTATION:
        found: Method = __getattr__("RefinedMethod")(method, by=by)
        return found
    if not isinstance(method, __getattr__("LearnedMethod")):
        raise ValueError(
            f"{type(method).__name__} can't be adapted: only methods that are trained have a loss; leave out +adapt"
        )
    adapted: Method = type(method)(method.matcher, adapt=_ADAPTATION_STEPS)
    return adapted


def built_in_method(name: str, *, device: str = "cpu") -> Method:
    """The method of this name, as it is published; `+zoomout` and `+pmf` refine its maps, or those of a built-in model.

    Parameters
    ----------
    name : one of `method_names()`, or such as "fsp+zoomout" or "default+pmf"
    device : where a network computes; methods without weights compute on the processor

    Examples
    --------
    >>> built_in_method("descriptors")
    DescriptorMaps(50 eigenpairs)
    """
    check_method_name(name)
    base, *refinements = name.split("+")
    method: Method
    if base in METHODS:
        if device != "cpu":
            raise ValueError(f"{base} computes on the processor; leave out device={device!r}")
        method = __getattr__(METHODS[base].kind)()
    else:
        from partwhole.matching.matcher import Matcher

        method = Matcher.load(base, device=device)
        method.card["name"] = base
    for refinement in refinements:
        method = refined_by(method, refinement)
    return method
