"""Read the lines of eggroll-vllm's trainer: fitness of each ES step, its times, and evaluations.

Source of the format: `es_lora_multinode.py` and `parse_trainer_log.py` of AnqiQu/eggroll-vllm. Its steps count from 0.
The smallest and largest fitness are over members and prompts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from runs.importing import vocabulary
from runs.importing.readers.log_programs import Reading, labelled_numbers, usable
from runs.importing.records import ImportReport
from runs.importing.text import Line

KIND = "eggroll-vllm log"
BEGIN = re.compile(r"^======= ES Step (\d{1,15}) / (\d{1,15})(?:, Population \d{1,15})? =======\s*$")
END = re.compile(r"^======= ES Step (\d{1,15}) finished =======\s*$")
FITNESS, TIMES, EVALUATION = "Mean fitness: ", "TIMES: ", "EVAL "
DIAGNOSTICS = {"DIAG: ": "diag", "PAIR DIAGNOSTIC: ": "pair", "ES UPDATE DIAG: ": "update", "reward/": "reward"}
"""Beginnings of further lines with numbers -> the first part of their keys."""
INFO = re.compile(r"^  ([A-Za-z_][\w/@.-]{0,100}): (\S{1,40})\s*$")
"""A further measurement of a step, in a line of its own below the fitness."""
COMPARED = re.compile(r" \(or [^()]{1,40}\)")
NOT_COUNTED = -1.0
"""eggroll-vllm's value of a measurement that a task does not have."""
MAY_BE_MISSING = ("distinct_answers", "prop_truncated")
SPREAD = "std_normalized_fitness"
FINISHED = "--- ES Training Complete ---"


class EggrollVllmLines:
    """Reader of the lines between the heading of a step and its end."""

    kind = KIND

    def __init__(self, report: ImportReport) -> None:
        self._report = report
        self._step: int | None = None
        self._total = 0
        self._has_fitness = False

    def read(self, line: Line) -> Iterator[Reading] | None:
        """Return what a line states, or None if it is no line of eggroll-vllm."""
        text = line.text
        if text.startswith("======= ES Step"):
            return self._heading(text)
        if text.startswith(FINISHED):
            return iter((Reading(is_end=True),))
        if self._step is None:
            return self._outside(line) if text.startswith(FITNESS) and SPREAD in text else None
        if text.startswith(FITNESS) and ", " in text:
            return self._fitness(line)
        if text.startswith(TIMES):
            return self._times(line)
        if text.startswith(EVALUATION) and (fitness := text.partition(FITNESS))[1]:
            return self._evaluation(line, fitness[0].removeprefix(EVALUATION).strip(" :"), fitness[2])
        if self._has_fitness and (info := INFO.match(text)):
            return self._values(line, f"{info[1]}: {info[2]}", "train", ", ")
        prefix = next((prefix for prefix in DIAGNOSTICS if text.startswith(prefix)), "")
        return self._values(line, text.removeprefix(prefix), f"train/{DIAGNOSTICS[prefix]}", ", ") if prefix else None

    def end(self) -> Iterator[Reading]:
        """Yield nothing: each line is complete."""
        return iter(())

    def _heading(self, text: str) -> Iterator[Reading]:
        begins, ends = BEGIN.match(text), END.match(text)
        self._has_fitness = False
        if begins:
            self._step, self._total = int(begins[1]), int(begins[2])
        elif ends:
            self._step = None
            yield Reading(int(ends[1]), total=self._total, steps_done=int(ends[1]) + 1)

    def _outside(self, line: Line) -> Iterator[Reading]:
        self._report.add_line_remark(line.number, "its fitness is outside of a step: omitted")
        yield from ()

    def _fitness(self, line: Line) -> Iterator[Reading]:
        self._has_fitness = True
        values = self._numbers(line, line.text, ", ")
        shown = {key: value for key, value in values.items() if key not in MAY_BE_MISSING or value != NOT_COUNTED}
        out = {vocabulary.es_key(key): value for key, value in shown.items()}
        out |= {"es/dead": float(values[SPREAD] == 0)} if SPREAD in values else {}
        yield self._reading(out)

    def _times(self, line: Line) -> Iterator[Reading]:
        values = self._numbers(line, COMPARED.sub("", line.text.removeprefix(TIMES)), ", ")
        seconds = values.pop("total", None)
        out = {f"time/{vocabulary.slug(key)}": value for key, value in values.items()}
        out |= {} if seconds is None else {"time/step_seconds": seconds}
        yield self._reading(out, seconds=seconds or 0.0)

    def _evaluation(self, line: Line, name: str, text: str) -> Iterator[Reading]:
        values = self._numbers(line, f"mean_fitness: {text}", ", ")
        yield self._reading({f"eval/{name}/{key}": value for key, value in values.items()})

    def _values(self, line: Line, text: str, prefix: str, separator: str) -> Iterator[Reading]:
        values = self._numbers(line, text.replace("=", ": "), separator)
        repeated = f"{prefix.rpartition('/')[2]}/"
        yield self._reading(
            {f"{prefix}/{vocabulary.slug(key).removeprefix(repeated)}": value for key, value in values.items()}
        )

    def _numbers(self, line: Line, text: str, separator: str) -> dict[str, float]:
        if not line.is_whole:
            self._report.add_line_remark(line.number, f"a line of step {self._step} is cut off: omitted")
            return {}
        return dict(labelled_numbers(line, text, separator, self._report))

    def _reading(self, values: dict[str, float], seconds: float = 0.0) -> Reading:
        return Reading(self._step, usable(values), steps_done=self._step, total=self._total, seconds=seconds)
