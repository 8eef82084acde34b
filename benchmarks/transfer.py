"""What carrying over costs in accuracy: body segments to parts, skeletons to posed people, a picture to a cut ball.

python benchmarks/transfer.py --data DIR --people bodies_cc0.npz [--parts 10] [--only segments]

Segments: the 24 of a person (pelvis, three of the spine, neck, head; shoulder, upper arm, forearm, hand, fingers, thigh,
shin, foot and toes of each side), each vertex in that whose bones it follows most. They are carried to the wholes of PFAUST
once, by a fit of a person of the assets; from there to the parts of test pairs, by the map of `pw.match` and by the places
on a fit, and compared with the label of the true vertex. Also to cuts of posed people of other triangulations, whose truth is
exact. Skeletons: people in a random pose, cut; their skeleton at rest is carried over through the true map, and through the
true map moved to a random vertex within 1.5 % of √area; the part is then posed anew by the joint angles of another random
pose. Picture: a checker pattern on a ball, baked for a piece of it, looked up at random points.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree

import partwhole as pw
from partwhole.datasets import PFaust, cut_plane, random_cuts, sphere
from partwhole.datasets.shapes.people import People
from partwhole.datasets.shapes.people_poses import random_turns
from partwhole.mesh import decimate
from partwhole.mesh.barycentric import BarycentricMap
from partwhole.mesh.textured import Skin, Texture, TexturedMesh
from partwhole.registration import FittedTemplate
from partwhole.transfer import Correspondence, transfer_skinning, transfer_texture
from partwhole.transfer.atlas import make_atlas
from partwhole.transfer.values import transfer_labels
from recording import heading, save, table

_NOISE = 0.015
_PARTS = ("picture", "skeleton", "segments")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with pfaust/ and faust_r/")
    parser.add_argument("--people", type=Path, help="bodies_cc0.npz")
    parser.add_argument("--parts", type=int, default=10, help="of each level of PFAUST; each with both wholes")
    parser.add_argument("--count", type=int, default=10, help="people for each recipe")
    parser.add_argument("--model", default="default")
    parser.add_argument("--only", nargs="*", default=_PARTS, choices=_PARTS, help="what to measure")
    parser.add_argument("--output", type=Path, help="JSON file for the numbers")
    given = parser.parse_args()
    print(heading())
    numbers = {"picture": picture()} if "picture" in given.only else {}
    people = None if given.people is None else People(given.people)
    if people is not None and "skeleton" in given.only:
        numbers["skeleton"] = skeletons(people)
    if people is not None and "segments" in given.only:
        for recipe in ("pfaust-m", "pfaust-h"):
            numbers[f"segments, {recipe}"] = segments_on_people(people, recipe, given.count, given.model)
        if given.data is not None:
            for level in ("M", "H"):
                numbers[f"segments, PFAUST-{level}"] = segments_on_pfaust(
                    people, given.data, level, given.parts, given.model
                )
    save(given.output, numbers)


# --- body segments

_BONES = {
    "pelvis": ("root", "pelvis", "spine05"),
    "spine 1": ("spine04",),
    "spine 2": ("spine03",),
    "spine 3": ("spine02", "spine01", "breast"),
    "neck": ("neck",),
    "head": ("head",),
    "shoulder": ("clavicle", "shoulder"),
    "upper arm": ("upperarm",),
    "forearm": ("lowerarm",),
    "hand": ("wrist", "metacarpal"),
    "fingers": ("finger",),
    "thigh": ("upperleg",),
    "shin": ("lowerleg",),
    "foot": ("foot",),
    "toes": ("toe",),
}
_TWICE = tuple(_BONES)[6:]
_OF_BONE = {bone: segment for segment, bones in _BONES.items() for bone in bones}
# whose segments go to the wholes of PFAUST, and people that no model was trained with
_LABELLED, _HELD_OUT = 0, 34


def segments(people: People) -> np.ndarray:
    """For each vertex of a person its segment, a number from 0 to 23."""
    skin = people.skin(_LABELLED)
    of_bone = []
    for bone in range(len(skin.names)):
        above: int | None = bone
        while (name := _segment(skin.names[above])) is None:
            above = skin.parents[above]
        of_bone.append(name)
    names = sorted(set(of_bone))
    groups = np.zeros((len(of_bone), len(names)))
    groups[np.arange(len(of_bone)), [names.index(name) for name in of_bone]] = 1
    return np.asarray((people.weights @ groups).argmax(axis=1)).reshape(-1)


def _segment(bone: str) -> str | None:
    plain, _, side = bone.partition(".")
    found = _OF_BONE.get(plain) or _OF_BONE.get(plain.rstrip("0123456789-"))
    return f"{found} {side}" if found in _TWICE else found


def segments_on_pfaust(people: People, root: Path, level: str, n_parts: int, model: str) -> dict[str, float]:
    data, own = PFaust(root, level), segments(people)
    labels = {}
    for k in (80, 90):
        fitted = pw.fit(data.whole(k), people.rest(_LABELLED), model="any-pose")
        labels[k] = by_fit(own, fitted)
    rows, most = [], []
    for k in range(80, 100, 20 // n_parts):
        for other in (80, 90):
            part, whole, truth = data.part(k), data.whole(other), data.ground_truth(k, other)
            wanted = labels[other][truth.whole_vertices]
            rows.append(shares(part, whole, labels[other], truth.part_vertices, truth.whole_vertices, model))
            named = np.zeros((part.n_vertices, wanted.max() + 1), int)
            np.add.at(named, (truth.part_vertices, wanted), 1)
            most.append(named.max(axis=1).sum() / len(wanted))
    print(
        f"best that one label for each vertex of a part can be, since several true vertices may differ: {np.mean(most):.1%}"
    )
    return told(f"PFAUST-{level}, {model}", rows)


def segments_on_people(people: People, recipe: str, count: int, model: str) -> dict[str, float]:
    own, rows = segments(people), []
    for seed in range(700, 700 + count):
        k = _HELD_OUT + seed % (len(people) - _HELD_OUT)
        rest, posed = decimate(people.rest(k), 5000), decimate(people.pose(k, seed=seed, strength=0.8), 4800)
        cut = random_cuts(posed.mesh, recipe, seed=seed)
        kept = posed.to_fine[cut.vertex_map]
        rows.append(
            shares(cut.part, rest.mesh, own[rest.to_fine], np.arange(len(kept)), rest.to_coarse[kept], model, own[kept])
        )
    return told(f"people, {recipe}, {model}", rows)


def shares(
    part: pw.Mesh,
    whole: pw.Mesh,
    labels: np.ndarray,
    on_part: np.ndarray,
    on_whole: np.ndarray,
    model: str,
    wanted: np.ndarray | None = None,
) -> dict[str, float]:
    """Of the true pairs of vertices those whose label is right."""
    wanted = labels[on_whole] if wanted is None else wanted
    beside = np.zeros((whole.n_vertices, labels.max() + 1), bool)
    beside[np.arange(whole.n_vertices), labels] = True
    border = np.zeros(whole.n_vertices, bool)
    for a, b in (whole.edges.T, whole.edges.T[::-1]):
        beside[a, labels[b]] = True
        border[a[labels[a] != labels[b]]] = True
    fitted = pw.fit(part, whole, model=model)
    ways = {"map": labels[fitted.match.vertex_map], "fit": by_fit(labels, fitted)}
    right = {}
    for name, found in ways.items():
        agree, inside = found[on_part] == wanted, ~border[on_whole]
        right[f"through the {name}"] = float(agree.mean())
        right[f"through the {name}, up to one edge"] = float((beside[on_whole, found[on_part]] | agree).mean())
        right[f"through the {name}, away from segment boundaries"] = float(agree[inside].mean())
    return right | {"at a segment boundary": float(border[on_whole].mean())}


def by_fit(labels: np.ndarray, fitted: FittedTemplate) -> np.ndarray:
    """The labels at the places on a fit; at the map's where a vertex lies apart from it."""
    places = fitted.barycentric
    return np.where(places.covered, transfer_labels(labels, places, missing=0), labels[fitted.match.vertex_map])


def told(name: str, rows: list[dict[str, float]]) -> dict[str, float]:
    means = {key: float(np.mean([row[key] for row in rows])) for key in rows[0]}
    print(
        f"segments, {name}, {len(rows)} pairs: " + ", ".join(f"{key} {value:.1%}" for key, value in means.items()),
        flush=True,
    )
    return {"pairs": len(rows), **means}


# --- skeletons


def skeletons(people: People) -> dict[str, float]:
    measured = list(posed_anew(people))
    head = ["part", "map", "posed anew, % of √area", "with the true skeleton", "not posed", "joints found"]
    rows = []
    for recipe in ("pfaust-m", "pfaust-h"):
        for noise in (0.0, _NOISE):
            own = np.array([m[2:] for m in measured if m[:2] == (recipe, noise)])
            means = own.mean(axis=0)
            label = "true" if noise == 0 else f"off by up to {100 * noise:.1f} %"
            rows.append([recipe, label, *(f"{100 * value:.2f}" for value in means[:3]), f"{means[3]:.0f}"])
    print(table(head, rows), flush=True)
    return {f"{row[0]}, {row[1]}": float(row[2]) for row in rows}


def posed_anew(people: People) -> Iterator[tuple[str, float, float, float, float, float]]:
    for k in range(0, 40, 5):
        skin, rest = people.skin(k), people.rest(k)
        heads = dict(zip(people.bone_names, skin.joints, strict=True))
        first, second = (random_turns(np.random.default_rng(100 * k + n), heads, strength=0.8) for n in range(2))
        scanned, wanted = people.turned(k, first), people.turned(k, second)
        for recipe in ("pfaust-m", "pfaust-h"):
            cut = random_cuts(scanned, recipe, seed=k)
            truth, unit, area = wanted.vertices[cut.vertex_map], rest.area**0.5, cut.part.vertex_areas
            ideal = Skin(skin.names, skin.parents, skin.turned(first), skin.weights[cut.vertex_map])

            def error(vertices: np.ndarray, truth=truth, area=area, unit=unit) -> float:
                return float(np.average(np.linalg.norm(vertices - truth, axis=1), weights=area)) / unit

            for noise in (0.0, _NOISE):
                found = transfer_skinning(
                    skin, rest, cut.part, BarycentricMap.at_vertices(off(cut.vertex_map, rest, noise))
                )
                moved, best = (error(bent(one, skin, first, second, cut.part.vertices)) for one in (found.skin, ideal))
                yield recipe, noise, moved, best, error(cut.part.vertices), float(found.seen.sum())


def off(vertex_map: np.ndarray, whole: pw.Mesh, noise: float) -> np.ndarray:
    """The map with every place moved to a random vertex within this share of √area."""
    if noise == 0:
        return vertex_map
    rng = np.random.default_rng(0)
    near = cKDTree(whole.vertices).query_ball_point(whole.vertices[vertex_map], noise * whole.area**0.5)
    return np.array([rng.choice(list(own)) for own in near])


def bent(own: Skin, skin: Skin, first: dict, second: dict, vertices: np.ndarray) -> np.ndarray:
    """The vertices when the angles between joints change as they do from the first pose to the second."""
    before, after = skin.turned(first), skin.turned(second)
    frames = np.empty_like(own.rest)
    for joint in own.order():
        parent = own.parents[joint]
        if parent is None:
            frames[joint] = after[joint] @ np.linalg.inv(before[joint]) @ own.rest[joint]
            continue
        old, new = (np.linalg.solve(pose[parent], pose[joint])[:3, :3] for pose in (before, after))
        local = np.linalg.solve(own.rest[parent], own.rest[joint])
        local[:3, :3] = local[:3, :3] @ old.T @ new
        frames[joint] = frames[parent] @ local
    return own.posed(vertices, frames)


# --- a picture


def picture(size: int = 1024) -> dict[str, float]:
    ball = sphere(2000)
    atlas = make_atlas(ball, size, gap=8)
    # the checker pattern, painted into an atlas of the ball pixel by pixel
    middle = (np.stack(np.meshgrid(np.arange(size), np.arange(size)), axis=2).reshape(-1, 2) + 0.5) / size
    flat = pw.Mesh(np.pad(atlas.uv, ((0, 0), (0, 1))), atlas.corners)
    places = BarycentricMap.closest(np.pad(middle, ((0, 0), (0, 1))), flat)
    of_uv = np.empty(len(atlas.uv), int)
    of_uv[atlas.corners.reshape(-1)] = ball.faces.reshape(-1)
    image = np.full((size * size, 4), 255, np.uint8)
    image[:, :3] = checker(places.positions(ball.vertices[of_uv]))
    textured = TexturedMesh(
        ball, Texture(atlas.uv, atlas.corners, (image.reshape(size, size, 4),), np.zeros(ball.n_faces, int))
    )
    cut = cut_plane(ball, (0, 0, -0.2), (0, 0.2, 1))
    start = time.perf_counter()
    found = transfer_texture(
        textured, Correspondence(cut.part, ball, BarycentricMap.at_vertices(cut.vertex_map)), size=size
    )
    seconds = time.perf_counter() - start
    rng = np.random.default_rng(0)
    faces = rng.choice(cut.part.n_faces, size=50_000, p=cut.part.face_areas / cut.part.area)
    weights = rng.dirichlet([1, 1, 1], size=len(faces))
    weights[::2, 0] = 0  # every second one on an edge, where seams would be
    weights /= weights.sum(axis=1, keepdims=True)
    points = np.einsum("kc,kcd->kd", weights, cut.part.vertices[cut.part.faces[faces]])
    shown = found.texture.colors(faces, weights)[:, 0] > 127.5
    wrong = shown != (checker(points)[:, 0] > 127.5)
    on_edges = float(wrong[::2].mean())
    print(
        f"checker pattern, {size}² pixels: {wrong[1::2].mean():.2%} of points in faces and {on_edges:.2%} of points on edges "
        f"have the other colour; {seconds:.1f} s",
        flush=True,
    )
    return {"wrong_in_faces": float(wrong[1::2].mean()), "wrong_on_edges": on_edges, "seconds": seconds}


def checker(points: np.ndarray) -> np.ndarray:
    dark = (np.floor(4 * points + 0.5).sum(axis=1) % 2).astype(bool)
    return np.where(dark[:, None], 0, 255) * np.ones(3)


if __name__ == "__main__":
    main()
