from __future__ import annotations

import numpy as np
import pytest

from partwhole.viewer.page.packing import pack, unpack


def test_what_is_packed_comes_out_again() -> None:
    arrays = {
        "few": np.array([True, False, True]),
        "points": np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32),
        "numbers": np.array([4, 0, 7]),
        "signed": np.array([-1, 5]),
        "none": np.empty((0, 2), np.int64),
    }
    meta, found = unpack(pack({"name": "Schnörkel"}, arrays))
    assert meta == {"name": "Schnörkel"}
    assert {name: array.dtype.str for name, array in found.items()} == {
        "few": "|u1",
        "points": "<f4",
        "numbers": "<u4",
        "signed": "<i4",
        "none": "<u4",
    }
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array.reshape(-1))


def test_every_array_can_be_read_in_place() -> None:
    data = pack({"odd": "x"}, {"a": np.ones(3, bool), "b": np.ones(2), "c": np.ones(1, bool), "d": np.arange(3)})
    _, found = unpack(data)
    assert found["b"].flags.aligned
    assert found["d"].flags.aligned


def test_infinities_pass_and_words_do_not() -> None:
    _, found = unpack(pack({}, {"far": np.array([np.inf, np.nan])}))
    np.testing.assert_array_equal(found["far"], [np.inf, np.nan])
    with pytest.raises(ValueError, match="only numbers"):
        pack({}, {"names": np.array(["a"])})


def test_numbers_beyond_32_bits_are_refused() -> None:
    with pytest.raises(ValueError, match="do not fit 32 bits"):
        pack({}, {"large": np.array([-1, 2**40])})
