"""The line people type above a table of runs: `state:failed es.sigma>0.01 kl<1 seed:1..3 name~concise -tag:old word`.

Terms are parted by spaces and all of them must hold. `:` takes alternatives parted by commas, and ranges; `-` before a
term means that it must not hold; a bare word must stand in the name. Here is only how it is written: what a key means,
`columns` says. No database.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext

from runs.compare.run_table.columns import Column, Kind

OPERATORS = (":", "!=", "<", "<=", ">", ">=", "~")
LONGEST = 2000
MOST_TERMS = 50
PIECE = re.compile(r'(?:[^\s"]|"(?:[^"\\]|\\.)*")+')
KEYED = re.compile(r'(?P<key>[^:=!<>~"]*)(?P<operator>!=|<=|>=|[:=<>~])(?P<value>.*)', re.DOTALL)
VALUE = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*")*')
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
NEEDS_QUOTES = re.compile(r'[\s",\\]|\.\.|^$')


@dataclass(frozen=True)
class Range:
    """From one value to another, both included; an empty end is open."""

    low: str
    high: str


@dataclass(frozen=True)
class Term:
    """One condition. Without a key it is a word of the name. `at` and `end` are where it stands in the line."""

    key: str
    operator: str
    values: tuple[str | Range, ...]
    negated: bool = False
    at: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Problem:
    """What is wrong with the line between two places, and what would be right."""

    at: int
    end: int
    message: str


class QueryError(ValueError):
    """A line that means nothing. Carries every problem, in the order of the line."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(" ".join(f"At {p.at + 1}: {p.message}" for p in problems))
        self.problems = problems


def parse(line: str) -> list[Term]:
    """The terms of a line. Raises QueryError."""
    if len(line) > LONGEST:
        raise QueryError(
            [Problem(LONGEST, len(line), gettext("A query has at most %(n)s characters.") % {"n": LONGEST})]
        )
    if (nul := line.find("\x00")) >= 0:
        raise QueryError([Problem(nul, nul + 1, gettext("A query cannot hold the character NUL."))])
    read = list(_read(line))
    problems = [found for found in read if isinstance(found, Problem)]
    terms = [found for found in read if isinstance(found, Term)]
    if len(terms) > MOST_TERMS:
        extra = terms[MOST_TERMS]
        problems.append(Problem(extra.at, len(line), gettext("A query has at most %(n)s terms.") % {"n": MOST_TERMS}))
    if problems:
        raise QueryError(problems)
    return terms


def written(key: str, operator: str, *values: str) -> str:
    """A term as it is typed, with quotes where it needs them. A value such as 1..3 is meant as a range."""
    return f"{key}{operator}{','.join(quoted(value) for value in values)}"


def quoted(value: str) -> str:
    """A value with quotes around it, where it would mean something else without."""
    if not NEEDS_QUOTES.search(value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def without(line: str, term: Term) -> str:
    """The line with a term taken out."""
    return f"{line[: term.at].rstrip()} {line[term.end :].lstrip()}".strip()


def _read(line: str) -> Iterator[Term | Problem]:
    at = 0
    while at < len(line):
        if line[at].isspace():
            at += 1
            continue
        piece = PIECE.match(line, at)
        if piece is None or line[piece.end() : piece.end() + 1] == '"':
            at = piece.end() if piece else at
            yield Problem(at, len(line), gettext('This quotation mark is never closed: end the text with ".'))
            return
        yield _term(piece.group(), at)
        at = piece.end()


def _term(piece: str, at: int) -> Term | Problem:
    negated, end = piece.startswith("-") and len(piece) > 1, at + len(piece)
    keyed = KEYED.fullmatch(piece[negated:])
    if keyed is None:
        return Term("", "~", (_unquoted(piece[negated:]),), negated, at, end)
    key, operator, value = keyed.group("key", "operator", "value")
    if not key:
        said = gettext("A key must stand before %(operator)s, as in kl<1 or state:failed.")
        return Problem(at, end, said % {"operator": operator})
    if not value:
        said = gettext("A value must follow %(begun)s, as in %(begun)s1.")
        return Problem(at, end, said % {"begun": f"{key}{operator}"})
    if operator == "!=":
        operator, negated = ":", not negated
    return Term(key, ":" if operator == "=" else operator, tuple(_values(operator, value)), negated, at, end)


def _values(operator: str, value: str) -> Iterator[str | Range]:
    if operator not in (":", "="):
        yield _unquoted(value)
        return
    at = 0
    while at <= len(value):
        one = VALUE.match(value, at)
        text = one.group() if one else ""
        yield _one_value(text)
        at += len(text) + 1


def _one_value(text: str) -> str | Range:
    if '"' not in text and ".." in text:
        low, _, high = text.partition("..")
        return Range(low, high)
    return _unquoted(text)


def _unquoted(text: str) -> str:
    return QUOTED.sub(lambda m: re.sub(r"\\(.)", r"\1", m.group(1), flags=re.DOTALL), text)


def exactly(column: Column, value: Any) -> str:
    """The term that holds for runs with this value in the column, as `grouped` gives it."""
    if value is None:
        return f"{column.key}:none"
    if isinstance(value, bool | dict | list) or (column.kind is Kind.CONFIG and not isinstance(value, str)):
        value = json.dumps(value)
    return written(column.key, ":", str(value))
