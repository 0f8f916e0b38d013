"""Read a file of Countdown problems as the paper published them: a JSON list of objects. Mistakes name the item.

[{"id": 0, "context": "… Using the numbers [44 19 35], create an equation that equals 98. …",
  "numbers": [44, 19, 35], "target": "98", "solution": "((44 + 19) + 35)"}, …]

An item may have a `category` and a `source` too.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from workers.config import CountdownOptions
from workers.records import categories_of
from workers.tasks.base import BadData, category_problem

CATEGORY_KEYS = ("category", "source")
REQUIRED, OPTIONAL = ("context", "numbers", "target"), ("id", "solution", *CATEGORY_KEYS)
EXAMPLE = '{"context": "Using the numbers [3 5], make 8.", "numbers": [3, 5], "target": "8"}'
TARGET = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?(e[+-]?[0-9]{1,2})?")
MAX_NUMBERS, MAX_NUMBER = 100, 10**12


class BadProblems(BadData):
    """A file of problems that cannot be used. The message names the item and the expected form."""


@dataclass(frozen=True)
class Problem:
    """A Countdown problem: prompt, numbers to use, target, the target as it was written, and categories."""

    prompt: str
    numbers: tuple[int, ...]
    target: Fraction
    written: str
    categories: tuple[str, ...] = field(default=(), compare=False)


def read_split(options: CountdownOptions) -> tuple[list[Problem], list[Problem]]:
    """Return (training, held out); empty if the options name no file. One file for both is split as published.

    Raise BadProblems.
    """
    train_file, eval_file, first = options.train_file, options.eval_file, options.train_problems
    if not train_file or train_file != eval_file:
        train, held_out = (read_problems(path) if path else [] for path in (train_file, eval_file))
        return train, held_out
    both = read_problems(train_file)
    if len(both) <= first:
        raise BadProblems(
            f"{train_file} holds {len(both)} problems: where one file serves both, the first {first} train "
            "(task.options.train_problems) and the others are held out, and there are no others"
        )
    return both[:first], both[first:]


def read_problems(path: str) -> list[Problem]:
    """Return every problem of the file, in its order. Raise BadProblems, also for a file without problems."""
    items = _items(path)
    if not items:
        raise BadProblems(f"{path} contains no problems; an item is {EXAMPLE}")
    seen: dict[Problem, int] = {}
    for number, item in enumerate(items):
        problem = _problem(item, f"{path}, item {number}")
        if problem in seen:
            raise BadProblems(f"{path}, item {number}: repeats item {seen[problem]}; remove one of them")
        seen[problem] = number
    return list(seen)


def _items(path: str) -> Sequence[Any]:
    try:
        items = json.loads(Path(path).read_text(encoding="utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadProblems(f"the problems in {path} cannot be read: {error}") from error
    except (ValueError, RecursionError) as error:
        raise BadProblems(f"{path} is not JSON ({error}); it must be a list of objects such as {EXAMPLE}") from error
    if not isinstance(items, list):
        raise BadProblems(f"{path} must be a JSON list of objects such as {EXAMPLE}")
    return items


def _problem(item: Any, location: str) -> Problem:
    valid_keys = (*REQUIRED, *OPTIONAL)
    if not isinstance(item, Mapping):
        raise BadProblems(f"{location}: must be an object with the keys {', '.join(REQUIRED)}, such as {EXAMPLE}")
    if unknown := sorted(item.keys() - set(valid_keys)):
        raise BadProblems(f"{location}: {unknown[0]!r} is not a known key; the keys are {', '.join(valid_keys)}")
    target = item.get("target")
    written = str(target) if isinstance(target, int | float) and not isinstance(target, bool) else target
    context, numbers = item.get("context"), item.get("numbers")
    if not isinstance(context, str) or not context.strip():
        raise BadProblems(f"{location}: context must be the text of the problem, but is {_quote(context)}")
    if not isinstance(numbers, list) or not 0 < len(numbers) <= MAX_NUMBERS or not all(map(_is_number, numbers)):
        raise BadProblems(
            f"{location}: numbers must be a list of 1 to {MAX_NUMBERS} whole numbers from 0 to {MAX_NUMBER}, "
            f"such as [44, 19, 35], but is {_quote(numbers)}"
        )
    if not isinstance(written, str) or not TARGET.fullmatch(written):
        raise BadProblems(f'{location}: target must be a number such as "98" or "-15.72", but is {_quote(target)}')
    if mistake := category_problem(item, CATEGORY_KEYS):
        raise BadProblems(f"{location}: {mistake}")
    return Problem(context, tuple(numbers), Fraction(written), written, categories_of(item))


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_NUMBER


def _quote(value: Any) -> str:
    return "missing" if value is None else repr(value)[:80]
