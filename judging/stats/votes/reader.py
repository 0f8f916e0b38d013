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
from judging.stats.votes.prompt_ids import is_unnamed_prompt, unnamed_prompt_id
from judging.stats.votes.rows import parse_judgment
from workers.config.shallow_json import loads

GAME_KEYS = ("model_1", "model_2", "g1_winner", "g2_winner")
SIDES = {"model_1": "model_a", "model_2": "model_b"}
TURNED = {"model_1": "model_b", "model_2": "model_a"}
DIGEST_BYTES = 16


def split_games(row: Any) -> tuple[Any, ...]:
    """Return the row itself, or the two rows that it combines, each with the model shown first as its model_a.

    MT-bench shows its judge a pair in both orders and writes one row with the fields model_1, model_2, g1_winner,
    g2_winner (each one of model_1, model_2, tie, error), judge, question_id and turn. In the first game model_1 was
    shown first, in the second model_2. A winner names a model, not a side.
    """
    if not isinstance(row, Mapping) or not all(name in row for name in GAME_KEYS):
        return (row,)
    rest = {name: value for name, value in row.items() if name not in GAME_KEYS}
    first, second = row["model_1"], row["model_2"]
    return (
        {**rest, "model_a": first, "model_b": second, "winner": _side_of(row["g1_winner"], SIDES)},
        {**rest, "model_a": second, "model_b": first, "winner": _side_of(row["g2_winner"], TURNED)},
    )


def _side_of(winner: Any, sides: Mapping[str, str]) -> Any:
    return sides.get(winner, winner) if isinstance(winner, str) else winner


@dataclass(frozen=True)
class Problem:
    """A row that cannot be read, with the reason: `judgments.jsonl, line 7: compares 'ada' with itself`."""

    location: str
    reason: str

    def __str__(self) -> str:
        return f"{self.location}: {self.reason}"


@dataclass(frozen=True)
class Duplicate:
    """A row that is equal to an earlier row of its file, and does not count as another judgment."""

    location: str
    earlier: str

    def __str__(self) -> str:
        return f"{self.location}: is the same as {self.earlier}"


@dataclass(frozen=True)
class JudgmentFiles:
    """Contents of judgment files, in the files' order.

    `without_prompt`: number of judgments that name no prompt. Each counts as a prompt of its own, with a name made from
    what was judged (`judging.stats.votes.prompt_ids`).
    """

    judgments: tuple[Judgment, ...]
    problems: tuple[Problem, ...]
    without_prompt: int
    duplicates: tuple[Duplicate, ...] = ()


def read_judgments(text: str, name: str) -> JudgmentFiles:
    """Read the judgments of one file's text. A row that is not a judgment becomes a problem; the others still count."""
    judgments, problems, duplicates = list[Judgment](), list[Problem](), list[Duplicate]()
    for _, entry in parse_rows(_rows(text, name)):
        if isinstance(entry, Problem):
            problems.append(entry)
        elif isinstance(entry, Duplicate):
            duplicates.append(entry)
        else:
            judgments.append(entry)
    without_prompt = sum(is_unnamed_prompt(judgment.prompt) for judgment in judgments)
    return JudgmentFiles(tuple(judgments), tuple(problems), without_prompt, tuple(duplicates))


def parse_rows(rows: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Judgment | Problem | Duplicate]]:
    """Yield (location, Judgment, Problem or Duplicate) for each (location, parsed row or Problem) of one file.

    A row that names its prompt and is equal to an earlier row is a duplicate. Rows that name no prompt may be equal:
    each is a vote on a prompt of its own.
    """
    before: Counter[bytes] = Counter()
    seen: dict[bytes, str] = {}
    for location, row in rows:
        for game in split_games(row):
            try:
                entry = (
                    game
                    if isinstance(game, Problem)
                    else parse_judgment(game, partial(unnamed_prompt_id, game, before))
                )
            except ValueError as error:
                entry = Problem(location, str(error))
            if isinstance(entry, Judgment) and not is_unnamed_prompt(entry.prompt):
                earlier = seen.setdefault(_digest(game), location)
                yield location, entry if earlier is location else Duplicate(location, earlier)
            else:
                yield location, entry


def _digest(row: Any) -> bytes:
    return sha256(json.dumps(row, sort_keys=True).encode()).digest()[:DIGEST_BYTES]


def merge_files(files: list[JudgmentFiles]) -> JudgmentFiles:
    """Combine several files into one, in their order."""
    return JudgmentFiles(
        tuple(judgment for file in files for judgment in file.judgments),
        tuple(problem for file in files for problem in file.problems),
        sum(file.without_prompt for file in files),
        tuple(duplicate for file in files for duplicate in file.duplicates),
    )


def list_rows(text: str, name: str) -> Iterator[tuple[str, Any]]:
    """Yield (location, row) for each entry of one JSON list, for `parse_rows`."""
    content = parse_json(text, name)
    rows = content if isinstance(content, list) else [content]
    yield from ((f"{name}, entry {number}", row) for number, row in enumerate(rows, 1))


def is_one_document(text: bytes) -> bool:
    """Return whether the text begins as a list, or as an object over several lines.

    Return False for JSON lines, even if a line is cut.
    """
    return text.startswith(b"[") or re.match(rb'\{[^\S\n]*\n\s*["}]', text) is not None


def parse_json(text: str, location: str) -> Any:
    """Parse a text as JSON. Return a Problem with the reason if it is not JSON."""
    try:
        return loads(text)
    except ValueError as error:
        return Problem(location, f"is not JSON: {error}")


def _rows(text: str, name: str) -> Iterator[tuple[str, Any]]:
    """Yield (location, parsed row or Problem) for each row that is not blank."""
    text = text.lstrip("\ufeff")
    if is_one_document(text.lstrip().encode(errors="replace")):
        yield from list_rows(text, name)
        return
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            location = f"{name}, line {number}"
            yield location, parse_json(line, location)
