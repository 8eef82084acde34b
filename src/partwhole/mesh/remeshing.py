"""New vertices for a surface: a finer boundary, and isotropic remeshing, which needs the optional package pymeshlab."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Int

from partwhole.mesh.surface import Mesh, as_mesh
from partwhole.mesh.surface_like import SurfaceLike
from partwhole.store.arguments import check_number, check_whole_number, how_to_install


def remesh(mesh: SurfaceLike, edge_length: float, *, iterations: int = 10) -> Mesh:
    """The same surface with edges about `edge_length` long and nearly equilateral triangles.

    The vertices are new; `decimate` keeps some of the old ones. Sharp creases (30° and more) and boundaries are kept.

    Parameters
    ----------
    mesh : the surface; a manifold
    edge_length : in the units of the vertices
    iterations : rounds of splitting, collapsing, flipping and smoothing
    """
    mesh = as_mesh(mesh)
    check_number("edge_length", edge_length)
    check_whole_number("iterations", iterations)
    size = float(np.linalg.norm(np.ptp(mesh.vertices, axis=0)))
    if not 0 < edge_length <= size:
        raise ValueError(f"edge_length={edge_length} must lie between 0 and the size of {mesh.name}, {size:.6g}")
    if iterations < 1:
        raise ValueError(f"iterations={iterations} must be at least 1")
    if not mesh.is_manifold:
        raise ValueError(f"{mesh.name} is not a manifold, which remeshing needs; use pw.repair(mesh)")
    try:
        import pymeshlab
    except ImportError as error:
        raise ImportError(f"remesh needs pymeshlab: {how_to_install('remesh')}") from error
    session = pymeshlab.MeshSet(verbose=False)
    session.add_mesh(pymeshlab.Mesh(mesh.vertices.copy(), mesh.faces.astype(np.int32)))
    session.meshing_isotropic_explicit_remeshing(
        iterations=iterations, targetlen=pymeshlab.PureValue(edge_length), featuredeg=30.0, checksurfdist=False
    )
    result = session.current_mesh()
    faces = np.asarray(result.face_matrix(), dtype=np.int64)
    used = np.unique(faces)
    remeshed = Mesh(np.asarray(result.vertex_matrix())[used], np.searchsorted(used, faces), name=mesh.name)
    # too long an edge makes the filter collapse the surface onto a few points
    if not 0.5 < remeshed.area / mesh.area < 1.5:
        raise ValueError(
            f"edge_length={edge_length} is too long for {mesh.name}, whose shape is lost; use a smaller one"
        )
    return remeshed


def refine_boundary(mesh: SurfaceLike, pieces: int) -> Mesh:
    """The same surface with every boundary edge cut into `pieces` equal parts.

    The vertices of `mesh` come first, with their numbers; the new ones lie on the boundary. No point of the surface moves,
    so exact distances between the old vertices stay the same. A criterion with ``sound=True`` allows for paths that
    leave inside boundary edges by half their length: with shorter boundary edges it guarantees more pairs.

    Examples
    --------
    >>> triangle = Mesh([[0, 0, 0], [3, 0, 0], [0, 3, 0]], [[0, 1, 2]])
    >>> refined = refine_boundary(triangle, 3)
    >>> refined.n_vertices, refined.area, len(refined.boundary_edges)
    (9, 4.5, 9)
    """
    mesh = as_mesh(mesh)
    check_whole_number("pieces", pieces)
    if pieces < 1:
        raise ValueError(f"pieces must be at least 1, got {pieces}")
    on_boundary = np.flatnonzero(mesh.faces_per_edge == 1)
    if pieces == 1 or len(on_boundary) == 0:
        return mesh
    steps = np.arange(1, pieces) / pieces
    start, end = mesh.vertices[mesh.edges[on_boundary, 0]], mesh.vertices[mesh.edges[on_boundary, 1]]
    between = start[:, None] + steps[:, None] * (end - start)[:, None]
    # vertices along each boundary edge, from its smaller end to its larger one
    inner = mesh.n_vertices + np.arange(len(on_boundary) * (pieces - 1)).reshape(len(on_boundary), pieces - 1)
    chain = np.column_stack([mesh.edges[on_boundary, 0], inner, mesh.edges[on_boundary, 1]])
    chain_of_edge = np.full(len(mesh.edges), -1)
    chain_of_edge[on_boundary] = np.arange(len(on_boundary))

    faces, sides = mesh.faces, chain_of_edge[mesh.opposite_edges]
    for corner in range(3):  # a triangle may have three boundary edges; each round cuts one side of it
        cut = sides[:, corner] >= 0
        fans, fan_sides = _fans(faces[cut], sides[cut], chain[sides[cut, corner]], corner)
        faces, sides = np.concatenate([faces[~cut], fans]), np.concatenate([sides[~cut], fan_sides])
    return Mesh(np.concatenate([mesh.vertices, between.reshape(-1, 3)]), faces, name=mesh.name)


def _fans(
    faces: Int[np.ndarray, "k 3"], sides: Int[np.ndarray, "k 3"], chain: Int[np.ndarray, "k p"], corner: int
) -> tuple[Int[np.ndarray, "j 3"], Int[np.ndarray, "j 3"]]:
    """Each face as a fan from `corner` to the chain of vertices that replaces the opposite side; and what sides are left.

    sides : number of the chain that will replace the side opposite each corner, -1 if it stays
    """
    after, before = (corner + 1) % 3, (corner + 2) % 3
    backwards: Bool[np.ndarray, "k"] = chain[:, 0] != faces[:, after]
    chain = np.where(backwards[:, None], chain[:, ::-1], chain)
    pieces = chain.shape[1] - 1
    fans = np.empty((len(faces), pieces, 3), np.int64)
    fans[:, :, corner], fans[:, :, after], fans[:, :, before] = faces[:, [corner]], chain[:, :-1], chain[:, 1:]
    left = np.full((len(faces), pieces, 3), -1)
    # the first triangle keeps the face's side at the chain's start, the last one that at its end
    left[:, 0, before], left[:, -1, after] = sides[:, before], sides[:, after]
    return fans.reshape(-1, 3), left.reshape(-1, 3)
