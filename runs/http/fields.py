"""Types of fields, and the base class of request bodies."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Self, TypeVar

from ninja import Schema
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    ModelWrapValidatorHandler,
    StringConstraints,
    create_model,
    model_validator,
)

from runs.models.trash import TAG_LENGTH

# PostgreSQL cannot store NUL: it is refused on input, where the position in the request is known.
SURROGATE = re.compile("[\ud800-\udfff]")
NO_NUL = r"^[^\x00]*$"
MAX_TEXT_LENGTH, MAX_NOTE_LENGTH = 10_000, 100_000
"""Characters of a text of some sentences, such as an experiment's question, and of a note; `form_fields` has the same
limits."""
Word = Annotated[str, StringConstraints(max_length=250, pattern=NO_NUL)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=NO_NUL)]
RunName = Annotated[str, StringConstraints(max_length=200, pattern=NO_NUL)]
Text = Annotated[str, StringConstraints(max_length=MAX_TEXT_LENGTH, pattern=NO_NUL)]
Note = Annotated[str, StringConstraints(max_length=MAX_NOTE_LENGTH, pattern=NO_NUL)]
Tag = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=TAG_LENGTH, pattern=r"^[^\x00,]*$")
]
Pk = Annotated[int, Field(ge=0, le=2**63 - 1)]
RowText = Annotated[str, BeforeValidator(str)]
"""A row's text, such as its name."""
Username = Annotated[str, BeforeValidator(lambda user: getattr(user, "username", user))]
"""A user's name, read from the user."""
RunUid = Annotated[str, BeforeValidator(lambda run: getattr(run, "uid", run))]
AttemptNumber = Annotated[int, BeforeValidator(lambda attempt: getattr(attempt, "n", attempt))]
Number = float | str
"""A number; those that JSON lacks are the texts NaN, Infinity and -Infinity."""
SchemaT = TypeVar("SchemaT", bound=Schema)


def _each_once(tags: list[str]) -> list[str]:
    return list(dict.fromkeys(tags))


Tags = Annotated[list[Tag], Field(max_length=50), AfterValidator(_each_once)]


class Input(Schema):
    """Base class of request bodies: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid")


class _RowWithAttributes:
    """A row with other attributes, which hide those of the row."""

    def __init__(self, row: object, others: Mapping[str, Any]) -> None:
        self.__dict__.update(others, _row=row)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_row"], name)


class Output(Schema):
    """Base class of replies that describe an object, such as a row.

    A field is the row's attribute of its name or of its `validation_alias`, which may be a method, or what
    `resolve_<field>` returns for the row.
    """

    @model_validator(mode="wrap")
    @classmethod
    def _pass_reply(cls, value: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        """Return a reply inside another one as it is: its fields are no longer those of a row."""
        return value if isinstance(value, cls) else handler(value)

    @classmethod
    def from_row(cls, row: object, **others: Any) -> Self:
        """Return the reply with the row's attributes. `others` are the attributes that the row lacks or that differ."""
        return cls.model_validate(_RowWithAttributes(row, others) if others else row)


def with_fields(fields: Mapping[str, Any]) -> Callable[[type[SchemaT]], type[SchemaT]]:
    """Return a decorator that adds fields to a schema, unless it has them: name -> (type, default)."""

    def add(schema: type[SchemaT]) -> type[SchemaT]:
        new: dict[str, Any] = {name: field for name, field in fields.items() if name not in schema.model_fields}
        return create_model(
            schema.__name__, __base__=schema, __doc__=schema.__doc__, __module__=schema.__module__, **new
        )

    return add


def is_unstorable(value: Any) -> bool:
    """Return whether any text in the JSON is one that PostgreSQL cannot store: with NUL, or with a lone surrogate."""
    if isinstance(value, Mapping):
        return any(is_unstorable(k) or is_unstorable(v) for k, v in value.items())
    if isinstance(value, list):
        return any(map(is_unstorable, value))
    return isinstance(value, str) and ("\x00" in value or (not value.isascii() and bool(SURROGATE.search(value))))
