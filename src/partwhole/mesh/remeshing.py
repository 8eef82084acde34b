"""Isotropic remeshing: new vertices, all edges about equally long. Needs the optional package pymeshlab."""

from __future__ import annotations

import numpy as np

from partwhole.mesh.surface import Mesh, check_mesh
from partwhole.store.arguments import check_number, check_whole_number
from partwhole.store.extras import how_to_install


def remesh(mesh: Mesh, edge_length: float, *, iterations: int = 10) -> Mesh:
    """The same surface with edges about `edge_length` long and nearly equilateral triangles.

    The vertices are new; `decimate` keeps some of the old ones. Sharp creases (30° and more) and borders are kept.

    Parameters
    ----------
    mesh : the surface; a manifold
    edge_length : in the units of the vertices
    iterations : rounds of splitting, collapsing, flipping and smoothing
    """
    check_mesh(mesh)
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
        raise ValueError(f"edge_length={edge_length} is too long for {mesh.name}, its shape is lost; choose less")
    return remeshed
