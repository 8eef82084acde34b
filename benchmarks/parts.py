"""The rule of overlap of `match_parts`: fitted to generated pairs of parts that nothing is tested on.

python benchmarks/parts.py --data DIR --keep FOLDER --write

DIR holds bodies_cc0.npz and faces_mit.npz. The pairs are parts of the blocks of `DefaultRecipe(seed=77)`; parts of people,
bodies, creatures and things cut by planes, by what cameras see and to small pieces, a fifth of them damaged; and parts of
different things, which share nothing. The size of the whole is off by a
random factor, as it is where `match_parts` has to guess it.

The head that says what is shared, if anything is, is the mean of one fitted to these and of one fitted to pairs that overlap,
at the sizes of the whole that `match_parts` finds: a size that is off by a factor of two is not rare where little is shared.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize
from torch.nn.functional import binary_cross_entropy_with_logits

import partwhole.matching.parts.rule as library
from partwhole.datasets import DefaultRecipe, PartPair, PartPairs, People, part_pairs
from partwhole.datasets.synthetic.retriangulated import people_pairs, retriangulated_body_pairs, thing_pairs
from partwhole.evaluation.parts import NOTHING, OVERLAPPING
from partwhole.geodesics import geodesic_distances
from partwhole.matching.confidence.constants import RIGHT
from partwhole.matching.matcher import Matcher
from partwhole.matching.parts.match import found_parts
from partwhole.matching.parts.rule import Head, OverlapRule, presupposed
from partwhole.matching.scans.prepare import prepare_surface
from recording import heading

_SEED, _VERTICES, _ROWS, _UNITS, _STEPS = 77, 1300, 400, 16, 1500
_CUT = {"n_vertices": (1100, 1700), "recipe": ("cuts", "views", "piece", "cuts"), "seed": 5551, "damage": 0.2}
_BODIES = {"bodies": ("biped", "quadruped", "hand", "animal"), "creatures": ("centaur", "gorilla", "bird", "monster")}
# of each set: pairs to fit with
_COUNT = {"recipe": 24, "people": 30, "bodies": 24, "creatures": 9, "things": 9, "unrelated": 14}
# of the pairs of a block, one of so many shares nothing, if there are such
_APART = 3
_HELD_BACK = 1e-3
# pairs at the sizes that are found: so many, blocks of so few vertices per whole, and by share of the one that shares more,
# between these limits, at most so many of a block
_SEARCHED, _DENSITY, _OF_BLOCK = 49, 650, 7
_SHARES, _QUOTA = (0.0, 0.005, 0.1, 0.25, 0.4, 0.55, 0.7, 0.85, 1.01), (1, 1, 2, 2, 2, 2, 1, 1)
_LEAST_SHARE, _SMALLEST, _STEPS_SEARCHED = 0.02, 60, 400
_SEARCHED_CUT = {"n_vertices": (900, 1400), "recipe": _CUT["recipe"], "damage": 0.2, "triangulations": 3}
# standard deviation of the logarithm of the factor by which the area of the whole is off
_SIZE_OFF = 0.25


def sets_of(data: Path) -> dict[str, list[PartPairs]]:
    """Pairs of parts of each kind."""
    blocks = DefaultRecipe(data, seed=_SEED)
    cut = {**_CUT, "triangulations": 4}
    return {
        "recipe": [part_pairs(blocks(number)) for number in range(8)],
        "people": [part_pairs(people_pairs(People(data), 5, which=[k], same_person=1.0, **cut)) for k in range(10)],
        **{kind: [part_pairs(retriangulated_body_pairs(8, 6, plans=plans, **cut))] for kind, plans in _BODIES.items()},
        "things": [part_pairs(thing_pairs(6, 6, **cut))],
    }


def pairs_of(sets: dict[str, list[PartPairs]], kind: str) -> Iterator[PartPair]:
    """The pairs of a kind, drawn from all of its blocks."""
    if kind == "unrelated":
        yield from unrelated(sets)
        return
    rng = np.random.default_rng(_SEED)
    blocks = [block for block in sets[kind] if len(block)]
    each = -(-_COUNT[kind] // len(blocks))
    for block in blocks:
        drawn = (block[int(number)] for number in rng.permutation(len(block)))
        taken = {True: 0, False: 0}
        for pair in drawn:
            apart = max(pair.a_to_b.share, pair.b_to_a.share) < NOTHING
            if taken[apart] < (each // _APART if apart else each - each // _APART):
                taken[apart] += 1
                yield pair


def unrelated(sets: dict[str, list[PartPairs]]) -> Iterator[PartPair]:
    """Parts of things of different kinds, which share nothing."""
    kinds = list(_COUNT)[1:-1]
    for number in range(_COUNT["unrelated"]):
        one, other = kinds[number % len(kinds)], kinds[(number + 1 + number // len(kinds) % 3) % len(kinds)]
        first, second = (sets[kind][number % len(sets[kind])] for kind in (one, other))
        a, b = first[number % len(first)], second[(number + 1) % len(second)]
        none = [type(a.a_to_b)(np.zeros(mesh.n_vertices, int), np.zeros(mesh.n_vertices, bool)) for mesh in (a.a, b.b)]
        yield PartPair(a.a, b.b, *none, name=f"{a.a.name} | {b.b.name}")


def searched_blocks(data: Path) -> Iterator[PartPairs]:
    """Blocks of pairs of parts, kind after kind; each has one whole, or a few."""
    people, blocks = People(data), DefaultRecipe(data, seed=177)
    for turn in range(100):
        cut = {**_SEARCHED_CUT, "seed": 7000 + turn}
        yield part_pairs(people_pairs(people, 6, which=[2 * turn % 34], same_person=1.0, **cut))
        yield part_pairs(retriangulated_body_pairs(1, 6, plans=_BODIES["bodies"][turn % 4], **cut))
        if turn % 3 == 0:
            yield part_pairs(blocks(turn // 3))
        elif turn % 3 == 1:
            yield part_pairs(retriangulated_body_pairs(1, 6, plans=_BODIES["creatures"][turn // 3 % 4], **cut))
        else:
            yield part_pairs(thing_pairs(1, 6, **cut))


def searched_pairs(data: Path) -> Iterator[PartPair]:
    """Pairs of all overlaps, drawn from these blocks; and what would be an unrelated pair after each block, counted only."""
    rng, count, first = np.random.default_rng(1), 0, True
    for block in searched_blocks(data):
        if not len(block):
            continue
        taken = [0] * len(_QUOTA)
        for number in rng.permutation(len(block))[:30]:
            if sum(taken) >= _OF_BLOCK:
                break
            pair = block[int(number)]
            kind = int(np.searchsorted(_SHARES, max(pair.a_to_b.share, pair.b_to_a.share), side="right")) - 1
            if taken[kind] >= _QUOTA[kind] or min(pair.a.n_vertices, pair.b.n_vertices) < _SMALLEST:
                continue
            taken[kind] += 1
            count += 1
            if count <= _SEARCHED:
                yield pair
        count, first = count + (not first), False
        if count >= _SEARCHED:
            return


def searched(pair: PartPair, matcher: Matcher) -> list[dict[str, Any]]:
    """Cues and truth of the vertices of both parts, at the size of the whole that `match_parts` finds."""
    assert pair.whole is not None
    most = int(_DENSITY * max(pair.a.area, pair.b.area) / pair.whole.area)
    found = found_parts(pair.a, pair.b, matcher, max_vertices=max(most, _SMALLEST))
    held = []
    for k, cues in enumerate(found.cues()):
        truth, rows = (pair.a_to_b, pair.b_to_a)[k], found.prepared[k].to_given
        mass = found.sides[k].surface.mass
        held.append({"cues": cues, "shared": truth.shared[rows], "known": truth.known[rows], "mass": mass})
    return held


def measured(pair: PartPair, matcher: Matcher, seed: int) -> list[dict[str, Any]]:
    """Cues and truth of the vertices of both parts; the size of the whole is off by a random factor."""
    off = np.exp(np.random.default_rng([_SEED, seed]).normal(scale=_SIZE_OFF))
    area = max(off * (1.0 if pair.whole is None else pair.whole.area), pair.a.area, pair.b.area)
    found = found_parts(pair.a, pair.b, matcher, max_vertices=_VERTICES, whole_area=float(area))
    D = None
    if pair.whole is not None:
        whole = prepare_surface(pair.whole, "whole", most_vertices=_VERTICES).mesh
        D = np.asarray(geodesic_distances(whole, method="fast_marching", dtype=np.float32))
        near = [nearest_on(whole, pair, k) for k in (0, 1)]
    held = []
    for k, cues in enumerate(found.cues()):
        truth = (pair.a_to_b, pair.b_to_a)[k]
        rows = found.prepared[k].to_given
        shared, known = truth.shared[rows], truth.known[rows]
        right = np.zeros(len(rows), bool)
        if D is not None:
            ends = found.prepared[1 - k].to_given[found.ways[k].vertex_map.numpy()]
            right = shared & (D[near[k][rows], near[1 - k][ends]] < RIGHT)
        mass = found.sides[k].surface.mass
        held.append({"cues": cues, "shared": shared, "known": known, "right": right, "mass": mass})
    return held


def nearest_on(whole: Any, pair: PartPair, k: int) -> np.ndarray:
    """The vertex of a coarser whole nearest to each vertex of a part; where it is not known, 0."""
    from scipy.spatial import cKDTree

    assert pair.on_whole is not None
    assert pair.whole is not None
    truth = pair.on_whole[k]
    found = np.zeros((pair.a, pair.b)[k].n_vertices, int)
    found[truth.part_vertices] = cKDTree(whole.vertices).query(truth.points(pair.whole.vertices))[1]
    return found


def head_of(z: torch.Tensor, y: torch.Tensor, seed: int = 0, steps: int = _STEPS) -> Head:
    """The head under which the truth is most likely, its weights held back."""
    torch.manual_seed(seed)
    net = torch.nn.Sequential(torch.nn.Linear(z.shape[1], _UNITS), torch.nn.Tanh(), torch.nn.Linear(_UNITS, 1))
    optimiser = torch.optim.Adam(net.parameters(), lr=0.01)
    falling = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps)
    for _ in range(steps):
        rows = torch.randint(len(z), (4096,))
        weights = sum(held.square().sum() for held in net.parameters())
        loss = binary_cross_entropy_with_logits(net(z[rows])[:, 0], y[rows]) + _HELD_BACK * weights
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        falling.step()

    def rounded(values: torch.Tensor) -> tuple[float, ...]:
        return tuple(float(f"{value:.4g}") for value in values.detach().flatten().tolist())

    inner, outer = net[0], net[2]
    return Head(tuple(map(rounded, inner.weight)), rounded(inner.bias), rounded(outer.weight), *rounded(outer.bias))


def drawn(held: list[list[dict[str, Any]]], names: tuple[str, ...]) -> list[np.ndarray]:
    """Rows of vertices: pairs count alike, vertices by their area."""
    rng = np.random.default_rng(0)
    tables = []
    for one in (side for pair in held for side in pair):
        mass = one["mass"].double().numpy() * one["known"]
        if mass.sum() > 0:
            rows = rng.choice(len(mass), _ROWS, p=mass / mass.sum())
            tables.append([np.asarray(one[name])[rows] for name in names])
    return [np.concatenate(column) for column in zip(*tables, strict=True)]


def fitted(
    held: list[list[dict[str, Any]]], overlapping: list[list[dict[str, Any]]], card: dict[str, Any]
) -> OverlapRule:
    """The rule: of all pairs what says whether two parts share anything, of those that overlap what they share."""
    X, shared, right = drawn(held, ("cues", "shared", "right"))
    mean, deviation = (tuple(float(f"{v:.4g}") for v in values) for values in (X.mean(axis=0), X.std(axis=0) + 1e-6))
    rule = OverlapRule(mean, deviation, _NO_HEAD, _NO_HEAD, _NO_HEAD, (), presupposed(), card)
    z = rule.standardised(torch.tensor(X, dtype=torch.float32))
    anything = head_of(z, torch.tensor(shared, dtype=torch.float32))
    more, shared_there = drawn(overlapping, ("cues", "shared"))
    there = head_of(
        rule.standardised(torch.tensor(more, dtype=torch.float32)),
        torch.tensor(shared_there, dtype=torch.float32),
        steps=_STEPS_SEARCHED,
    )
    heads = Head.mean(anything, there), anything, head_of(z[shared], torch.tensor(right[shared]).float())
    rule = OverlapRule(mean, deviation, *heads, (), presupposed(), card)
    return OverlapRule(mean, deviation, *heads, belonging(held, rule), presupposed(), card)


_NO_HEAD = Head(((0.0,),), (0.0,), (0.0,), 0.0)


def belonging(held: list[list[dict[str, Any]]], rule: OverlapRule) -> tuple[float, ...]:
    """Weights of what a pair shows, by likelihood, held back a little; pairs that share next to nothing are left out."""
    X, y = shown(held, rule)
    share = np.where(y, 0.5 / y.mean(), 0.5 / (1 - y.mean()))

    def surprise(w: np.ndarray) -> float:
        odds = X @ w[:-1] + w[-1]
        return float((share * np.logaddexp(0, np.where(y, -odds, odds))).mean() + 3e-3 * (w[:-1] ** 2).sum())

    weights = minimize(surprise, np.zeros(X.shape[1] + 1)).x
    return tuple(float(f"{weight:.4g}") for weight in weights)


def shown(held: list[list[dict[str, Any]]], rule: OverlapRule) -> tuple[np.ndarray, np.ndarray]:
    """What each pair shows, and whether it shares anything; without the pairs that share very little."""
    rows, truth = [], []
    for one, other in held:
        most = max(side["shared"].sum() / max(side["known"].sum(), 1) for side in (one, other))
        if most >= OVERLAPPING or most < NOTHING:
            rows.append(rule.seen_of((one["cues"], other["cues"]), (one["mass"], other["mass"])))
            truth.append(most >= OVERLAPPING)
    return np.array(rows), np.array(truth)


def kept(folder: Path | None, name: str, compute: Any) -> Any:
    """What was measured before, or what is computed now."""
    path = None if folder is None else folder / f"{name}.pt"
    if path is not None and path.exists():
        return torch.load(path, weights_only=False)
    found = compute()
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        torch.save(found, path)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--keep", type=Path, help="folder for what was measured, to fit again")
    parser.add_argument("--write", action="store_true", help="put the rule that was fitted into the library")
    given = parser.parse_args()
    torch.set_num_threads(1)
    matcher, sets = Matcher.load("any-pose"), sets_of(given.data)
    held = []
    for kind in _COUNT:

        def compute(kind: str = kind) -> list[list[dict[str, Any]]]:
            found = []
            for number, pair in enumerate(pairs_of(sets, kind)):
                found.append(measured(pair, matcher, number))
                shares = [one["shared"].mean() for one in found[-1]]
                print(f"  {kind} {number}: {pair.name}, shared {shares[0]:.2f} {shares[1]:.2f}", flush=True)
            return found

        held += kept(given.keep, kind, compute)

    def compute_searched() -> list[list[dict[str, Any]]]:
        # those that share nothing say nothing about where an overlap ends
        every = (
            pair for pair in searched_pairs(given.data) if max(pair.a_to_b.share, pair.b_to_a.share) >= _LEAST_SHARE
        )
        return [searched(pair, matcher) for pair in every]

    overlapping = kept(given.keep, "searched", compute_searched)
    counted = {**_COUNT, "overlapping, at the sizes found": len(overlapping)}
    card = {"model": "any-pose", "fitted to": counted, "seeds": [_SEED, _CUT["seed"]], "by": "benchmarks/parts.py"}
    rule = fitted(held, overlapping, card)
    print(heading())
    X, y = shown(held, rule)
    odds = X @ np.array(rule.belongs[:-1]) + rule.belongs[-1]
    auc = (odds[y][:, None] > odds[~y]).mean()
    print(f"{len(held)} pairs; {y.sum()} that overlap, {(~y).sum()} that share nothing, told apart with AUC {auc:.3f}")
    if given.write:
        text = json.dumps(rule.to_json(), indent=1) + "\n"
        Path(library.__file__).with_name(library.RULE).write_text(text)


if __name__ == "__main__":
    main()
