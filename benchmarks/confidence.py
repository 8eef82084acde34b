"""Whether confidence means something: fitted on pairs that nothing is tested on, measured on others.

python benchmarks/confidence.py --model default --data DIR --people bodies_cc0.npz \
    --fit pfaust-m-train pfaust-h-train people-fit --test pfaust-m-test pfaust-h-test people-test --plot calibration.png

A model may be given for one set alone: pfaust-h-train=weights.safetensors. Without --fit the weights that are in the library
are measured.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from scipy.optimize import minimize

from partwhole.datasets import Pairs, PFaust
from partwhole.datasets.people import People
from partwhole.datasets.retriangulated import people_pairs, retriangulated_body_pairs
from partwhole.evaluation import Calibration, calibration, calibration_plot, geodesic_errors
from partwhole.matching.confidence import FITTED, RIGHT, Signs, Weighing, confidence_of, signs_of, stacked
from partwhole.matching.matcher import Matcher
from partwhole.matching.positions import best_position
from partwhole.matching.shown import shown
from partwhole.store.cache import Cache
from recording import heading, table

# logarithms of the weights of bending, rivals and misfit to begin with
_START = np.log([0.03, 0.4, 0.1])


def pairs_of(name: str, data: Path, people: Path | None) -> Pairs:
    """The pairs of a set; people and bodies of `fit` and of `test` are others."""
    kind, _, split = name.rpartition("-")
    if kind in ("pfaust-m", "pfaust-h"):
        made = PFaust(data, kind[-1].upper())
        return made.train_pairs() if split == "train" else made.test_pairs()
    seed = {"fit": 101, "test": 202}[split]
    if kind == "people":
        # the people that are held out of training
        everyone = People(people)
        which = [k for k in range(len(everyone)) if k % 5 == (0 if split == "test" else 1)]
        return people_pairs(everyone, 3, which=which[:8], n_vertices=(3000, 5000), triangulations=4, seed=seed)
    if kind == "bodies":
        return retriangulated_body_pairs(6, 3, n_vertices=(2000, 3000), triangulations=2, seed=seed)
    raise ValueError(f"there is no set {name!r}; there are pfaust-m-train, pfaust-h-test, people-fit, bodies-test, …")


def measured(pairs: Pairs, matcher: Matcher, most: int, cache: Cache) -> list[tuple[Signs, np.ndarray]]:
    """Signs and errors of the vertices of each pair whose truth is known."""
    found = []
    chosen = np.random.default_rng(0).permutation(len(pairs))[:most]
    for number in chosen:
        pair = pairs[int(number)]
        given = shown(pair.part, pair.whole, 1.0, matcher, cache=cache)
        position = best_position(matcher, given, headings=matcher.config.headings)
        vertex_map = matcher.read(position.chosen.nearest, position.shown.part, position.shown.whole)
        signs = signs_of(vertex_map, position.chosen, position.trials)
        truth, D = pair.ground_truth, given.whole.distances.numpy()
        errors = geodesic_errors(vertex_map.numpy(), truth, D, area=pair.whole.area)
        rows = truth.part_vertices
        found.append(
            (
                replace(
                    signs, distortion=signs.distortion[rows], bending=signs.bending[rows], rivals=signs.rivals[rows]
                ),
                errors,
            )
        )
        print(f"  {pair.name}: error {100 * errors.mean():.1f}", flush=True)
    return found


def fitted(sets: list[list[tuple[Signs, np.ndarray]]]) -> Weighing:
    """Weights whose lowest fifth carries most of what it can, mean over the sets; then slope and even, by likelihood.

    Only the proportions of the weights matter for that, and distortion, which has the units of an error, keeps the weight 1.
    """
    tables = [
        (np.concatenate([stacked(signs) for signs, _ in one]), np.concatenate([off for _, off in one])) for one in sets
    ]

    def lost(logs: np.ndarray) -> float:
        weights = np.array([1.0, *np.exp(logs)])
        found = [calibration(-(A @ weights), errors, groups=1) for A, errors in tables]
        # a little of what is expected of each sign, so that one that says nothing here is not thrown away
        return -float(np.mean([one.carried / one.possible for one in found])) + 0.003 * float(
            np.square(logs - _START).sum()
        )

    best = min(
        (minimize(lost, _START + shift, method="Nelder-Mead", options={"maxiter": 200}) for shift in (0.0, 1.0, -1.0)),
        key=lambda one: one.fun,
    )
    weights = np.array([1.0, *np.exp(best.x)])
    expected = np.concatenate([np.log(A @ weights + 1e-9) for A, _ in tables])
    right = np.concatenate([errors < RIGHT for _, errors in tables])
    share = np.concatenate([np.full(len(errors), 1 / len(errors)) for _, errors in tables])

    def surprise(given: np.ndarray) -> float:
        odds = given[0] * (expected - given[1])
        return float(share @ np.logaddexp(0, np.where(right, odds, -odds)))

    slope, even = minimize(surprise, [2.0, np.log(0.08)], method="Nelder-Mead").x
    return Weighing(*(float(f"{value:.2g}") for value in (*weights, np.exp(even), slope)))


def kept(path: Path, compute: Callable[[], list[tuple[Signs, np.ndarray]]]) -> list[tuple[Signs, np.ndarray]]:
    """What was measured before, or else what is computed now."""
    if path.exists():
        with np.load(path) as held:
            count = int(held["count"])
            names = ("distortion", "bending", "rivals")
            return [
                (Signs(*(held[f"{name}{k}"] for name in names), float(held["misfit"][k])), held[f"errors{k}"])
                for k in range(count)
            ]
    found = compute()
    arrays: dict[str, np.ndarray] = {
        "count": np.array(len(found)),
        "misfit": np.array([signs.misfit for signs, _ in found]),
    }
    for k, (signs, errors) in enumerate(found):
        arrays |= {f"distortion{k}": signs.distortion, f"bending{k}": signs.bending, f"rivals{k}": signs.rivals}
        arrays[f"errors{k}"] = errors
    np.savez_compressed(path, **arrays)
    return found


def said(name: str, pairs: list[tuple[Signs, np.ndarray]], weighing: Weighing) -> tuple[list[str], Calibration]:
    """A row of the table, and the calibration of all vertices together."""
    sure = [confidence_of(signs, weighing) for signs, _ in pairs]
    errors = [off for _, off in pairs]
    together = calibration(np.concatenate(sure), np.concatenate(errors))
    single = [calibration(one, off) for one, off in zip(sure, errors, strict=True)]
    row = [
        name,
        str(len(pairs)),
        f"{100 * np.mean([off.mean() for off in errors]):.2f}",
        f"{together.carried:.2f} of {together.possible:.2f}",
        f"{np.mean([one.carried for one in single]):.2f} of {np.mean([one.possible for one in single]):.2f}",
        f"{together.gap:.2f}",
        f"{np.mean(np.concatenate(sure) < 0.5):.0%}",
    ]
    return row, together


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="default")
    parser.add_argument("--headings", type=int, help="in the place of those that the model asks for")
    parser.add_argument("--data", type=Path)
    parser.add_argument("--people", type=Path)
    parser.add_argument("--fit", nargs="*", default=[])
    parser.add_argument("--test", nargs="*", default=[])
    parser.add_argument("--most", type=int, default=20, help="pairs of each set to fit with; tests take all, up to 40")
    parser.add_argument(
        "--keep", type=Path, help="folder for what was measured, to fit and print again without matching"
    )
    parser.add_argument("--plot", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    cache = Cache.default()

    def of(text: str, most: int) -> list[tuple[Signs, np.ndarray]]:
        name, _, model = text.partition("=")
        print(text, flush=True)
        matcher = Matcher.load(model or given.model)
        if given.headings:
            matcher.config = matcher.config.with_changes(headings=given.headings)

        def compute() -> list[tuple[Signs, np.ndarray]]:
            return measured(pairs_of(name, given.data, given.people), matcher, most, cache)

        if given.keep is None:
            return compute()
        given.keep.mkdir(parents=True, exist_ok=True)
        file = f"{name}-{Path(model or given.model).stem}-{matcher.config.headings}-{most}.npz"
        return kept(given.keep / file, compute)

    to_fit = {name: of(name, given.most) for name in given.fit}
    weighing = fitted(list(to_fit.values())) if to_fit else FITTED
    tests = {name: of(name, 40) for name in given.test}
    print(heading())
    print(f"FITTED = {weighing}")
    rows, plotted = [], {}
    for name, pairs in {**{f"{name} (fitted)": held for name, held in to_fit.items()}, **tests}.items():
        row, together = said(name, pairs, weighing)
        rows.append(row)
        plotted[name] = together
    head = [
        "pairs",
        "number",
        "macro error × 100",
        "carried by the lowest fifth, all pairs",
        "within a pair",
        "gap",
        "doubtful",
    ]
    print(table(head, rows))
    if given.plot:
        shown_ones = {name: one for name, one in plotted.items() if "(fitted)" not in name} or plotted
        calibration_plot(shown_ones, given.plot)


if __name__ == "__main__":
    main()
