"""The log that a training or its job printed: ES's `Iteration …` lines, TRL's dictionaries, or why nothing came.

One file may hold several runs, and a run that was started again: its steps then go back, and what follows is a new
epoch. Which of these it is, the settings printed in between decide: the same ones are the same run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

from runs.importing import vocabulary
from runs.importing.hyperparameters import of_name
from runs.importing.numbers import decimals, number
from runs.importing.readers import log_lines
from runs.importing.readers.log_lines import (
    BAR,
    FINISHED,
    LONGEST_LINE,
    MEMORY,
    SECTION,
    Row,
    apart,
    began,
    begins_trl,
    closing,
    dictionary,
    goes_on,
    opens_dictionary,
    setting,
    settings_of,
    unread,
)
from runs.importing.readers.log_narrative import Story, dead
from runs.importing.readers.log_responses import Block, block, curves_of
from runs.importing.records import Entry, ImportedRun, ImportReport
from runs.importing.text import Line, lines
from workers.executors.failures import PREFIX
from workers.records import Metric, Record, Response

ES, TRL, JOB = "ES log", "TRL log", "log of a job that failed"
LONGEST_DICTIONARY, LINES_OF_DICTIONARY = 32_768, 60
STEPS = ("step", "global_step")
MOST_EARLY = 1_000
FEWEST = 3
"""Numbers in a last line that is believed though nothing ends it: all then have as many decimals."""


class Log:
    """Reads one file. `entries` gives its records; runs without any are given once, at their end."""

    def __init__(self, file: BinaryIO, name: str, told: ImportReport) -> None:
        self._file, self._told = file, told
        self._named = of_name(name)
        self._told_settings: dict[str, Any] = {}
        self._started: float | None = None
        self._block: Block | None = None
        self._answers: list[Response] = []
        self._dictionary: list[str] = []
        self._joined: Line | None = None
        self._is_labelled = False
        self._in_section = False
        self._story = self._new(0, {})

    def entries(self) -> Iterator[Entry]:
        """Yield the records in the order written.

        Records before the first iteration wait for it: it says what kind of log this is, and of which run.
        """
        early = list[Entry]()
        for entry in self._entries():
            if entry.found.kind == JOB and entry.record is not None and len(early) < MOST_EARLY:
                early.append(entry)
            else:
                yield from (*early, entry)
                early.clear()
        yield from early

    def _entries(self) -> Iterator[Entry]:
        for line in lines(self._file, self._told):
            text = self._unlabelled(line.text)
            # What a model said stays as it is.
            for part in [text] if self._block is not None and self._block.is_unfinished else apart(text):
                yield from self._read(Line(line.number, part, line.is_whole))
        yield from self._rest_of_row()
        if self._dictionary:
            self._told.at_line(self._opened_at, "the file ends amid a dictionary: left out")
        if self._block is not None and self._block.is_unfinished:
            self._told.remark("the end", "the file ends amid an answer: left out")
        yield from self._end_block()
        yield from self._close()

    def _end_block(self) -> Iterator[Entry]:
        """The block of answers is over: all answers of an evaluation make a point of its curves."""
        block, answers = self._block, self._answers
        self._block, self._answers = None, []
        if block is None or block.split != "eval":
            return
        if len(answers) < block.whole:
            why = f"{len(answers)} of {block.whole} answers are in the file: no mean is taken over them"
            self._told.remark(f"the evaluation at step {block.step}", why)
        elif answers:
            yield self._entry(Metric(answers[0].step, curves_of(answers)))

    def _unlabelled(self, text: str) -> str:
        """The text without what a launcher wrote before it; amid answers only where it wrote it before the others."""
        bare = PREFIX.sub("", text)
        if self._block is None:
            self._is_labelled = bare != text
        return bare if self._is_labelled else text

    def _read(self, line: Line) -> Iterator[Entry]:
        if self._block is not None and log_lines.row(line.text) is None and not BAR.match(line.text):
            belongs, answer = self._block.feed(line.text)
            if answer is not None:
                self._answers.append(answer)
                yield self._entry(answer)
            if belongs:
                return
        yield from self._end_block()
        if self._ends_dictionary(line):
            self._leave_out()
        if BAR.match(line.text) and "{" not in line.text:
            yield from self._other(line)
        elif self._dictionary or (at := opens_dictionary(line.text)) >= 0:
            yield from self._dictionary_line(line, 0 if self._dictionary else at)
        elif (opened := block(line.text, is_sampled=self._story.found.kind == TRL)) is not None:
            self._block = opened
        elif log_lines.row(line.text) is not None or self._joined is not None:
            yield from self._row(line)
        else:
            yield from self._other(line)

    # Iterations -------------------------------------------------------------------------------------------------

    def _row(self, line: Line) -> Iterator[Entry]:
        """The iteration of a line; one that was wrapped after a comma or a colon goes on in the next."""
        if self._joined is not None and not goes_on(self._joined.text, line.text):
            yield from self._rest_of_row()
        before, self._joined = self._joined, None
        whole = line if before is None else Line(before.number, f"{before.text} {line.text.strip()}", line.is_whole)
        row = log_lines.row(whole.text)
        if row is None:
            yield from self._other(line)
        elif whole.text.rstrip().endswith((",", ":")) and line.is_whole:
            self._joined = Line(whole.number, whole.text.rstrip())
        else:
            yield from self._iteration(whole, row)

    def _rest_of_row(self) -> Iterator[Entry]:
        """An iteration that ended with a comma, and did not go on."""
        line, self._joined = self._joined, None
        if line is not None and (row := log_lines.row(line.text)) is not None:
            yield from self._iteration(line, row)

    def _iteration(self, line: Line, row: Row) -> Iterator[Entry]:
        if why := self._doubt(line, row):
            self._told.at_line(line.number, why)
            return
        if row == self._story.last_row:
            # Every process of a training may print it.
            return
        for label in row.unread:
            self._told.at_line(line.number, f"iteration {row.step}: {label} is not a number")
        to_key = vocabulary.es_held_out_key if row.is_held_out else vocabulary.es_key
        values = {to_key(label): value for label, text in row.pairs if (value := number(text)) is not None}
        if row.is_held_out:
            self._story.found.kind = ES if self._story.found.kind == JOB else self._story.found.kind
            yield self._point(row.step, values, self._story.axes(row.step))
            return
        yield from self._move(row.step, row.total, ES)
        self._story.last_row = row
        self._story.seconds += max(values.get("time/step_seconds", 0.0), 0.0)
        yield self._point(row.step, values | dead(values), self._story.axes(row.step))

    def _doubt(self, line: Line, row: Row) -> str:
        """Why an iteration cannot be believed; empty where it can."""
        if line.is_whole:
            return "" if row.pairs else f"iteration {row.step} without a number that can be read"
        last = None if row.is_held_out else self._story.last_row
        digits = [decimals(value) for _, value in (*row.pairs, *(last.pairs[-1:] if last else ()))]
        same = last is None or [label for label, _ in row.pairs] == [label for label, _ in last.pairs]
        is_cut = not same or len(row.pairs) < FEWEST or len(set(digits)) > 1
        return f"iteration {row.step} is cut off: left out" if is_cut else ""

    # Dictionaries -----------------------------------------------------------------------------------------------

    def _dictionary_line(self, line: Line, at: int) -> Iterator[Entry]:
        """A dictionary, or the next stretch of one that was wrapped."""
        text = "".join((*self._dictionary, line.text[at:]))
        end = closing(text)
        if not self._dictionary:
            if end < 0 and not begins_trl(line.text[at:]):
                yield from self._other(line)
                return
            self._opened_at = line.number
            yield from self._other(Line(line.number, line.text[:at])) if at else ()
        self._dictionary.append(line.text[at:])
        if end >= 0:
            self._dictionary = []
            yield from self._trl(line, text[: end + 1])
            yield from self._other(Line(line.number, text[end + 1 :]))
        elif len(text) > LONGEST_DICTIONARY:
            self._leave_out()

    def _leave_out(self) -> None:
        self._told.at_line(self._opened_at, "a dictionary that does not end: left out")
        self._dictionary = []

    def _ends_dictionary(self, line: Line) -> bool:
        """True for a line that can be no part of the dictionary before it."""
        is_other = log_lines.row(line.text) is not None or begins_trl(line.text.lstrip())
        return bool(self._dictionary) and (is_other or len(self._dictionary) >= LINES_OF_DICTIONARY)

    def _trl(self, line: Line, text: str) -> Iterator[Entry]:
        values = dictionary(text)
        if values is None:
            return
        for key in unread(text):
            self._told.at_line(line.number, f"{key} is not a number")
        is_summary = "train_runtime" in values
        self._story.settle(is_evaluation=all(key.startswith("eval_") or key == "epoch" for key in values))
        step = self._step_of(values, is_summary)
        yield from self._move(step, self._story.total, TRL, goes_back=not is_summary)
        if vocabulary.is_grpo(values):
            self._story.found.method = "grpo"
        self._story.is_finished |= is_summary
        self._story.found.seconds = values.get("train_runtime", self._story.found.seconds)
        tokens = values.get("num_tokens", values.get("eval_num_tokens"))
        axes = {} if tokens is None else {"tokens": tokens}
        said = {key: value for key, value in values.items() if key not in STEPS}
        yield self._point(step, vocabulary.renamed(said), axes)

    def _step_of(self, values: dict[str, float], is_summary: bool) -> int:
        """The step of a dictionary: as it says itself, else as the progress bar before it, else counted."""
        story = self._story
        for name in STEPS:
            if name in values and abs(values[name]) < 2**53:
                return int(values[name])
        if story.bar is not None:
            return story.bar[0]
        if "loss" in values and not is_summary:
            story.counted += 1
            if story.counted == 1:
                self._told.facts.append("the steps are not told: TRL's lines are counted, from 1")
        return max(story.counted, 1) if story.counted else story.step

    # Everything else --------------------------------------------------------------------------------------------

    def _other(self, line: Line) -> Iterator[Entry]:
        text, story = line.text[:LONGEST_LINE], self._story
        story.failures.read(line.number, text)
        if self._started is None:
            self._started = began(text)
        if match := BAR.match(text):
            hours, minutes, seconds = int(match[3] or 0), int(match[4]), int(match[5])
            story.see_bar(int(match[1]), int(match[2]), 3600.0 * hours + 60.0 * minutes + seconds)
        elif match := MEMORY.match(text):
            values = {"system/gpu_allocated_mb": number(match[1]), "system/gpu_peak_mb": number(match[2])}
            yield self._point(story.step, {key: value for key, value in values.items() if value is not None})
        elif match := FINISHED.match(text):
            story.is_finished = True
            story.found.seconds = number(match[1] or "") or story.found.seconds
        else:
            self._settings(text)

    def _settings(self, text: str) -> None:
        if SECTION.match(text):
            self._in_section = True
        elif not text.strip():
            self._in_section = False
        elif (said := setting(text, in_section=self._in_section)) is not None:
            self._story.has_header |= self._in_section
            self._set({said[0]: said[1]}, is_heading=True)
        elif found := settings_of(text):
            self._set(found, is_heading=False)

    def _set(self, settings: dict[str, Any], *, is_heading: bool) -> None:
        """Keeps settings. What a heading says, nothing that is only a name replaces."""
        if self._story.points:
            self._told_settings |= settings if is_heading else {}
        else:
            known = self._story.found.settings
            self._story.found.settings = known | settings if is_heading else {**settings, **known}

    # Runs -------------------------------------------------------------------------------------------------------

    def _move(self, step: int, total: int, kind: str, *, goes_back: bool = True) -> Iterator[Entry]:
        """Goes on to a step: of the same process, of the run started again, or of another run."""
        story = self._story
        went_back = goes_back and bool(story.points) and step < story.step
        if story.points and (self._is_another(kind) or (went_back and story.is_finished)):
            yield from self._close()
            told, self._told_settings = self._told_settings, {}
            story = self._story = self._new(story.found.part + 1, told or story.found.settings)
        elif went_back:
            story.epoch += 1
            story.base = story.seconds
            self._told_settings = {}
        story.found.kind = kind
        story.found.method = story.found.method or ("es" if kind == ES else "")
        story.step, story.total = (max(step, story.step) if not goes_back else step), total or story.total
        story.failures.forget()

    def _is_another(self, kind: str) -> bool:
        """True where what was printed since is of another run: another method, or other settings."""
        known, new = self._story.found.settings, self._told_settings
        differs = any(name in known and known[name] != value for name, value in new.items())
        return differs or self._story.found.kind not in (kind, JOB)

    def _point(self, step: int, values: dict[str, float], axes: dict[str, float] | None = None) -> Entry:
        story = self._story
        story.points += 1
        return self._entry(Metric(step, {k: v for k, v in values.items() if vocabulary.is_usable(k)}, axes or {}))

    def _entry(self, record: Record) -> Entry:
        if self._story.found.started_at is None:
            self._story.found.started_at = self._started
        return Entry(self._story.found, record, self._story.seconds, self._story.epoch)

    def _new(self, part: int, settings: dict[str, Any]) -> Story:
        found = ImportedRun(part, JOB, settings={**self._named, **settings}, keeps_log=True)
        return Story(found)

    def _close(self) -> Iterator[Entry]:
        """The run's last word."""
        if self._story.end():
            yield Entry(self._story.found)
