"""Transfer of values at vertices: numbers, vectors, colours and labels."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from jaxtyping import Float, Shaped

from partwhole.mesh.barycentric import BarycentricMap
from partwhole.store.arguments import as_array, as_numbers, check_instance, in_short
from partwhole.transfer.correspondence import Correspondence, Side, check_correspondence, check_side

ValueKind = Literal["auto", "scalar", "vector", "label", "color"]
KINDS: tuple[ValueKind, ...] = ("auto", "scalar", "vector", "label", "color")

# weights that differ by less count as equal
_EQUAL = 1e-9


def transfer_by_kind(
    values: Shaped[np.ndarray, "n *rest"],
    correspondence: Correspondence,
    *,
    kind: ValueKind = "auto",
    to: Side = "part",
    missing: Any = None,
) -> Shaped[np.ndarray, "m *rest"]:
    """Transfer values from the vertices of one surface to those of the other.

    Parameters
    ----------
    values : a row for each vertex of the whole, or, with to="whole", of the part
    correspondence : of the two surfaces
    kind : "scalar", interpolated column by column; "vector", interpolated and turned with the surface, (n, 3); "color",
        interpolated, and rounded if the values are whole numbers; "label", never interpolated. "auto": rows of three or four
        uint8 are colours, other whole numbers, truth values and text are labels, and other numbers are scalars.
    to : the surface that gets the values
    missing : the value of vertices that are not covered, nan by default. Labels, and colours of whole numbers, have no nan:
        if vertices are not covered, it must be given
    """
    check_side(to)
    check_correspondence(correspondence)
    given = as_array("values must be an array with a row for each vertex", values)
    origin = correspondence.whole if to == "part" else correspondence.part
    if given.ndim == 0 or len(given) != origin.n_vertices:
        other = "whole" if to == "part" else "part"
        raise ValueError(
            f"values has shape {np.shape(given)}; give one row for each of the {other}'s {origin.n_vertices} vertices"
        )
    places = correspondence.towards(to)
    chosen = kind_of(given) if kind == "auto" else kind
    if chosen == "label":
        return transfer_labels(given, places, missing=missing)
    if chosen == "vector":
        return _transfer_vectors(given, correspondence, to, np.nan if missing is None else missing)
    if chosen in ("scalar", "color"):
        return transfer_values(given, places, missing=missing, rounded=chosen == "color")
    raise ValueError(f"kind={kind!r} must be one of {', '.join(map(repr, KINDS))}")


def kind_of(values: Shaped[np.ndarray, "n *rest"]) -> Literal["scalar", "label", "color"]:
    """The kind that "auto" stands for, from the type of the values.

    >>> [kind_of(np.zeros(shape, kind)) for shape, kind in (((5, 3), "u1"), (5, "i8"), ((5, 3), "f4"))]
    ['color', 'label', 'scalar']
    """
    if values.dtype == np.uint8 and values.ndim == 2 and values.shape[1] in (3, 4):
        return "color"
    return "scalar" if values.dtype.kind == "f" else "label"


def transfer_values(
    values: Shaped[np.ndarray, "n *rest"], places: BarycentricMap, *, missing: Any = None, rounded: bool = False
) -> Shaped[np.ndarray, "p *rest"]:
    """Σ_c weights[i, c] · values[triangles[i, c]]: numbers interpolated at places.

    Parameters
    ----------
    values : a row of numbers for each vertex of the surface that the places are on
    places : where the values are wanted
    missing : the value where not covered; nan unless given
    rounded : round whole numbers to whole numbers of the same type, as colours are; without it they become float64

    Examples
    --------
    >>> places = BarycentricMap(np.array([[0, 1, 2]] * 2), np.array([[0.5, 0.25, 0.25]] * 2), np.array([True, False]))
    >>> transfer_values(np.array([8.0, 4, 0]), places).tolist()
    [5.0, nan]
    """
    values = _with_rows("values", values, places)
    if values.dtype.kind not in "fiub":
        raise ValueError(f"values of type {values.dtype} can't be interpolated; use kind='label'")
    found = places.interpolate(values)
    whole = rounded and values.dtype.kind in "iu"
    if missing is None:
        if whole and not places.covered.all():
            _refuse_missing(places, "colours of whole numbers")
    else:
        found[~places.covered] = as_numbers("missing", missing)
    if whole:
        found = np.rint(found)
    return found.astype(values.dtype) if whole or values.dtype.kind == "f" else found


def transfer_labels(
    labels: Shaped[np.ndarray, "n *rest"], places: BarycentricMap, *, missing: Any = None
) -> Shaped[np.ndarray, "p *rest"]:
    """At each place the label whose corners have the largest weight together; of equal ones that of the first corner.

    Parameters
    ----------
    labels : for each vertex of the surface that the places are on; numbers, text, or rows of them, which count as one label
    places : where the labels are wanted
    missing : the label where not covered

    Examples
    --------
    >>> places = BarycentricMap(np.array([[0, 1, 2]]), np.array([[0.4, 0.3, 0.3]]), np.array([True]))
    >>> transfer_labels(np.array(["arm", "leg", "leg"]), places).tolist()
    ['leg']
    """
    labels = _with_rows("labels", labels, places)
    places.check_rows(labels, "labels")
    of_corner = labels[places.triangles]
    same = of_corner[:, :, None] == of_corner[:, None]
    same = same.reshape(*same.shape[:3], -1).all(axis=3)
    together = np.einsum("pij,pj->pi", same, places.weights)
    best = (together >= together.max(axis=1, keepdims=True) - _EQUAL).argmax(axis=1)
    found = of_corner[np.arange(len(best)), best]
    if places.covered.all():
        return found
    if missing is None:
        _refuse_missing(places, "labels")
    # text may be longer than any label
    found = found.astype(np.result_type(found, np.asarray(missing))) if found.dtype.kind in "US" else found
    if found.dtype.kind in "iub" and np.asarray(missing).astype(found.dtype) != missing:
        raise ValueError(f"missing={missing!r} is not of type {found.dtype}, as the labels are; give one that is")
    found[~places.covered] = missing
    return found


def _with_rows(name: str, values: Any, places: Any) -> Shaped[np.ndarray, "n *rest"]:
    """The values as an array, once they are one, and the places places."""
    check_instance("places", places, BarycentricMap, "use correspondence.towards(to)")
    found = as_array(f"{name} must be an array with a row for each vertex", values)
    if found.ndim == 0:
        raise ValueError(f"{name} must be an array with a row for each vertex, got {in_short(values)}")
    return found


def _transfer_vectors(
    vectors: Float[np.ndarray, "n 3"], correspondence: Correspondence, to: Side, missing: Any
) -> Float[np.ndarray, "m 3"]:
    if vectors.ndim != 2 or vectors.shape[1] != 3 or vectors.dtype.kind not in "fiu":
        raise ValueError(f"values has shape {vectors.shape} of {vectors.dtype}; kind='vector' needs (n, 3) numbers")
    rotations = correspondence.rotations
    if to == "part":
        found = np.einsum("pij,pi->pj", rotations, correspondence.places.interpolate(vectors))
    else:
        found = correspondence.inverse.interpolate(np.einsum("pij,pj->pi", rotations, vectors))
    found[~correspondence.towards(to).covered] = missing
    return found


def _refuse_missing(places: BarycentricMap, what: str) -> None:
    count = int((~places.covered).sum())
    raise ValueError(f"{count} of {len(places)} vertices are not covered, and {what} have no nan; give missing=")
