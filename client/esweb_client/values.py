"""Convert values of a training: to floats for metrics, and to plain JSON for configs. No library is imported for it:
tensors and arrays are read by their methods `item` and `tolist`."""

from __future__ import annotations

import dataclasses
import enum
import math
import os
from collections.abc import Iterator, Mapping
from typing import Any

from esweb_client.notices import warn_once

MAX_DEPTH = 16
MAX_TEXT = 10_000
BIG = 2**63
NON_FINITE = {math.inf: "Infinity", -math.inf: "-Infinity"}


class BadValue(ValueError):
    """A value that is no number. The message says what it is."""


def to_float(value: Any) -> float:
    """Return a number, a boolean, or the only element of a tensor or array as a float. Raise BadValue."""
    if isinstance(value, (str, bytes, bytearray)) or value is None:
        raise BadValue(f"must be a number, not {_describe(value)}")
    try:
        return float(value.item() if hasattr(value, "item") else value)
    except OverflowError:
        raise BadValue("has more than 308 digits") from None
    except Exception:
        raise BadValue(f"must be a number, not {_describe(value)}") from None


def to_int(value: Any) -> int:
    """Return a whole number of 64 bits, also if it is an integral float or a tensor. Raise BadValue."""
    if type(value) is not int:
        number = to_float(value)
        if not number.is_integer():
            raise BadValue(f"must be a whole number, not {number!r}")
        value = int(value) if isinstance(value, int) else int(number)
    if not -BIG <= value < BIG:
        raise BadValue("must fit 64 bits")
    return int(value)


def flatten(values: Mapping[Any, Any]) -> Iterator[tuple[str, float]]:
    """Yield (key, number) of nested mappings, with the keys of each joined by "/". Values that are no numbers are
    dropped with one warning for each key."""
    yield from _flatten("", values, (id(values),))


def _flatten(prefix: str, values: Mapping[Any, Any], outer: tuple[int, ...]) -> Iterator[tuple[str, float]]:
    for name, value in list(values.items()):
        key = f"{prefix}{name}"
        if isinstance(value, Mapping):
            if len(outer) < MAX_DEPTH and id(value) not in outer:
                yield from _flatten(f"{key}/", value, (*outer, id(value)))
            else:
                warn_once(
                    "depth", f"{key[:100]!r} is dropped: it contains itself, or is nested over {MAX_DEPTH} levels"
                )
            continue
        try:
            yield key, value if type(value) is float else to_float(value)
        except BadValue as error:
            warn_once(f"value {key[:250]}", f"the value of {key[:100]!r} is dropped: it {error}")


def encode_float(value: float) -> float | str:
    """Return a float as strict JSON holds it: NaN and the infinities become their names."""
    if math.isfinite(value):
        return value
    return NON_FINITE.get(value, "NaN")


def to_json(value: Any) -> Any:
    """Return the value as plain, strict JSON. Objects that JSON has no form for become texts; it never raises."""
    try:
        return _to_json(value, ())
    except Exception as error:
        warn_once("json", f"a value cannot be stored as JSON ({type(error).__name__}); its type is stored instead")
        return f"<{type(value).__name__}>"


def to_object(value: Any) -> dict[str, Any]:
    """Return the entries of a mapping, a dataclass or a namespace such as argparse's, as plain JSON."""
    if value is None:
        return {}
    if not isinstance(value, Mapping) and not dataclasses.is_dataclass(value):
        value = getattr(value, "__dict__", value)
    plain = to_json(value)
    if isinstance(plain, dict):
        return plain
    warn_once("object", f"{type(value).__name__} is dropped: a config is a mapping, a dataclass or a namespace")
    return {}


def _to_json(value: Any, outer: tuple[int, ...]) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, enum.Enum):
        return _to_json(value.value, outer)
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, int):
        return int(value) if -BIG <= value < BIG else str(value)[:400]
    if isinstance(value, float):
        return encode_float(float(value))
    if len(outer) >= MAX_DEPTH or id(value) in outer:
        return f"<{type(value).__name__}>"
    inner = (*outer, id(value))
    if isinstance(value, Mapping):
        return {_text(str(key)): _to_json(part, inner) for key, part in list(value.items())}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: _to_json(getattr(value, name), inner) for name in names}
    if isinstance(value, (set, frozenset)):
        return sorted((_to_json(part, inner) for part in value), key=str)
    if isinstance(value, (list, tuple)):
        return [_to_json(part, inner) for part in value]
    return _foreign(value, inner)


def _foreign(value: Any, inner: tuple[int, ...]) -> Any:
    """Return the JSON of an object of another library: of its element or list, else its text."""
    if isinstance(value, os.PathLike):
        return _text(os.fsdecode(value))
    if isinstance(value, type) or not (hasattr(value, "item") or hasattr(value, "tolist")):
        return _text(value.__name__ if isinstance(value, type) else str(value))
    try:
        return _to_json(value.item(), inner)
    except Exception:
        return _to_json(value.tolist(), inner)


def clean_text(text: object, max_length: int) -> str:
    """Return the text as the server can store it, cut to its limit."""
    return _text(str(text))[:max_length]


def _text(text: str) -> str:
    """Return the text as UTF-8 can hold it, cut to a length that no config needs."""
    return text[:MAX_TEXT].encode("utf-8", "replace").decode().replace("\x00", "\ufffd")


def _describe(value: Any) -> str:
    kind = type(value).__name__
    return kind if kind == "NoneType" else f"a {kind}"
