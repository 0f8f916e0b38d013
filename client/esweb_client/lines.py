"""Encode records as lines of JSON without their seq, as the server's files of records have them."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from typing import Any, Optional

from esweb_client.notices import warn_once
from esweb_client.values import encode_float, flatten

MAX_KEY = 250
MAX_KEYS = 5_000
"""Keys of one line; a record with more becomes several lines of one step."""
MAX_TEMPLATES = 1_000
UNPRINTABLE = re.compile("[\x00-\x1f\x7f\ud800-\udfff]")
FLOATS = {float}
PLAIN_NUMBERS = {float, int, bool}

Template = Optional[str]
_templates: dict[tuple[tuple[Any, ...], tuple[Any, ...]], Template] = {}


def metric_lines(step: int, values: Mapping[Any, Any], axes: Mapping[Any, Any] | None, prefix: str = "") -> list[bytes]:
    """Return the lines of one record of metrics; none if no value is a number."""
    if type(values) is dict and not prefix:
        line = _fast_line(step, values, axes if type(axes) is dict else {} if axes is None else None)
        if line is not None:
            return [line]
    pairs = _valid(dict(flatten(values)), prefix)
    axis_pairs = _valid(dict(flatten(axes)), "") if isinstance(axes, Mapping) else {}
    keys = list(pairs)
    return [
        encode("metric", _metric_fields(step, {key: pairs[key] for key in keys[at : at + MAX_KEYS]}, axis_pairs))
        for at in range(0, len(keys), MAX_KEYS)
    ]


def encode(kind: str, fields: Mapping[str, Any], t: float | None = None) -> bytes:
    """Return the line of a record of any kind. Its fields are plain, strict JSON."""
    body = {"t": time.time() if t is None else t, "kind": kind, **fields}
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.encode("utf-8", "replace") + b"\n"


def _fast_line(step: int, values: dict[Any, Any], axes: dict[Any, Any] | None) -> bytes | None:
    """Return the line if all values are finite numbers under valid keys, by a template that their keys share."""
    if axes is None:
        return None
    numbers = (*values.values(), *axes.values()) if axes else tuple(values.values())
    types = set(map(type, numbers))
    if types != FLOATS:
        if not types or not types <= PLAIN_NUMBERS:
            return None
        try:
            numbers = tuple(map(float, numbers))
        except OverflowError:
            return None
    # A sum with NaN or an infinity in it is no finite number; one that overflows only takes the slow way.
    total = sum(numbers)
    if total - total != 0.0:
        return None
    shape = (tuple(values), tuple(axes))
    template = _templates.get(shape, "")
    if template == "":
        template = _build_template(*shape)
    if template is None:
        return None
    return (template % (time.time(), step, *numbers)).encode()


def _build_template(keys: tuple[Any, ...], axes: tuple[Any, ...]) -> Template:
    """Return, and store for the next record of these keys, a format of its line; None if a key is not valid."""
    if len(_templates) >= MAX_TEMPLATES:
        _templates.clear()
    if len(keys) > MAX_KEYS or not keys or not all(type(key) is str and _is_key(key) for key in (*keys, *axes)):
        template = None
    else:
        parts = [f'{{"t":%r,"kind":"metric","step":%d,"values":{_columns(keys)}']
        parts += [f',"axes":{_columns(axes)}'] if axes else []
        template = "".join([*parts, "}\n"])
    _templates[keys, axes] = template
    return template


def _columns(keys: tuple[str, ...]) -> str:
    names = (json.dumps(key, ensure_ascii=False).replace("%", "%%") for key in keys)
    return "{" + ",".join(f"{name}:%r" for name in names) + "}"


def _metric_fields(step: int, values: Mapping[str, float], axes: Mapping[str, float]) -> dict[str, Any]:
    fields: dict[str, Any] = {"step": step, "values": {key: encode_float(value) for key, value in values.items()}}
    if axes:
        fields["axes"] = {key: encode_float(value) for key, value in axes.items()}
    return fields


def _valid(pairs: Mapping[str, float], prefix: str) -> dict[str, float]:
    """Return the pairs whose keys the server stores; warn of the others."""
    return {f"{prefix}{key}": value for key, value in pairs.items() if _check_key(f"{prefix}{key}")}


def _check_key(key: str) -> bool:
    if _is_key(key):
        return True
    warn_once(
        f"key {key[:250]!r}",
        f"the metric {key[:60]!r} is dropped: a key has 1 to {MAX_KEY} characters, and no control characters",
    )
    return False


def _is_key(key: str) -> bool:
    return 0 < len(key) <= MAX_KEY and not UNPRINTABLE.search(key)
