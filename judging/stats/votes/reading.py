"""Files of judgments -> Judgments and problems: JSON lines, or one JSON list as arenas publish them."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any

from judging.stats.votes.judgments import Judgment
from judging.stats.votes.prompt_ids import alone, is_alone
from judging.stats.votes.rows import judgment
from workers.config.shallow_json import loads

OF_GAMES = ("model_1", "model_2", "g1_winner", "g2_winner")
SIDES = {"model_1": "model_a", "model_2": "model_b"}
TURNED = {"model_1": "model_b", "model_2": "model_a"}
DIGEST_BYTES = 16


def games(row: Any) -> tuple[Any, ...]:
    """Return the row itself, or the two rows that it combines, each with the model shown first as its model_a.

    MT-bench asks its judge about a pair in both orders and writes one row with the fields model_1, model_2, g1_winner,
    g2_winner (each one of model_1, model_2, tie, error), judge, question_id and turn. In the first game model_1 was
    shown first, in the second model_2. A winner names a model, not a side.
    """
    if not isinstance(row, Mapping) or not all(name in row for name in OF_GAMES):
        return (row,)
    rest = {name: value for name, value in row.items() if name not in OF_GAMES}
    one, other = row["model_1"], row["model_2"]
    return (
        {**rest, "model_a": one, "model_b": other, "winner": _said(row["g1_winner"], SIDES)},
        {**rest, "model_a": other, "model_b": one, "winner": _said(row["g2_winner"], TURNED)},
    )


def _said(winner: Any, sides: Mapping[str, str]) -> Any:
    return sides.get(winner, winner) if isinstance(winner, str) else winner


@dataclass(frozen=True)
class Problem:
    """A row that was not understood, and why: `judgments.jsonl, line 7: has neither scores nor winner`."""

    place: str
    why: str

    def __str__(self) -> str:
        return f"{self.place}: {self.why}"


@dataclass(frozen=True)
class Duplicate:
    """A row that says all that an earlier row of its file says, and nothing else: it is no judgment more."""

    place: str
    earlier: str

    def __str__(self) -> str:
        return f"{self.place}: is the same as {self.earlier}"


@dataclass(frozen=True)
class Judged:
    """What files held, in their order. `without_prompt`: judgments that name no prompt; each counts as its own, which
    is known again by what was judged (`judging.stats.votes.prompt_ids`)."""

    judgments: tuple[Judgment, ...]
    problems: tuple[Problem, ...]
    without_prompt: int
    duplicates: tuple[Duplicate, ...] = ()


def read(text: str, name: str) -> Judged:
    """The judgments of one file's text; every row that is none is a problem, and the others are kept."""
    judgments, problems, duplicates = list[Judgment](), list[Problem](), list[Duplicate]()
    for _, one in each(_rows(text, name)):
        if isinstance(one, Problem):
            problems.append(one)
        elif isinstance(one, Duplicate):
            duplicates.append(one)
        else:
            judgments.append(one)
    without_prompt = sum(is_alone(one.prompt) for one in judgments)
    return Judged(tuple(judgments), tuple(problems), without_prompt, tuple(duplicates))


def each(rows: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Judgment | Problem | Duplicate]]:
    """(place, what its row says) of (place, parsed row or why it cannot be parsed) of one file, one by one.

    A row that names its prompt and repeats an earlier one in all that it says is a duplicate. Rows that name none may
    be alike: each is a vote on a prompt of its own.
    """
    before: Counter[bytes] = Counter()
    seen: dict[bytes, str] = {}
    for place, row in rows:
        for game in games(row):
            try:
                one = game if isinstance(game, Problem) else judgment(game, partial(alone, game, before))
            except ValueError as error:
                one = Problem(place, str(error))
            if isinstance(one, Judgment) and not is_alone(one.prompt):
                earlier = seen.setdefault(_digest(game), place)
                yield place, one if earlier is place else Duplicate(place, earlier)
            else:
                yield place, one


def _digest(row: Any) -> bytes:
    return sha256(json.dumps(row, sort_keys=True).encode()).digest()[:DIGEST_BYTES]


def together(files: list[Judged]) -> Judged:
    """Several files as one, in their order."""
    return Judged(
        tuple(one for file in files for one in file.judgments),
        tuple(one for file in files for one in file.problems),
        sum(file.without_prompt for file in files),
        tuple(one for file in files for one in file.duplicates),
    )


def listed(text: str, name: str) -> Iterator[tuple[str, Any]]:
    """(place, row) of each entry of one JSON list, for `each`."""
    found = parsed(text, name)
    rows = found if isinstance(found, list) else [found]
    yield from ((f"{name}, entry {number}", row) for number, row in enumerate(rows, 1))


def is_one_document(text: bytes) -> bool:
    """True for what begins as a list, or as an object over several lines; false for JSON lines, though one be cut."""
    return text.startswith(b"[") or re.match(rb'\{\s*\n\s*["}]', text) is not None


def parsed(text: str, place: str) -> Any:
    """What a text says as JSON, or why it is none."""
    try:
        return loads(text)
    except ValueError as error:
        return Problem(place, f"is not JSON: {error}")


def _rows(text: str, name: str) -> Iterator[tuple[str, Any]]:
    """(place, parsed row or why it cannot be parsed) of each row that is not blank."""
    text = text.lstrip("\ufeff")
    if is_one_document(text.lstrip().encode(errors="replace")):
        yield from listed(text, name)
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            place = f"{name}, line {number}"
            yield place, parsed(line, place)
