"""TensorFlow's record file, and the protocol buffers in it, as far as scalars need them.

By hand, because `tensorboard` (Apache-2.0, alive) brings twelve other packages, 133 MB together, for two formats that
have not changed since 2016.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO

LENGTH = struct.Struct("<Q")
CHECK = struct.Struct("<I")
HEAD = LENGTH.size + CHECK.size
LONGEST = 64 * 1024 * 1024
"""Bytes of one record. Scalars take some 60; what is longer is a picture or a graph, or a broken length."""
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
    """A record and the byte at which it begins. `why`: it cannot be believed; then `is_last`, or the next one can."""

    at: int
    data: bytes
    why: str = ""
    is_last: bool = False


def masked_crc32c(data: bytes) -> int:
    """CRC-32C (Castagnoli), rotated and shifted as TFRecord stores it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def is_one(head: bytes) -> bool:
    """True where the file's first length carries its own right checksum."""
    return len(head) >= HEAD and CHECK.unpack_from(head, LENGTH.size)[0] == masked_crc32c(head[: LENGTH.size])


def payloads(file: BinaryIO) -> Iterator[Payload]:
    """Every record, in order. Behind a length that cannot be believed, nothing can be found again."""
    at = 0
    while head := file.read(HEAD):
        if len(head) < HEAD:
            yield Payload(at, b"", "the file ends amid a record", is_last=True)
            return
        length = LENGTH.unpack_from(head)[0]
        if not is_one(head):
            yield Payload(at, b"", "a record's length does not fit its checksum: nothing behind it", is_last=True)
            return
        if length > LONGEST:
            yield Payload(at, b"", f"a record of {length} bytes is longer than {LONGEST}", is_last=True)
            return
        yield _payload(file, at, length)
        at += HEAD + length + CHECK.size


def _payload(file: BinaryIO, at: int, length: int) -> Payload:
    body = file.read(length + CHECK.size)
    if len(body) < length + CHECK.size:
        return Payload(at, b"", "the file ends amid a record", is_last=True)
    data = body[:length]
    fits = CHECK.unpack_from(body, length)[0] == masked_crc32c(data)
    return Payload(at, data) if fits else Payload(at, b"", "a record does not fit its checksum: left out")


def fields(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """(number, wire type, raw value) of a message's fields; a varint's value is 8 bytes, little-endian.

    Raises ValueError where the bytes are no message.
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
            raise ValueError(f"field {number} of wire type {kind} does not fit")
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
