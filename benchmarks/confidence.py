"""Whether confidence means something: fitted on pairs that nothing is tested on, measured on others.

python benchmarks/confidence.py --data DIR --people bodies_cc0.npz --fit people-fit bodies-fit \
    --test people-test bodies-test pfaust-m-test pfaust-h-test --plot calibration.png

Without --fit the rule of the model is measured; with --write what was fitted takes its place, in the library for the model
`default` and in the card of any other. A model may be given for one set alone: pfaust-h-test=weights.safetensors.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from scipy.optimize import minimize

import partwhole.matching.confidence.rule as library
from partwhole.datasets import Pairs, PFaust, Shrec16, with_fewer_vertices
from partwhole.datasets.shapes.faces import Faces
from partwhole.datasets.shapes.people import People
from partwhole.datasets.synthetic.retriangulated import face_pairs, people_pairs, retriangulated_body_pairs, thing_pairs
from partwhole.evaluation import Calibration, calibration, calibration_plot
from partwhole.matching.confidence.constants import RIGHT
from partwhole.matching.confidence.rule import (
    NAMES,
    Cues,
    Rule,
    confidence_of,
    expected_error,
    presupposed,
    rule_for,
    stacked,
)
from partwhole.matching.evaluation import cues_and_errors
from partwhole.matching.matcher import Matcher
from partwhole.matching.network.weights import model_path, read_tensors, write_tensors
from partwhole.store.cache import Cache
from recording import heading, table

Measured = list[tuple[Cues, np.ndarray]]

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
_UNITS, _STEPS, _ROWS = 8, 800, 500
# errors below this, far less than an edge, are as good as none, and no rule need expect less
_LEAST = 1e-3
# folds in which the error to be expected is that of a rule that has not seen the pair
_FOLDS = 4


def pairs_of(name: str, data: Path, people: Path | None) -> Pairs:
    """The pairs of a set; people and bodies of `fit` and of `test` are others."""
    kind, _, split = name.rpartition("-")
    if kind in ("pfaust-m", "pfaust-h"):
        made = PFaust(data, kind[-1].upper())
        return made.train_pairs() if split == "train" else made.test_pairs()
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


def measured(pairs: Pairs, matcher: Matcher, most: int, cache: Cache) -> Measured:
    """Cues and errors of the vertices of each pair whose truth is known, as `match` reads maps."""
    found = []
    for number in np.random.default_rng(0).permutation(len(pairs))[:most]:
        pair = pairs[int(number)]
        try:
            found.append(cues_and_errors(pair, matcher, cache=cache))
        except ValueError as fault:
            print(f"  left out: {fault}", flush=True)
            continue
        print(f"  {pair.name}: error {100 * found[-1][1].mean():.1f}", flush=True)
    return found


def fitted(pairs: Measured, *, seed: int = 0) -> Rule:
    """The monotone rule under which errors, exponential with the mean that it expects, are most likely; pairs count alike."""
    rng = np.random.default_rng(seed)
    tables = []
    for cues, errors in pairs:
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


def calibrated(pairs: Measured) -> Rule:
    """The rule of all pairs, with slope and even by likelihood of errors expected by rules that have not seen the pair."""
    expected, errors = [], []
    for fold in range(_FOLDS):
        rule = fitted([pair for number, pair in enumerate(pairs) if number % _FOLDS != fold])
        for cues, off in pairs[fold::_FOLDS]:
            expected.append(np.log(expected_error(cues, rule)))
            errors.append(off)
    share = np.concatenate([np.full(len(off), 1 / len(off)) for off in errors])
    log, right = np.concatenate(expected), np.concatenate(errors) < RIGHT

    def surprise(given: np.ndarray) -> float:
        odds = given[0] * (log - given[1])
        return float(share @ np.logaddexp(0, np.where(right, odds, -odds)))

    slope, even = minimize(surprise, [2.0, np.log(RIGHT)], method="Nelder-Mead").x
    seen = calibration(-log, np.concatenate(errors))
    print(f"pairs that a rule has not seen: {seen}")
    rule = fitted(pairs)
    found = {**rule.__dict__, "presupposes": presupposed()}
    return Rule(**{**found, "even": float(f"{np.exp(even):.4g}"), "slope": float(f"{slope:.4g}")})


def kept(path: Path, compute: Callable[[], Measured]) -> Measured:
    """What was measured before, or else what is computed now."""
    if path.exists():
        with np.load(path) as held:
            return [
                (Cues(**{name: held[f"{name}{k}"] for name in NAMES}), held[f"errors{k}"])
                for k in range(int(held["count"]))
            ]
    found = compute()
    arrays: dict[str, np.ndarray] = {"count": np.array(len(found))}
    for k, (cues, errors) in enumerate(found):
        arrays |= {f"{name}{k}": getattr(cues, name) for name in NAMES}
        arrays[f"errors{k}"] = errors
    np.savez_compressed(path, **arrays)
    return found


def said(name: str, pairs: Measured, rule: Rule) -> tuple[list[str], Calibration]:
    """A row of the table, and the calibration of all vertices together."""
    sure = [confidence_of(cues, rule) for cues, _ in pairs]
    errors = [off for _, off in pairs]
    together = calibration(np.concatenate(sure), np.concatenate(errors))
    # a pair without any error has none to carry
    single = [calibration(one, off) for one, off in zip(sure, errors, strict=True) if off.any()]
    row = [
        name,
        str(len(pairs)),
        f"{100 * np.mean([off.mean() for off in errors]):.2f}",
        f"{together.carried:.0%} of {together.possible:.0%}",
        f"{np.mean([one.carried for one in single]):.0%} of {np.mean([one.possible for one in single]):.0%}",
        f"{together.gap:.2f}",
        f"{np.mean(np.concatenate(sure) < 0.5):.0%}",
    ]
    return row, together


def write(rule: Rule, model: str) -> None:
    """Where the model finds it."""
    if model == "default":
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
            return measured(pairs_of(name, given.data, given.people), matcher, most, cache)

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
        plotted[f"{_CALLED.get(name, name)}, {len(pairs)} pairs"] = together
    head = ["pairs", "number", "macro error × 100", "carried, all pairs", "within a pair", "gap", "doubtful"]
    print(table(head, rows))
    if given.plot:
        shown_ones = {name: one for name, one in plotted.items() if "(fitted)" not in name} or plotted
        calibration_plot(shown_ones, given.plot)


if __name__ == "__main__":
    main()
