"""Read the iterations of an ES log: `Iteration 1/1000, Time: 30.48s, Mean: -289.98, …` and `[Eval] Iteration 50: …`."""

from __future__ import annotations

from collections.abc import Iterator

from runs.importing import vocabulary
from runs.importing.decimal_signs import TWO_WAYS, is_ambiguous
from runs.importing.numbers import count_decimals, parse_number
from runs.importing.readers.log_lines import Row, continues_row, parse_row
from runs.importing.readers.log_run import dead_iteration
from runs.importing.readers.log_runs import ES, JOB, LogRuns
from runs.importing.records import Entry, ImportReport
from runs.importing.text import Line

MIN_PAIRS = 3
"""Minimum numbers in a last line without a line end that is accepted; all must have the same number of decimals."""


class IterationLines:
    """Reader of iterations. One that was wrapped after a comma or a colon continues in the next line."""

    def __init__(self, runs: LogRuns, has_decimal_commas: bool, report: ImportReport) -> None:
        self._runs, self._report = runs, report
        self._has_decimal_commas = has_decimal_commas
        self._joined: Line | None = None
        self.has_taken = False
        """True if the line that was read last belongs to an iteration."""

    @property
    def is_wrapped(self) -> bool:
        return self._joined is not None

    def read(self, line: Line) -> Iterator[Entry]:
        """Yield the iteration of a line, and the one before it if it does not continue in this line."""
        if self._joined is not None and not continues_row(self._joined.text, line.text):
            yield from self.end()
        before, self._joined = self._joined, None
        whole = line if before is None else Line(before.number, f"{before.text} {line.text.strip()}", line.is_whole)
        row = parse_row(whole.text)
        self.has_taken = row is not None
        if row is None:
            return
        if whole.text.rstrip().endswith((",", ":")) and line.is_whole:
            self._joined = Line(whole.number, whole.text.rstrip())
        else:
            yield from self._iteration(whole, row)

    def end(self) -> Iterator[Entry]:
        """Yield an iteration that ended with a comma or a colon and did not continue in the next line."""
        line, self._joined = self._joined, None
        if line is not None and (row := parse_row(line.text)) is not None:
            yield from self._iteration(line, row)

    def _iteration(self, line: Line, row: Row) -> Iterator[Entry]:
        if doubt := self._doubt(line, row):
            self._report.add_line_remark(line.number, doubt)
            return
        if row == self._runs.current.last_row:
            # Every process of a training may print the same row.
            return
        values = self._values(line, row)
        if row.is_held_out:
            run = self._runs.current
            run.run.kind = ES if run.run.kind == JOB else run.run.kind
            yield self._runs.point(row.step, values, run.axes(row.step))
            return
        yield from self._runs.go_to_step(row.step, row.total, ES)
        run = self._runs.current
        run.last_row = row
        run.seconds += max(values.get("time/step_seconds", 0.0), 0.0)
        yield self._runs.point(row.step, values | dead_iteration(values), run.axes(row.step))

    def _values(self, line: Line, row: Row) -> dict[str, float]:
        """Return the numbers of an iteration by our names. What is no number, or ambiguous, goes into the report."""
        for label, text in row.unreadable:
            self._report.refuse_cell(line.number, label, text)
        ambiguous = [pair for pair in row.pairs if self._has_decimal_commas and is_ambiguous(pair[1])]
        for label, text in ambiguous:
            self._report.refuse_cell(line.number, label, text, TWO_WAYS)
        pairs = [pair for pair in row.pairs if pair not in ambiguous]
        to_key = vocabulary.es_held_out_key if row.is_held_out else vocabulary.es_key
        return {to_key(label): value for label, text in pairs if (value := parse_number(text)) is not None}

    def _doubt(self, line: Line, row: Row) -> str:
        """Return why an iteration is not accepted; an empty text if it is."""
        if line.is_whole:
            return "" if row.pairs else f"iteration {row.step} has no readable number"
        last = None if row.is_held_out else self._runs.current.last_row
        digits = [count_decimals(value) for _, value in (*row.pairs, *(last.pairs[-1:] if last else ()))]
        same = last is None or [label for label, _ in row.pairs] == [label for label, _ in last.pairs]
        is_cut = not same or len(row.pairs) < MIN_PAIRS or len(set(digits)) > 1
        return f"iteration {row.step} is cut off: omitted" if is_cut else ""
