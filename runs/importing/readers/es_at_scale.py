"""Read the lines of es-at-scale's trainer: rewards of each iteration, its members, and evaluations.

Source of the format: `es_at_scale/trainer/es_trainer.py` and `es_at_scale/utils/reward_shaping.py` of
VsonicV/es-at-scale. Its iterations count from 1, in older versions from 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from runs.importing import vocabulary
from runs.importing.numbers import parse_number
from runs.importing.readers.log_programs import Reading, labelled_numbers, usable
from runs.importing.records import ImportReport
from runs.importing.text import Line
from workers.records import Member

KIND = "es-at-scale log"
BEGIN = re.compile(r"^=== Epoch \d{1,15}; Iteration (\d{1,15}) ===\s*$")
END = re.compile(r"^=== (?:Epoch \d{1,15}; )?Iteration (\d{1,15}) finished in (\S{1,40}?)s? ===\s*$")
MEAN = "Mean reward: "
MEMBER_BEGIN = re.compile(r"^Seed (\d{1,25}); avg")
MEMBER = re.compile(r"^Seed (\d{1,19}); avg reward: (\S+); normalized reward: (\S+)\s*$")
EVALUATION = re.compile(r"^(\S{1,100}) -- eval (\S.*)$")
FINISHED = "-- Training completed! --"
MAX_SEED = 2**63


class EsAtScaleLines:
    """The state between the heading of an iteration and its end. `_headless`: line and rewards of an iteration whose
    heading is not in the file; its end states which it is."""

    kind = KIND

    def __init__(self, report: ImportReport) -> None:
        self._report = report
        self._step: int | None = None
        self._counts_from_0 = False
        self._members: dict[int, Member] = {}
        self._evaluations: list[dict[str, float]] = []
        self._headless: tuple[int, dict[str, float]] | None = None

    def read(self, line: Line) -> Iterator[Reading] | None:
        """Return what a line states, or None if it is no line of es-at-scale."""
        text = line.text
        if text.startswith("=== ") and (begins := BEGIN.match(text)):
            return self._begin(int(begins[1]))
        if text.startswith("=== ") and (ends := END.match(text)):
            return self._end(line, int(ends[1]), ends[2])
        if text.startswith(MEAN) and (self._step is not None or ", std: " in text):
            return self._rewards(line)
        if (self._step is not None or self._headless) and (member := MEMBER_BEGIN.match(text)):
            return self._member(line, member[1], MEMBER.match(text))
        if " -- eval " in text and (evaluation := EVALUATION.match(text)):
            return self._evaluation(line, evaluation[1], evaluation[2])
        if text.startswith(FINISHED):
            return iter((Reading(is_end=True),))
        return None

    def end(self) -> Iterator[Reading]:
        """Yield the members and evaluations before the end of the file."""
        yield from self._rest()

    def _begin(self, step: int) -> Iterator[Reading]:
        yield from self._rest()
        self._step = step
        self._counts_from_0 |= step == 0

    def _rewards(self, line: Line) -> Iterator[Reading]:
        if not line.is_whole:
            self._report.add_line_remark(line.number, f"iteration {self._step} is cut off: omitted")
            return
        pairs = labelled_numbers(line, line.text, ", ", self._report)
        values = {vocabulary.es_key(label): value for label, value in pairs}
        if self._step is None:
            self._headless = (line.number, values)
            return
        yield Reading(self._step, values, steps_done=self._done(is_complete=False))

    def _member(self, line: Line, seed: str, match: re.Match[str] | None) -> Iterator[Reading]:
        yield from ()
        if match is None or not line.is_whole:
            self._report.add_line_remark(line.number, f"the member of seed {seed} is cut off: omitted")
            return
        reward, weight = parse_number(match[2]), parse_number(match[3])
        if int(seed) >= MAX_SEED:
            self._report.refuse_cell(line.number, "Seed", seed, "is beyond 64 bits")
        elif reward is None or weight is None:
            column, cell = ("avg reward", match[2]) if reward is None else ("normalized reward", match[3])
            self._report.refuse_cell(line.number, column, cell)
        else:
            self._members[int(seed)] = Member(int(seed), reward, z=weight)

    def _evaluation(self, line: Line, name: str, text: str) -> Iterator[Reading]:
        """Take an evaluation, `countdown -- eval pass@1 (shaped): 0.32 -- answer_acc: 0.2 --`."""
        pairs = labelled_numbers(line, text, " --", self._report)
        values = {f"eval/{name}/{label.partition('(')[0].strip('- ')}": value for label, value in pairs}
        self._evaluations.append(values)
        yield from ()

    def _end(self, line: Line, step: int, text: str) -> Iterator[Reading]:
        headless, self._headless, self._step = self._headless, None, step
        if headless is not None:
            yield Reading(step, headless[1], steps_done=self._done(is_complete=False))
        yield from self._rest()
        seconds = parse_number(text)
        if seconds is None:
            self._report.refuse_cell(line.number, "finished in", text)
        values = {} if seconds is None else {"time/step_seconds": seconds}
        yield Reading(step, values, steps_done=self._done(is_complete=True), seconds=seconds or 0.0)

    def _rest(self) -> Iterator[Reading]:
        """Yield the members and evaluations since the last reading.

        The evaluation of a single data set is that of the held-out prompts. Before the first iteration the model is the
        base model, at step 0.
        """
        headless, self._headless = self._headless, None
        members, self._members = tuple(self._members.values()), {}
        if headless is not None:
            self._report.add_line_remark(headless[0], "states no iteration, nor do the lines around it: omitted")
            members = ()
        evaluations, self._evaluations = self._evaluations, []
        if members:
            yield Reading(self._step, members=members, steps_done=self._done(is_complete=False))
        values = {key: value for evaluation in evaluations for key, value in evaluation.items()}
        if len(evaluations) == 1:
            rewards = [value for key, value in values.items() if key.endswith("/pass@1")]
            values |= {"reward/mean": rewards[0]} if rewards else {}
        if values:
            is_before = self._step is None
            yield Reading(0 if is_before else self._step, usable(values), steps_done=0 if is_before else None)

    def _done(self, *, is_complete: bool) -> int:
        return (self._step or 0) + int(self._counts_from_0) - int(not is_complete)
