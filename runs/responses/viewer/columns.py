"""Columns of the viewer: a run at a step each, as `UID` or `UID@STEP`. One column is pinned.

The other columns are compared with the pinned one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase
from typing import Any

from django.utils.translation import gettext

from runs.http import must_be_one_of
from runs.models import EVALUATION, EvaluatedStep, Run, choose_last_step, list_evaluated_steps
from runs.models.experiment import Person

MAX_COLUMNS = 6
SPLIT = EVALUATION


@dataclass(frozen=True)
class Column:
    """A run at a step. `steps`: all steps with stored responses, ascending. `evaluation`: the number of the step's
    stored responses, None if it was not looked up."""

    letter: str
    run: Run
    step: int
    steps: tuple[int, ...] = ()
    evaluation: EvaluatedStep | None = None

    @property
    def missing(self) -> str:
        """Return text such as `5 of 32 responses`; empty if the evaluation is whole."""
        return self.evaluation.words if self.evaluation and self.evaluation.is_partial else ""

    @property
    def word(self) -> str:
        """Return the column as an address writes it: `UID@STEP`."""
        return f"{self.run.uid}@{self.step}"

    @property
    def method(self) -> str:
        """Return the method that the model was trained by; empty at step 0 of a run that has later responses."""
        return "" if self.step == 0 and self.steps and self.steps[-1] > 0 else self.run.method

    @property
    def earlier(self) -> str:
        """Return the same run at the previous step; empty if there is none."""
        return self._at(-1)

    @property
    def later(self) -> str:
        """Return the same run at the next step; empty if there is none."""
        return self._at(1)

    def _at(self, offset: int) -> str:
        i = self.steps.index(self.step) + offset
        return f"{self.run.uid}@{self.steps[i]}" if 0 <= i < len(self.steps) else ""


@dataclass(frozen=True)
class Columns:
    """The columns in the requested order, the pinned one, and `missing`: messages about requested columns without data.

    `problems`: messages about unknown steps or an unknown pin of the others. `person`: the user who views them.
    """

    person: Person
    all: list[Column]
    pin: int = 0
    missing: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    cache: dict[str, Any] = field(default_factory=dict, compare=False)
    """Data that annotation sources have read about these columns, each under its own name."""

    @property
    def pinned(self) -> Column:
        """Return the column that the others are compared with."""
        return self.all[self.pin]

    @property
    def letters(self) -> list[str]:
        return [column.letter for column in self.all]


def columns_of(person: Person, words: Sequence[str], pin: str = "") -> Columns:
    """Return the columns that these words name, if the user may see them and they have responses. Two queries.

    A missing column leaves its letter unused, so that parameters that refer to a letter do not apply to another column.
    """
    requested = list(dict.fromkeys(words))
    missing = [_too_many(len(requested))] if len(requested) > MAX_COLUMNS else []
    requested, problems, unused = requested[:MAX_COLUMNS], [], 0
    runs = (
        Run.objects.visible_to(person).select_related("experiment").filter(uid__in=[_uid(word) for word in requested])
    )
    by_uid = {run.uid: run for run in runs}
    evaluated = list_evaluated_steps(by_uid.values())
    columns: list[Column] = []
    for word in requested:
        run = by_uid.get(_uid(word))
        column, problem = _column(word, run, evaluated.get(run.pk, ()) if run else (), len(columns) + unused)
        if column is None:
            missing, unused = [*missing, problem], unused + 1
            continue
        columns += [column] if column.word not in [column.word for column in columns] else []
        problems += [problem] if problem else []
    at = {column.word: i for i, column in enumerate(columns)}
    if pin and pin not in at:
        problems.append(must_be_one_of("pin", at, pin))
    return Columns(person, columns, at.get(pin, 0), missing, problems)


def _column(word: str, run: Run | None, evaluated: tuple[EvaluatedStep, ...], n: int) -> tuple[Column | None, str]:
    """Return the column at the named step, else at the last whole evaluation, and a problem if there is one."""
    if run is None:
        return None, gettext("There is no run %(uid)s that you may see.") % {"uid": _uid(word)[:20]}
    last = choose_last_step(evaluated)
    if last is None:
        return None, gettext("%(name)s has no saved responses.") % {"name": run.name}
    step_param = word.partition("@")[2]
    steps = tuple(evaluated_step.step for evaluated_step in evaluated)
    by_step = {str(evaluated_step.step): evaluated_step for evaluated_step in evaluated}
    evaluation = by_step.get(step_param, last)
    column = Column(ascii_uppercase[n], run, evaluation.step, steps, evaluation)
    if step_param and step_param not in by_step:
        params = {"name": run.name, "step": step_param[:20], "steps": ", ".join(map(str, steps[-20:]))}
        return column, gettext("%(name)s has no responses of step %(step)s. Its steps: %(steps)s.") % params
    return column, ""


def _uid(word: str) -> str:
    return word.partition("@")[0]


def _too_many(n: int) -> str:
    return gettext("At most %(most)s columns can be compared, not %(n)s.") % {"most": MAX_COLUMNS, "n": n}
