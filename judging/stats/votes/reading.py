"""Read files of judgments into Judgments and Problems: JSON lines, or one JSON list as arenas publish them."""

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
    """A row that cannot be read, and why: `judgments.jsonl, line 7: has neither scores nor winner`."""

    place: str
    why: str

    def __str__(self) -> str:
        return f"{self.place}: {self.why}"


@dataclass(frozen=True)
class Duplicate:
    """A row that is equal to an earlier row of its file, and does not count as another judgment."""

    place: str
    earlier: str

    def __str__(self) -> str:
        return f"{self.place}: is the same as {self.earlier}"


@dataclass(frozen=True)
class Judged:
    """Contents of judgment files, in the files' order.

    `without_prompt`: number of judgments that name no prompt. Each counts as a prompt of its own, with a name made from
    what was judged (`judging.stats.votes.prompt_ids`).
    """

    judgments: tuple[Judgment, ...]
    problems: tuple[Problem, ...]
    without_prompt: int
    duplicates: tuple[Duplicate, ...] = ()


def read(text: str, name: str) -> Judged:
    """Read the judgments of one file's text. A row that is not a judgment becomes a problem; the others still count."""
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
    """Yield (place, Judgment, Problem or Duplicate) for each (place, parsed row or Problem) of one file, one by one.

    A row that names its prompt and is equal to an earlier row is a duplicate. Rows that name no prompt may be equal:
    each is a vote on a prompt of its own.
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
    """Combine several files into one, in their order."""
    return Judged(
        tuple(one for file in files for one in file.judgments),
        tuple(one for file in files for one in file.problems),
        sum(file.without_prompt for file in files),
        tuple(one for file in files for one in file.duplicates),
    )


def listed(text: str, name: str) -> Iterator[tuple[str, Any]]:
    """Yield (place, row) for each entry of one JSON list, for `each`."""
    found = parsed(text, name)
    rows = found if isinstance(found, list) else [found]
    yield from ((f"{name}, entry {number}", row) for number, row in enumerate(rows, 1))


def is_one_document(text: bytes) -> bool:
    """Return whether the text begins as a list, or as an object over several lines.

    Return False for JSON lines, even if a line is cut.
    """
    return text.startswith(b"[") or re.match(rb'\{\s*\n\s*["}]', text) is not None


def parsed(text: str, place: str) -> Any:
    """Parse a text as JSON. Return a Problem with the reason if it is not JSON."""
    try:
        return loads(text)
    except ValueError as error:
        return Problem(place, f"is not JSON: {error}")


def _rows(text: str, name: str) -> Iterator[tuple[str, Any]]:
    """Yield (place, parsed row or Problem) for each row that is not blank."""
    text = text.lstrip("\ufeff")
    if is_one_document(text.lstrip().encode(errors="replace")):
        yield from listed(text, name)
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            place = f"{name}, line {number}"
            yield place, parsed(line, place)
