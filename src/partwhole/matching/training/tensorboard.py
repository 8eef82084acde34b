"""Event files that TensorBoard reads, written without TensorBoard: `header` once, then `scalars` for each step.

An event file is a row of records. A record holds one message and two checksums, numbers little-endian:

    length (8 bytes) · masked CRC-32C of the length (4) · message · masked CRC-32C of the message (4)

The messages are protocol buffers, of which three are needed (number of the field, its type, its name):

    Event       1 double wall_time · 2 int64 step · 3 string file_version · 5 Summary summary · 7 SessionLog session_log
    Summary     1 repeated Value { 1 string tag · 2 float simple_value }
    SessionLog  1 enum status, START = 1
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from functools import lru_cache

# in front of a field stands 8 · number + kind; the kinds are 0: varint, 1: 8 bytes, 2: length and bytes, 5: 4 bytes
_VARINT, _EIGHT_BYTES, _BYTES, _FOUR_BYTES = 0, 1, 2, 5
_LARGEST_FLOAT32 = struct.unpack("<f", b"\xff\xff\x7f\x7f")[0]


def header(wall_time: float) -> bytes:
    """What an event file begins with: the version of the format, and the start of a session at step 0.

    A TensorBoard that is watching forgets, at the start of a session, all it has shown from that step on. So a file that
    replaces another shows nothing twice.
    """
    version = _event(wall_time, 0, _field(3, b"brain.Event:2"))
    start = _event(wall_time, 0, _field(7, bytes((8 * 1 + _VARINT, 1))))
    return version + start


def scalars(wall_time: float, step: int, values: Mapping[str, float]) -> bytes:
    """One record: the numbers of a step, by tag. `wall_time` is in seconds since 1970; numbers are kept as float32.

    Examples
    --------
    >>> record = scalars(1.7e9, 3, {"losses/loss": 0.5})
    >>> int.from_bytes(record[:8], "little") + 16 == len(record)
    True
    >>> b"losses/loss" in record
    True
    """
    return _event(wall_time, step, _field(5, b"".join([_value(tag, number) for tag, number in values.items()])))


def crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli): the remainder modulo 0x1EDC6F41, bits reflected, start and end inverted.

    Examples
    --------
    >>> hex(crc32c(b"123456789"))
    '0xe3069283'
    """
    crc = 0xFFFFFFFF
    for byte in data:
        crc = _TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def record(message: bytes) -> bytes:
    """The message between its length and its checksums."""
    return _length(len(message)) + message + _masked_crc(message)


@lru_cache(maxsize=1024)
def _length(number: int) -> bytes:
    length = struct.pack("<Q", number)
    return length + _masked_crc(length)


def _event(wall_time: float, step: int, content: bytes) -> bytes:
    time = struct.pack("<Bd", 8 * 1 + _EIGHT_BYTES, wall_time)
    return record(time + bytes((8 * 2 + _VARINT,)) + _varint(step) + content)


def _value(tag: str, number: float) -> bytes:
    # a double too large for a float32 becomes infinite, as it does wherever floats are narrowed
    narrowed = math.copysign(math.inf, number) if abs(number) > _LARGEST_FLOAT32 else number
    return _value_up_to_number(tag) + struct.pack("<f", narrowed)


@lru_cache(maxsize=1024)
def _value_up_to_number(tag: str) -> bytes:
    body = _field(1, tag.encode()) + bytes((8 * 2 + _FOUR_BYTES,))
    return bytes((8 * 1 + _BYTES,)) + _varint(len(body) + 4) + body


def _field(number: int, content: bytes) -> bytes:
    return bytes((8 * number + _BYTES,)) + _varint(len(content)) + content


def _varint(number: int) -> bytes:
    """Seven bits a byte, lowest first; the eighth bit says that more follow."""
    groups = []
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*groups, number))


def _masked_crc(data: bytes) -> bytes:
    """Turned by 15 bits, plus a constant: a checksum of data that holds checksums of itself would be weak."""
    crc = crc32c(data)
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def _remainder(byte: int) -> int:
    for _ in range(8):
        byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
    return byte


_TABLE = tuple(_remainder(byte) for byte in range(256))
