"""Record <-> one line of JSON."""

from __future__ import annotations

import dataclasses
import functools
import json
import math
from typing import Any, get_args, get_origin, get_type_hints

from workers.config.shallow_json import loads
from workers.records.kinds import KINDS, Line, Metric, Record

MAX_LINE_BYTES = 8 * 1024 * 1024
MAX_SEQ = 2**63 - 1
"""A seq is less, so that the one after the last fits 64 bits too."""
FLOATS = {float}
NON_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


_to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


class BadLine(ValueError):
    """The line is not a record. The message names the field and its required form."""


def pack(seq: int, t: float, record: Record) -> bytes:
    """Return one line of strict JSON, newline included."""
    if isinstance(record, Metric) and (line := _pack_floats(seq, t, record)) is not None:
        return line
    body = {"seq": seq, "t": t, "kind": record.kind, **_plain(record)}
    try:
        text = _to_json(body)
    except ValueError:
        text = _to_json(_encode_non_finite(body))
    return text.encode("utf-8", errors="replace") + b"\n"


def unpack(data: bytes | dict[str, Any]) -> Line:
    """Return a line, or one already parsed, as a Line. Raise BadLine."""
    if isinstance(data, bytes):
        try:
            data = loads(data)
        except ValueError as error:
            raise BadLine(f"not JSON: {error}"[:200]) from error
    if not isinstance(data, dict):
        raise BadLine("a record must be a JSON object")
    body = dict(data)
    seq, t, kind = body.pop("seq", None), body.pop("t", None), body.pop("kind", None)
    if not isinstance(seq, int) or isinstance(seq, bool) or not 0 <= seq < MAX_SEQ:
        raise BadLine(f"seq must be a whole number from 0 that fits 64 bits, not {str(seq)[:40]!r}")
    if not isinstance(kind, str) or kind not in KINDS:
        raise BadLine(f"kind must be one of {', '.join(KINDS)}, not {kind!r}"[:200])
    return Line(seq, _number("t", t), _build(KINDS[kind], body))


def _pack_floats(seq: int, t: float, metric: Metric) -> bytes | None:
    """Return the line of a metric of which all values are finite floats; None for others.

    A training writes thousands of such lines with the same keys, so their names are encoded once.
    """
    numbers = (*metric.values.values(), *metric.axes.values())
    # A sum with NaN or an infinity in it is not finite; one that overflows only takes the slower way.
    if set(map(type, numbers)) != FLOATS or type(metric.step) is not int or not math.isfinite(sum(numbers, t)):
        return None
    template = _template(tuple(metric.values), tuple(metric.axes))
    return (template % (seq, t, metric.step, *numbers)).encode("utf-8", errors="replace")


@functools.lru_cache(maxsize=1024)
def _template(keys: tuple[str, ...], axes: tuple[str, ...]) -> str:
    """Return the format of a line: seq, t, step and the values under these keys are to be filled in."""
    parts = ['{"seq":%d,"t":%r,"kind":"metric","step":%d,"values":', _columns(keys)]
    return "".join([*parts, *((',"axes":', _columns(axes)) if axes else ()), "}\n"])


def _columns(keys: tuple[str, ...]) -> str:
    names = (_to_json(key).replace("%", "%%") for key in keys)
    return "{" + ",".join(f"{name}:%r" for name in names) + "}"


def _plain(value: Any) -> dict[str, Any]:
    """Return the fields with content: a default of None, {} or () is left out."""
    out = {}
    for field in dataclasses.fields(value):
        item = getattr(value, field.name)
        if not _required(field) and (item is None or item in ({}, ())):
            continue
        is_parts = isinstance(item, tuple) and bool(item) and dataclasses.is_dataclass(item[0])
        out[field.name] = [_plain(part) for part in item] if is_parts else item
    return out


def _encode_non_finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, dict):
        return {k: _encode_non_finite(v) for k, v in value.items()}
    return [_encode_non_finite(v) for v in value] if isinstance(value, list) else value


def _build(cls: Any, body: dict[str, Any]) -> Any:
    hints, required = _shape(cls)
    if unknown := body.keys() - hints.keys():
        raise BadLine(f"{cls.__name__} has no field {min(unknown)[:100]!r}; it has {', '.join(hints)}")
    if missing := required - body.keys():
        raise BadLine(f"{cls.__name__} needs {', '.join(sorted(missing))}")
    return cls(**{name: _read(name, hints[name], value) for name, value in body.items()})


def _required(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


@functools.cache
def _shape(cls: Any) -> tuple[dict[str, Any], frozenset[str]]:
    """Return (field name -> type, the required field names)."""
    fields = dataclasses.fields(cls)
    hints = get_type_hints(cls)
    return {f.name: hints[f.name] for f in fields}, frozenset(f.name for f in fields if _required(f))


def _read(name: str, hint: Any, value: Any) -> Any:
    parts = get_args(hint)
    if type(None) in parts:
        return None if value is None else _read(name, parts[0], value)
    if get_origin(hint) is dict:
        of_texts = parts[1] is str
        if not isinstance(value, dict):
            raise BadLine(f"{name} must be an object of {'texts' if of_texts else 'numbers'}")
        return {
            str(k): _read(f"{name}.{k}", str, v) if of_texts else _number(f"{name}.{k}", v) for k, v in value.items()
        }
    if hint == tuple[str, ...]:
        if not isinstance(value, list):
            raise BadLine(f"{name} must be a list of texts")
        return tuple(_read(f"{name}[{i}]", str, part) for i, part in enumerate(value))
    if get_origin(hint) is tuple:
        if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
            raise BadLine(f"{name} must be a list of {parts[0].__name__.lower()}s")
        return tuple(_build(parts[0], part) for part in value)
    if hint is float:
        return _number(name, value)
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        raise BadLine(f"{name} must be {hint.__name__}, not {value!r}"[:200])
    return value


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise BadLine(f"{name} must be str, not {value!r}"[:200])
    return value


def _number(name: str, value: Any) -> float:
    if isinstance(value, str) and value in NON_FINITE:
        return NON_FINITE[value]
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise BadLine(f"{name} must be a number, NaN, Infinity or -Infinity, not {value!r}"[:200])
    try:
        return float(value)
    except OverflowError as error:
        raise BadLine(f"{name[:100]} is a number of more than 308 digits") from error
