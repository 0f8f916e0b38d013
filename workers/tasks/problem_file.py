"""Reads a file of Countdown problems as the paper published them: a JSON list of objects. Mistakes name the item.

[{"id": 0, "context": "… Using the numbers [44 19 35], create an equation that equals 98. …",
  "numbers": [44, 19, 35], "target": "98", "solution": "((44 + 19) + 35)"}, …]

An item may say its `category` and its `source` too.
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

ABOUT = ("category", "source")
REQUIRED, OPTIONAL = ("context", "numbers", "target"), ("id", "solution", *ABOUT)
EXAMPLE = '{"context": "Using the numbers [3 5], make 8.", "numbers": [3, 5], "target": "8"}'
TARGET = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?(e[+-]?[0-9]{1,2})?")
MOST_NUMBERS, LARGEST = 100, 10**12


class BadProblems(BadData):
    """A file of problems that cannot be used. The message says which item and what an item must be."""


@dataclass(frozen=True)
class Problem:
    """What is asked, the numbers to use, the target, the target as it was written, and the problem's categories."""

    prompt: str
    numbers: tuple[int, ...]
    target: Fraction
    written: str
    categories: tuple[str, ...] = field(default=(), compare=False)


def read_split(options: CountdownOptions) -> tuple[list[Problem], list[Problem]]:
    """(training, held out); empty where the options name no file. One file for both is split as published.

    Raises BadProblems.
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
    """Every problem of the file, in its order. Raises BadProblems; a file without problems is one, too."""
    items = _items(path)
    if not items:
        raise BadProblems(f"{path} holds no problems; an item is {EXAMPLE}")
    seen: dict[Problem, int] = {}
    for number, item in enumerate(items):
        problem = _problem(item, f"{path}, item {number}")
        if problem in seen:
            raise BadProblems(f"{path}, item {number}: repeats item {seen[problem]}; leave one of them out")
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


def _problem(item: Any, place: str) -> Problem:
    known = (*REQUIRED, *OPTIONAL)
    if not isinstance(item, Mapping):
        raise BadProblems(f"{place}: must be an object with the keys {', '.join(REQUIRED)}, such as {EXAMPLE}")
    if unknown := sorted(item.keys() - set(known)):
        raise BadProblems(f"{place}: {unknown[0]!r} is not a known key; the keys are {', '.join(known)}")
    target = item.get("target")
    written = str(target) if isinstance(target, int | float) and not isinstance(target, bool) else target
    context, numbers = item.get("context"), item.get("numbers")
    if not isinstance(context, str) or not context.strip():
        raise BadProblems(f"{place}: context must be the text that is asked, and is {_seen(context)}")
    if not isinstance(numbers, list) or not 0 < len(numbers) <= MOST_NUMBERS or not all(map(_is_number, numbers)):
        raise BadProblems(
            f"{place}: numbers must be a list of 1 to {MOST_NUMBERS} whole numbers from 0 to {LARGEST}, "
            f"such as [44, 19, 35], and is {_seen(numbers)}"
        )
    if not isinstance(written, str) or not TARGET.fullmatch(written):
        raise BadProblems(f'{place}: target must be a number such as "98" or "-15.72", and is {_seen(target)}')
    if wrong := category_problem(item, ABOUT):
        raise BadProblems(f"{place}: {wrong}")
    return Problem(context, tuple(numbers), Fraction(written), written, categories_of(item))


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST


def _seen(value: Any) -> str:
    return "missing" if value is None else repr(value)[:80]
