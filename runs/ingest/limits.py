"""Limits of records that the database can store. A record beyond a limit is refused with a message, never cut."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import PurePosixPath

from runs.ingest.attack_rows import attack_complaints
from workers.records import (
    Alert,
    Attack,
    Checkpoint,
    Engine,
    Engines,
    Environment,
    Line,
    Metric,
    Population,
    Probe,
    ProbeValue,
    Record,
    Response,
    Status,
)
from workers.records.categories import MAX_NAME_LENGTH, MAX_NAMES, is_name

MAX_KEYS = 10_000
MAX_KEY = 250
MAX_PATH = 1_000
MAX_SPLIT = 20
MAX_PHASE = 40
MAX_PACKAGES = 5_000
MAX_GPUS = 64
MAX_TEXT = 300
MAX_ENGINES = 1_024
MAX_PROBE_VALUES = 20_000
MAX_MEASURE = 40
MAX_VERDICT = 100
LEVELS = ("info", "warning", "error")
ENGINE_STATES = ("ready", "starting", "given_up")
BIG = 2**63
SMALL = 2**31
UNPRINTABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")


def refusal(line: Line) -> str | None:
    """Return why this record cannot be stored, with the limit; None if it can."""
    return next(_complaints(line), None)


def _complaints(line: Line) -> Iterator[str]:
    record = line.record
    step = getattr(record, "step", None) or 0
    if line.seq >= BIG or not -BIG <= step < BIG:
        yield "seq and step must fit 64 bits"
    yield from _record_complaints(record)


def _record_complaints(record: Record) -> Iterator[str]:
    if isinstance(record, Metric):
        yield from _metric(record)
    elif isinstance(record, Response):
        yield from _response(record)
    elif isinstance(record, Population):
        yield from _population(record)
    elif isinstance(record, Engines):
        yield from _engines(record)
    elif isinstance(record, Probe):
        yield from _probe(record)
    elif isinstance(record, Attack):
        yield from attack_complaints(record)
    elif isinstance(record, Checkpoint):
        yield from _checkpoint(record)
    elif isinstance(record, Status) and len(record.phase) > MAX_PHASE:
        yield f"phase has {len(record.phase)} characters; at most {MAX_PHASE} are stored"
    elif isinstance(record, Environment):
        yield from _environment(record)
    elif isinstance(record, Alert) and record.level not in LEVELS:
        yield f"level must be one of {', '.join(LEVELS)}, not {record.level!r}"[:200]


def _metric(record: Metric) -> Iterator[str]:
    if len(record.values) + len(record.axes) > MAX_KEYS:
        yield f"a metric record has {len(record.values) + len(record.axes)} keys; at most {MAX_KEYS} are stored"
    for key in (*record.values, *record.axes):
        if complaint := key_refusal(key):
            # A key may be as long as a push, so refused keys must not stay in memory.
            key_refusal.cache_clear()
            yield complaint


@lru_cache(maxsize=65536)
def key_refusal(key: str) -> str | None:
    """Return why no metric can have this name; None if it is valid."""
    if not 0 < len(key) <= MAX_KEY:
        return f"a metric key must have 1 to {MAX_KEY} characters; {key[:40]!r}… has {len(key)}"
    if UNPRINTABLE.search(key):
        return f"a metric key must contain no control characters; {key!r} does"
    return None


def _response(record: Response) -> Iterator[str]:
    if len(record.split) > MAX_SPLIT:
        yield f"split has {len(record.split)} characters; at most {MAX_SPLIT} are stored"
    for name, value in (("sample", record.sample), ("tokens", record.tokens)):
        if not 0 <= value < SMALL:
            yield f"{name} must be between 0 and {SMALL - 1}, not {value}"
    if len(record.categories) > MAX_NAMES:
        yield f"categories has {len(record.categories)} names; at most {MAX_NAMES} are stored"
    for name in record.categories:
        if not is_name(name):
            yield f"a category must have 1 to {MAX_NAME_LENGTH} printable characters, not {name[:40]!r}"


def _population(record: Population) -> Iterator[str]:
    for member in record.members:
        if member.engine is not None and not 0 <= member.engine < SMALL:
            yield f"a member's engine must be between 0 and {SMALL - 1}, not {member.engine}"[:200]


def _engines(record: Engines) -> Iterator[str]:
    if len(record.engines) > MAX_ENGINES:
        yield f"an engines record has {len(record.engines)} engines; at most {MAX_ENGINES} are stored"
    if len({engine.number for engine in record.engines}) < len(record.engines):
        yield "the engines of a record must have different numbers"
    if not 0 <= record.bytes < BIG:
        yield f"bytes must be between 0 and {BIG - 1}, not {record.bytes}"[:200]
    for engine in record.engines:
        yield from _engine(engine)


def _engine(engine: Engine) -> Iterator[str]:
    for name, most in (("number", SMALL), ("restarts", SMALL), ("members", BIG), ("tokens", BIG)):
        if not 0 <= (value := getattr(engine, name)) < most:
            yield f"an engine's {name} must be between 0 and {most - 1}, not {value}"[:200]
    if not 0 <= engine.seconds < math.inf:
        yield f"an engine's seconds must be finite and at least 0, not {engine.seconds}"
    if engine.compared_at is not None and not -BIG <= engine.compared_at < BIG:
        yield "an engine's compared_at must fit 64 bits"
    if engine.state not in ENGINE_STATES:
        yield f"an engine's state must be one of {', '.join(ENGINE_STATES)}, not {engine.state!r}"[:200]
    for name in ("device", "weights", "node"):
        if len(getattr(engine, name)) > MAX_TEXT:
            yield f"an engine's {name} has {len(getattr(engine, name))} characters; at most {MAX_TEXT} are stored"


def _probe(record: Probe) -> Iterator[str]:
    if len(record.values) > MAX_PROBE_VALUES:
        yield f"a probe record has {len(record.values)} values; at most {MAX_PROBE_VALUES} are stored"
    for name, most in (("probe", MAX_MEASURE), ("measure", MAX_MEASURE), ("subject", MAX_TEXT)):
        if not 0 < len(getattr(record, name)) <= most:
            yield f"a probe's {name} must have 1 to {most} characters, not {len(getattr(record, name))}"
    for name, most in (("other", MAX_TEXT), ("verdict", MAX_VERDICT)):
        if len(getattr(record, name)) > most:
            yield f"a probe's {name} has {len(getattr(record, name))} characters; at most {most} are stored"
    for name in ("probe", "measure", "subject", "other", "verdict"):
        if UNPRINTABLE.search(getattr(record, name)):
            yield f"a probe's {name} must contain no control characters; {getattr(record, name)!r} does"[:200]
    for value in record.values:
        yield from _probe_value(value)


def _probe_value(value: ProbeValue) -> Iterator[str]:
    for name in ("value", "low", "high", "null", "null_low", "null_high", "x"):
        number = getattr(value, name)
        if number is not None and not math.isfinite(number):
            yield f"a probe's {name} must be a finite number, not {number}; leave out what was not measured"
    for name in ("n", "draw"):
        count = getattr(value, name)
        if count is not None and not 0 <= count < BIG:
            yield f"a probe's {name} must be between 0 and {BIG - 1}, not {count}"[:200]
    for name in ("tensor", "other_tensor"):
        text = getattr(value, name)
        if len(text) > MAX_TEXT:
            yield f"a probe's {name} has {len(text)} characters; at most {MAX_TEXT} are stored"
        if UNPRINTABLE.search(text):
            yield f"a probe's {name} must contain no control characters; {text!r} does"[:200]


def _environment(record: Environment) -> Iterator[str]:
    for entries, most, name in ((record.packages, MAX_PACKAGES, "packages"), (record.gpus, MAX_GPUS, "GPUs")):
        if len(entries) > most:
            yield f"an environment has {len(entries)} {name}; at most {most} are stored"
    texts = [value for value in vars(record).values() if isinstance(value, str)]
    parts = [text for gpu in record.gpus for text in (gpu.name, gpu.uuid)]
    if any(len(text) > MAX_TEXT for text in (*texts, *parts, *record.packages, *record.packages.values())):
        yield f"the texts of an environment must have at most {MAX_TEXT} characters"
    numbers = (record.cores, record.memory_mb, *(gpu.memory_mb for gpu in record.gpus))
    if not all(0 <= number < BIG for number in numbers):
        yield f"cores and memory_mb must be between 0 and {BIG - 1}"


def _checkpoint(record: Checkpoint) -> Iterator[str]:
    path = PurePosixPath(record.path)
    if path.is_absolute() or ".." in record.path or not path.parts or UNPRINTABLE.search(record.path):
        yield f"a checkpoint's path must be inside the attempt's directory, and {record.path!r} is not"[:200]
    if len(record.path) > MAX_PATH:
        yield f"a checkpoint's path has {len(record.path)} characters; at most {MAX_PATH} are stored"
    if not 0 <= record.bytes < BIG:
        yield f"bytes must be between 0 and {BIG - 1}, not {record.bytes}"
    if not re.fullmatch("[0-9a-f]{64}", record.sha256):
        yield "sha256 must be 64 hexadecimal digits"
