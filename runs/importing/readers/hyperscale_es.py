"""Read the lines of HyperscaleES' trainers of language models: the fitness of each epoch, and its statistics.

Source of the format: `llm_experiments/general_do_evolution.py` of ESHyperscale/HyperscaleES, as in the fork
shr1ram/HyperscaleES. Its lines state no epoch, so they are counted from 0, as the trainer counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from runs.importing import vocabulary
from runs.importing.hyperparameters import settings_from_name
from runs.importing.readers.log_programs import Reading, labelled_numbers, usable
from runs.importing.records import ImportReport
from runs.importing.text import Line

KIND = "HyperscaleES log"
FITNESS = "Mean fitness: "
RUN_NAME = re.compile(r"^Run name (\S{1,200})\s*$")
GENERATIONS = re.compile(r"^full number of generations is (\d{1,15})\s*$")
SCORE = "VALIDATION SCORE="
FIRST_EPOCH = "generating batch"
"""Line of the first epoch alone."""
STATISTIC = re.compile(r"^\t([a-z_]{1,60}): (\S{1,40})\s*$")
REPEATED = {"avg_fitness", "std_fitness", "max_fitness", "min_fitness", "median_fitness", "validation_score"}
"""Statistics that other lines of the epoch state as well."""
COUNTED = "the log states no epochs: HyperscaleES' lines are counted from 0"


class HyperscaleEsLines:
    """Reader that counts epochs. `_score`: the validation score before the fitness of the same epoch."""

    kind = KIND

    def __init__(self, report: ImportReport) -> None:
        self._report = report
        self._epochs = 0
        self._score: float | None = None
        self._is_in_epoch = False

    def read(self, line: Line) -> Iterator[Reading] | None:
        """Return what a line states, or None if it is no line of HyperscaleES."""
        text = line.text
        if text.startswith(FITNESS) and "; std fitness: " in text:
            return self._fitness(line)
        if text.startswith(SCORE):
            return self._validation(line)
        if text.startswith(FIRST_EPOCH):
            self._epochs = 0
            return iter(())
        if text.startswith("Run name ") and (name := RUN_NAME.match(text)):
            return iter((Reading(settings=settings_from_name(name[1])),))
        if text.startswith("full number") and (count := GENERATIONS.match(text)):
            return iter((Reading(settings={"total_parallel_generations": int(count[1])}),))
        if self._is_in_epoch and text.startswith("\t") and (statistic := STATISTIC.match(text)):
            return self._statistic(line, statistic[1], statistic[2])
        return None

    def end(self) -> Iterator[Reading]:
        """Yield nothing: each line is complete."""
        return iter(())

    def _fitness(self, line: Line) -> Iterator[Reading]:
        if not line.is_whole:
            self._report.add_line_remark(line.number, "an epoch is cut off: omitted")
            return
        pairs = dict(labelled_numbers(line, line.text, "; ", self._report))
        values = {vocabulary.es_key(label): value for label, value in pairs.items()}
        values |= {} if self._score is None else {"reward/mean": self._score}
        if COUNTED not in self._report.facts:
            self._report.facts.append(COUNTED)
        self._score, self._epochs, self._is_in_epoch = None, self._epochs + 1, True
        yield Reading(self._epochs - 1, usable(values), steps_done=self._epochs)

    def _validation(self, line: Line) -> Iterator[Reading]:
        """Take the fitness of the centre weights on held-out prompts, which precedes the epoch's own."""
        for _, value in labelled_numbers(line, line.text, ";", self._report, sign="="):
            self._score = value
        yield from ()

    def _statistic(self, line: Line, name: str, text: str) -> Iterator[Reading]:
        if name in REPEATED or not line.is_whole:
            return
        values = {
            f"train/{label}": value for label, value in labelled_numbers(line, f"{name}: {text}", ", ", self._report)
        }
        yield Reading(self._epochs - 1, usable(values), steps_done=self._epochs)
