"""What a camera sees of a surface, as depth cameras and scanners do: faces turned towards it that nothing hides."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float

from partwhole.mesh import Mesh

# faces seen at a flatter angle than this, as the cosine between normal and ray, give no depth
_LEAST_COSINE = 0.15
# how far from the middle of the surface a camera stands, in radii
_DISTANCE = (1.5, 4.0)
_MOST_VIEWS = 3


def seen_faces(
    mesh: Mesh, eye: Float[np.ndarray, "3"], *, least_cosine: float = _LEAST_COSINE
) -> Bool[np.ndarray, "m"]:
    """True for the faces that a camera at `eye` sees: ⟨normal, direction to the eye⟩ > least_cosine, and not hidden.

    A face is hidden if another one lies between the eye and its centre, or one of its corners. That is exact, not
    subject to the resolution of a picture.

    Parameters
    ----------
    mesh : oriented outwards
    eye : a point outside the smallest ball around the middle of the mesh's box
    least_cosine : faces seen at a flatter angle are left out

    Examples
    --------
    From far away one sees half of a ball, and a little less without what is slanted:

    >>> from partwhole.datasets.shapes.primitives import sphere
    >>> ball = sphere(2000)
    >>> seen = seen_faces(ball, np.array([0.0, 0, 100]), least_cosine=0.0)
    >>> f"{ball.face_areas[seen].sum() / ball.area:.2f}"
    '0.49'
    """
    from partwhole.datasets.cutting.cpu.occlusion import hidden

    middle, radius = _ball(mesh)
    away = np.linalg.norm(eye - middle)
    if away <= radius:
        raise ValueError(
            f"eye={eye.tolist()} is {away:.4g} from the middle of {mesh.name}, whose radius is {radius:.4g}; "
            "a camera stands farther away"
        )
    back = (eye - middle) / away
    across = np.linalg.svd(back[None])[2][1:]
    centres = mesh.vertices[mesh.faces].mean(axis=1)
    towards = eye - centres
    cosine = np.einsum("mi,mi->m", mesh.face_normals, towards) / np.linalg.norm(towards, axis=1)
    facing = np.flatnonzero(cosine > least_cosine)

    def picture(points: Float[np.ndarray, "k 3"]) -> Float[np.ndarray, "k 3"]:
        nearness = 1 / ((eye - points) @ back)
        return np.column_stack([(points - eye) @ across.T * nearness[:, None], nearness])

    corners = picture(mesh.vertices)
    asked = np.unique(mesh.faces[facing])
    none = np.full(max(len(asked), len(facing)), -1)
    vertex_hidden = np.zeros(mesh.n_vertices, bool)
    vertex_hidden[asked] = hidden(corners, mesh.faces, corners[asked], asked, none[: len(asked)])
    facing = facing[~vertex_hidden[mesh.faces[facing]].any(axis=1)]
    facing = facing[~hidden(corners, mesh.faces, picture(centres[facing]), none[: len(facing)], facing)]
    seen = np.zeros(mesh.n_faces, bool)
    seen[facing] = True
    return seen


def random_eyes(mesh: Mesh, rng: np.random.Generator) -> Float[np.ndarray, "k 3"]:
    """One to three places around the surface, in any direction, 1.5 to 4 radii from its middle."""
    middle, radius = _ball(mesh)
    directions = rng.normal(size=(int(rng.integers(1, _MOST_VIEWS + 1)), 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return middle + radius * rng.uniform(*_DISTANCE, size=(len(directions), 1)) * directions


def _ball(mesh: Mesh) -> tuple[Float[np.ndarray, "3"], float]:
    """The middle of the box around the surface, and how far the surface reaches from there."""
    middle = (mesh.vertices.min(axis=0) + mesh.vertices.max(axis=0)) / 2
    return middle, float(np.linalg.norm(mesh.vertices - middle, axis=1).max())
