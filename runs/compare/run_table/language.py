"""Query language of run tables, such as `state:failed es.sigma>0.01 kl<1 seed:1..3 name~concise -tag:old word`.

Terms are separated by spaces and all of them must hold. `:` takes alternatives separated by commas, and ranges. `-`
before a term negates it. A bare word must occur in the name. This module holds only the syntax; `columns` defines the
keys. No database.
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
MAX_LINE_LENGTH = 2000
MAX_TERMS = 50
PIECE = re.compile(r'(?:[^\s"]|"(?:[^"\\]|\\.)*")+')
KEYED = re.compile(r'(?P<key>[^:=!<>~"]*)(?P<operator>!=|<=|>=|[:=<>~])(?P<value>.*)', re.DOTALL)
VALUE = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*")*')
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"', re.DOTALL)
NEEDS_QUOTES = re.compile(r'[\s",\\]|\.\.|^$')


@dataclass(frozen=True)
class Range:
    """A range from one value to another, both included; an empty end is open."""

    low: str
    high: str


@dataclass(frozen=True)
class Term:
    """A condition. Without a key it is a word of the name. `at` and `end` are its position in the line."""

    key: str
    operator: str
    values: tuple[str | Range, ...]
    negated: bool = False
    at: int = field(default=0, compare=False)
    end: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Problem:
    """A problem of the line between two positions, with a message that names the valid form."""

    at: int
    end: int
    message: str


class QueryError(ValueError):
    """An invalid line. It carries every problem, in the order of the line."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(" ".join(f"At {p.at + 1}: {p.message}" for p in problems))
        self.problems = problems


def parse(line: str) -> list[Term]:
    """Return the terms of a line. Raise QueryError."""
    if len(line) > MAX_LINE_LENGTH:
        raise QueryError(
            [
                Problem(
                    MAX_LINE_LENGTH,
                    len(line),
                    gettext("A query has at most %(n)s characters.") % {"n": MAX_LINE_LENGTH},
                )
            ]
        )
    if (nul := line.find("\x00")) >= 0:
        raise QueryError([Problem(nul, nul + 1, gettext("A query cannot contain the character NUL."))])
    parts = list(_read(line))
    problems = [part for part in parts if isinstance(part, Problem)]
    terms = [part for part in parts if isinstance(part, Term)]
    if len(terms) > MAX_TERMS:
        extra = terms[MAX_TERMS]
        problems.append(Problem(extra.at, len(line), gettext("A query has at most %(n)s terms.") % {"n": MAX_TERMS}))
    if problems:
        raise QueryError(problems)
    return terms


def format_term(key: str, operator: str, *values: str) -> str:
    """Format a term as a user types it, with quotes if needed. A value such as 1..3 denotes a range."""
    return f"{key}{operator}{','.join(quote(value) for value in values)}"


def quote(value: str) -> str:
    """Return the value, with quotes around it if it would mean something else without them."""
    if not NEEDS_QUOTES.search(value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def remove_term(line: str, term: Term) -> str:
    """Return the line without a term."""
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
            yield Problem(at, len(line), gettext('This quotation mark is not closed: end the text with ".'))
            return
        yield _term(piece.group(), at)
        at = piece.end()


def _term(piece: str, at: int) -> Term | Problem:
    negated, end = piece.startswith("-") and len(piece) > 1, at + len(piece)
    match = KEYED.fullmatch(piece[negated:])
    if match is None:
        return Term("", "~", (_unquoted(piece[negated:]),), negated, at, end)
    key, operator, value = match.group("key", "operator", "value")
    if not key:
        message = gettext("A key must precede %(operator)s, as in kl<1 or state:failed.")
        return Problem(at, end, message % {"operator": operator})
    if not value:
        message = gettext("A value must follow %(begun)s, as in %(begun)s1.")
        return Problem(at, end, message % {"begun": f"{key}{operator}"})
    if operator == "!=":
        operator, negated = ":", not negated
    return Term(key, ":" if operator == "=" else operator, tuple(_values(operator, value)), negated, at, end)


def _values(operator: str, value: str) -> Iterator[str | Range]:
    if operator not in (":", "="):
        yield _unquoted(value)
        return
    at = 0
    while at <= len(value):
        match = VALUE.match(value, at)
        text = match.group() if match else ""
        yield _one_value(text)
        at += len(text) + 1


def _one_value(text: str) -> str | Range:
    if '"' not in text and ".." in text:
        low, _, high = text.partition("..")
        return Range(low, high)
    return _unquoted(text)


def _unquoted(text: str) -> str:
    return QUOTED.sub(lambda m: re.sub(r"\\(.)", r"\1", m.group(1), flags=re.DOTALL), text)


def equality_term(column: Column, value: Any) -> str:
    """Return the term that selects runs with this value in the column, as `group_runs` gives it."""
    if value is None:
        return f"{column.key}:none"
    if isinstance(value, bool | dict | list) or (column.kind is Kind.CONFIG and not isinstance(value, str)):
        value = json.dumps(value)
    return format_term(column.key, ":", str(value))
