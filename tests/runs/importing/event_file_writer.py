"""Writes TensorBoard's event files from their specification, apart from the reader that is tested."""

from __future__ import annotations

import struct
from pathlib import Path


def crc32c(data: bytes) -> int:
    """CRC-32C bit by bit (RFC 3720, appendix B.4)."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data: bytes) -> bytes:
    crc = crc32c(data)
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def record(data: bytes) -> bytes:
    """Return a record of the file."""
    length = struct.pack("<Q", len(data))
    return length + masked(length) + data + masked(data)


def varint(value: int) -> bytes:
    value &= 2**64 - 1
    out = b""
    while value > 0x7F:
        out, value = out + bytes([value & 0x7F | 0x80]), value >> 7
    return out + bytes([value])


def nested(number: int, data: bytes) -> bytes:
    """Return a field that holds a message or text."""
    return varint(number << 3 | 2) + varint(len(data)) + data


def scalar(tag: str, value: float) -> bytes:
    """Return a value as `simple_value`."""
    return nested(1, nested(1, tag.encode()) + varint(2 << 3 | 5) + struct.pack("<f", value))


def tensor(tag: str, fields: bytes) -> bytes:
    """Return a value as a tensor of these fields."""
    plugin = nested(9, nested(1, nested(1, b"scalars")))
    return nested(1, nested(1, tag.encode()) + plugin + nested(8, fields))


def event(step: int, *values: bytes, at: float = 1_700_000_000.0) -> bytes:
    """Return an event with its values, as a record."""
    return record(b"\x09" + struct.pack("<d", at) + b"\x10" + varint(step) + nested(5, b"".join(values)))


def version() -> bytes:
    """Return the event that every file begins with."""
    return record(b"\x09" + struct.pack("<d", 1_700_000_000.0) + nested(3, b"brain.Event:2"))


def write(path: Path, *events: bytes) -> Path:
    """Return an event file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(version() + b"".join(events))
    return path
