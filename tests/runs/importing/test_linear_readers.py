"""Every reader and every expression of imports takes time linear in its input, whatever the input repeats.

The tables cover a new reader by itself: a kind of source without hostile files fails, and expressions are collected
from the modules.
"""

from __future__ import annotations

import importlib
import io
import pkgutil
import re
from collections.abc import Callable, Iterator

import pytest

from runs import importing
from runs.importing import hyperparameters, numbers, partial_json, source_kinds
from runs.importing.readers import evaluations, log_lines, log_responses, trl_dictionaries
from runs.importing.records import ImportReport
from runs.importing.text import MAX_BLANK_LINES, lines
from tests.cases import each_case
from tests.processor_time import MAX_CALLS, assert_linear, seconds_of
from tests.runs.importing.hostile_files import BINARY, HEADS, JSON_UNITS, TEXT_UNITS, hostile_files, read_all, repeated

SIZE = 3_000
MAX_SECONDS_PER_BYTE = 8e-6
"""Above this, a time is measured at twice the size as well. Honest logs take 0.6e-6, lines of two bytes 4e-6."""
MAX_GROWTH = 2.7
MAX_FILE_SECONDS = 0.25
"""Processor time for any file of SIZE bytes."""


def growth(work: Callable[[int], object], size: int, seconds_per_byte: float = MAX_SECONDS_PER_BYTE) -> float:
    """Return how many times longer the work takes at twice the size, at best; 0 for work that takes little time."""
    if seconds_of(lambda: work(size)) < seconds_per_byte * size:
        return 0.0
    once = twice = float("inf")
    for _ in range(MAX_CALLS):
        once, twice = min(once, seconds_of(lambda: work(size))), min(twice, seconds_of(lambda: work(2 * size)))
        if twice <= MAX_GROWTH * once:
            break
    return twice / once


def expressions() -> Iterator[tuple[str, re.Pattern[str]]]:
    """Yield every compiled expression on text in the modules of imports, by its name."""
    for module in pkgutil.walk_packages(importing.__path__, "runs.importing."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if isinstance(value, re.Pattern) and isinstance(value.pattern, str):
                yield f"{module.name}.{name}", value


BOUNDED = {"runs.importing.readers.log_lines.LABEL_END"}
"""Expressions that are applied to a few characters only: a label of at most MAX_LABEL_LENGTH."""
EXPRESSIONS = {name: expression for name, expression in expressions() if name not in BOUNDED}


def scan(expression: re.Pattern[str], text: str) -> None:
    """Apply an expression in each way in which a reader may."""
    for _ in expression.finditer(text):
        pass
    expression.match(text)
    expression.fullmatch(text)


def beginnings(expression: re.Pattern[str]) -> list[str]:
    """Return texts with which a match begins, as far as they can be derived: its literal words."""
    return ["", *sorted(set(re.findall(r"[A-Za-z]{3,}", expression.pattern)))[:3]]


@each_case("name", EXPRESSIONS)
def test_expression_takes_linear_time(name: str) -> None:
    expression, size = EXPRESSIONS[name], 1_500
    slow = []
    for unit in TEXT_UNITS:
        for head in beginnings(expression):
            ratio = growth(lambda n: scan(expression, f"{head}{repeated(unit, n)})!"), size, 2e-6)  # noqa: B023
            if ratio > MAX_GROWTH:
                slow.append((head, unit, round(ratio, 1)))
    assert slow == []


def test_each_kind_of_source_has_hostile_files() -> None:
    assert HEADS.keys() | BINARY.keys() == set(source_kinds.ORDER)


def test_reader_takes_linear_time() -> None:
    slow = []
    doubled = {(kind, name): data for kind, name, data in hostile_files(2 * SIZE)}
    for kind, name, data in hostile_files(SIZE):
        content = {SIZE: data, 2 * SIZE: doubled[kind, name]}
        seconds = seconds_of(lambda: read_all(data))  # noqa: B023
        ratio = growth(lambda n: read_all(content[n]), SIZE) if seconds > MAX_SECONDS_PER_BYTE * SIZE else 0.0  # noqa: B023
        if ratio > MAX_GROWTH or seconds > MAX_FILE_SECONDS:
            slow.append((kind, name, round(seconds, 2), round(ratio, 1)))
    assert slow == []


@pytest.mark.soak
def test_reader_of_large_hostile_files_takes_linear_time() -> None:
    slow = []
    for kind, name, data in hostile_files(40_000):
        if (seconds := seconds_of(lambda: read_all(data))) > MAX_SECONDS_PER_BYTE * max(len(data), 40_000):  # noqa: B023
            slow.append((kind, name, round(seconds, 2)))
    assert slow == []


def test_empty_lines_cost_nothing_and_are_counted() -> None:
    data = b"a\n" + b"\n" * 3_000_000 + b"\r\n" * 200_000 + b"b\nc"
    read = list(lines(io.BytesIO(data), ImportReport()))
    assert [(line.number, line.text) for line in read if line.text] == [(1, "a"), (3_200_002, "b"), (3_200_003, "c")]
    assert len(read) == 3 + MAX_BLANK_LINES


def test_empty_lines_take_linear_time() -> None:
    assert_linear(lambda data: list(lines(io.BytesIO(data), ImportReport())), lambda n: b"a\n" + b"\n" * n, 1_000_000)


PARSERS: dict[str, Callable[[str], object]] = {
    "canonical name": hyperparameters.canonical_name,
    "value": hyperparameters.value_of,
    "settings in a name": hyperparameters.settings_from_name,
    "number": numbers.parse_number,
    "wrapped number": numbers.unwrap_numbers,
    "JSON": partial_json.parse,
    "row": log_lines.parse_row,
    "continued row": lambda text: log_lines.continues_row("a,", text),
    "dictionary": trl_dictionaries.parse_dictionary,
    "unreadable values": lambda text: trl_dictionaries.unreadable_values(f"{{'loss': 1, {text}}}"),
    "settings": log_lines.find_settings,
    "records": log_lines.split_records,
    "answer": lambda text: log_responses.answer(1, "eval", text, text[: len(text) // 2] + "b", 0, text, 0.0),
}


@each_case("name", PARSERS)
def test_parser_takes_linear_time(name: str) -> None:
    parse, size = PARSERS[name], 4_000
    units = (*TEXT_UNITS, *JSON_UNITS)
    slow = {}
    for unit in units:
        ratio = growth(lambda n: parse(repeated(unit, n)), size, 4e-6)  # noqa: B023
        if ratio > MAX_GROWTH:
            slow[unit] = round(ratio, 1)
    assert slow == {}


def test_open_brackets_before_commas_take_linear_time() -> None:
    """Closing all brackets at each comma would take 10^10 steps for 100 000 of both."""
    assert_linear(partial_json.parse, lambda n: "[" * n + "1," * n, 20_000)


def test_long_target_is_sought_in_linear_time() -> None:
    """Comparing 100 000 characters at each of 200 000 positions would take 10^10 steps."""
    text = "-" * 200_000
    response = log_responses.answer(1, "eval", "", "-" * 100_000 + "b", 0, text, 0.0)
    assert response.parts == {"right": 0.0, "exact": 0.0, "contains": 0.0}
    assert_linear(
        lambda n: log_responses.answer(1, "eval", "", "-" * (n // 2) + "b", 0, "-" * n, 0.0), lambda n: n, 100_000
    )


def test_seeds_of_an_evaluation_take_linear_time() -> None:
    def read(count: int) -> None:
        document = {"seed_results": {str(seed): {"a": 1} for seed in range(count)}}
        assert sum(1 for _ in evaluations.entries(document, "a", ImportReport())) == count

    assert growth(read, 1_000) <= MAX_GROWTH
