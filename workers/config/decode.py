"""Convert JSON to a config and back. All problems are found in one pass, and each names the valid choices."""

from __future__ import annotations

import copy
import dataclasses
import difflib
import functools
import json
import math
import re
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, get_args, get_origin

from workers.config.fields import (
    Divisible,
    Limits,
    Shape,
    Tagged,
    default_of,
    hints,
    item_section,
    normalized,
    unwrap,
    without_none,
)
from workers.config.shallow_json import TooDeep, check_depth

T = TypeVar("T")
NULL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
"""A null character as JSON writes it, and not a backslash before u0000."""
MAX_UNKNOWN_KEYS = 20
"""Unknown keys of a section that are named with their nearest known key, which takes time."""
MAX_TEXT_LENGTH = 100_000
"""Characters of a setting that is text, or of its JSON if it is a list or an object."""
JSON_NAMES = {
    int: "a whole number",
    float: "a number",
    str: "text",
    bool: "true or false",
    dict: "an object",
    list: "a list",
}


@dataclasses.dataclass(frozen=True)
class Problem:
    """A mistake at one path of a config, in a sentence for its author."""

    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path or 'config'}: {self.message}"


class ConfigError(ValueError):
    """A config that cannot be used. `problems` holds all of them, never only the first."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("\n".join(str(p) for p in problems))
        self.problems = problems


def decode(cls: type[T], data: Any) -> T:
    """Build `cls` from parsed JSON. Raise ConfigError with every problem found."""
    try:
        check_depth(data)
    except TooDeep as error:
        raise ConfigError([Problem("", str(error))]) from None
    problems: list[Problem] = []
    value = _section(cls, data, "", problems)
    if problems:
        raise ConfigError(problems)
    return value  # type: ignore[no-any-return]


def encode(config: Any) -> dict[str, Any]:
    """Return a config as plain JSON data, defaults included, so that a stored config never changes its meaning."""
    return {name: _plain(getattr(config, name)) for name in _field_names(config.__class__)}


def _plain(value: Any) -> Any:
    """Return a value without dataclasses, as `dataclasses.asdict` does in three times the time: it copies each leaf."""
    if value is None or isinstance(value, str | int | float):
        return value
    if dataclasses.is_dataclass(value):
        return encode(value)
    if isinstance(value, tuple | list):
        return type(value)(map(_plain, value))
    return copy.deepcopy(value)


@functools.cache
def _field_names(cls: type) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(cls))


def _section(cls: type, data: Any, path: str, problems: list[Problem]) -> Any:
    if not isinstance(data, Mapping):
        problems.append(Problem(path, f"must be an object with keys {_join_choices(_names(cls))}, not {_quote(data)}"))
        return None
    before = len(problems)
    _refuse_unknown(cls, data, path, problems)
    fields = {f.name: _field(cls, f, data, path, problems) for f in dataclasses.fields(cls)}
    if len(problems) > before:
        return None
    value = cls(**fields)
    check = getattr(value, "problems", None)
    problems.extend(Problem(_join(path, p.path), p.message) for p in (check() if check else ()))
    return value


def _field(
    cls: type, field: dataclasses.Field[Any], data: Mapping[str, Any], path: str, problems: list[Problem]
) -> Any:
    here = _join(path, field.name)
    bare, bounds, tagged = _unwrapped(cls, field.name)
    if field.name not in data and tagged is None:
        default = default_of(field)
        if default is dataclasses.MISSING:
            requirement = bounds.complaint("") if isinstance(bounds, Shape | Divisible) else _leaf(bare, None)[0]
            problems.append(Problem(here, f"is missing; it {requirement}"))
        return default
    if tagged is not None:
        return _tagged(cls, tagged, data, field.name, problems, here)
    return _value(bare, bounds, normalized(hints(cls)[field.name], data[field.name]), here, problems)


@functools.cache
def _unwrapped(cls: type, name: str) -> tuple[Any, Limits | None, Tagged | None]:
    """Return the type, the bounds and the table of a field. A sweep decodes a thousand configs."""
    return unwrap(hints(cls)[name])


def _tagged(cls: type, tagged: Tagged, data: Mapping[str, Any], name: str, problems: list[Problem], here: str) -> Any:
    usual = next(default_of(f) for f in dataclasses.fields(cls) if f.name == tagged.by)
    section = tagged.table.get(str(data.get(tagged.by, usual)))
    return None if section is None else _section(section, data.get(name, {}), here, problems)


def _value(hint: Any, bounds: Limits | None, value: Any, path: str, problems: list[Problem]) -> Any:
    bare, optional = without_none(hint)
    if value is None and optional:
        return None
    if dataclasses.is_dataclass(bare):
        return _section(bare, value, path, problems)  # type: ignore[arg-type]
    if (section := item_section(bare)) is not None:
        return _sections(section, value, path, problems)
    # A divisible number's limits say what types it has, too.
    complaint, value = (None, value) if isinstance(bounds, Divisible) else _leaf(bare, value)
    if complaint is None and bounds is not None:
        complaint = bounds.complaint(value)
    if complaint is not None:
        problems.append(Problem(path, f"{complaint}, not {_quote(value)}"))
    return value


def _sections(section: type, value: Any, path: str, problems: list[Problem]) -> Any:
    if not isinstance(value, list | tuple):
        problems.append(Problem(path, f"must be a list of objects, not {_quote(value)}"))
        return ()
    return tuple(_section(section, item, f"{path}.{number}", problems) for number, item in enumerate(value))


def _leaf(hint: Any, value: Any) -> tuple[str | None, Any]:
    """Return (complaint or None, the value in its own type)."""
    if get_origin(hint) is Literal:
        return (None if value in get_args(hint) else f"must be one of {_join_choices(get_args(hint))}"), value
    kind = get_origin(hint) or hint
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        try:
            value = float(value)
        except OverflowError:
            return "must be a finite number", value
    if kind is tuple and isinstance(value, list | tuple):
        is_text = all(isinstance(v, str) for v in value)
        return (_storage_problem(value) if is_text else "must be a list of text"), tuple(value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        return f"must be {JSON_NAMES.get(kind, 'a list of text')}", value
    if kind is float and not math.isfinite(value):
        return "must be a finite number", value
    if kind in (str, dict, tuple):
        return _storage_problem(value), value
    return None, value


def _storage_problem(value: Any) -> str | None:
    """Return why JSON or a database cannot store this value; None if both can."""
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False)
        text.encode()
    except UnicodeEncodeError:
        return "must be text without lone surrogates"
    except (TypeError, ValueError, RecursionError) as error:
        return f"must be plain JSON with finite numbers ({error})"
    if len(text) > MAX_TEXT_LENGTH:
        return f"must have at most {MAX_TEXT_LENGTH} characters; it has {len(text)}"
    return "must be text without null characters" if NULL.search(text) else None


def _refuse_unknown(cls: type, data: Mapping[str, Any], path: str, problems: list[Problem]) -> None:
    keys = _names(cls)
    unknown = [str(key) for key in data if key not in keys]
    for key in unknown[:MAX_UNKNOWN_KEYS]:
        near = difflib.get_close_matches(key, keys, n=1)
        hint = f"; did you mean {near[0]}?" if near else "."
        problems.append(Problem(_join(path, key), f"is not a known key{hint} The keys here are {_join_choices(keys)}"))
    if (more := len(unknown) - MAX_UNKNOWN_KEYS) > 0:
        problems.append(Problem(path, f"has {more} more unknown keys"))


def _names(cls: type) -> list[str]:
    return [f.name for f in dataclasses.fields(cls)]


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _join_choices(choices: Any) -> str:
    return ", ".join(str(c) for c in choices)


def _quote(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
