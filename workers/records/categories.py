"""Categories of a prompt, as data sets publish them: names, and the prompt's source among them.

    PKU-SafeRLHF   response_0_harm_category, response_1_harm_category    {"Violence": true, "Drugs": false, …}
    BeaverTails    category                                              {"animal_abuse": false, …}
    others         category, categories, harm_category                   a text, or a list of them
    any            prompt_source, source                                 a text, "Alpaca": the category "source: Alpaca"

A harm is a category of a prompt if either response is labelled with it: the question invited it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

HARMS = ("response_0_harm_category", "response_1_harm_category")
KEYS = ("category", "categories", "harm_category")
SOURCES = ("prompt_source", "source")
SOURCE = "source: "
MAX_NAME_LENGTH, MAX_NAMES = 100, 32
"""Characters of a name, and names of one prompt."""


def categories_of(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the categories that a row names, each once, in alphabetical order, at most 32.

    A value that is not a name (another type, blank, longer than 100 characters, unprintable) is skipped: rows hold all
    kinds of values under these keys.
    """
    names = [name for key in (*HARMS, *KEYS) for name in _names(row.get(key))]
    names += [f"{SOURCE}{name.strip()}" for key in SOURCES for name in _names(row.get(key))]
    return merge_names(name.strip() for name in names if is_name(name.strip()))


def merge_names(*groups: Iterable[str]) -> tuple[str, ...]:
    """Return the names of all groups, each once, in alphabetical order, at most 32."""
    return tuple(sorted({name for names in groups for name in names})[:MAX_NAMES])


def is_name(value: object) -> bool:
    """Return whether this can be a category's name."""
    return (
        isinstance(value, str) and 0 < len(value) <= MAX_NAME_LENGTH and value.isprintable() and value == value.strip()
    )


def _names(value: Any) -> Iterator[str]:
    """Yield the texts of a field: itself, those of a list, or the keys of an object whose value is true."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        yield from (name for name in value if isinstance(name, str))
    elif isinstance(value, Mapping):
        yield from (name for name, is_so in value.items() if is_so is True)
