"""The rows of a runs table: what each run is, how far it is, and what the evaluator last said of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta

from django.core.paginator import Page
from django.db.models import Count, F, FilteredRelation, Max, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce, Now
from django.http import HttpRequest

from runs.charts import label
from runs.models import Attempt, Batch, Experiment, Run, Series
from runs.views.parameters import choice, page_of
from workers.executors.states import State

RUNS_A_PAGE = 10
SHOWN = {"reward": "reward/mean", "accuracy": "accuracy/contains", "kl": "kl"}
COLUMNS = {
    "name": "Run",
    "state": "State",
    "method": "Method",
    "preset": "Preset",
    "seed": "Seed",
    "step": "Step",
    "reward": "Reward",
    "accuracy": "Accuracy",
    "kl": "KL",
    "seconds": "Time",
}
NUMBERS = ("seed", "reward", "accuracy", "kl", "seconds")
SORTS = [f"{sign}{name}" for name in ("created", *COLUMNS) for sign in ("", "-")]
ORDER_FIELD = {"created": "pk"}


@dataclass(frozen=True)
class Column:
    """A heading, and the sort that a click on it asks for."""

    name: str
    title: str
    asks: str
    sorted: str
    is_number: bool


@dataclass(frozen=True)
class Row:
    """A run as the table shows it. Seconds are those of all its attempts."""

    run: Run
    attempt: Attempt | None
    label: str
    step: int | None
    steps: int
    reward: float | None
    accuracy: float | None
    kl: float | None
    seconds: float | None

    @property
    def why(self) -> str:
        """Why it waits or ended, where that is not plain from its state."""
        plain = self.run.state in (State.RUNNING, State.SUCCEEDED)
        return "" if plain or self.attempt is None else self.attempt.reason

    @property
    def share(self) -> float:
        """How much is done, 0 to 1."""
        return min(1.0, (self.step or 0) / self.steps) if self.steps else 0.0


@dataclass(frozen=True)
class RunsTable:
    """One page of an experiment's runs."""

    columns: list[Column]
    rows: list[Row]
    page: Page[Run]
    sort: str
    states: list[tuple[str, int]]

    @property
    def runs(self) -> list[Run]:
        """The runs that are shown."""
        return [row.run for row in self.rows]

    @property
    def is_open(self) -> bool:
        """True while one of the shown runs has not ended."""
        return any(run.is_open for run in self.runs)


def runs_table(request: HttpRequest, experiment: Experiment) -> RunsTable:
    """The page of runs that the address asks for. A constant number of queries."""
    sort = choice(request, "sort", SORTS, "-created")
    page = page_of(request, _sorted(_with_numbers(experiment.runs.all()), sort), RUNS_A_PAGE)
    runs = list(page.object_list)
    newest = Attempt.objects.filter(run__in=runs).order_by("run_id", "-n").distinct("run_id")
    attempts = {attempt.run_id: attempt for attempt in newest}
    states = experiment.runs.values_list("state").annotate(n=Count("pk")).order_by("state")
    return RunsTable(_columns(sort), [_row(r, attempts.get(r.pk)) for r in runs], page, sort, list(states))


def cursors(runs: Sequence[Run]) -> dict[str, int]:
    """uid -> newest batch of each run. To be asked before its points are read: then nothing is missed."""
    newest = Batch.objects.filter(run__in=runs).values_list("run_id").annotate(newest=Max("pk"))
    found = dict(newest.order_by())
    return {run.uid: found.get(run.pk, 0) for run in runs}


def steps_of(run: Run) -> int:
    """Updates that a run will make, from its stored config; 0 where that does not say."""
    section = run.config.get(run.method) or {}
    return int(section.get("iterations") or section.get("max_steps") or 0)


def _with_numbers(runs: QuerySet[Run]) -> QuerySet[Run]:
    for name, key in SHOWN.items():
        runs = runs.annotate(**{f"{name}_series": FilteredRelation("series", condition=Q(series__key=key))})
    steps = Series.objects.filter(run=OuterRef("pk")).order_by().values("run").annotate(last=Max("last_step"))
    took = Attempt.objects.filter(run=OuterRef("pk"), started_at__isnull=False).order_by().values("run")
    took = took.annotate(took=Sum(Coalesce(F("ended_at"), Now()) - F("started_at")))
    return runs.annotate(
        **{name: F(f"{name}_series__last_value") for name in SHOWN},
        step=Subquery(steps.values("last")),
        seconds=Subquery(took.values("took")),
    )


def _sorted(runs: QuerySet[Run], sort: str) -> QuerySet[Run]:
    name = sort.removeprefix("-")
    field = F(ORDER_FIELD.get(name, name))
    return runs.order_by(field.desc(nulls_last=True) if sort[0] == "-" else field.asc(nulls_last=True), "-pk")


def _columns(sort: str) -> list[Column]:
    now = {sort.removeprefix("-"): "descending" if sort[0] == "-" else "ascending"}
    return [
        Column(name, title, f"-{name}" if now.get(name) == "ascending" else name, now.get(name, ""), name in NUMBERS)
        for name, title in COLUMNS.items()
    ]


def _row(run: Run, attempt: Attempt | None) -> Row:
    numbers = {name: getattr(run, name) for name in ("step", "reward", "accuracy", "kl")}
    took: timedelta | None = run.seconds  # type: ignore[attr-defined]
    return Row(run, attempt, label(run), steps=steps_of(run), seconds=took.total_seconds() if took else None, **numbers)
