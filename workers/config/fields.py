"""Read a config dataclass as a list of fields, as a form, a command line and an error message need them.

A field is one of a frozen dataclass. Its bounds are in `Annotated[...]`, its choices in `Literal[...]`, its help in the
string under it. Nothing about a field is written twice.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import itertools
import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

ResourceKind = Literal[
    "model", "score_model", "run", "runs", "data", "code", "scorer", "scorer_secret", "adapter_server",
    "trainer_arguments", "wandb_project", "wandb_entity", "by_hand",
]  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Bounds:
    """Limits of a number; `above` is exclusive, the others inclusive."""

    at_least: float | None = None
    above: float | None = None
    at_most: float | None = None

    def complaint(self, value: float) -> str | None:
        """Return the mistake in `value`, or None if it fits. NaN fits nothing."""
        too_low = self.at_least is not None and not value >= self.at_least
        not_above = self.above is not None and not value > self.above
        too_high = self.at_most is not None and not value <= self.at_most
        return f"must be {self}" if too_low or not_above or too_high else None

    def __str__(self) -> str:
        words = {"at least": self.at_least, "above": self.above, "at most": self.at_most}
        return " and ".join(f"{word} {limit:.10g}" for word, limit in words.items() if limit is not None)


@dataclasses.dataclass(frozen=True)
class Shape:
    """The form of a text: a pattern for all of it, and its description for users."""

    pattern: str
    words: str

    def complaint(self, value: str) -> str | None:
        """Return the mistake in `value`, or None if it fits."""
        return None if re.fullmatch(self.pattern, value, re.ASCII) else f"must be {self}"

    def __str__(self) -> str:
        return self.words


@dataclasses.dataclass(frozen=True)
class Divisible:
    """Limits of a number of things of which one can be divided.

    A value is a whole number, a fraction of one, or `word`, which leaves the fraction to the program.
    """

    at_most: int
    word: str
    decimals: int = 3

    def complaint(self, value: Any) -> str | None:
        """Return the mistake in `value`, or None if it fits. NaN, true and numbers as text fit nothing."""
        if isinstance(value, str):
            return None if value == self.word else f"must be {self}"
        if isinstance(value, bool) or not isinstance(value, int | float):
            return f"must be {self}"
        is_whole = isinstance(value, int) and 0 <= value <= self.at_most
        is_fraction = 0 < value < 1 and round(value, self.decimals) == value
        return None if is_whole or is_fraction else f"must be {self}"

    def plain(self, value: Any) -> Any:
        """Return a float without a fraction, such as 2.0, as the whole number; any other value as it is."""
        return int(value) if isinstance(value, float) and value.is_integer() else value

    def __str__(self) -> str:
        fraction = f"a fraction such as 0.25 with at most {self.decimals} decimals"
        return f"a whole number from 0 to {self.at_most}, {fraction}, or {self.word}"


Limits = Bounds | Shape | Divisible
"""Marks that decide if a value fits: each has `complaint(value)`, and reads as what a value must be."""


@dataclasses.dataclass(frozen=True)
class Tagged:
    """Mark a field whose type depends on its sibling: `options` on `name` in a task."""

    by: str
    table: Mapping[str, type]


@dataclasses.dataclass(frozen=True)
class Renamed:
    """Mark choices that had other names: stored configs keep the old one, which is read as the new one."""

    names: Mapping[str, str]
    """Old name -> new name."""


@dataclasses.dataclass(frozen=True)
class DigitsAreText:
    """Mark a text that may be all digits, such as a GPU of type 3090: a whole number in JSON is read as its digits."""


@dataclasses.dataclass(frozen=True)
class Resource:
    """Mark a field that names a file, a service or code: `workers/config/resources.py` defines the values of each
    kind."""

    kind: ResourceKind


@dataclasses.dataclass(frozen=True)
class ConfigField:
    """One field of a config, as code outside the dataclass sees it."""

    path: str
    kind: type
    default: Any
    required: bool
    help: str
    choices: tuple[Any, ...] = ()
    bounds: Limits | None = None
    tag: str = ""
    """The value of the sibling for which this field exists: the task's name for a task's option. Empty: always."""
    resource: ResourceKind | None = None
    section: type | None = None
    """The dataclass of a list of sections, as `item_section` returns it."""


def unwrap(hint: Any) -> tuple[Any, Limits | None, Tagged | None]:
    """Split `Annotated[int, Bounds(...)]` into the bare type and its marks."""
    if get_origin(hint) is not Annotated:
        return hint, None, None
    bare, *marks = get_args(hint)
    bounds = next((m for m in marks if isinstance(m, Limits)), None)
    tagged = next((m for m in marks if isinstance(m, Tagged)), None)
    return bare, bounds, tagged


def item_section(hint: Any) -> type | None:
    """Return the dataclass of a list of sections, such as tuple[TaskConfig, ...]; None for any other type."""
    items = get_args(hint) if get_origin(hint) is tuple else ()
    return items[0] if items and dataclasses.is_dataclass(items[0]) else None  # type: ignore[return-value]


def resource_of(hint: Any) -> ResourceKind | None:
    """Return the kind of resource that a hint marks, or None."""
    marks = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    return next((mark.kind for mark in marks if isinstance(mark, Resource)), None)


def normalized(hint: Any, value: Any) -> Any:
    """Return the present name of a choice that was renamed, a number that stands for its digits as text, 2 for the 2.0
    of a divisible thing, or the value itself."""
    marks = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    if divisible := next((mark for mark in marks if isinstance(mark, Divisible)), None):
        return divisible.plain(value)
    if isinstance(value, int) and not isinstance(value, bool) and any(isinstance(m, DigitsAreText) for m in marks):
        return str(value) if 0 <= value < 10**18 else value
    names = next((mark.names for mark in marks if isinstance(mark, Renamed)), {})
    return names.get(value, value) if isinstance(value, str) else value


def without_none(hint: Any) -> tuple[Any, bool]:
    """Return `X | None` as (X, True), and any other type as (itself, False)."""
    parts = get_args(hint)
    if type(None) in parts:
        return next(p for p in parts if p is not type(None)), True
    return hint, False


@functools.cache
def hints(cls: type) -> dict[str, Any]:
    """Return field name -> type hint with its marks."""
    return get_type_hints(cls, include_extras=True)


@functools.cache
def help_lines(cls: type) -> dict[str, str]:
    """Return field name -> the string under it in the source, inherited fields included."""
    texts = {}
    for section in reversed([base for base in cls.__mro__ if dataclasses.is_dataclass(base)]):
        body = ast.parse(textwrap.dedent(inspect.getsource(section))).body[0].body  # type: ignore[attr-defined]
        for field, below in itertools.pairwise(body):
            is_text = isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant)
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name) and is_text:
                texts[field.target.id] = inspect.cleandoc(str(below.value.value))
    return texts


def default_of(field: dataclasses.Field[Any]) -> Any:
    """Return the default of a field; `dataclasses.MISSING` if it has none."""
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def config_fields(cls: type, prefix: str = "") -> Iterator[ConfigField]:
    """Yield every leaf field of `cls`, nested sections included, in the order of the source."""
    for field in dataclasses.fields(cls):
        bare, bounds, tagged = unwrap(hints(cls)[field.name])
        bare, _ = without_none(bare)
        path = prefix + field.name
        if tagged is not None:
            for tag, section in tagged.table.items():
                yield from (dataclasses.replace(inner, tag=tag) for inner in config_fields(section, path + "."))
        elif dataclasses.is_dataclass(bare):
            yield from config_fields(bare, path + ".")  # type: ignore[arg-type]
        else:
            yield _make_field(cls, field, path, bare, bounds)


def _make_field(cls: type, field: dataclasses.Field[Any], path: str, bare: Any, bounds: Limits | None) -> ConfigField:
    choices = get_args(bare) if get_origin(bare) is Literal else ()
    kind = type(choices[0]) if choices else (get_origin(bare) or bare)
    kind = float if isinstance(bounds, Divisible) else kind
    default = default_of(field)
    missing = default is dataclasses.MISSING
    help_text = help_lines(cls).get(field.name, "")
    resource = resource_of(hints(cls)[field.name])
    value = None if missing else default
    return ConfigField(
        path, kind, value, missing, help_text, choices, bounds, resource=resource, section=item_section(bare)
    )  # fmt: skip
