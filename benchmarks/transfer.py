"""What carrying over costs in accuracy: labels to PFAUST parts, skeletons to posed people, a picture to a cut ball.

python benchmarks/transfer.py --data DIR --people bodies_cc0.npz --parts 5

Labels: each whole is divided into 24 cells, the vertices nearest to 24 farthest points along edges; the labels are carried to
the parts of the test pairs through the map that `pw.match` finds, and compared with the label of the true vertex. Skeletons:
people of the assets in a random pose, cut; their skeleton at rest is carried over through the true map, and through the true
map moved to a random vertex within 1.5 % of √area; the part is then posed anew by the joint angles of another random pose.
Picture: a checker pattern on a ball, baked for a piece of it, looked up at random points.
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
from partwhole.datasets.pairs import Pair
from partwhole.datasets.shapes.people import People
from partwhole.datasets.shapes.people_poses import random_turns
from partwhole.mesh.barycentric import BarycentricMap
from partwhole.mesh.textured import Skin, Texture, TexturedMesh
from partwhole.transfer import Correspondence, transfer_skinning, transfer_texture
from partwhole.transfer.atlas import make_atlas
from recording import heading, save, table

SEGMENTS = 24
_NOISE = 0.015


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with pfaust/ and faust_r/")
    parser.add_argument("--people", type=Path, help="bodies_cc0.npz")
    parser.add_argument("--parts", type=int, default=20, help="parts of each level, of the 20 test parts")
    parser.add_argument("--output", type=Path, help="JSON file for the numbers")
    given = parser.parse_args()
    print(heading())
    numbers = {"picture": picture()}
    if given.people is not None:
        numbers["skeleton"] = skeletons(People(given.people))
    if given.data is not None:
        numbers["labels"] = [labels(given.data, level, given.parts) for level in ("M", "H")]
    save(given.output, numbers)


# --- labels


def labels(root: Path, level: str, n_parts: int) -> dict[str, float]:
    data = PFaust(root, level)
    parts = np.unique(np.linspace(80, 99, n_parts).astype(int)).tolist()
    rows = [labels_right(pair) for pair in data.pairs(parts, (80, 90)) if pair.part.name[-3:] != pair.whole.name[-3:]]
    exact, one_edge, border = np.mean(rows, axis=0)
    print(
        f"labels, PFAUST-{level}, {len(rows)} pairs of different people or poses: {exact:.1%} right, {one_edge:.1%} right "
        f"up to one edge; {border:.0%} of the vertices lie at a border of their cell",
        flush=True,
    )
    return {"pairs": len(rows), "right": exact, "right_up_to_one_edge": one_edge, "at_a_border": border}


def labels_right(pair: Pair) -> tuple[float, float, float]:
    """Shares of the vertices whose label is right, right or that of a neighbour, and which lie at a border."""
    whole, truth = pair.whole, pair.ground_truth
    assert truth is not None
    seeds = pw.farthest_points(whole, SEGMENTS, seed=0)
    cells = np.asarray(pw.geodesic_distances(whole, seeds, method="dijkstra")).argmin(axis=0)
    found = pw.match(pair.part, whole).transfer(cells)[truth.part_vertices]
    right = found == cells[truth.whole_vertices]
    beside = np.zeros((whole.n_vertices, SEGMENTS), bool)
    beside[np.arange(whole.n_vertices), cells] = True
    border = np.zeros(whole.n_vertices, bool)
    for a, b in (whole.edges.T, whole.edges.T[::-1]):
        beside[a, cells[b]] = True
        border[a[cells[a] != cells[b]]] = True
    return (
        float(right.mean()),
        float(beside[truth.whole_vertices, found].mean()),
        float(border[truth.whole_vertices].mean()),
    )


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
