from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwhole.store.sizes import bytes_of, size_in_words


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("0.0", 0),
        ("0 GB", 0),
        ("7 B", 7),
        ("20 GB", 20 * 10**9),
        ("500MB", 500 * 10**6),
        (" 1.5 kb ", 1500),
        ("2.TiB", 2 << 40),
        ("0.29 GB", 290_000_000),
        ("3 mib", 3 << 20),
    ],
)
def test_sizes_as_people_write_them(text: str, size: int) -> None:
    assert bytes_of(text) == size


@pytest.mark.parametrize(
    "text", ["", "20", "GB", "-1 GB", "1,5 GB", "1e3 B", "inf GB", "nan", "٣ GB", "9" * 400 + "GB"]
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no size; give a number and a unit, such as 20 GB or 500 MB"):
        bytes_of(text)


@given(st.integers(0, 10**17))
def test_words_are_read_back_to_three_digits(size: int) -> None:
    words = size_in_words(size)
    assert bytes_of(words.replace("bytes", "B").replace("byte", "B")) == pytest.approx(size, rel=0.005)
    assert len(words) <= 9
