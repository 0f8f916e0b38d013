"""Read TensorFlow's record file, and the protocol buffers in it, as far as scalars need them.

This is written by hand, because `tensorboard` (Apache-2.0, maintained) depends on twelve other packages, 133 MB
together, for two formats that have not changed since 2016.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

LENGTH = struct.Struct("<Q")
CHECK = struct.Struct("<I")
HEAD = LENGTH.size + CHECK.size
MAX_RECORD_BYTES = 64 * 1024 * 1024
"""Maximum bytes of a record. Scalars take about 60; a longer record is a picture or a graph, or has a broken length."""
VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def _table() -> tuple[int, ...]:
    rows = []
    for byte in range(256):
        for _ in range(8):
            byte = (byte >> 1) ^ (0x82F63B78 if byte & 1 else 0)
        rows.append(byte)
    return tuple(rows)


TABLE = _table()


@dataclass(frozen=True)
class Payload:
    """A record and its first byte. `reason`: why it is not accepted; `is_last`: nothing can be read after it."""

    at: int
    data: bytes
    reason: str = ""
    is_last: bool = False


def masked_crc32c(data: bytes) -> int:
    """Return the CRC-32C (Castagnoli), rotated and shifted as TFRecord stores it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def is_record_file(head: bytes) -> bool:
    """Return whether the file begins with a length and its valid checksum."""
    return len(head) >= HEAD and CHECK.unpack_from(head, LENGTH.size)[0] == masked_crc32c(head[: LENGTH.size])


def payloads(file: BinaryIO, *, is_checked: bool = True) -> Iterator[Payload]:
    """Yield every record, in order. After a length with a wrong checksum, no further record can be located.

    is_checked: whether to compare the content of records with their checksums, which takes most of the time.
    """
    at = 0
    while head := file.read(HEAD):
        if len(head) < HEAD:
            yield Payload(at, b"", "the file ends within a record", is_last=True)
            return
        length = LENGTH.unpack_from(head)[0]
        if not is_record_file(head):
            yield Payload(at, b"", "a record's length does not match its checksum: nothing after it", is_last=True)
            return
        if length > MAX_RECORD_BYTES:
            yield Payload(at, b"", f"a record of {length} bytes is longer than {MAX_RECORD_BYTES}", is_last=True)
            return
        yield _payload(file, at, length, is_checked=is_checked)
        at += HEAD + length + CHECK.size


def _payload(file: BinaryIO, at: int, length: int, *, is_checked: bool) -> Payload:
    body = file.read(length + CHECK.size)
    if len(body) < length + CHECK.size:
        return Payload(at, b"", "the file ends within a record", is_last=True)
    data = body[:length]
    fits = not is_checked or CHECK.unpack_from(body, length)[0] == masked_crc32c(data)
    return Payload(at, data) if fits else Payload(at, b"", "a record does not match its checksum: omitted")


def fields(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Yield (number, wire type, raw value) of a message's fields; a varint's value is 8 bytes, little-endian.

    Raise ValueError if the bytes are not a message.
    """
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == VARINT:
            value, at = _varint(data, at)
            yield number, kind, (value & (2**64 - 1)).to_bytes(8, "little")
            continue
        size = {FIXED64: 8, FIXED32: 4}.get(kind)
        if kind == BYTES:
            size, at = _varint(data, at)
        if size is None or at + size > len(data):
            raise ValueError(f"field {number} of wire type {kind} is invalid")
        yield number, kind, data[at : at + size]
        at += size


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while at < len(data) and shift < 70:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    raise ValueError("a number does not end")
