from __future__ import annotations

import math
import struct
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from partwhole.matching.training.tensorboard import crc32c, header, record, scalars


def crc_by_division(data: bytes) -> int:
    """CRC-32C as polynomial division, bit by bit from the top, without a table and without reflected shifts."""
    reflect = lambda number, bits: int(f"{number:0{bits}b}"[::-1], 2)  # noqa: E731
    message = int.from_bytes(bytes(reflect(byte, 8) for byte in data), "big") << 32
    message ^= 0xFFFFFFFF << 8 * len(data)
    for bit in range(8 * len(data) + 31, 31, -1):
        if message >> bit & 1:
            message ^= 0x11EDC6F41 << bit - 32
    return reflect(message, 32) ^ 0xFFFFFFFF


def records(data: bytes) -> Iterator[bytes]:
    """The messages of an event file, their checksums unmasked as TensorFlow's record reader does it."""

    def unmask(masked: bytes) -> int:
        turned = (int.from_bytes(masked, "little") - 0xA282EAD8) % 2**32
        return (turned >> 17 | turned << 15) % 2**32

    while data:
        length = int.from_bytes(data[:8], "little")
        assert unmask(data[8:12]) == crc_by_division(data[:8])
        message = data[12 : 12 + length]
        assert unmask(data[12 + length : 16 + length]) == crc_by_division(message)
        yield message
        data = data[16 + length :]


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of any protocol buffer message: number and content."""

    def varint() -> int:
        nonlocal message
        size = next(n for n, byte in enumerate(message, 1) if byte < 128)
        groups, message = message[:size], message[size:]
        return sum((byte & 127) << 7 * n for n, byte in enumerate(groups))

    while message:
        number, kind = divmod(varint(), 8)
        if kind == 0:
            yield number, varint()
        else:
            size = {1: lambda: 8, 2: varint, 5: lambda: 4}[kind]()
            yield number, message[:size]
            message = message[size:]


def decoded(data: bytes) -> list[tuple[float, int, dict[str, float]]]:
    """Wall time, step and scalars of each event that has a summary."""
    events = []
    for message in records(data):
        event = dict(fields(message))
        if 5 in event:
            values = [dict(fields(value)) for number, value in fields(event[5]) if number == 1]
            named = {value[1].decode(): struct.unpack("<f", value[2])[0] for value in values}
            events.append((struct.unpack("<d", event[1])[0], event[2], named))
    return events


@pytest.mark.parametrize(
    ("data", "crc"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        # the examples of RFC 3720, B.4
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(reversed(range(32))), 0x113FDB5C),
    ],
)
def test_published_checksums(data, crc):
    assert crc32c(data) == crc == crc_by_division(data)


@given(st.binary(max_size=40))
def test_checksum_is_polynomial_division(data):
    assert crc32c(data) == crc_by_division(data)


@given(st.lists(st.binary(max_size=300), max_size=3))
def test_records_come_back(messages):
    assert list(records(b"".join(record(message) for message in messages))) == messages


def test_header_states_the_version_and_begins_a_session():
    version, start = (dict(fields(message)) for message in records(header(12.5)))
    assert version == {1: struct.pack("<d", 12.5), 2: 0, 3: b"brain.Event:2"}
    assert start == {1: struct.pack("<d", 12.5), 2: 0, 7: b"\x08\x01"}


@given(
    st.floats(0, 1e12),
    st.integers(0, 2**63 - 1),
    st.dictionaries(st.text(st.characters(codec="utf-8"), max_size=200), st.floats(width=32, allow_nan=False)),
)
def test_scalars_come_back(wall_time, step, values):
    assert decoded(scalars(wall_time, step, values)) == [(wall_time, step, values)]


def test_numbers_no_float32_can_hold():
    values = {"large": 1e39, "low": -1e300, "infinite": -math.inf, "small": 1e-60, "none": math.nan}
    [(_, _, seen)] = decoded(scalars(0.0, 0, values))
    assert math.isnan(seen.pop("none"))
    assert seen == {"large": math.inf, "low": -math.inf, "infinite": -math.inf, "small": 0.0}
