"""Annotations are checked while the tests run: shapes where there are arrays, types everywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jaxtyping
import numpy as np
import pytest
from beartype import beartype
from beartype.roar import BeartypeCallHintViolation
from jaxtyping import Float, TypeCheckError

from partwhole.mesh.topology import corner_angles
from partwhole.store.arguments import how_to_install

FACES = np.array([[0, 1, 2]])


def test_types_are_checked() -> None:
    number: Any = 3
    with pytest.raises(BeartypeCallHintViolation, match="extra"):
        how_to_install(number)


@pytest.mark.parametrize(
    ("vertices", "what_is_wrong"),
    [
        (np.zeros((3, 2)), "dimension size 2 does not equal 3"),
        (np.zeros(3), "1 dimensions, not the 2"),
        (np.zeros((3, 3), np.int64), "dtype int64"),
        ([[0.0, 0.0, 0.0]] * 3, "not an instance of the underlying array type"),
    ],
)
def test_shapes_and_kinds_of_arrays_are_checked(vertices: Any, what_is_wrong: str) -> None:
    for _ in range(2):  # a check that has passed is not asked for again; one that failed is
        corner_angles(np.eye(3), FACES)
        with pytest.raises(TypeCheckError, match=f"(?s)vertices.*{what_is_wrong}"):
            corner_angles(vertices, FACES)


# as the import hook decorates what the library defines
checked = jaxtyping.jaxtyped(typechecker=beartype)


@checked
def product(a: Float[np.ndarray, "n k"], b: Float[np.ndarray, "k m"], *, wrong: bool) -> Float[np.ndarray, "n m"]:
    return (a @ b).T if wrong else a @ b


@checked
@dataclass(frozen=True)
class Coloured:
    vertices: Float[np.ndarray, "n 3"]
    colours: Float[np.ndarray, "n *channels"]

    @property
    @checked
    def brightness(self) -> Float[np.ndarray, "n"]:
        return self.colours


def test_dimensions_of_one_name_have_one_size_in_a_call() -> None:
    for size in (0, 2, 3):
        right, long = np.zeros((size, 5)), np.zeros((size + 1, 5))
        assert product(np.zeros((4, size)), right, wrong=False).shape == (4, 5)
        with pytest.raises(TypeCheckError, match=f"does not equal the existing value of {size}"):
            product(np.zeros((4, size)), long, wrong=False)
        with pytest.raises(TypeCheckError, match=r"(?s) return .*does not equal the existing value of 4"):
            product(np.zeros((4, size)), right, wrong=True)


def test_dataclasses_and_properties_are_checked() -> None:
    assert Coloured(np.eye(3), np.zeros(3)).brightness.shape == (3,)
    with pytest.raises(TypeCheckError, match="does not equal the existing value of 3"):
        Coloured(np.eye(3), np.zeros(4))
    with pytest.raises(TypeCheckError, match="2 dimensions, not the 1"):
        _ = Coloured(np.eye(3), np.zeros((3, 4))).brightness


def test_names_that_only_mypy_knows_are_left_to_it() -> None:
    @checked
    def shown(figure: Figure, n: int) -> int:  # type: ignore[name-defined]
        return n

    assert shown("anything", 3) == 3
    number: Any = "3"
    with pytest.raises(TypeCheckError, match="'n'"):
        shown("anything", number)
