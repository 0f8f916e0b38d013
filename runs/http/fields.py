"""What fields are made of, and what every request's body refuses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

from ninja import Schema
from pydantic import AfterValidator, ConfigDict, Field, StringConstraints

from runs.models.trash import TAG_LENGTH

# PostgreSQL cannot hold NUL: it is refused at the door, where the place in the request is known.
HALF = re.compile("[\ud800-\udfff]")
NO_NUL = r"^[^\x00]*$"
Word = Annotated[str, StringConstraints(max_length=250, pattern=NO_NUL)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200, pattern=NO_NUL)]
RunName = Annotated[str, StringConstraints(max_length=200, pattern=NO_NUL)]
Text = Annotated[str, StringConstraints(max_length=10_000, pattern=NO_NUL)]
Note = Annotated[str, StringConstraints(max_length=100_000, pattern=NO_NUL)]
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
    """A request's body: keys that are not known are refused."""

    model_config = ConfigDict(extra="forbid")


def unkeepable(value: Any) -> bool:
    """True where a text anywhere in the JSON is none that PostgreSQL can hold: with NUL, or half a character."""
    if isinstance(value, Mapping):
        return any(unkeepable(k) or unkeepable(v) for k, v in value.items())
    if isinstance(value, list):
        return any(map(unkeepable, value))
    return isinstance(value, str) and ("\x00" in value or (not value.isascii() and bool(HALF.search(value))))
