"""Rules of the settings of a cluster: types whose mark yields a message for each error in a value.

A mark is called with the key, its value and the whole config. No shell reads a value: each becomes one argument.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

WORD = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.,:/+@=-]{0,199}")
"""Names of partitions, accounts and modules. The first letter prevents that a word is taken for an option."""
LETTERS = "letters, digits and _ . , : / + @ = -, beginning with a letter, a digit or _"
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
SECRET = re.compile(r"SECRET|TOKEN(?!IZER)|PASSWORD|PASSWD|CREDENTIAL|API_?KEY|PRIVATE_?KEY", re.IGNORECASE)
"""Variables that must not be in a job's environment, which every user of its node, and the accounting, may see."""


@dataclass(frozen=True)
class Rule:
    """A rule that one sentence states."""

    text: str
    is_valid: Callable[[Any], bool]

    def __call__(self, key: str, value: Any, config: Mapping[str, Any]) -> Iterator[str]:
        """Yield a message unless the value is valid."""
        if not self.is_valid(value):
            yield f"{key} must be {self.text}, not {value!r}"


def is_list(is_item: Callable[[Any], bool]) -> Callable[[Any], bool]:
    """Return the function that tells whether a value is a list of such items."""
    return lambda value: isinstance(value, list) and all(map(is_item, value))


def is_count(at_least: int) -> Callable[[Any], bool]:
    """Return the function that tells whether a value is a whole number from `at_least`."""
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= at_least


def is_word(value: Any) -> bool:
    """Return whether the value is one word, such as the name of a partition."""
    return isinstance(value, str) and WORD.fullmatch(value) is not None


def is_path(value: Any) -> bool:
    """Return whether the value is an absolute path without .."""
    if not isinstance(value, str) or not value.isprintable():
        return False
    return Path(value).is_absolute() and ".." not in Path(value).parts


def is_amounts(value: Any) -> bool:
    """Return whether the value is an object of positive numbers with names."""
    return isinstance(value, dict) and all(name and _is_amount(amount) for name, amount in value.items())


def _is_amount(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and value > 0


def variable_errors(key: str, env: Any, config: Mapping[str, Any]) -> Iterator[str]:
    """Yield a message for each error in the environment variables that jobs get."""
    if not isinstance(env, dict):
        yield f'{key} must be an object such as {{"HF_HOME": "/shared/hf"}}, not {env!r}'
        return
    for name, value in env.items():
        if not VARIABLE.fullmatch(name):
            yield f"{key}: {name!r} is not a valid name of a variable; use letters, digits and _"
        elif SECRET.search(name):
            yield f"{key}: {name} looks like a secret, and everybody on a node can read a job's environment; use a file"
        elif not isinstance(value, str) or not value.isprintable():
            yield f"{key}: {name} must be text of one line, not {value!r}"


Word = Annotated[str, Rule(f"one word of {LETTERS}", is_word)]
Partitions = Annotated[
    tuple[str, ...], Rule(f'a list such as ["gpu", "cpu"], each one word of {LETTERS}', is_list(is_word))
]
Modules = Annotated[
    tuple[str, ...], Rule(f'a list such as ["cuda/12.4"], each one word of {LETTERS}', is_list(is_word))
]
Seconds = Annotated[int, Rule("a whole number from 0", is_count(0))]
Flag = Annotated[bool, Rule("true or false", lambda value: isinstance(value, bool))]
AbsolutePath = Annotated[str, Rule("an absolute path without ..", is_path)]
Amounts = Annotated[
    Mapping[str, float], Rule('an object of amounts such as {"accelerator_type:A100": 0.001}', is_amounts)
]
Variables = Annotated[Mapping[str, str], variable_errors]
