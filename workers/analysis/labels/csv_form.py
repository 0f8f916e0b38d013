"""The form of labels as CSV: one line per label, the columns of COLUMNS, in UTF-8.

Texts are exact: a text that a spreadsheet would run as a formula is written with an apostrophe, which reading removes.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from workers.analysis.labels.verdicts import KINDS, VERDICTS, Label
from workers.csv_cells import csv_lines, exact, original

COLUMNS = (
    "run", "step", "split", "prompt", "sample", "question", "response", "reader", "verdict", "kinds", "note",
    "codebook", "labelled_at",
)  # fmt: skip
REQUIRED = ("question", "response", "reader", "verdict")
MAX_CELL_LENGTH = 100_000
"""Characters of a cell at most."""
MAX_READER_LENGTH = 150
MAX_CODEBOOK = 9999
MAX_LISTED = 10
BOM, MARK = "\ufeff", "\ufdd0"


@dataclass(frozen=True)
class LineProblem:
    """A line that is not a label. line: as an editor counts, from 1."""

    line: int
    message: str

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}"


@dataclass(frozen=True)
class LabelLine:
    """A label with the line on which it begins."""

    line: int
    label: Label


class InvalidLabels(ValueError):
    """Error for a file that is no CSV of labels; the message names its first invalid lines."""

    def __init__(self, problems: list[LineProblem]) -> None:
        more = f"; and {len(problems) - MAX_LISTED} more" if len(problems) > MAX_LISTED else ""
        super().__init__("; ".join(map(str, problems[:MAX_LISTED])) + more)
        self.problems = problems


def read_labels(path: str | Path) -> list[Label]:
    """Return the labels of a file in its order. Raise InvalidLabels if a line is invalid, OSError if it cannot be
    read."""
    text = Path(path).read_bytes().decode("utf-8", errors="replace")
    entries = list(parse_labels(io.StringIO(text, newline="\n")))
    if problems := [entry for entry in entries if isinstance(entry, LineProblem)]:
        raise InvalidLabels(problems)
    return [entry.label for entry in entries if isinstance(entry, LabelLine)]


def label_lines(labels: Iterable[Label]) -> Iterator[str]:
    """Yield the heading and each label as a line of CSV."""
    yield from csv_lines([COLUMNS])
    yield from csv_lines(map(_cells, labels))


def parse_labels(lines: Iterable[str]) -> Iterator[LabelLine | LineProblem]:
    """Yield the label of each line, or its problem. `lines` end with LF or CR LF, such as a file that was opened with
    newline=LF.

    Columns may be in any order; those that are unknown are ignored. If a required column is missing, or a line is no
    CSV, nothing follows its problem.
    """
    reader = csv.reader(map(_hide_returns, lines))
    line = 1
    try:
        columns = [name.removeprefix(BOM).strip().lower() for name in next(reader, [])]
        if problem := _heading_problem(columns):
            yield LineProblem(1, problem)
            return
        line = reader.line_num + 1
        for cells in reader:
            if cells:
                yield _parse_line(line, columns, cells)
            line = reader.line_num + 1
    except csv.Error as error:
        yield LineProblem(line, f"is not CSV: {error}; the rest is not read")


def _hide_returns(line: str) -> str:
    """Return the line with each CR within it as a mark: writers that end lines with LF do not quote it, and readers of
    CSV would end the line there."""
    end = "\r\n" if line.endswith("\r\n") else ""
    return line.removesuffix(end).replace(MARK, MARK + "0").replace("\r", MARK + "1") + end


def _restore_returns(cell: str) -> str:
    return cell.replace(MARK + "1", "\r").replace(MARK + "0", MARK)


def _heading_problem(columns: list[str]) -> str:
    missing = [name for name in REQUIRED if name not in columns]
    if missing:
        return f"the heading lacks {', '.join(missing)}; the columns of labels are {', '.join(COLUMNS)}"
    repeated = sorted({name for name in columns if name in COLUMNS and columns.count(name) > 1})
    return f"the heading repeats {', '.join(repeated)}" if repeated else ""


def _parse_line(line: int, columns: list[str], cells: list[str]) -> LabelLine | LineProblem:
    if len(cells) != len(columns):
        return LineProblem(line, f"has {len(cells)} cells; the heading has {len(columns)}")
    row = {name: original(_restore_returns(cell)) for name, cell in zip(columns, cells, strict=True)}
    long = [name for name, cell in row.items() if len(cell) > MAX_CELL_LENGTH]
    if long:
        return LineProblem(line, f"{long[0]} has more than {MAX_CELL_LENGTH} characters")
    if any("\0" in cell for cell in cells):
        return LineProblem(line, "contains a character NUL, which cannot be stored")
    try:
        return LabelLine(line, _label(row))
    except ValueError as error:
        return LineProblem(line, str(error))


def _label(row: Mapping[str, str]) -> Label:
    """Return the label. Raise ValueError that names the valid choices."""
    reader = row["reader"].strip()
    if not 0 < len(reader) <= MAX_READER_LENGTH:
        raise ValueError(f"reader must be a name of 1 to {MAX_READER_LENGTH} characters")
    kinds = row.get("kinds", "").replace(",", " ").replace(";", " ").split()
    codebook = _number("codebook", row.get("codebook", ""))
    if codebook is not None and not 1 <= codebook <= MAX_CODEBOOK:
        raise ValueError(f"codebook must be a version from 1 to {MAX_CODEBOOK}, not {codebook}")
    return Label(
        row["question"], row["response"], reader, _choice("verdict", row["verdict"].strip().lower(), VERDICTS),
        frozenset(_choice("kinds", kind.lower(), KINDS) for kind in kinds), row.get("note", ""),
        1 if codebook is None else codebook, _time(row.get("labelled_at", "").strip()), row.get("run", "").strip(),
        _number("step", row.get("step", "")), row.get("split", "").strip(), row.get("prompt", ""),
        _number("sample", row.get("sample", "")),
    )  # fmt: skip


def _choice(column: str, value: str, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise ValueError(f"{column} must be one of {', '.join(choices)}, not {value[:100]!r}")
    return value


def _number(column: str, text: str) -> int | None:
    text = text.strip()
    if not text:
        return None
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise ValueError(f"{column} must be a whole number from 0, or empty, not {text[:100]!r}")
    return int(text)


def _time(text: str) -> datetime | None:
    """Return the time; without a zone it is UTC."""
    if not text:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        message = f"labelled_at must be a time such as 2026-11-29T12:00:00+00:00, or empty, not {text[:100]!r}"
        raise ValueError(message) from None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _cells(label: Label) -> list[object]:
    at = "" if label.labelled_at is None else label.labelled_at.isoformat(timespec="seconds")
    numbers = ["" if number is None else number for number in (label.step, label.sample)]
    texts = label.question, label.response, label.reader, label.verdict, " ".join(label.ordered_kinds), label.note
    return [
        exact(label.run), numbers[0], exact(label.split), exact(label.prompt), numbers[1], *map(exact, texts),
        label.codebook, at,
    ]  # fmt: skip
