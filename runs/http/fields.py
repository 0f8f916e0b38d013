"""Types of fields, and the base class of request bodies."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from ninja import Schema
from pydantic import AfterValidator, ConfigDict, Field, StringConstraints

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
Number = float | str
"""A number; those that JSON lacks are the texts NaN, Infinity and -Infinity."""


def _each_once(tags: list[str]) -> list[str]:
    return list(dict.fromkeys(tags))


Tags = Annotated[list[Tag], Field(max_length=50), AfterValidator(_each_once)]


class Input(Schema):
    """Base class of request bodies: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid")


def is_unstorable(value: Any) -> bool:
    """Return whether any text in the JSON is one that PostgreSQL cannot store: with NUL, or with a lone surrogate."""
    if isinstance(value, Mapping):
        return any(is_unstorable(k) or is_unstorable(v) for k, v in value.items())
    if isinstance(value, list):
        return any(map(is_unstorable, value))
    return isinstance(value, str) and ("\x00" in value or (not value.isascii() and bool(SURROGATE.search(value))))
