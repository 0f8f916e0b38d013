"""Find the viewer's columns: a run at a step each, as `UID` or `UID@STEP`. One of them is pinned.

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

COLUMNS_AT_MOST = 6
SPLIT = EVALUATION


@dataclass(frozen=True)
class Column:
    """A run at a step. `steps`: all at which its answers were kept, ascending. `evaluation`: how many of the step's
    answers are here, None where that is not looked up."""

    letter: str
    run: Run
    step: int
    steps: tuple[int, ...] = ()
    evaluation: EvaluatedStep | None = None

    @property
    def missing(self) -> str:
        """`5 of 32 answers`; empty where all are here."""
        return self.evaluation.words if self.evaluation and self.evaluation.is_partial else ""

    @property
    def word(self) -> str:
        """Return the column as an address writes it: `UID@STEP`."""
        return f"{self.run.uid}@{self.step}"

    @property
    def method(self) -> str:
        """The method that the answers were trained by; empty at step 0 of a run that has later answers."""
        return "" if self.step == 0 and self.steps and self.steps[-1] > 0 else self.run.method

    @property
    def earlier(self) -> str:
        """The same run at the step before; empty where there is none."""
        return self._at(-1)

    @property
    def later(self) -> str:
        """The same run at the next step; empty where there is none."""
        return self._at(1)

    def _at(self, by: int) -> str:
        i = self.steps.index(self.step) + by
        return f"{self.run.uid}@{self.steps[i]}" if 0 <= i < len(self.steps) else ""


@dataclass(frozen=True)
class Columns:
    """The columns, in the order asked; the pinned one; which columns that were asked for are not among them.

    `problems` say of those that are which step or which pin there is not. `person` looks at them.
    """

    person: Person
    all: list[Column]
    pin: int = 0
    missing: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    known: dict[str, Any] = field(default_factory=dict, compare=False)
    """What tellers have found out about these columns, each under a name of its own."""

    @property
    def pinned(self) -> Column:
        """The column that the others are held against."""
        return self.all[self.pin]

    @property
    def letters(self) -> list[str]:
        return [column.letter for column in self.all]


def columns_of(person: Person, words: Sequence[str], pin: str = "") -> Columns:
    """Return the columns that these words name, as far as the person may see them and they have answers. Two queries.

    A column that is not there leaves its letter unused, so that what else the address asks of a letter asks it of no
    other column.
    """
    asked = list(dict.fromkeys(words))
    missing = [_too_many(len(asked))] if len(asked) > COLUMNS_AT_MOST else []
    asked, problems, unused = asked[:COLUMNS_AT_MOST], [], 0
    runs = Run.objects.visible_to(person).select_related("experiment").filter(uid__in=[_uid(word) for word in asked])
    by_uid = {run.uid: run for run in runs}
    evaluated = list_evaluated_steps(by_uid.values())
    found: list[Column] = []
    for word in asked:
        run = by_uid.get(_uid(word))
        column, problem = _column(word, run, evaluated.get(run.pk, ()) if run else (), len(found) + unused)
        if column is None:
            missing, unused = [*missing, problem], unused + 1
            continue
        found += [column] if column.word not in [one.word for one in found] else []
        problems += [problem] if problem else []
    at = {column.word: i for i, column in enumerate(found)}
    if pin and pin not in at:
        problems.append(must_be_one_of("pin", at, pin))
    return Columns(person, found, at.get(pin, 0), missing, problems)


def _column(word: str, run: Run | None, evaluated: tuple[EvaluatedStep, ...], n: int) -> tuple[Column | None, str]:
    """The column, at the step that is named, else at the last one whose answers are all here."""
    if run is None:
        return None, gettext("There is no run %(uid)s that you may see.") % {"uid": _uid(word)[:20]}
    last = choose_last_step(evaluated)
    if last is None:
        return None, gettext("%(name)s has kept no answers.") % {"name": run.name}
    asked = word.partition("@")[2]
    steps = tuple(one.step for one in evaluated)
    named = {str(one.step): one for one in evaluated}
    chosen = named.get(asked, last)
    column = Column(ascii_uppercase[n], run, chosen.step, steps, chosen)
    if asked and asked not in named:
        said = {"name": run.name, "step": asked[:20], "steps": ", ".join(map(str, steps[-20:]))}
        return column, gettext("%(name)s has no answers of step %(step)s, but of %(steps)s.") % said
    return column, ""


def _uid(word: str) -> str:
    return word.partition("@")[0]


def _too_many(n: int) -> str:
    return gettext("At most %(most)s columns stand beside each other, not %(n)s.") % {"most": COLUMNS_AT_MOST, "n": n}
