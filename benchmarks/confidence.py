"""Whether confidence and warnings mean something: fitted on pairs that nothing is tested on, measured on others.

python benchmarks/confidence.py --data DIR --people bodies_cc0.npz --fit people-fit bodies-fit \
    --test people-test bodies-test pfaust-m-test pfaust-h-test --plot calibration.png

shrec16-holes-fit are parts of CUTS, with holes cut into them: maps of training pairs are better than those of others.
The sets cut-KIND-fit and cut-KIND-test, KIND one of people, animals, creatures, bodies, hands, things and heads, are parts
cut in every way, a quarter of them damaged as scans are, all turned at random; wrong-fit and wrong-test are parts and wholes
of different kinds. A map is warned of if the table of warnings in docs/match.md has one for how it fits.

Without --fit the rule of the model is measured; with --write what was fitted takes its place, in the library for the model
`upright` and in the card of any other. A model may be given for one set alone: pfaust-h-test=weights.safetensors.
"""

from __future__ import annotations

import argparse
import json
import zlib
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import torch
from scipy.optimize import minimize, nnls

import partwhole.matching.confidence.rule as library
from partwhole.datasets import GroundTruth, Pair, Pairs, PFaust, Shrec16, random_cuts, with_fewer_vertices
from partwhole.datasets.shapes.faces import Faces
from partwhole.datasets.shapes.people import People
from partwhole.datasets.synthetic.retriangulated import face_pairs, people_pairs, retriangulated_body_pairs, thing_pairs
from partwhole.evaluation import Calibration, calibration, calibration_plot
from partwhole.matching.confidence.constants import DOUBTFUL, LARGEST_ERROR, RIGHT
from partwhole.matching.confidence.fit import warnings_about
from partwhole.matching.confidence.rule import (
    NAMES,
    Cues,
    MapRule,
    Rule,
    expected_error,
    judged,
    map_cues,
    presupposed,
    rule_for,
    stacked,
)
from partwhole.matching.evaluation import MeasuredMap, cues_and_errors
from partwhole.matching.matcher import Matcher
from partwhole.matching.network.weights import model_path, read_tensors, write_tensors
from partwhole.matching.result import Fit
from partwhole.mesh import Mesh
from partwhole.store.cache import Cache
from recording import heading, table

Measured = list[MeasuredMap]

# people that the built-in model was never trained with
_HELD_OUT = range(34, 40)
_CALLED = {
    "people-test": "people held out",
    "bodies-test": "generated bodies",
    "pfaust-m-test": "PFAUST-M",
    "pfaust-h-test": "PFAUST-H",
    "shrec16-cuts-test": "SHREC'16 CUTS",
    "shrec16-holes-test": "SHREC'16 HOLES",
}
_PLANS = {
    "animals": ("animal",),
    "creatures": ("centaur", "gorilla", "bird", "monster", "insect", "fish", "snake"),
}
# kinds of pairs that are cut in every way
_CUT = ("people", "animals", "creatures", "things", "heads", "hands", "bodies")
_CUT_SEEDS = {"fit": 770001, "test": 880001}
_RECIPES = ("pfaust-m", "pfaust-h", "cuts", "holes", "views", "piece")
_WRONG = 24
# parts smaller than this are not like those of HOLES
_LEAST_SHARE = 0.5
_UNITS, _STEPS, _ROWS = 8, 800, 500
# errors below this, far less than an edge, are as good as none, and no rule need expect less
_LEAST = 1e-3
# of the rule of maps: how much weights are held back, and the errors that are told apart
_HELD_BACK, _MAP_ERRORS = 3.0, (0.01, 0.4)
# maps worse than this should be warned of, and those better than that should not
_BAD, _GOOD = 0.1, 0.04
# folds in which the error to be expected is that of a rule that has not seen the pair
_FOLDS = 4


def pairs_of(name: str, data: Path, people: Path | None) -> Pairs | list[Pair]:
    """The pairs of a set; people and bodies of `fit` and of `test` are others."""
    kind, _, split = name.rpartition("-")
    if kind == "wrong":
        return wrong_pairs(split, people)
    if kind.removeprefix("cut-") in _CUT and kind.startswith("cut-"):
        return cut_pairs(kind.removeprefix("cut-"), split, people)
    if kind in ("pfaust-m", "pfaust-h"):
        made = PFaust(data, kind[-1].upper())
        return made.train_pairs() if split == "train" else made.test_pairs()
    if (kind, split) == ("shrec16-holes", "fit"):
        return pairs_with_holes(data)
    if kind in ("shrec16-cuts", "shrec16-holes"):
        shapes = Shrec16(data, kind.removeprefix("shrec16-"))
        # as many vertices as `match` leaves
        return with_fewer_vertices(shapes.train_pairs() if split == "train" else shapes.test_pairs(), 5000)
    fit = split == "fit"
    if kind == "people":
        everyone = People(people)
        which = range(_HELD_OUT.start) if fit else _HELD_OUT
        more = {"triangulations": 10, "seed": 9001} if fit else {"triangulations": 6, "seed": 4242}
        return people_pairs(everyone, 2, which=which, n_vertices=(2000, 4500), yaw=180.0, **more)
    if kind == "bodies":
        made_of = (24, 3) if fit else (6, 2)
        seed = 9001 if fit else 4242
        return retriangulated_body_pairs(*made_of, n_vertices=(1500, 3000), triangulations=2, yaw=180.0, seed=seed)
    more = {"n_vertices": (1500, 3000), "triangulations": 2, "seed": 9001 if fit else 4242, "damage": 0.25}
    count = 30 if fit else 12
    if kind in _PLANS:
        cuts = ("pfaust-m", "pfaust-h", "cuts", "holes", "views", "piece")
        return retriangulated_body_pairs(count, 1, plans=_PLANS[kind], recipe=cuts, **more)
    if kind == "things":
        return thing_pairs(count, 1, **more)
    if kind == "faces":
        return face_pairs(Faces(people.parent), count, 1, **more)
    raise ValueError(f"there is no set {name!r}; there are pfaust-m-train, pfaust-h-test, people-fit, bodies-test, …")


def pairs_with_holes(data: Path) -> list[Pair]:
    """Training pairs of CUTS with holes cut into their parts: shapes of SHREC'16 that the model for HOLES was not trained on,
    and that nothing with holes is tested on."""
    found = []
    for number, pair in enumerate(with_fewer_vertices(Shrec16(data, "cuts").train_pairs(), 5000)):
        if pair.part.area < _LEAST_SHARE * pair.whole.area:
            continue
        cut = random_cuts(pair.part, "holes", seed=number)
        at = np.full(pair.part.n_vertices, -1)
        at[pair.ground_truth.part_vertices] = pair.ground_truth.whole_vertices
        known = np.flatnonzero(at[cut.vertex_map] >= 0)
        truth = GroundTruth.at_vertices(known, at[cut.vertex_map[known]])
        found.append(replace(pair, part=cut.part, ground_truth=truth, name=f"{pair.name} with holes"))
    return found


def cut_pairs(kind: str, split: str, people: Path) -> list[Pair]:
    """Pairs of a kind, cut in every way, turned at random; those of `fit` and of `test` have different seeds."""
    seed = _CUT_SEEDS[split]
    more = {"n_vertices": (1000, 2000), "damage": 0.25, "recipe": _RECIPES, "yaw": 0.0, "seed": seed + _CUT.index(kind)}
    if kind == "people":
        pairs = people_pairs(People(people.parent), 4, which=_HELD_OUT, triangulations=6, **more)
    elif kind == "things":
        pairs = thing_pairs(24, 1, triangulations=2, **more)
    elif kind == "heads":
        pairs = face_pairs(Faces(people.parent), 8, 2, triangulations=4, **more)
    else:
        count, plans = {
            "animals": (18, _PLANS["animals"]),
            "creatures": (21, _PLANS["creatures"]),
            "hands": (10, "hand"),
            "bodies": (12, ("biped", "quadruped")),
        }[kind]
        pairs = retriangulated_body_pairs(count, 1, plans=plans, triangulations=2, **more)
    rng = [np.random.default_rng([seed, zlib.crc32(kind.encode()), number]) for number in range(len(pairs))]
    return [
        replace(pair, part=turned(pair.part, one), whole=turned(pair.whole, one))
        for pair, one in zip(pairs, rng, strict=True)
    ]


def turned(mesh: Mesh, rng: np.random.Generator) -> Mesh:
    """The mesh in a random orientation."""
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return Mesh(mesh.vertices @ (Q * np.sign(np.linalg.det(Q))).T, mesh.faces, name=mesh.name)


def wrong_pairs(split: str, people: Path) -> list[Pair]:
    """Parts with wholes of another kind, to which no vertex of them belongs."""
    kinds = ("people", "things", "heads", "animals", "hands")
    found = {kind: cut_pairs(kind, split, people) for kind in kinds}
    made = []
    for number in range(_WRONG):
        kind, other = kinds[number % len(kinds)], kinds[(number + 1 + number // len(kinds) % 4) % len(kinds)]
        part, whole = found[kind][number // len(kinds)], found[other][number // len(kinds) + 4]
        made.append(Pair(part.part, whole.whole, name=f"{part.name} | {whole.name}"))
    return made


def measured(pairs: Pairs | list[Pair], matcher: Matcher, most: int, cache: Cache, *, wrong: bool = False) -> Measured:
    """Cues and errors of the vertices of each pair whose truth is known, as `match` reads maps."""
    found = []
    for number in np.random.default_rng(0).permutation(len(pairs))[:most]:
        pair = pairs[int(number)]
        try:
            found.append(cues_and_errors(pair, matcher, cache=cache, wrong=wrong))
        except ValueError as fault:
            print(f"  left out: {fault}", flush=True)
            continue
        print(f"  {pair.name}: error {100 * found[-1].errors.mean():.1f}", flush=True)
    return found


def fitted(pairs: Measured, *, seed: int = 0) -> Rule:
    """The monotone rule under which errors, exponential with the mean that it expects, are most likely; pairs count alike."""
    rng = np.random.default_rng(seed)
    tables = []
    for cues, errors, _, _ in pairs:
        if is_wrong(errors):
            continue
        rows = rng.integers(len(errors), size=_ROWS)
        tables.append((stacked(cues)[rows], errors[rows]))
    X, e = (np.concatenate(columns) for columns in zip(*tables, strict=True))
    mean, deviation = X.mean(axis=0), X.std(axis=0) + 1e-9
    z = torch.tensor(((X - mean) / deviation).clip(-4, 4), dtype=torch.float32)
    errors = torch.tensor(e.clip(_LEAST), dtype=torch.float32)
    torch.manual_seed(seed)
    # logarithms, so that nothing that speaks against a place speaks for it
    inner = (torch.randn(_UNITS, len(NAMES)) * 0.7 - 2.0).requires_grad_()
    outer = torch.full((_UNITS,), -1.5, requires_grad=True)
    shift = torch.linspace(-2, 2, _UNITS).requires_grad_()
    offset = torch.tensor(float(np.log(e.mean())), requires_grad=True)
    optimiser = torch.optim.Adam([inner, outer, shift, offset], lr=0.03)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, _STEPS)
    for _ in range(_STEPS):
        log = offset + torch.tanh(z @ inner.exp().T + shift) @ outer.exp()
        surprise = (log + errors * torch.exp(-log)).mean() + 1e-3 * (inner.exp().square().sum() + outer.exp().sum())
        optimiser.zero_grad()
        surprise.backward()
        optimiser.step()
        falling.step()

    def rounded(values: np.ndarray) -> tuple[float, ...]:
        return tuple(float(f"{value:.4g}") for value in values.tolist())

    matrix = tuple(rounded(row) for row in inner.detach().exp().numpy())
    units = (rounded(part.detach().numpy()) for part in (shift, outer.exp()))
    return Rule(rounded(mean), rounded(deviation), matrix, *units, float(f"{offset.item():.4g}"), even=RIGHT, slope=2.0)


def is_wrong(errors: np.ndarray) -> bool:
    """Whether part and whole belong to different things."""
    return bool((errors == LARGEST_ERROR).all())


def fitted_to_maps(expected: list[float], pairs: Measured) -> MapRule:
    """The rule whose logarithms of errors of maps are off least, Σ (log e − log error)² + 3 Σ w² / deviation², weights ≥ 0.

    Parameters
    ----------
    expected : what the vertices of each map expect on average, by rules that have not seen it
    pairs : the maps
    """
    X = np.array([map_cues(mean, one.fit) for mean, one in zip(expected, pairs, strict=True)])
    y = np.log(np.clip([one.errors.mean() for one in pairs], *_MAP_ERRORS))
    mean, deviation = X.mean(axis=0), X.std(axis=0) + 1e-9
    Z = np.vstack([(X - mean) / deviation, np.sqrt(_HELD_BACK) * np.eye(X.shape[1])])
    weights = nnls(Z, np.concatenate([y - y.mean(), np.zeros(X.shape[1])]))[0] / deviation
    return MapRule(*(float(f"{one:.4g}") for one in (*weights, y.mean() - weights @ mean)))


def mean_expected(one: MeasuredMap, rule: Rule) -> float:
    return float(np.average(np.minimum(expected_error(one.cues, rule), LARGEST_ERROR), weights=one.areas))


def calibrated(pairs: Measured) -> Rule:
    """The rules of all pairs, with slope and even by likelihood of errors expected by rules that have not seen the pair."""
    unseen: list[Rule] = []
    for fold in range(_FOLDS):
        rule = fitted([pair for number, pair in enumerate(pairs) if number % _FOLDS != fold])
        unseen.append(rule)
    rules = [unseen[number % _FOLDS] for number in range(len(pairs))]
    means = [mean_expected(one, rule) for one, rule in zip(pairs, rules, strict=True)]
    of_map = fitted_to_maps(means, pairs)
    expected, errors = [], []
    for one, rule, mean in zip(pairs, rules, means, strict=True):
        if not is_wrong(one.errors):
            factor = min(of_map.error(mean, one.fit), LARGEST_ERROR) / mean
            expected.append(np.log(expected_error(one.cues, rule) * factor))
            errors.append(one.errors)
    share = np.concatenate([np.full(len(off), 1 / len(off)) for off in errors])
    log, right = np.concatenate(expected), np.concatenate(errors) < RIGHT

    def surprise(given: np.ndarray) -> float:
        odds = given[0] * (log - given[1])
        return float(share @ np.logaddexp(0, np.where(right, odds, -odds)))

    slope, even = minimize(surprise, [2.0, np.log(RIGHT)], method="Nelder-Mead").x
    seen = calibration(-log, np.concatenate(errors))
    print(f"pairs that a rule has not seen: {seen}, AUC {seen.auc:.3f}")
    return replace(
        fitted(pairs),
        presupposes=presupposed("registration"),
        even=float(f"{np.exp(even):.4g}"),
        slope=float(f"{slope:.4g}"),
        of_map=of_map,
        # the read-out of `cues_and_errors`
        read_out="registration",
    )


def kept(path: Path, compute: Callable[[], Measured]) -> Measured:
    """What was measured before, or else what is computed now."""
    if path.exists():
        with np.load(path) as held:
            return [
                MeasuredMap(
                    Cues(**{name: held[f"{name}{k}"] for name in NAMES}),
                    held[f"errors{k}"],
                    held[f"areas{k}"],
                    Fit(**json.loads(str(held[f"fit{k}"]))),
                )
                for k in range(int(held["count"]))
            ]
    found = compute()
    arrays: dict[str, np.ndarray] = {"count": np.array(len(found))}
    for k, (cues, errors, areas, fit) in enumerate(found):
        arrays |= {f"{name}{k}": getattr(cues, name) for name in NAMES}
        arrays |= {f"errors{k}": errors, f"areas{k}": areas, f"fit{k}": np.array(json.dumps(asdict(fit)))}
    np.savez_compressed(path, **arrays)
    return found


def said(name: str, pairs: Measured, rule: Rule) -> tuple[list[str], Calibration | None]:
    """A row of the table, and the calibration of all vertices together; None for pairs that do not belong together."""
    found = [judged(one.cues, one.fit, one.areas, rule) for one in pairs]
    sure = [confidence * fit.credit for confidence, fit in found]
    doubtful = [
        float(one.areas[confidence < DOUBTFUL].sum() / one.areas.sum())
        for one, confidence in zip(pairs, sure, strict=True)
    ]
    warned = np.array([bool(warnings_about(fit, share)) for (_, fit), share in zip(found, doubtful, strict=True)])
    errors = [one.errors for one in pairs]
    means = np.array([off.mean() for off in errors])
    bad, good = means > _BAD, means < _GOOD
    of_warnings = [f"{(warned & chosen).sum()} of {chosen.sum()}" for chosen in (bad, ~bad & ~good, good)]
    if all(map(is_wrong, errors)):
        return [name, str(len(pairs)), *[""] * 5, f"{np.mean(doubtful):.0%}", *of_warnings], None
    together = calibration(np.concatenate(sure), np.concatenate(errors))
    # a pair without any error has none to carry
    single = [calibration(one, off) for one, off in zip(sure, errors, strict=True) if off.any()]
    row = [
        name,
        str(len(pairs)),
        f"{100 * means.mean():.2f}",
        f"{together.carried:.0%} of {together.possible:.0%}",
        f"{np.mean([one.carried for one in single]):.0%} of {np.mean([one.possible for one in single]):.0%}",
        f"{together.gap:.2f}",
        f"{together.auc:.3f}",
        f"{np.mean(doubtful):.0%}",
        *of_warnings,
    ]
    return row, together


def write(rule: Rule, model: str) -> None:
    """Where the model finds it."""
    if model == "upright":
        text = json.dumps(rule.to_json(), indent=1) + "\n"
        Path(library.__file__).with_name("rule.json").write_text(text)
        return
    path = model_path(model)
    tensors, card = read_tensors(path)
    write_tensors(path, tensors, {**card, "confidence": rule.to_json()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="default")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--people", type=Path)
    parser.add_argument("--fit", nargs="*", default=[])
    parser.add_argument("--test", nargs="*", default=[])
    parser.add_argument("--most", type=int, default=60, help="pairs of each set to fit with; tests take all, up to 40")
    parser.add_argument("--keep", type=Path, help="folder for what was measured, to fit and print again")
    parser.add_argument("--write", action="store_true", help="put the rule that was fitted into the library")
    parser.add_argument("--plot", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    cache = Cache.default()

    def of(text: str, most: int) -> Measured:
        name, _, model = text.partition("=")
        print(text, flush=True)
        matcher = Matcher.load(model or given.model)

        def compute() -> Measured:
            pairs = pairs_of(name, given.data, given.people)
            return measured(pairs, matcher, most, cache, wrong=name.startswith("wrong-"))

        if given.keep is None:
            return compute()
        given.keep.mkdir(parents=True, exist_ok=True)
        return kept(given.keep / f"{name}-{Path(model or given.model).stem}.npz", compute)

    to_fit = {name: of(name, given.most) for name in given.fit}
    rule = (
        calibrated([pair for pairs in to_fit.values() for pair in pairs])
        if to_fit
        else rule_for(Matcher.load(given.model).card)
    )
    if to_fit and given.write:
        write(rule, given.model)
    tests = {name: of(name, 40) for name in given.test}
    print(heading())
    rows, plotted = [], {}
    for name, pairs in {**{f"{name} (fitted)": held for name, held in to_fit.items()}, **tests}.items():
        row, together = said(name, pairs, rule)
        rows.append(row)
        if together is not None:
            plotted[f"{_CALLED.get(name, name)}, {len(pairs)} pairs"] = together
    head = ["pairs", "number", "macro error × 100", "carried, all pairs", "within a pair", "gap", "AUC", "doubtful"]
    head += [f"warned, error above {100 * _BAD:g}", "between", f"below {100 * _GOOD:g}"]
    print(table(head, rows))
    if given.plot:
        shown_ones = {name: one for name, one in plotted.items() if "(fitted)" not in name} or plotted
        calibration_plot(shown_ones, given.plot)


if __name__ == "__main__":
    main()
