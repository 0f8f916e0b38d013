"""The numbers of a table are read by the table: a decimal comma is read or refused, and never groups thousands."""

from __future__ import annotations

import io
import math

from runs.importing.decimal_signs import OTHER_SIGN, TWO_WAYS
from runs.importing.numbers import parse_number
from runs.importing.readers import tables
from runs.importing.records import ImportReport
from tests.cases import each_case
from tests.runs.importing.published_cases import published_case
from tests.runs.importing.sample_logs import read as read_log
from workers.records import Metric


def read(text: str):
    """Return (numbers by column, refused cells, facts) of a table."""
    report = ImportReport()
    columns: dict[str, list[float]] = {}
    for entry in tables.entries(io.BytesIO(text.encode()), "a.csv", report):
        if isinstance(entry.record, Metric):
            for key, value in entry.record.values.items():
                columns.setdefault(key, []).append(value)
    return columns, [(cell.line, cell.column, cell.text, cell.reason) for cell in report.refused_cells], report.facts


@each_case(
    ("delimiter", "cells", "numbers", "refused"),
    [
        (";", ["0,693", "-12,5", "12,345"], [0.693, -12.5, 12.345], []),
        ("\t", ["0,693", "1,5e-3", "-1,250"], [0.693, 1.5e-3, -1.25], []),
        (";", ["1,250", "2,500", "-1,125"], [1.25, 2.5, -1.125], []),
        ("\t", ["1,250", "2,500", "3"], [3.0], [TWO_WAYS, TWO_WAYS]),
        (";", ["0.693", "12,345", "1"], [0.693, 12345.0, 1.0], []),
        (";", ["1.234,5", "2.000", "1.234.567"], [1234.5, 2000.0, 1234567.0], []),
        (";", ["1,5", "2.000", "3,25"], [1.5, 3.25], [TWO_WAYS]),
        (";", ["1,5", "2.5", "1,250", "2.250"], [2.5, 2.25], [OTHER_SIGN, TWO_WAYS]),
        (",", ['"1,024"', '"2,048"', "3"], [1024.0, 2048.0, 3.0], []),
        (",", ['"1,024"', '"0,693"', '"2,5"'], [1.024, 0.693, 2.5], []),
        (",", ['"1,234.5"', '"2,000"', "0.5"], [1234.5, 2000.0, 0.5], []),
        (",", ['"0,693"', "0.5", "nan"], [0.5, math.nan], [OTHER_SIGN]),
        (";", ["1\u202f234,5", "1\u00a0000", "0,5"], [1234.5, 1000.0, 0.5], []),
        (",", ["1'234.5", "2.25", "1.234"], [1234.5, 2.25, 1.234], []),
        (",", ["1.234", "2.345", "3.456"], [1.234, 2.345, 3.456], []),
    ],
)
def test_column_is_read_by_the_signs_of_its_table(delimiter, cells, numbers, refused):
    rows = "".join(f"{i}{delimiter}{cell}\n" for i, cell in enumerate(cells, 1))
    columns, refusals, facts = read(f"step{delimiter}a\n{rows}")
    assert [str(number) for number in columns["a"]] == [str(number) for number in numbers]
    assert [reason for *_, reason in refusals] == refused
    has_comma = any("," in cell for cell in cells) and any(number not in (1.0, 2.0, 3.0) for number in numbers)
    assert bool(facts) is (has_comma and refused not in ([OTHER_SIGN], [OTHER_SIGN, TWO_WAYS])), facts


def test_columns_without_a_sure_cell_are_read_as_the_others():
    columns, refused, _ = read("step;a;b\n1;1,250;0,5\n2;1,500;0,25\n")
    assert (columns, refused) == ({"a": [1.25, 1.5], "b": [0.5, 0.25]}, [])
    columns, refused, facts = read('step,a,b\n1,"1,250",0.5\n2,"1,500",0.25\n')
    assert (columns["a"], refused, facts) == ([1250.0, 1500.0], [], ["its commas group thousands: 1,250 is 1250"])


def test_columns_of_different_signs_leave_other_columns_open():
    columns, refused, _ = read("step;a;b;c\n1;0,5;0.5;1,250\n2;1,250;1.25;1.250\n")
    assert columns == {"a": [0.5, 1.25], "b": [0.5, 1.25]}
    assert refused == [(2, "c", "1,250", TWO_WAYS), (3, "c", "1.250", TWO_WAYS)]


def test_texts_with_numbers_decide_about_no_column():
    rows = "".join(f"{i};It is 0.5, or so.;1,250\n" for i in range(4))
    columns, refused, _ = read(f"step;answer;a\n{rows}9;0.5;2,500\n")
    assert (columns["a"], refused) == ([1.25] * 4 + [2.5], [])


def test_step_with_a_grouping_point_is_never_a_thousand_times_smaller():
    report = ImportReport()
    entries = list(tables.entries(io.BytesIO(b"step;a\n999;0,5\n1.000;0,25\n"), "a.csv", report))
    assert [entry.record.step for entry in entries if entry.record] == [999, 1000]
    assert report.remarks == []


def test_strings_of_json_lines_are_read_as_cells():
    columns, refused, _ = read('{"step": 1, "a": "0,693", "b": 0.5}\n{"step": 2, "a": "1,250", "b": "0,7"}\n')
    assert columns == {"a": [0.693, 1.25], "b": [0.5]}
    assert refused == [(2, "b", "0,7", OTHER_SIGN)]


@each_case(
    ("text", "number"),
    [("0,693", None), ("-0,693", None), ("12,34", None), ("tensor(0,693)", None), ("1,234", 1234.0), ("0.693", 0.693)],
)
def test_decimal_comma_is_no_number_where_no_table_decides(text, number):
    assert parse_number(text) == number


def test_log_with_decimal_commas_groups_no_thousands():
    rows = [f"Iteration {i}/9, Mean: {mean}, Std: 0.5, Max: 12" for i, mean in enumerate(["-1,250", "0,693", "2.5"], 1)]
    log = read_log("\n".join(rows) + "\n")
    assert log.points("train/reward/mean") == [(0, 3, 2.5)]
    refused = [(cell.line, cell.column, cell.text, cell.reason) for cell in log.report.refused_cells]
    assert refused == [(1, "Mean", "-1,250", TWO_WAYS), (2, "Mean", "0,693", "is not a number")]
    alone = read_log(rows[0] + "\n")
    assert alone.points("train/reward/mean") == [(0, 1, -1250.0)]


def test_published_table_with_decimal_commas():
    columns, refused, _ = read(published_case("decimal-comma/de.csv").read_text())
    assert (columns, refused) == ({"loss": [0.693, 0.512, 0.5, 12.345], "reward": [-1.25, -1.125, -1.2, 0.875]}, [])


@each_case(
    ("text", "number"),
    [("1\u2019234.5", 1234.5), ("12\u2019345", 12345.0), ("\u22120.5", -0.5), ("1'234", 1234.0)],
)
def test_swiss_groups_and_minus_signs_are_read(text, number):
    columns, refused, _ = read(f"step;a\n1;{text}\n2;0.25\n")
    assert (columns["a"], refused) == ([number, 0.25], [])
