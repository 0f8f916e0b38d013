"""Read TensorBoard's event files: scalars, as `simple_value` and as tensors. The files of one writer are one run."""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from runs.importing import vocabulary
from runs.importing.hyperparameters import seed_of, settings_from_name
from runs.importing.readers.tfrecord import BYTES, FIXED32, FIXED64, VARINT, Payload, fields, payloads
from runs.importing.readers.timestamps import RunClock
from runs.importing.records import Entry, ImportedRun, ImportReport
from workers.executors.states import State
from workers.records import Metric

KIND = "TensorBoard events"
TYPES = {1: "<f4", 2: "<f8", 3: "<i4", 4: "<u1", 5: "<i2", 6: "<i1", 9: "<i8", 19: "<f2", 22: "<u4", 23: "<u8"}
"""TensorFlow's DataType -> numpy's dtype, for types that hold one number."""
PACKED = {5: "<f4", 6: "<f8"}
VALUES, VARINTS, HALVES = (5, 6), (7, 10, 16, 17), (13,)
"""Fields of a TensorProto that hold numbers: floats, whole ones, and half-precision ones as bits."""
TIME_KEY, STEP_KEY = b"\x09", b"\x10"
"""First bytes of an event's time, which has eight more, and of its step, if it has both."""
MAX_FIRST_EVENTS = 500
"""Number of events at the start of a file from which its writer is detected, by their tags."""


@dataclass(frozen=True)
class Event:
    """The scalars of one event. `others`: its tags that hold no scalar. `wall_time`: Unix seconds, NaN if missing.

    `has_step` is false both for step 0, which protocol buffers omit, and for a point that states no step.
    """

    wall_time: float
    step: int
    values: dict[str, float]
    others: tuple[str, ...] = ()
    has_step: bool = True


def entries(openers: Sequence[Callable[[], BinaryIO]], name: str, report: ImportReport) -> Iterator[Entry]:
    """Yield the scalars of a writer's files, oldest first. Each file is an epoch, since each start writes one."""
    run = ImportedRun(0, KIND, settings=settings_from_name(name), state=State.UNKNOWN)
    run.seed = seed_of(run.settings)
    tags = {tag for opener in openers for tag in _first_tags(opener)}
    is_es = vocabulary.is_es(tags)
    trl = [tag.replace("eval/", "eval_").removeprefix("train/") for tag in tags if tag.startswith(("train/", "eval/"))]
    guess = "es" if is_es else "grpo" if vocabulary.is_grpo(trl) else ""
    run.method = str(run.settings.get("method") or guess)
    passed, unnamed, unplaced = Counter[str](), Counter[str](), Counter[str]()
    clock = RunClock("wall_time", run)
    points, last = 0, 0
    for epoch, opener in enumerate(openers):
        stepless = _stepless_tags(opener)
        for event in events(opener, report):
            clock.begin(event.wall_time)
            passed.update(event.others)
            values = event.values
            if not event.has_step and not stepless.isdisjoint(values):
                unplaced.update(tag for tag in values if tag in stepless)
                values = {tag: value for tag, value in values.items() if tag not in stepless}
            unnamed.update(tag for tag in values if not any(map(vocabulary.is_usable, _keys(tag, is_es))))
            if values:
                points, last = points + 1, max(last, event.step)
                at = clock.at(event.wall_time, f"step {event.step}")
                yield Entry(run, Metric(event.step, _rename_tags(values, is_es)), at, epoch)
    for tag, count in passed.most_common():
        report.add_remark(f"tag {tag[:100]}", f"contains no scalar: {count} event{'' if count == 1 else 's'} omitted")
    for tag, count in unnamed.most_common():
        report.add_remark(f"tag {tag[:100]!r}", f"cannot be the name of a series: {count} omitted")
    for tag, count in unplaced.most_common():
        report.add_remark(f"tag {tag[:100]}", f"states no step in {count} points: omitted")
    clock.report_bad_times(report)
    if points:
        run.reason = f"Its events end at step {last} and do not state how it ended"
        yield Entry(run)


def parse_event(data: bytes) -> Event:
    """Parse the message of an event. Raise ValueError if the bytes are not one."""
    wall_time, step, values, others, has_step = float("nan"), 0, dict[str, float](), list[str](), False
    for number, kind, raw in fields(data):
        if number == 1 and kind == FIXED64:
            wall_time = struct.unpack("<d", raw)[0]
        elif number == 2 and kind == VARINT:
            step, has_step = int.from_bytes(raw, "little", signed=True), True
        elif number == 5 and kind == BYTES:
            for tag, value in (_value(inner) for n, k, inner in fields(raw) if n == 1 and k == BYTES):
                if value is None:
                    others.append(tag)
                else:
                    values[tag] = value
    return Event(wall_time, step, values, tuple(others), has_step)


def events(opener: Callable[[], BinaryIO], report: ImportReport) -> Iterator[Event]:
    """Yield the events of a file. Records that are none go into the report."""
    with opener() as file:
        for payload in payloads(file):
            if payload.reason:
                report.add_remark(f"byte {payload.at}", payload.reason)
            elif (parsed := _parse_payload(payload, report)) is not None:
                yield parsed


def _parse_payload(payload: Payload, report: ImportReport) -> Event | None:
    try:
        return parse_event(payload.data)
    except ValueError as error:
        report.add_remark(f"byte {payload.at}", f"is not an event: {error}")
        return None


def _first_tags(opener: Callable[[], BinaryIO]) -> Iterator[str]:
    for i, parsed in enumerate(events(opener, ImportReport())):
        if i >= MAX_FIRST_EVENTS:
            return
        yield from parsed.values


def _stepless_tags(opener: Callable[[], BinaryIO]) -> frozenset[str]:
    """Return the tags with several points of a file that state no step; a single one is step 0."""
    counts = Counter[str]()
    with opener() as file:
        for payload in payloads(file, is_checked=False):
            if payload.data[:1] == TIME_KEY and payload.data[9:10] == STEP_KEY:
                continue
            with suppress(ValueError):
                event = parse_event(payload.data)
                counts.update(event.values.keys() if not event.has_step else ())
    return frozenset(tag for tag, count in counts.items() if count > 1)


def _value(data: bytes) -> tuple[str, float | None]:
    """Return (tag, its scalar); None if the tag holds something else."""
    tag, scalar = "", None
    for number, kind, raw in fields(data):
        if number == 1 and kind == BYTES:
            tag = raw.decode("utf-8", errors="replace")
        elif number == 2 and kind == FIXED32:
            scalar = float(struct.unpack("<f", raw)[0])
        elif number == 8 and kind == BYTES:
            scalar = _tensor(raw)
    return tag, scalar


def _tensor(data: bytes) -> float | None:
    """Return the only number of a tensor; None if it holds several, or none."""
    dtype, content, numbers = 0, b"", list[float]()
    for number, kind, raw in fields(data):
        if number == 1 and kind == VARINT:
            dtype = int.from_bytes(raw, "little")
        elif number == 4 and kind == BYTES:
            content = raw
        elif number in VALUES:
            numbers += np.frombuffer(raw, PACKED[number]).astype(float).tolist()
        elif number in (*VARINTS, *HALVES):
            numbers += _whole_numbers(raw, kind, dtype if number in HALVES else 0)
    if content and dtype in TYPES and len(content) == np.dtype(TYPES[dtype]).itemsize:
        return float(np.frombuffer(content, TYPES[dtype])[0])
    return numbers[0] if len(numbers) == 1 and not content else None


def _whole_numbers(raw: bytes, kind: int, dtype: int) -> list[float]:
    whole = [int.from_bytes(raw, "little", signed=True)] if kind == VARINT else _unpack_varints(raw)
    if len(whole) != 1:
        # Only a tensor of one number is a scalar.
        return [0.0] * len(whole)
    if dtype == 19:
        return [float(np.array([number & 0xFFFF], np.uint16).view(np.float16)[0]) for number in whole]
    if dtype == 14:
        return [float(np.array([(number & 0xFFFF) << 16], np.uint32).view(np.float32)[0]) for number in whole]
    return [float(number) for number in whole]


def _unpack_varints(raw: bytes) -> list[int]:
    """Parse consecutive varints, as proto3 packs them, by reading them as fields that lack their keys."""
    keyed, is_end = bytearray(), True
    for byte in raw:
        keyed += (b"\x08" if is_end else b"") + bytes([byte])
        is_end = byte < 0x80
    return [int.from_bytes(value, "little", signed=True) for _, _, value in fields(bytes(keyed))]


def _keys(tag: str, is_es: bool) -> tuple[str, ...]:
    return vocabulary.tag_keys(tag, is_es=is_es)


def _rename_tags(values: dict[str, float], is_es: bool) -> dict[str, float]:
    renamed = {key: value for tag, value in values.items() for key in _keys(tag, is_es)}
    return {key: value for key, value in renamed.items() if vocabulary.is_usable(key)}
