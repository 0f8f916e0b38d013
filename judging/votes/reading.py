"""Files of judgments -> Judgments and problems: JSON lines, or one JSON list as arenas publish them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from judging.votes.judgments import Judgment
from judging.votes.rows import judgment


@dataclass(frozen=True)
class Problem:
    """A row that was not understood, and why: `judgments.jsonl, line 7: has neither scores nor winner`."""

    place: str
    why: str

    def __str__(self) -> str:
        return f"{self.place}: {self.why}"


@dataclass(frozen=True)
class Judged:
    """What files held, in their order. `without_prompt`: judgments that name no prompt; each counts as its own."""

    judgments: tuple[Judgment, ...]
    problems: tuple[Problem, ...]
    without_prompt: int


def read(text: str, name: str) -> Judged:
    """The judgments of one file's text; every row that is none is a problem, and the others are kept."""
    judgments, problems, alone = list[Judgment](), list[Problem](), 0
    for place, row in _rows(text, name):
        if isinstance(row, Problem):
            problems.append(row)
            continue
        try:
            judgments.append(judgment(row, alone=place))
        except ValueError as error:
            problems.append(Problem(place, str(error)))
        else:
            alone += judgments[-1].prompt == place
    return Judged(tuple(judgments), tuple(problems), alone)


def together(files: list[Judged]) -> Judged:
    """Several files as one, in their order."""
    return Judged(
        tuple(one for file in files for one in file.judgments),
        tuple(one for file in files for one in file.problems),
        sum(file.without_prompt for file in files),
    )


def _rows(text: str, name: str) -> Iterator[tuple[str, Any]]:
    """(place, parsed row or why it cannot be parsed) of each row that is not blank."""
    if text.lstrip("\ufeff \r\n\t").startswith("["):
        listed = _parsed(text.lstrip("\ufeff"), name)
        rows = [listed] if isinstance(listed, Problem) else listed
        yield from ((f"{name}, entry {number}", row) for number, row in enumerate(rows, 1))
        return
    for number, line in enumerate(text.lstrip("\ufeff").split("\n"), 1):
        if line.strip():
            place = f"{name}, line {number}"
            yield place, _parsed(line, place)


def _parsed(text: str, place: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        return Problem(place, f"is not JSON: {error}")
