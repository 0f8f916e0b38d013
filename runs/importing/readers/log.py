"""Read the log of a training or its job: ES's `Iteration …` lines, TRL's dictionaries, or the reason of a failure.

One file may hold several runs, and a run that was started again: its steps then go back, and a new epoch begins. The
settings printed in between decide between the two: the same settings mean the same run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from runs.importing import vocabulary
from runs.importing.hyperparameters import settings_from_name
from runs.importing.numbers import count_decimals, parse_number
from runs.importing.readers import log_lines
from runs.importing.readers.log_lines import (
    BAR,
    FINISHED,
    MAX_LINE_LENGTH,
    MEMORY,
    SECTION,
    Row,
    begins_trl,
    continues_row,
    find_closing_brace,
    find_dictionary,
    find_settings,
    parse_dictionary,
    parse_setting,
    parse_start_time,
    split_records,
    unreadable_keys,
)
from runs.importing.readers.log_responses import Block, block, curves_of
from runs.importing.readers.log_run import LogRun, dead_iteration
from runs.importing.records import Entry, ImportedRun, ImportReport
from runs.importing.text import Line, lines
from workers.executors.failures import PREFIX
from workers.records import Metric, Record, Response

ES, TRL, JOB = "ES log", "TRL log", "log of a job that failed"
MAX_DICTIONARY_LENGTH, MAX_DICTIONARY_LINES = 32_768, 60
STEPS = ("step", "global_step")
MAX_EARLY_ENTRIES = 1_000
MIN_PAIRS = 3
"""Minimum numbers in a last line without a line end that is accepted; all must have the same number of decimals."""


class Log:
    """Reader of one file. `entries` yields its records, and runs without records once, at their end."""

    def __init__(self, file: BinaryIO, name: str, report: ImportReport) -> None:
        self._file, self._report = file, report
        self._name_settings = settings_from_name(name)
        self._printed_settings: dict[str, Any] = {}
        self._started: float | None = None
        self._block: Block | None = None
        self._answers: list[Response] = []
        self._dictionary: list[str] = []
        self._depth = self._length = 0
        self._joined: Line | None = None
        self._is_labelled = False
        self._in_section = False
        self._run = self._new(0, {})

    def entries(self) -> Iterator[Entry]:
        """Yield the records in the order written.

        Records before the first iteration wait for it: it determines the kind of the log, and the run.
        """
        early = list[Entry]()
        for entry in self._entries():
            if entry.run.kind == JOB and entry.record is not None and len(early) < MAX_EARLY_ENTRIES:
                early.append(entry)
            else:
                yield from (*early, entry)
                early.clear()
        yield from early

    def _entries(self) -> Iterator[Entry]:
        for line in lines(self._file, self._report):
            text = self._strip_label(line.text)
            # A model's response is not changed.
            for part in [text] if self._block is not None and self._block.is_unfinished else split_records(text):
                yield from self._read(Line(line.number, part, line.is_whole))
        yield from self._rest_of_row()
        if self._dictionary:
            self._report.add_line_remark(self._opened_at, "the file ends within a dictionary: omitted")
        if self._block is not None and self._block.is_unfinished:
            self._report.add_remark("the end", "the file ends within a response: omitted")
        yield from self._end_block()
        yield from self._close()

    def _end_block(self) -> Iterator[Entry]:
        """End the block of answers. All answers of an evaluation yield one point of its curves."""
        block, answers = self._block, self._answers
        self._block, self._answers = None, []
        if block is None or block.split != "eval":
            return
        if len(answers) < block.whole:
            reason = f"{len(answers)} of {block.whole} responses are in the file: no mean is computed"
            self._report.add_remark(f"the evaluation at step {block.step}", reason)
        elif answers:
            yield self._entry(Metric(answers[0].step, curves_of(answers)))

    def _strip_label(self, text: str) -> str:
        """Return the text without a launcher's prefix; within a block of answers, only if earlier lines had one."""
        bare = PREFIX.sub("", text)
        if self._block is None:
            self._is_labelled = bare != text
        return bare if self._is_labelled else text

    def _read(self, line: Line) -> Iterator[Entry]:
        if self._block is not None and log_lines.parse_row(line.text) is None and not BAR.match(line.text):
            belongs, answer = self._block.feed(line.text)
            if answer is not None:
                self._answers.append(answer)
                yield self._entry(answer)
            if belongs:
                return
        yield from self._end_block()
        if self._ends_dictionary(line):
            self._leave_out()
        if "|" in line.text and "{" not in line.text and BAR.match(line.text):
            yield from self._other(line)
        elif self._dictionary or (at := find_dictionary(line.text)) >= 0:
            yield from self._dictionary_line(line, 0 if self._dictionary else at)
        elif (opened := block(line.text, is_sampled=self._run.run.kind == TRL)) is not None:
            self._block = opened
        elif log_lines.parse_row(line.text) is not None or self._joined is not None:
            yield from self._row(line)
        else:
            yield from self._other(line)

    # Iterations -------------------------------------------------------------------------------------------------

    def _row(self, line: Line) -> Iterator[Entry]:
        """Read the iteration of a line. One that was wrapped after a comma or a colon continues in the next line."""
        if self._joined is not None and not continues_row(self._joined.text, line.text):
            yield from self._rest_of_row()
        before, self._joined = self._joined, None
        whole = line if before is None else Line(before.number, f"{before.text} {line.text.strip()}", line.is_whole)
        row = log_lines.parse_row(whole.text)
        if row is None:
            yield from self._other(line)
        elif whole.text.rstrip().endswith((",", ":")) and line.is_whole:
            self._joined = Line(whole.number, whole.text.rstrip())
        else:
            yield from self._iteration(whole, row)

    def _rest_of_row(self) -> Iterator[Entry]:
        """Yield an iteration that ended with a comma or a colon and did not continue in the next line."""
        line, self._joined = self._joined, None
        if line is not None and (row := log_lines.parse_row(line.text)) is not None:
            yield from self._iteration(line, row)

    def _iteration(self, line: Line, row: Row) -> Iterator[Entry]:
        if doubt := self._doubt(line, row):
            self._report.add_line_remark(line.number, doubt)
            return
        if row == self._run.last_row:
            # Every process of a training may print the same row.
            return
        for label in row.unreadable:
            self._report.add_line_remark(line.number, f"iteration {row.step}: {label} is not a number")
        to_key = vocabulary.es_held_out_key if row.is_held_out else vocabulary.es_key
        values = {to_key(label): value for label, text in row.pairs if (value := parse_number(text)) is not None}
        if row.is_held_out:
            self._run.run.kind = ES if self._run.run.kind == JOB else self._run.run.kind
            yield self._point(row.step, values, self._run.axes(row.step))
            return
        yield from self._go_to_step(row.step, row.total, ES)
        self._run.last_row = row
        self._run.seconds += max(values.get("time/step_seconds", 0.0), 0.0)
        yield self._point(row.step, values | dead_iteration(values), self._run.axes(row.step))

    def _doubt(self, line: Line, row: Row) -> str:
        """Return why an iteration is not accepted; an empty text if it is."""
        if line.is_whole:
            return "" if row.pairs else f"iteration {row.step} has no readable number"
        last = None if row.is_held_out else self._run.last_row
        digits = [count_decimals(value) for _, value in (*row.pairs, *(last.pairs[-1:] if last else ()))]
        same = last is None or [label for label, _ in row.pairs] == [label for label, _ in last.pairs]
        is_cut = not same or len(row.pairs) < MIN_PAIRS or len(set(digits)) > 1
        return f"iteration {row.step} is cut off: omitted" if is_cut else ""

    # Dictionaries -----------------------------------------------------------------------------------------------

    def _dictionary_line(self, line: Line, at: int) -> Iterator[Entry]:
        """Read a dictionary, or the next part of one that was wrapped."""
        part = line.text[at:]
        end, depth = find_closing_brace(part, self._depth if self._dictionary else 0)
        if not self._dictionary:
            self._length = 0
            if end < 0 and not begins_trl(part):
                yield from self._other(line)
                return
            self._opened_at = line.number
            yield from self._other(Line(line.number, line.text[:at])) if at else ()
        before, self._depth = self._dictionary, depth
        self._dictionary = [*before, part]
        self._length += len(part)
        if end >= 0:
            self._dictionary = []
            yield from self._trl(line, "".join((*before, part[: end + 1])))
            yield from self._other(Line(line.number, part[end + 1 :]))
        elif self._length > MAX_DICTIONARY_LENGTH:
            self._leave_out()

    def _leave_out(self) -> None:
        self._report.add_line_remark(self._opened_at, "a dictionary that does not end: omitted")
        self._dictionary = []

    def _ends_dictionary(self, line: Line) -> bool:
        """Return whether the line cannot be part of the dictionary before it."""
        if not self._dictionary:
            return False
        is_other = log_lines.parse_row(line.text) is not None or begins_trl(line.text.lstrip())
        return is_other or len(self._dictionary) >= MAX_DICTIONARY_LINES

    def _trl(self, line: Line, text: str) -> Iterator[Entry]:
        values = parse_dictionary(text)
        if values is None:
            return
        for key in unreadable_keys(text):
            self._report.add_line_remark(line.number, f"{key} is not a number")
        is_summary = "train_runtime" in values
        self._run.settle(is_evaluation=all(key.startswith("eval_") or key == "epoch" for key in values))
        step = self._step_of(values, is_summary)
        yield from self._go_to_step(step, self._run.total, TRL, goes_back=not is_summary)
        if vocabulary.is_grpo(values):
            self._run.run.method = "grpo"
        self._run.is_finished |= is_summary
        self._run.run.seconds = values.get("train_runtime", self._run.run.seconds)
        tokens = values.get("num_tokens", values.get("eval_num_tokens"))
        axes = {} if tokens is None else {"tokens": tokens}
        metrics = {key: value for key, value in values.items() if key not in STEPS}
        yield self._point(step, vocabulary.rename_keys(metrics), axes)

    def _step_of(self, values: dict[str, float], is_summary: bool) -> int:
        """Return the step of a dictionary: its own, else that of the progress bar before it, else a count."""
        run = self._run
        for name in STEPS:
            if name in values and abs(values[name]) < 2**53:
                return int(values[name])
        if run.bar is not None:
            return run.bar[0]
        if "loss" in values and not is_summary:
            run.counted += 1
            if run.counted == 1:
                self._report.facts.append("the log states no steps: TRL's lines are counted from 1")
        return max(run.counted, 1) if run.counted else run.step

    # Everything else --------------------------------------------------------------------------------------------

    def _other(self, line: Line) -> Iterator[Entry]:
        text, run = line.text[:MAX_LINE_LENGTH], self._run
        run.failures.read(line.number, text)
        if self._started is None:
            self._started = parse_start_time(text)
        if match := ("|" in text and BAR.match(text)):
            hours, minutes, seconds = int(match[3] or 0), int(match[4]), int(match[5])
            run.see_bar(int(match[1]), int(match[2]), 3600.0 * hours + 60.0 * minutes + seconds)
        elif match := MEMORY.match(text):
            values = {"system/gpu_allocated_mb": parse_number(match[1]), "system/gpu_peak_mb": parse_number(match[2])}
            yield self._point(run.step, {key: value for key, value in values.items() if value is not None})
        elif match := FINISHED.match(text):
            run.is_finished = True
            run.run.seconds = parse_number(match[1] or "") or run.run.seconds
        else:
            self._settings(text)

    def _settings(self, text: str) -> None:
        if text.startswith("[") and SECTION.match(text):
            self._in_section = True
        elif not text.strip():
            self._in_section = False
        elif (printed := parse_setting(text, in_section=self._in_section)) is not None:
            self._run.has_header |= self._in_section
            self._set({printed[0]: printed[1]}, is_heading=True)
        elif settings := find_settings(text):
            self._set(settings, is_heading=False)

    def _set(self, settings: dict[str, Any], *, is_heading: bool) -> None:
        """Store settings. Settings of a heading take precedence over those in a name."""
        if self._run.points:
            self._printed_settings |= settings if is_heading else {}
        else:
            present = self._run.run.settings
            self._run.run.settings = present | settings if is_heading else {**settings, **present}

    # Runs -------------------------------------------------------------------------------------------------------

    def _go_to_step(self, step: int, total: int, kind: str, *, goes_back: bool = True) -> Iterator[Entry]:
        """Go to a step: of the same process, of the run after a restart, or of another run."""
        run = self._run
        went_back = goes_back and bool(run.points) and step < run.step
        if run.points and (self._is_other_run(kind) or (went_back and run.is_finished)):
            yield from self._close()
            printed, self._printed_settings = self._printed_settings, {}
            run = self._run = self._new(run.run.part + 1, printed or run.run.settings)
        elif went_back:
            run.epoch += 1
            run.base = run.seconds
            self._printed_settings = {}
        run.run.kind = kind
        run.run.method = run.run.method or ("es" if kind == ES else "")
        run.step, run.total = (max(step, run.step) if not goes_back else step), total or run.total
        run.failures.reset()

    def _is_other_run(self, kind: str) -> bool:
        """Return whether the lines printed since belong to another run: another method, or other settings."""
        present, new = self._run.run.settings, self._printed_settings
        differs = any(name in present and present[name] != value for name, value in new.items())
        return differs or self._run.run.kind not in (kind, JOB)

    def _point(self, step: int, values: dict[str, float], axes: dict[str, float] | None = None) -> Entry:
        run = self._run
        run.points += 1
        return self._entry(Metric(step, {k: v for k, v in values.items() if vocabulary.is_usable(k)}, axes or {}))

    def _entry(self, record: Record) -> Entry:
        if self._run.run.started_at is None:
            self._run.run.started_at = self._started
        return Entry(self._run.run, record, self._run.seconds, self._run.epoch)

    def _new(self, part: int, settings: dict[str, Any]) -> LogRun:
        imported_run = ImportedRun(part, JOB, settings={**self._name_settings, **settings}, keeps_log=True)
        return LogRun(imported_run)

    def _close(self) -> Iterator[Entry]:
        """End the run. Yield an entry without a record if there was a run."""
        if self._run.finish():
            yield Entry(self._run.run)
