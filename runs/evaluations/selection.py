"""Selection of the evaluations that a page compares, and what it shows of them, from an address."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.db.models import Q
from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs import kinds
from runs.charts import Group, Mark, label
from runs.charts.marks import letter
from runs.http import SignedIn, UnknownChoice, must_be_one_of, require_choice
from runs.models import Experiment, Run
from runs.models.experiment import config_section

MAX_EVALUATIONS = 10
STEP_CHOICES = {"ends": _("first and last"), "last": _("last"), "all": _("all")}
"""Steps of each evaluation that charts over k show."""
LINE_CHOICES = {"single": _("single evaluations"), "means": _("means of trainings")}


@dataclass(frozen=True)
class Evaluation:
    """A run of method evaluate. mark: its letter and look; its group is that of the training that it evaluates."""

    mark: Mark

    @property
    def run(self) -> Run:
        return self.mark.run

    @property
    def training(self) -> Run | None:
        """Return the evaluated training, None if there is none that the reader may see."""
        return self.run.parent

    @property
    def method(self) -> str:
        """Return the method of the evaluated training; an empty text if there is none."""
        return self.mark.group.method

    @property
    def subject(self) -> str:
        """Return the name of what is evaluated: the training, or else the model."""
        return self.training.name if self.training else str(section(self.run, "model").get("path", ""))

    @cached_property
    def own_task(self) -> str:
        return str(section(self.run, "task").get("name", ""))

    @cached_property
    def tasks(self) -> list[str]:
        """Return the names of its tasks, its own first."""
        return [self.own_task, *self.run.prior_tasks]

    def is_trained_on(self, task: str) -> bool:
        """Return whether the evaluated training has this task."""
        return self.training is not None and section(self.training, "task").get("name") == task

    def prefix(self, task: str) -> str:
        """Return the beginning of the keys of a task's values."""
        return "" if task == self.own_task else f"prior/{task}/"


@dataclass(frozen=True)
class EvaluationChoice:
    """The compared evaluations, oldest first; total: number of those to choose from. task: the task of charts over k.
    steps: one of STEP_CHOICES. has_means: lines are means over the evaluations of trainings with the same setting."""

    evaluations: list[Evaluation]
    offered: list[Run]
    total: int
    task: str
    steps: str
    has_means: bool
    problems: tuple[str, ...] = ()

    @property
    def tasks(self) -> list[str]:
        """Return the names of all tasks, those of the evaluations' own first."""
        own = [evaluation.own_task for evaluation in self.evaluations]
        return list(dict.fromkeys([*own, *(task for evaluation in self.evaluations for task in evaluation.tasks)]))

    @property
    def runs(self) -> list[Run]:
        return [evaluation.run for evaluation in self.evaluations]

    @property
    def can_average(self) -> bool:
        """Return whether any setting has several evaluations."""
        return any(len(evaluation.mark.group.runs) > 1 for evaluation in self.evaluations)

    @property
    def lines(self) -> list[tuple[Evaluation, ...]]:
        """Return the evaluations of each line of a chart."""
        if not self.has_means:
            return [(evaluation,) for evaluation in self.evaluations]
        slugs = dict.fromkeys(evaluation.mark.group.slug for evaluation in self.evaluations)
        return [tuple(e for e in self.evaluations if e.mark.group.slug == slug) for slug in slugs]

    @property
    def legend(self) -> list[tuple[Evaluation, str]]:
        """Return each evaluation with the identity of its line."""
        return [(member, line_identity(members)) for members in self.lines for member in members]


def line_identity(members: Sequence[Evaluation]) -> str:
    """Return the name by which the legend hides and shows the line of these evaluations."""
    return members[0].run.uid if len(members) == 1 else members[0].mark.group.slug


def parse_choice(request: SignedIn, experiment: Experiment) -> EvaluationChoice:
    """Return what the address selects: the named evaluations, else the newest.

    Evaluations of the experiment, and those elsewhere of its trainings, are offered. Raise UnknownChoice for a task or
    steps that do not exist, and if none of the named evaluations does.
    """
    rows = (
        Run.objects.visible_to(request.user)
        .filter(Q(experiment=experiment) | Q(parent__experiment=experiment), archived_at=None)
        .of_kind(kinds.EVALUATION)
        .select_related("experiment").with_visible_parent(request.user).order_by("-pk")
    )  # fmt: skip
    offered = list(rows[: 5 * MAX_EVALUATIONS])
    named = list(dict.fromkeys(request.GET.getlist("run")))
    uids = [run.uid for run in offered]
    shown, problems = _named(request, named, uids) if named else (offered[:MAX_EVALUATIONS], ())
    evaluations = evaluations_of(shown)
    tasks = list(dict.fromkeys(task for evaluation in evaluations for task in evaluation.tasks))
    task = require_choice(request, "task", tasks, tasks[0] if tasks else "")
    steps = require_choice(request, "steps", STEP_CHOICES, "ends")
    has_means = require_choice(request, "lines", LINE_CHOICES, "single") == "means"
    return EvaluationChoice(evaluations, offered, rows.count(), task, steps, has_means, problems)


def _named(request: SignedIn, uids: Sequence[str], offered: Sequence[str]) -> tuple[list[Run], tuple[str, ...]]:
    """Return the evaluations with these uids in any experiment, and sentences about those that cannot be shown."""
    rows = Run.objects.visible_to(request.user).of_kind(kinds.EVALUATION).filter(uid__in=uids[: 5 * MAX_EVALUATIONS])
    runs = {run.uid: run for run in rows.select_related("experiment").with_visible_parent(request.user)}
    problems = []
    if missing := [uid[:20] for uid in uids if uid not in runs]:
        problems.append(must_be_one_of("run", offered, ", ".join(missing)))
    if not runs:
        raise UnknownChoice(problems[0])
    if len(runs) > MAX_EVALUATIONS:
        message = gettext("At most %(most)s evaluations can be compared, not %(n)s: showing the first.")
        problems.append(message % {"most": MAX_EVALUATIONS, "n": len(runs)})
    return [runs[uid] for uid in uids if uid in runs][:MAX_EVALUATIONS], tuple(problems)


def evaluations_of(runs: Sequence[Run]) -> list[Evaluation]:
    """Return the runs as evaluations, oldest first, so that letters stay with them while others are added."""
    ordered = sorted(runs, key=lambda run: run.pk)
    looks = {run.pk: _look(run) for run in ordered}
    variants: dict[tuple[str, str], int] = {}
    counts: Counter[str] = Counter()
    for method, text in looks.values():
        if (method, text) not in variants:
            variants[method, text] = counts[method]
            counts[method] += 1
    members = {look: tuple(run for run in ordered if looks[run.pk] == look) for look in variants}
    groups = {look: Group(*look, variants[look], members[look]) for look in variants}
    return [Evaluation(Mark(letter(i), run, groups[looks[run.pk]])) for i, run in enumerate(ordered)]


def _look(run: Run) -> tuple[str, str]:
    """Return (method, label) of what the run evaluates, by which evaluations share a colour."""
    if run.parent is not None:
        return run.parent.method, label(run.parent)
    return "", gettext("model %(path)s") % {"path": section(run, "model").get("path", "")}


def section(run: Run, name: str) -> Mapping[str, Any]:
    """Return a section of the run's config; empty if it has none."""
    return config_section(run.config, name)


def chart_query(request: HttpRequest, choice: EvaluationChoice) -> QueryDict:
    """Return the parameters for charts of this choice, without the evaluations that do not exist."""
    query = request.GET.copy()
    if choice.problems:
        query.setlist("run", [run.uid for run in choice.runs])
    return query
