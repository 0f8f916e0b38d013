"""TensorBoard's event files: scalars, as `simple_value` and as tensors. The files of one folder are one run."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from runs.importing import vocabulary
from runs.importing.hyperparameters import of_name, seed_of
from runs.importing.readers.tfrecord import BYTES, FIXED32, FIXED64, VARINT, Payload, fields, payloads
from runs.importing.records import Entry, ImportedRun, ImportReport
from workers.executors.states import State
from workers.records import Metric

KIND = "TensorBoard events"
TYPES = {1: "<f4", 2: "<f8", 3: "<i4", 4: "<u1", 5: "<i2", 6: "<i1", 9: "<i8", 19: "<f2", 22: "<u4", 23: "<u8"}
"""TensorFlow's DataType -> numpy's, of the types that hold one number."""
PACKED = {5: "<f4", 6: "<f8"}
VALUES, VARINTS, HALVES = (5, 6), (7, 10, 16, 17), (13,)
"""Fields of a TensorProto that hold numbers: floats, whole ones, and half-precision ones as bits."""
SIGNATURE = 500
"""Events at the start of a file by which it is told whose tags these are."""


@dataclass(frozen=True)
class Event:
    """The scalars of one event. `others`: tags of it that hold no scalar."""

    wall_time: float
    step: int
    values: dict[str, float]
    others: tuple[str, ...] = ()


def entries(openers: Sequence[Callable[[], BinaryIO]], name: str, told: ImportReport) -> Iterator[Entry]:
    """The scalars of a folder's files, oldest first; a file an epoch, since each start of a program writes one."""
    found = ImportedRun(0, KIND, settings=of_name(name), state=State.UNKNOWN)
    found.seed = seed_of(found.settings)
    tags = {tag for opener in openers for tag in _first_tags(opener)}
    is_es = vocabulary.is_es(tags)
    trl = [tag.replace("eval/", "eval_").removeprefix("train/") for tag in tags if tag.startswith(("train/", "eval/"))]
    guess = "es" if is_es else "grpo" if vocabulary.is_grpo(trl) else ""
    found.method = str(found.settings.get("method") or guess)
    passed, unnamed = Counter[str](), Counter[str]()
    points, last = 0, 0
    for epoch, opener in enumerate(openers):
        for event in _events(opener, told):
            found.started_at = event.wall_time if found.started_at is None else found.started_at
            passed.update(event.others)
            unnamed.update(tag for tag in event.values if not any(map(vocabulary.is_usable, _keys(tag, is_es))))
            if event.values:
                points, last = points + 1, max(last, event.step)
                at = event.wall_time - found.started_at
                found.seconds = max(found.seconds, at)
                yield Entry(found, Metric(event.step, _named(event.values, is_es)), at, epoch)
    for tag, count in passed.most_common():
        told.remark(f"tag {tag[:100]}", f"holds no scalar: {count} event{'' if count == 1 else 's'} left out")
    for tag, count in unnamed.most_common():
        told.remark(f"tag {tag[:100]!r}", f"cannot be the name of a series: {count} left out")
    if points:
        found.reason = f"Its events end at step {last} and do not say how it ended"
        yield Entry(found)


def first_time(opener: Callable[[], BinaryIO]) -> float:
    """When a file's first event was; files without any come last."""
    return next((event.wall_time for event in _events(opener, ImportReport())), float("inf"))


def event(data: bytes) -> Event:
    """An event's message. Raises ValueError where the bytes are none."""
    wall_time, step, values, others = 0.0, 0, dict[str, float](), list[str]()
    for number, kind, raw in fields(data):
        if number == 1 and kind == FIXED64:
            wall_time = struct.unpack("<d", raw)[0]
        elif number == 2 and kind == VARINT:
            step = int.from_bytes(raw, "little", signed=True)
        elif number == 5 and kind == BYTES:
            for tag, value in (_value(inner) for n, k, inner in fields(raw) if n == 1 and k == BYTES):
                if value is None:
                    others.append(tag)
                else:
                    values[tag] = value
    return Event(wall_time if np.isfinite(wall_time) else 0.0, step, values, tuple(others))


def _events(opener: Callable[[], BinaryIO], told: ImportReport) -> Iterator[Event]:
    with opener() as file:
        for payload in payloads(file):
            if payload.why:
                told.remark(f"byte {payload.at}", payload.why)
            elif (made := _made(payload, told)) is not None:
                yield made


def _made(payload: Payload, told: ImportReport) -> Event | None:
    try:
        return event(payload.data)
    except ValueError as error:
        told.remark(f"byte {payload.at}", f"is no event: {error}")
        return None


def _first_tags(opener: Callable[[], BinaryIO]) -> Iterator[str]:
    for i, made in enumerate(_events(opener, ImportReport())):
        if i >= SIGNATURE:
            return
        yield from made.values


def _value(data: bytes) -> tuple[str, float | None]:
    """(tag, its scalar); None where it holds something else."""
    tag, found = "", None
    for number, kind, raw in fields(data):
        if number == 1 and kind == BYTES:
            tag = raw.decode("utf-8", errors="replace")
        elif number == 2 and kind == FIXED32:
            found = float(struct.unpack("<f", raw)[0])
        elif number == 8 and kind == BYTES:
            found = _tensor(raw)
    return tag, found


def _tensor(data: bytes) -> float | None:
    """The one number of a tensor; None where it holds several, or none."""
    dtype, content, numbers = 0, b"", list[float]()
    for number, kind, raw in fields(data):
        if number == 1 and kind == VARINT:
            dtype = int.from_bytes(raw, "little")
        elif number == 4 and kind == BYTES:
            content = raw
        elif number in VALUES:
            numbers += np.frombuffer(raw, PACKED[number]).astype(float).tolist()
        elif number in (*VARINTS, *HALVES):
            numbers += _whole(raw, kind, dtype if number in HALVES else 0)
    if content and dtype in TYPES and len(content) == np.dtype(TYPES[dtype]).itemsize:
        return float(np.frombuffer(content, TYPES[dtype])[0])
    return numbers[0] if len(numbers) == 1 and not content else None


def _whole(raw: bytes, kind: int, dtype: int) -> list[float]:
    whole = [int.from_bytes(raw, "little", signed=True)] if kind == VARINT else _unpacked(raw)
    if dtype == 19:
        return [float(np.array([number & 0xFFFF], np.uint16).view(np.float16)[0]) for number in whole]
    if dtype == 14:
        return [float(np.array([(number & 0xFFFF) << 16], np.uint32).view(np.float32)[0]) for number in whole]
    return [float(number) for number in whole]


def _unpacked(raw: bytes) -> list[int]:
    """Varints one behind the other, as proto3 packs them: read as fields that lack their keys."""
    keyed, is_end = bytearray(), True
    for byte in raw:
        keyed += (b"\x08" if is_end else b"") + bytes([byte])
        is_end = byte < 0x80
    return [int.from_bytes(value, "little", signed=True) for _, _, value in fields(bytes(keyed))]


def _keys(tag: str, is_es: bool) -> tuple[str, ...]:
    return vocabulary.tag_keys(tag, is_es=is_es)


def _named(values: dict[str, float], is_es: bool) -> dict[str, float]:
    renamed = {key: value for tag, value in values.items() for key in _keys(tag, is_es)}
    return {key: value for key, value in renamed.items() if vocabulary.is_usable(key)}
