"""Read the log of a training or its job: ES's `Iteration …` lines, TRL's dictionaries, the lines of other programs
(`log_programs`), or the reason of a failure.

One file may hold several runs, and a run that was started again: `log_runs` decides which one a step belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import BinaryIO

from runs.importing.decimal_signs import has_decimal_commas
from runs.importing.hyperparameters import settings_from_name
from runs.importing.numbers import parse_number
from runs.importing.readers import eggroll_vllm, es_at_scale, hyperscale_es, log_lines, verl
from runs.importing.readers.log_dictionaries import DictionaryLines
from runs.importing.readers.log_iterations import IterationLines
from runs.importing.readers.log_lines import (
    BAR,
    FINISHED,
    MAX_LINE_LENGTH,
    MEMORY,
    SECTION,
    find_settings,
    parse_setting,
    parse_start_time,
    split_records,
)
from runs.importing.readers.log_programs import ProgramLines, Reading
from runs.importing.readers.log_responses import Block, block, curves_of
from runs.importing.readers.log_run import LogRun, dead_iteration
from runs.importing.readers.log_runs import ES_KINDS, JOB, TRL, LogRuns
from runs.importing.records import Entry, ImportReport
from runs.importing.text import Line, lines
from workers.executors.failures import PREFIX
from workers.records import Metric, Population, Response

LOG_KINDS = (*ES_KINDS, TRL, verl.KIND, JOB)
MAX_EARLY_ENTRIES = 1_000
REPEATED = re.compile(r" \[repeated \d{1,9}x across ")
"""Text of Ray after a line that several processes printed."""


class Log:
    """Reader of one file. `entries` yields its records, and runs without records once, at their end."""

    def __init__(self, file: BinaryIO, name: str, report: ImportReport) -> None:
        self._file, self._report = file, report
        self._runs = LogRuns(settings_from_name(name), report)
        self._iterations = IterationLines(self._runs, has_decimal_commas(file), report)
        self._block: Block | None = None
        self._answers: list[Response] = []
        self._dictionaries = DictionaryLines(self._runs, report, self._other)
        self._is_labelled = False
        self._in_section = False
        self._programs: tuple[ProgramLines, ...] = (
            es_at_scale.EsAtScaleLines(report), verl.VerlLines(report), eggroll_vllm.EggrollVllmLines(report),
            hyperscale_es.HyperscaleEsLines(report),
        )  # fmt: skip

    @property
    def _run(self) -> LogRun:
        return self._runs.current

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
        yield from self._iterations.end()
        self._dictionaries.end()
        if self._block is not None and self._block.is_unfinished:
            self._report.add_remark("the end", "the file ends within a response: omitted")
        yield from self._end_block()
        for program in self._programs:
            yield from self._take(program.kind, program.end())
        yield from self._runs.close()

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
            yield self._runs.entry(Metric(answers[0].step, curves_of(answers)))

    def _strip_label(self, text: str) -> str:
        """Return the text without what a launcher adds; within a block of answers, only if earlier lines had one."""
        bare = PREFIX.sub("", text)
        if "[repeated " in bare and (match := REPEATED.search(bare)):
            bare = bare[: match.start()]
        if self._block is None:
            self._is_labelled = bare != text
        return bare if self._is_labelled else text

    def _read(self, line: Line) -> Iterator[Entry]:
        self._runs.line = line.number
        if self._block is not None and log_lines.parse_row(line.text) is None and not BAR.match(line.text):
            belongs, answer = self._block.feed(line.text)
            if answer is not None:
                self._answers.append(answer)
                yield self._runs.entry(answer)
            if belongs:
                return
        yield from self._end_block()
        self._dictionaries.leave_out_unfinished(line)
        if (readings := self._program_entries(line)) is not None:
            yield from readings
        elif "|" in line.text and "{" not in line.text and BAR.match(line.text):
            yield from self._other(line)
        elif self._dictionaries.takes(line):
            yield from self._dictionaries.read(line)
        elif (opened := block(line.text, is_sampled=self._run.run.kind == TRL)) is not None:
            self._block = opened
        elif log_lines.parse_row(line.text) is not None or self._iterations.is_wrapped:
            yield from self._iterations.read(line)
            yield from () if self._iterations.has_taken else self._other(line)
        else:
            yield from self._other(line)

    # Lines of other programs ------------------------------------------------------------------------------------

    def _program_entries(self, line: Line) -> Iterator[Entry] | None:
        """Return the entries of a line that one of the other programs wrote; None if none of them did."""
        if self._dictionaries.is_open or self._iterations.is_wrapped:
            return None
        for program in self._programs:
            if (readings := program.read(line)) is not None:
                return self._take(program.kind, readings)
        return None

    def _take(self, kind: str, readings: Iterator[Reading]) -> Iterator[Entry]:
        for reading in readings:
            if reading.settings:
                self._runs.set_settings(reading.settings, is_heading=False)
            self._run.run.method = self._run.run.method or reading.method
            if reading.values or reading.members:
                step = self._run.step if reading.step is None else reading.step
                yield from self._runs.go_to_step(step, reading.total or self._run.stated_steps, kind)
            run = self._run
            run.end_step(reading.steps_done, reading.total, reading.seconds, is_end=reading.is_end)
            if reading.values:
                spread = dead_iteration(reading.values) if kind in ES_KINDS else {}
                yield self._runs.point(run.step, spread | reading.values)
            if reading.members:
                self._check_members(len(reading.members))
                yield self._runs.entry(Population(run.step, reading.members))

    def _check_members(self, count: int) -> None:
        stated = self._run.run.settings.get("population")
        if isinstance(stated, int) and count < stated:
            position = f"iteration {self._run.step}"
            self._report.add_remark(position, f"{count} of its {stated} members are in the file")

    # Everything else --------------------------------------------------------------------------------------------

    def _other(self, line: Line) -> Iterator[Entry]:
        text, run = line.text[:MAX_LINE_LENGTH], self._run
        run.failures.read(line.number, text)
        if self._runs.started is None:
            self._runs.started = parse_start_time(text)
        if match := ("|" in text and BAR.match(text)):
            hours, minutes, seconds = int(match[3] or 0), int(match[4]), int(match[5])
            run.see_bar(int(match[1]), int(match[2]), 3600.0 * hours + 60.0 * minutes + seconds)
        elif match := MEMORY.match(text):
            values = {"system/gpu_allocated_mb": parse_number(match[1]), "system/gpu_peak_mb": parse_number(match[2])}
            yield self._runs.point(run.step, {key: value for key, value in values.items() if value is not None})
        elif match := FINISHED.match(text):
            run.is_finished = True
            run.run.seconds = parse_number(match[1] or "") or run.run.seconds
        else:
            self._settings(text)

    def _settings(self, text: str) -> None:
        if text.startswith(("[", "---")) and SECTION.match(text):
            self._in_section = True
        elif not text.strip():
            self._in_section = False
        elif (printed := parse_setting(text, in_section=self._in_section)) is not None:
            self._run.has_header |= self._in_section
            self._runs.set_settings({printed[0]: printed[1]}, is_heading=True)
        elif settings := find_settings(text):
            self._runs.set_settings(settings, is_heading=False)
