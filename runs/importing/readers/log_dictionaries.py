"""Read the dictionaries of a log: each gives numbers of the step that it states, or its line, or the progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from runs.importing import vocabulary
from runs.importing.readers.log_lines import parse_row
from runs.importing.readers.log_runs import TRL, LogRuns
from runs.importing.readers.trl_dictionaries import (
    MAX_LENGTH,
    MAX_LINES,
    WrappedDictionary,
    begins_trl,
    find_closing_brace,
    find_dictionary,
    find_step,
    find_step_before,
    parse_dictionary,
    unreadable_values,
)
from runs.importing.records import Entry, ImportReport
from runs.importing.steps import PROGRESS_NAMES, StatedStep
from runs.importing.text import Line


class DictionaryLines:
    """Reader of dictionaries, which may be wrapped. `other` reads what stands beside one in its lines."""

    def __init__(self, runs: LogRuns, report: ImportReport, other: Callable[[Line], Iterator[Entry]]) -> None:
        self._runs, self._report, self._other = runs, report, other
        self._open: WrappedDictionary | None = None

    @property
    def is_open(self) -> bool:
        return self._open is not None

    def takes(self, line: Line) -> bool:
        """Return whether a dictionary is open, or begins in a line."""
        return self.is_open or find_dictionary(line.text) >= 0

    def leave_out_unfinished(self, line: Line) -> None:
        """Leave out the open dictionary if the line cannot be part of it."""
        if self._open is not None and self._ends_dictionary(self._open, line):
            self._leave_out(self._open)

    def end(self) -> None:
        """Report a dictionary that the end of the file cuts off."""
        if self._open is not None:
            self._report.add_line_remark(self._open.opened_at, "the file ends within a dictionary: omitted")

    def read(self, line: Line) -> Iterator[Entry]:
        """Read a dictionary, or the next part of one that was wrapped."""
        at = 0 if self._open is not None else find_dictionary(line.text)
        part, dictionary = line.text[at:], self._open
        if dictionary is None:
            if find_closing_brace(part)[0] < 0 and not begins_trl(part):
                yield from self._other(line)
                return
            dictionary = WrappedDictionary(line.number, find_step_before(line.text[:at]))
            yield from self._other(Line(line.number, line.text[:at])) if at else ()
        self._open, end = dictionary, dictionary.add(part)
        if end >= 0:
            self._open = None
            yield from self._trl(line, dictionary.text, dictionary.before)
            yield from self._other(Line(line.number, part[end + 1 :]))
        elif dictionary.length > MAX_LENGTH:
            self._leave_out(dictionary)

    def _leave_out(self, dictionary: WrappedDictionary) -> None:
        self._report.add_line_remark(dictionary.opened_at, "a dictionary that does not end: omitted")
        self._open = None

    @staticmethod
    def _ends_dictionary(dictionary: WrappedDictionary, line: Line) -> bool:
        """Return whether the line cannot be part of the dictionary before it."""
        is_other = parse_row(line.text) is not None or begins_trl(line.text.lstrip())
        return is_other or len(dictionary.parts) >= MAX_LINES

    def _trl(self, line: Line, text: str, before: StatedStep | None) -> Iterator[Entry]:
        values = parse_dictionary(text)
        if values is None:
            return
        for key, value in unreadable_values(text):
            self._report.refuse_cell(line.number, key, value)
        is_summary = "train_runtime" in values
        stated = find_step(text) or before
        values = {key: value for key, value in values.items() if stated is None or key.lower() not in PROGRESS_NAMES}
        self._runs.current.settle(is_evaluation=all(key.startswith("eval_") or key == "epoch" for key in values))
        step = self._step_of(values, is_summary) if stated is None else stated.step
        total = stated.total if stated is not None else 0
        yield from self._runs.go_to_step(step, total or self._runs.current.total, TRL, goes_back=not is_summary)
        if vocabulary.is_grpo(values):
            self._runs.current.run.method = "grpo"
        self._runs.current.is_finished |= is_summary
        self._runs.current.run.seconds = values.get("train_runtime", self._runs.current.run.seconds)
        tokens = values.get("num_tokens", values.get("eval_num_tokens"))
        axes = {} if tokens is None else {"tokens": tokens}
        yield self._runs.point(step, vocabulary.rename_keys(values), axes)

    def _step_of(self, values: dict[str, float], is_summary: bool) -> int:
        """Return the step of a dictionary that states none: that of the progress bar before it, else a count."""
        run = self._runs.current
        if run.bar is not None:
            return run.bar[0]
        if "loss" in values and not is_summary:
            run.counted += 1
            if run.counted == 1:
                self._report.facts.append("the log states no steps: TRL's lines are counted from 1")
        return max(run.counted, 1) if run.counted else run.step
