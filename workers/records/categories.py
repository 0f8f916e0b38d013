"""What a prompt is about, as data sets publish it: names of categories, and where it comes from among them.

    PKU-SafeRLHF   response_0_harm_category, response_1_harm_category    {"Violence": true, "Drugs": false, …}
    BeaverTails    category                                              {"animal_abuse": false, …}
    others         category, categories, harm_category                   a text, or a list of them
    any            prompt_source, source                                 a text, "Alpaca": the category "source: Alpaca"

A harm is a category of a prompt where either response is said to do it: the question invited it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

HARMS = ("response_0_harm_category", "response_1_harm_category")
KEYS = ("category", "categories", "harm_category")
SOURCES = ("prompt_source", "source")
SOURCE = "source: "
NAME_AT_MOST, MOST = 100, 32
"""Characters of a name, and names of one prompt."""


def categories_of(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The categories that a row names, each once, in the order of the alphabet, at most 32.

    What is no name (another type, blank, longer than 100 characters, unprintable) is passed over: rows hold all kinds
    of things under these keys.
    """
    said = [name for key in (*HARMS, *KEYS) for name in _names(row.get(key))]
    said += [f"{SOURCE}{name.strip()}" for key in SOURCES for name in _names(row.get(key))]
    return merged(name.strip() for name in said if is_name(name.strip()))


def merged(*named: Iterable[str]) -> tuple[str, ...]:
    """What either names, each once, in the order of the alphabet, at most 32."""
    return tuple(sorted({name for names in named for name in names})[:MOST])


def is_name(value: object) -> bool:
    """True for what can be a category's name."""
    return isinstance(value, str) and 0 < len(value) <= NAME_AT_MOST and value.isprintable() and value == value.strip()


def _names(said: Any) -> Iterator[str]:
    """The texts of a field: itself, those of a list, or those that an object says are so."""
    if isinstance(said, str):
        yield said
    elif isinstance(said, list):
        yield from (name for name in said if isinstance(name, str))
    elif isinstance(said, Mapping):
        yield from (name for name, is_so in said.items() if is_so is True)
