"""`geodesic_distances`: distances along a surface, by three methods, on the processor or on a CUDA device."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike, DTypeLike
from scipy import sparse
from scipy.sparse import csgraph

from partwhole.geodesics.metrics import Metric
from partwhole.mesh import Mesh, SurfaceLike, as_mesh
from partwhole.mesh.surface import edge_graph
from partwhole.store.arguments import Progress, as_array, check_whole_number, checked_path, in_short
from partwhole.store.compute import available_cores
from partwhole.store.storage import atomic_write

if TYPE_CHECKING:
    import torch


from dataclasses import dataclass

UNFOLD_DEPTH = 8


@dataclass(frozen=True)
class Stencil:
    """The steps into each vertex v, as two lists grouped by v (rows start[v] to start[v + 1]).

    A segment (u, w): d(v) ≤ d(u) + w. A triangle (a, b) with v = (x, y) when a = (0, 0) and b = (base, 0): a front that
    passed a and b, as if from a point source in the plane of the triangle, arrives at v (see
    `geodesics/cpu/fast_marching.py`).
    """

    segment_start: Int[np.ndarray, "n_plus_1"]
    segment_from: Int[np.ndarray, "s"]
    segment_length: Float[np.ndarray, "s"]
    triangle_start: Int[np.ndarray, "n_plus_1"]
    triangle_from: Int[np.ndarray, "t 2"]
    triangle_shape: Float[np.ndarray, "t 3"]  # x, y, base

    @property
    def n_vertices(self) -> int:
        return len(self.segment_start) - 1

    @property
    def front_numbers(self) -> Float[np.ndarray, "t 5"]:
        """What the kernels need of each triangle: x, y, base, base/2, 1/(2 base)."""
        x, y, base = self.triangle_shape.T
        return np.stack([x, y, base, base / 2, 0.5 / base], axis=1)


def graph_stencil(mesh: Mesh, lengths: Float[np.ndarray, "e"]) -> Stencil:
    """Steps along the edges only: the distances are those of the edge graph."""
    none = np.empty((0, 3), np.int64), np.empty((0, 3))
    return _grouped(mesh.n_vertices, mesh.edges, lengths, *none)


def front_stencil(mesh: Mesh, lengths: Float[np.ndarray, "e"]) -> Stencil:
    """Steps for fast marching: edges, straight diagonals across two triangles, and triangles without obtuse corners.

    The triangles are those of the intrinsic Delaunay triangulation, the same surface with better shaped triangles; what
    is still obtuse there is split by unfolding. The mesh's own edges stay, so that no distance exceeds the graph's.
    """
    from partwhole.geodesics.cpu.fast_marching import delaunay_flips, diagonals, update_triangles

    faces, sides = mesh.faces.copy(), lengths[mesh.opposite_edges]
    across_face, across_corner = face_neighbours(mesh)
    delaunay_flips(faces, sides, across_face, across_corner)
    pairs, straight = diagonals(faces, sides, across_face, across_corner)
    flipped = faces[:, [[1, 2], [2, 0], [0, 1]]].reshape(-1, 2)
    segments = np.concatenate([mesh.edges, flipped, pairs])
    segment_lengths = np.concatenate([lengths, sides.reshape(-1), straight])
    triples, triple_sides = update_triangles(faces, sides, across_face, across_corner, UNFOLD_DEPTH)
    return _grouped(mesh.n_vertices, segments, segment_lengths, triples, triple_sides)


def face_neighbours(mesh: Mesh) -> tuple[Int[np.ndarray, "m 3"], Int[np.ndarray, "m 3"]]:
    """For side i of face f, the face and the corner that see it from the other side; -1 unless there is exactly one."""
    sides = mesh.opposite_edges.reshape(-1)
    order = np.argsort(sides, kind="stable")
    first = np.flatnonzero(sides[order][1:] == sides[order][:-1])
    first = first[mesh.faces_per_edge[sides[order][first]] == 2]
    one, other = order[first], order[first + 1]
    flat = np.full(len(sides), -1)
    flat[one], flat[other] = other, one
    across = flat.reshape(-1, 3)
    return np.where(across >= 0, across // 3, -1), np.where(across >= 0, across % 3, -1)


def _grouped(
    n: int,
    segments: Int[np.ndarray, "s 2"],
    lengths: Float[np.ndarray, "s"],
    triples: Int[np.ndarray, "t 3"],
    sides: Float[np.ndarray, "t 3"],
) -> Stencil:
    target, origin, length = _shortest_segments(n, segments, lengths)
    base, right, left = sides.T
    x = (left**2 - right**2 + base**2) / (2 * base)
    squared_height = left**2 - x**2
    # flat triangles add nothing to their sides, and in single precision their unfolding is noise; nor do those with
    # a side so short (lengths have mean 1) that single precision can't divide by it
    proper = (squared_height > 1e-12 * base**2) & (base > 1e-30)
    order = np.flatnonzero(proper)[np.argsort(triples[proper, 0], kind="stable")]
    rows = np.arange(n + 1)
    return Stencil(
        segment_start=np.searchsorted(target, rows).astype(np.int32),
        segment_from=origin.astype(np.int32),
        segment_length=length,
        triangle_start=np.searchsorted(triples[order, 0], rows).astype(np.int32),
        triangle_from=np.ascontiguousarray(triples[order, 1:], dtype=np.int32),
        triangle_shape=np.stack([x[order], np.sqrt(squared_height[order]), base[order]], axis=1),
    )


def _shortest_segments(
    n: int, pairs: Int[np.ndarray, "s 2"], lengths: Float[np.ndarray, "s"]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Every segment in both directions, sorted by target; of several between two vertices the shortest."""
    target = np.concatenate([pairs[:, 0], pairs[:, 1]])
    origin = np.concatenate([pairs[:, 1], pairs[:, 0]])
    length = np.concatenate([lengths, lengths])
    order = np.lexsort((length, origin, target))
    target, origin, length = target[order], origin[order], length[order]
    first = np.ones(len(target), bool)
    first[1:] = (target[1:] != target[:-1]) | (origin[1:] != origin[:-1])
    return target[first], origin[first], length[first]


DistanceMethod = Literal["fast_marching", "dijkstra", "exact"]

# a front must shorten a distance by this much, relatively, to count: above the rounding noise, far below the method's error
TOLERANCE = {np.dtype(np.float32): 1e-6, np.dtype(np.float64): 1e-8}


def geodesic_distances(
    mesh: SurfaceLike,
    sources: ArrayLike | None = None,
    *,
    targets: ArrayLike | None = None,
    method: DistanceMethod = "fast_marching",
    dtype: DTypeLike = np.float64,
    device: Literal["cpu", "cuda"] = "cpu",
    metric: Metric | None = None,
    progress: Progress | bool = False,
    out: str | Path | None = None,
    threads: int | None = None,
) -> Float[np.ndarray, "r n"] | torch.Tensor:
    """D[i, j]: the length of the shortest path from sources[i] to vertex j along the surface.

    Parameters
    ----------
    mesh : the surface
    sources : vertex numbers, one row each; None for all pairs, which gives a symmetric matrix
    targets : vertex numbers, one column each, for those who need few: the other columns take no memory. None for all
    method : what "shortest" means on a mesh

        - ``"dijkstra"``: along edges. Never below the true distance; about 5 % above it, on fine meshes too.
        - ``"fast_marching"``: fronts across triangles, point sources unfolded into each triangle's plane. About 0.25 %
          off on average; it can fall below the true distance.
        - ``"exact"``: shortest paths across the faces, up to rounding (to 1e-8 where faces have no area). Slow.
    dtype : float32 or float64. Along edges and exact distances are summed in float64 and rounded once, so that in float32
        they are right to half a unit in the last place however many edges a path has; fast marching works in `dtype`
    device : ``"cuda"`` computes on a CUDA device and returns a torch tensor there; all methods but ``"exact"``
    metric : a Riemannian metric on the surface (see `partwhole.geodesics.metrics`); default that of the embedding space
    progress : True for a progress bar, or a function called with ("distances", rows done, rows in all)
    out : path of a ``.npy`` file to fill block by block, for matrices that do not fit in memory; it appears only when it is
        complete, and is returned as a read-only memory map
    threads : default as many as the process may use

    Returns
    -------
    (len(sources), n) distances, or (len(sources), len(targets)), inf where there is no path. With ``sources=None`` the matrix
    is symmetric: fast marching has a direction, so the mean of both directions is taken; chosen rows are not averaged.

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> geodesic_distances(square, [1], method="dijkstra").tolist()
    [[1.0, 0.0, 1.0, 2.0]]
    >>> geodesic_distances(square, [1], method="exact").round(3).tolist()
    [[1.0, 0.0, 1.0, 1.414]]
    """
    mesh = as_mesh(mesh)
    rows = _checked_vertices("sources", sources, mesh)
    columns = None if targets is None else _checked_vertices("targets", targets, mesh)
    if columns is not None and sources is None:
        raise ValueError("targets needs sources: without them all pairs are computed, whose matrix has every column")
    dtype = _checked_type(dtype)
    check_whole_number("threads", threads, or_none=True)
    if threads is not None and threads < 1:
        raise ValueError(f"threads={threads} must be at least 1, or None for as many as the process may use")
    if method not in ("fast_marching", "dijkstra", "exact"):
        raise ValueError(f"method must be 'fast_marching', 'dijkstra' or 'exact', got {method!r}")
    if metric is not None and not isinstance(metric, Metric):
        raise ValueError(
            f"metric must be a Metric, got {in_short(metric)}; make one with pw.uniform_metric or the like"
        )
    if metric is not None and len(metric.edge_lengths) != len(mesh.edges):
        raise ValueError(
            f"metric has {len(metric.edge_lengths)} edge lengths, {mesh.name} has {len(mesh.edges)} edges; "
            "make the metric from this mesh"
        )
    out = None if out is None else checked_path("out", out)
    if out is not None and out.suffix.lower() != ".npy":  # such as the file of the surface itself
        raise ValueError(f"out={str(out)!r} is written as a NumPy array; give a name that ends in .npy")
    lengths = mesh.edge_lengths if metric is None else metric.edge_lengths
    if dtype == np.float32:
        _check_single_precision(mesh.name, lengths)
    if device == "cuda":
        return _on_cuda(mesh, rows, columns, sources is None, method, dtype, lengths, out)
    if device != "cpu":
        raise ValueError(f"device must be 'cpu' or 'cuda', got {device!r}")
    shape = (len(rows), mesh.n_vertices if columns is None else len(columns))
    work = mesh, rows, columns, sources is None, method, lengths, progress, threads
    if out is None:
        matrix = np.empty(shape, dtype)
        _fill(matrix, *work)
        return matrix
    with atomic_write(out) as file:
        header = {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_2_0(file, header)
        mapped = np.memmap(file, dtype, "r+", offset=file.tell(), shape=shape)
        _fill(mapped, *work)
        mapped.flush()
        del mapped
    return np.load(out, mmap_mode="r")


def distances_from_each(
    mesh: Mesh, *, method: DistanceMethod = "fast_marching", dtype: DTypeLike = np.float32
) -> Callable[[int], Float[np.ndarray, "n"]]:
    """A function from a vertex to its distances, for vertices that are needed one after the other.

    Its results are those of `geodesic_distances`; what depends on the surface alone is computed once, which takes most of
    the time of one row.

    Examples
    --------
    >>> square = Mesh([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    >>> distances_from = distances_from_each(square, method="dijkstra", dtype=np.float64)
    >>> distances_from(1).round(3).tolist(), distances_from(0).round(3).tolist()
    ([1.0, 0.0, 1.0, 2.0], [0.0, 1.0, 1.414, 1.0])
    """
    dtype = np.dtype(dtype)
    if dtype == np.float32:
        _check_single_precision(mesh.name, mesh.edge_lengths)
    lengths, unit = _unit_lengths(mesh.edge_lengths)
    work = _exact_bundles(mesh, lengths) if method == "exact" else _relaxed_bundles(mesh, method, lengths, dtype)

    def distances_from(vertex: int) -> Float[np.ndarray, "n"]:
        row = work(_checked_vertices("sources", [vertex], mesh))[0]
        row *= row.dtype.type(unit)
        return row.astype(dtype, copy=False)

    return distances_from


def _checked_vertices(name: str, given: ArrayLike | None, mesh: Mesh) -> Int[np.ndarray, "r"]:
    if given is None:
        return np.arange(mesh.n_vertices)
    rows = as_array(f"{name} must be a list of vertex numbers", given)
    if rows.ndim != 1 or len(rows) == 0 or not np.issubdtype(rows.dtype, np.integer):
        raise ValueError(f"{name} must be a list of vertex numbers, got shape {rows.shape} of {rows.dtype}")
    if rows.min() < 0 or rows.max() >= mesh.n_vertices:
        worst = rows.min() if rows.min() < 0 else rows.max()
        raise ValueError(f"{name}: there is no vertex {worst}, {mesh.name} has vertices 0 to {mesh.n_vertices - 1}")
    return rows.astype(np.int64)


def _checked_type(dtype: DTypeLike) -> np.dtype:
    try:
        found = np.dtype(dtype)
    except TypeError:
        raise ValueError(f"dtype must be float32 or float64, got {in_short(dtype)}") from None
    if found not in TOLERANCE:
        raise ValueError(f"dtype must be float32 or float64, got {found}")
    return found


def _check_single_precision(name: str, lengths: Float[np.ndarray, "e"]) -> None:
    """No distance is longer than all edges together."""
    mean, total = float(lengths.mean()), float(lengths.sum())
    if total > 1e37 or 0 < mean < 1e-37:
        raise ValueError(f"{name} has edges of length {mean:.3g}, which float32 can't represent; use float64")


def stencil_for(mesh: Mesh, method: DistanceMethod, lengths: Float[np.ndarray, "e"]) -> Stencil:
    return graph_stencil(mesh, lengths) if method == "dijkstra" else front_stencil(mesh, lengths)


def working_dtype(method: DistanceMethod, dtype: np.dtype) -> np.dtype:
    """float64 for Dijkstra: sums along thousands of edges lose digits in float32, and with them the guarantee."""
    return np.dtype(np.float64) if method == "dijkstra" else dtype


def smallest_step(method: DistanceMethod, dtype: np.dtype) -> float:
    """The factor by which a distance must shrink to count; sums along edges settle by themselves, to the last bit."""
    return 1.0 if method == "dijkstra" else 1 - TOLERANCE[dtype]


def _unit_lengths(lengths: Float[np.ndarray, "e"]) -> tuple[Float[np.ndarray, "e"], float]:
    """Lengths with mean 1, so that no square over- or underflows in single precision, and the factor to undo it."""
    mean = float(lengths.mean())
    return (lengths / mean, mean) if mean > 0 else (lengths, 1.0)


def _fill(
    matrix: Float[np.ndarray, "r c"],
    mesh: Mesh,
    rows: Int[np.ndarray, "r"],
    columns: Int[np.ndarray, "c"] | None,
    all_pairs: bool,
    method: DistanceMethod,
    lengths: Float[np.ndarray, "e"],
    progress: Progress | bool,
    threads: int | None,
) -> None:
    """Compute the rows into `matrix`, bundle by bundle, in threads (the kernels release the interpreter's lock)."""
    lengths, unit = _unit_lengths(lengths)
    if method == "exact":
        work = _exact_bundles(mesh, lengths)
        size = 4
    else:
        from partwhole.geodesics.cpu.lanes import LANES

        work = _relaxed_bundles(mesh, method, lengths, matrix.dtype)
        size = LANES

    def one(bundle: Int[np.ndarray, "k"]) -> int:
        block = work(rows[bundle])
        block *= block.dtype.type(unit)
        matrix[bundle] = block if columns is None else block[:, columns]
        return len(bundle)

    with _reporting(progress, len(rows), method) as report:
        done = 0
        for count in _in_threads(one, bundles_of(edge_graph(mesh), rows, size), threads):
            done += count
            report(done)
    if all_pairs:
        symmetrise(matrix, mean=method == "fast_marching")


def _relaxed_bundles(
    mesh: Mesh, method: DistanceMethod, lengths: Float[np.ndarray, "e"], dtype: np.dtype
) -> Callable[[Int[np.ndarray, "k"]], Float[np.ndarray, "k n"]]:
    from partwhole.geodesics.cpu.fast_marching import Steps, bundle_rows

    dtype = working_dtype(method, dtype)
    stencil = stencil_for(mesh, method, lengths)
    steps = Steps(
        stencil.segment_start,
        stencil.segment_from,
        stencil.segment_length.astype(dtype),
        stencil.triangle_start,
        stencil.triangle_from,
        stencil.front_numbers.astype(dtype),
    )
    limits = np.array([0, np.inf, smallest_step(method, dtype)], dtype)

    def work(sources: Int[np.ndarray, "k"]) -> Float[np.ndarray, "k n"]:
        block = np.empty((len(sources), mesh.n_vertices), dtype)
        bundle_rows(sources, steps, limits, block)
        return block

    return work


def _exact_bundles(
    mesh: Mesh, lengths: Float[np.ndarray, "e"]
) -> Callable[[Int[np.ndarray, "k"]], Float[np.ndarray, "k n"]]:
    from partwhole.geodesics.cpu.exact import exact_distances, exact_topology

    topology = exact_topology(mesh.n_vertices, mesh.faces, mesh.opposite_edges, lengths)

    def work(sources: Int[np.ndarray, "k"]) -> Float[np.ndarray, "k n"]:
        block = np.empty((len(sources), mesh.n_vertices))
        exact_distances(topology, sources, block)
        return block

    return work


def _in_threads(work: Callable[[Any], int], tasks: Iterable[Any], threads: int | None) -> Iterator[int]:
    """Results as they come; at most a few tasks wait at a time, and an interruption drops those not begun."""
    count = threads or available_cores()
    pool = ThreadPoolExecutor(max_workers=count)
    running: set[Future[int]] = set()
    try:
        for task in tasks:
            running.add(pool.submit(work, task))
            if len(running) >= 2 * count:
                finished, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in finished)
        while running:
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in finished)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def symmetrise(matrix: Float[np.ndarray, "n n"], *, mean: bool, block: int = 512) -> None:
    """Replace d(i, j) and d(j, i) by their mean, or by the smaller of the two, in place, block by block."""
    for i in range(0, len(matrix), block):
        for j in range(i, len(matrix), block):
            one, other = matrix[i : i + block, j : j + block], matrix[j : j + block, i : i + block].T
            both = (one + other) / 2 if mean else np.minimum(one, other)
            matrix[i : i + block, j : j + block] = both
            matrix[j : j + block, i : i + block] = both.T


@contextmanager
def _reporting(progress: Progress | bool, total: int, method: str) -> Iterator[Callable[[int], None]]:
    if callable(progress):
        yield lambda done: progress("distances", done, total)
    elif progress:
        from rich.progress import Progress as Bar

        with Bar() as bar:
            task = bar.add_task(f"{method} distances", total=total)
            yield lambda done: bar.update(task, completed=done)
    else:
        yield lambda done: None


def _on_cuda(
    mesh: Mesh,
    rows: Int[np.ndarray, "r"],
    columns: Int[np.ndarray, "c"] | None,
    all_pairs: bool,
    method: DistanceMethod,
    dtype: np.dtype,
    lengths: Float[np.ndarray, "e"],
    out: str | Path | None,
) -> torch.Tensor:
    if method == "exact":
        raise ValueError("method='exact' runs on the processor only; use device='cpu', or another method")
    if out is not None:
        raise ValueError("out= is not supported with device='cuda'; save the returned tensor instead")
    from partwhole.geodesics.cuda.relaxation import relaxed_rows

    lengths, unit = _unit_lengths(lengths)
    real = working_dtype(method, dtype)
    steps, smallest = stencil_for(mesh, method, lengths), smallest_step(method, real)

    def computed(chosen: Int[np.ndarray, "k"], order: Int[np.ndarray, "k"]) -> torch.Tensor:
        distances = relaxed_rows(steps, chosen, order, real, smallest)
        distances *= unit
        return distances.float() if dtype == np.float32 else distances

    bundles = bundles_of(edge_graph(mesh), rows, 128)
    if columns is not None:
        import torch

        places = torch.argsort(torch.from_numpy(np.concatenate(bundles))).to("cuda")
        kept = torch.from_numpy(columns).to("cuda")
        found = [computed(rows[bundle], np.arange(len(bundle)))[:, kept] for bundle in bundles]
        return torch.cat(found)[places]
    distances = computed(rows, np.concatenate(bundles))
    if not all_pairs:
        return distances
    return (distances + distances.T) / 2 if method == "fast_marching" else distances.minimum(distances.T)


LANDMARKS = 8


def bundles_of(graph: sparse.csr_matrix, sources: Int[np.ndarray, "r"], size: int) -> list[Int[np.ndarray, "_"]]:
    """Positions in `sources`, in groups of at most `size`, each close together; the middle one of each group first.

    graph : the edges with their lengths, both directions stored

    Closeness is judged by the distances to a few landmarks far from each other, not by coordinates: a hand resting on a
    hip is far from it on the surface. The grouping affects the speed only.
    """
    position = _landmark_distances(graph)[sources]
    groups = []
    pending = [np.arange(len(sources))]
    while pending:
        group = pending.pop()
        if len(group) > size:
            widest = np.ptp(position[group], axis=0).argmax()
            half = -(-len(group) // (2 * size)) * size
            order = np.argsort(position[group, widest], kind="stable")
            pending += [group[order[half:]], group[order[:half]]]
        else:
            to_middle = ((position[group] - position[group].mean(axis=0)) ** 2).sum(axis=1)
            groups.append(group[np.argsort(to_middle, kind="stable")])
    return groups


def _landmark_distances(graph: sparse.csr_matrix) -> Float[np.ndarray, "n k"]:
    """Graph distances to landmarks, each the farthest from those before; unreachable vertices count as far."""
    nearest = np.full(graph.shape[0], np.inf)
    columns = []
    landmark = 0
    for _ in range(LANDMARKS):
        distance = csgraph.dijkstra(graph, indices=landmark)
        finite = np.isfinite(distance)
        columns.append(np.where(finite, distance, 2 * distance[finite].max() + 1))
        nearest = np.minimum(nearest, distance)
        landmark = int(nearest.argmax())
    return np.stack(columns, axis=1)
