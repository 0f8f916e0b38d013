"""The form of labels as CSV: every text survives, and each problem names its line and the valid choices."""

from __future__ import annotations

import csv
import io
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workers.analysis.labels import (
    COLUMNS,
    KINDS,
    VERDICTS,
    InvalidLabels,
    Label,
    LabelLine,
    LineProblem,
    label_lines,
    parse_labels,
    read_labels,
)

AT = datetime(2026, 11, 29, 12, 30, tzinfo=UTC)
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20) | st.sampled_from(
    ["=1+1", "'=1", "''@x", "-3", "'-3", "a,b", 'say "hi"', "a\r\nb", "a\rb", "\n", "<|im_end|>", "", " "]
)


def parse(text: str) -> list[LabelLine | LineProblem]:
    return list(parse_labels(io.StringIO(text, newline="\n")))


def parse_row(**cells: str) -> str:
    """Return the problem of a line with these cells, "" if it is a label."""
    row = {"question": "q", "response": "r", "reader": "ann", "verdict": "right"} | cells
    out = io.StringIO()
    csv.writer(out).writerows([row.keys(), row.values()])
    (entry,) = parse(out.getvalue())
    return str(entry) if isinstance(entry, LineProblem) else ""


@settings(max_examples=60)
@given(TEXTS, TEXTS, TEXTS)
def test_label_survives_writing_and_reading(question: str, response: str, note: str) -> None:
    kinds = frozenset({"echo", "gibberish"})
    label = Label(question, response, "ann", "wrong", kinds, note, 2, AT, "run 1", 5, "eval", "p=1", 0)
    (entry,) = parse("".join(label_lines([label])))
    assert isinstance(entry, LabelLine)
    assert (entry.line, entry.label) == (2, label)


def test_written_file_has_the_columns_in_order_and_no_formula() -> None:
    lines = list(label_lines([Label("=cmd()", "r", "ann", "wrong", frozenset({"template", "echo"}))]))
    assert lines[0].strip().split(",") == list(COLUMNS)
    assert lines[1].strip() == ",,,,,'=cmd(),r,ann,wrong,echo template,,1,"


def test_file_in_any_order_of_columns_is_read(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("﻿Verdict,reader,response,extra,question\nRight,ann,4,x,2+2?\n", encoding="utf-8")
    assert read_labels(path) == [Label("2+2?", "4", "ann", "right")]


def test_unquoted_carriage_return_is_text() -> None:
    entries = parse("question,response,reader,verdict\nq,Her\rPOP!\ufdd01,ann,right\nq,r,ann,wrong\n")
    assert [(entry.line, entry.label.response) for entry in entries if isinstance(entry, LabelLine)] == [
        (2, "Her\rPOP!\ufdd01"), (3, "r"),
    ]  # fmt: skip


def test_invalid_line_is_named_with_valid_choices(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text('question,response,reader,verdict,kinds\nq,"two\nlines",ann,right,\nq,r,ann,correct,\n')
    with pytest.raises(InvalidLabels, match="line 4: verdict must be one of right, wrong, unclear, not 'correct'"):
        read_labels(path)


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        ({"verdict": ""}, f"verdict must be one of {', '.join(VERDICTS)}, not ''"),
        ({"kinds": "echo lazy"}, f"kinds must be one of {', '.join(KINDS)}, not 'lazy'"),
        ({"step": "-1"}, "step must be a whole number from 0, or empty, not '-1'"),
        ({"sample": "٣"}, "sample must be a whole number from 0, or empty, not '٣'"),
        ({"codebook": "0"}, "codebook must be a version from 1 to 9999, not 0"),
        ({"labelled_at": "today"}, "labelled_at must be a time such as"),
        ({"reader": " "}, "reader must be a name of 1 to 150 characters"),
        ({"note": "a\0b"}, "contains a character NUL"),
        ({"response": "x" * 100_001}, "response has more than 100000 characters"),
        ({"response": "x" * 140_000}, "is not CSV: field larger than field limit"),
        ({"kinds": "echo;template", "labelled_at": "2026-11-29"}, ""),
    ],
    ids=["verdict", "kinds", "step", "sample", "codebook", "time", "reader", "nul", "long", "too-long", "valid"],
)
def test_line_problem_names_the_choices(cells: dict[str, str], problem: str) -> None:
    assert problem in parse_row(**cells)
    assert bool(parse_row(**cells)) == bool(problem)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "line 1: the heading lacks question, response, reader, verdict; the columns of labels are run, step"),
        ("question,response,reader,verdict,reader\n", "line 1: the heading repeats reader"),
        ("question,response,reader,verdict\na,b\n", "line 2: has 2 cells; the heading has 4"),
    ],
    ids=["empty", "repeated", "short"],
)
def test_file_that_is_no_table_of_labels_is_refused(text: str, problem: str) -> None:
    assert problem in str(parse(text)[0])
