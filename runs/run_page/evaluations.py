"""Evaluations of a training, which are separate runs: the rows of its page, and the table as CSV and LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_safe

from runs import metrics
from runs.charts import MEASURED
from runs.http import FILES, SignedIn, require_choice, table_response, visible_run
from runs.kinds import OTHER_THAN_EVALUATIONS, kind_of
from runs.metrics import Provenance, resolve_fallbacks
from runs.metrics.catalogue import AVERAGED_OVER, metric_of
from runs.models import Run
from runs.tables import NONE, PLAIN, SHARES, Badge, Column, Link, Table
from runs.templatetags.format import state_badge
from workers.analysis.keys import ACCURACY, COST, KL, PASS, PROMPTS, REWARD, RIGHT, SAFE

MAX_COMPARED = 10
"""Number of evaluations that a link compares, the newest ones."""
COLUMNS = (*dict.fromkeys((REWARD, RIGHT, ACCURACY, PASS, KL, COST, SAFE, *metrics.HEADLINE_KEYS)), AVERAGED_OVER)


@dataclass(frozen=True)
class Cell:
    """A number of an evaluation, None if it has none. `provenance`: how it was measured, None for other than held-out
    series."""

    key: str
    value: float | None
    provenance: Provenance | None


@dataclass(frozen=True)
class EvaluationRow:
    """An evaluation. `provenance` states how its reward was measured. steps: the number of evaluated steps, and the
    last of them; None for an imported evaluation, and before the first."""

    run: Run
    cells: list[Cell]
    provenance: Provenance | None
    steps: tuple[int, int] | None = None

    @property
    def tasks(self) -> str:
        """Return the names of its tasks, its own first; an empty text if the config names none."""
        task = self.run.config.get("task")
        own = [str(task["name"])] if isinstance(task, dict) and "name" in task else []
        return ", ".join([*own, *self.run.prior_tasks])


def evaluations_context(training: Run, person: User) -> dict[str, Any]:
    """Return the table of a training's evaluations that this user may see, with the columns that any of them fills."""
    rows = list_evaluations(training, person)
    launched = [row.run.uid for row in rows if kind_of(row.run.method).has_evaluated_steps]
    compared = urlencode([("run", uid) for uid in launched[-MAX_COMPARED:]])
    return {"evaluations": _tables(rows)["page"] if rows else None, "compared_evaluations": compared}


def list_evaluations(training: Run, person: User) -> list[EvaluationRow]:
    """Return the training's evaluations that this user may see, the oldest first, with a cell for each key that any of
    them has."""
    children = Run.objects.visible_to(person).filter(parent=training).exclude(method__in=OTHER_THAN_EVALUATIONS)
    runs = list(children.order_by("created_at", "pk"))
    if not runs:
        return []
    numbers, origins, steps = metrics.latest(runs), metrics.origins_of(runs), _evaluated_steps(runs)
    needed = [set(resolve_fallbacks(numbers[run.pk], numbers[run.pk])) for run in runs]
    keys = [key for key in COLUMNS if any(key in of_run for of_run in needed)]
    rows = []
    for run in runs:
        provenances = {key: metrics.provenance(run.config, key, origins[run.pk]) for key in COLUMNS}
        cells = [Cell(key, numbers[run.pk].get(key), provenances[key]) for key in keys]
        rows.append(EvaluationRow(run, cells, provenances[REWARD], steps.get(run.pk)))
    return rows


def _title(key: str) -> str:
    metric = metric_of(key)
    return gettext(metric.column or metric.label or metric.short or metric.title)


def _evaluated_steps(runs: Sequence[Run]) -> dict[int, tuple[int, int]]:
    """Return run id -> (number of evaluated steps, last one) of the runs of method evaluate. One query."""
    launched = [run for run in runs if kind_of(run.method).has_evaluated_steps]
    curves = metrics.read(launched, [PROMPTS]) if launched else []
    return {curve.run_id: (int((~curve.overwritten).sum()), int(curve.x[-1])) for curve in curves if len(curve.x)}


@require_safe
def run_evaluations_table(request: SignedIn, uid: str) -> HttpResponse:
    """Return the evaluations of a run as a file. Raise UnknownChoice if `as` is not a kind of file."""
    run = visible_run(request, uid)
    form = require_choice(request, "as", FILES, FILES[0])
    rows = list_evaluations(run, request.user)
    return table_response(request, _tables(rows)[form], f"{run.name} evaluations", _notes(run, rows))


def _tables(rows: Sequence[EvaluationRow]) -> dict[str, Table]:
    """Return a row for each evaluation as the page, CSV and LaTeX show it. CSV states how each held-out value was
    measured."""
    keys = [cell.key for cell in rows[0].cells] if rows else []
    measured = [(key, f"{key} {MEASURED}") for key in keys]
    columns = (
        Column("uid"), Column("name", gettext("Run"), str), Column("state"), Column("page", gettext("Run"), Link),
        Column("badge", gettext("State"), Badge), Column("tasks", gettext("Tasks"), str),
        Column("steps", gettext("Steps"), str),
        *(Column(key, _title(key), style=SHARES if metric_of(key).is_share else PLAIN) for key in keys),
        *(Column(name) for _, name in measured), Column("on", gettext("Measured on"), Badge),
    )  # fmt: skip
    table = Table(columns, tuple(
        (
            row.run.uid, row.run.name, row.run.state, Link(row.run.name, row.run.get_absolute_url()),
            state_badge(row.run.state), row.tasks or NONE, _steps_text(row.steps), *(cell.value for cell in row.cells),
            *(None if cell.value is None else cell.provenance for cell in row.cells),
            Badge(row.provenance.words) if row.provenance else "",
        )
        for row in rows
    ))  # fmt: skip
    return {
        "page": table.select("page", "badge", "tasks", "steps", *keys, "on"),
        "csv": table.select("uid", "name", "state", *(name for names in measured for name in names)),
        "latex": table.select("name", *keys, "on"),
    }


def _steps_text(steps: tuple[int, int] | None) -> str:
    if steps is None:
        return NONE
    n, last = steps
    return ngettext("step %(last)s", "%(n)s, to step %(last)s", n) % {"n": n, "last": last}


def _notes(training: Run, rows: Sequence[EvaluationRow]) -> list[str]:
    """Return the lines that state the number of evaluations, and how each column was measured."""
    columns = zip(*(row.cells for row in rows), strict=True)
    return [
        f"Evaluations of {training.name} ({training.uid})",
        f"Evaluations (n = {len(rows)}): {', '.join(row.run.uid for row in rows)}",
        *filter(None, map(_measured_line, columns)),
    ]


def _measured_line(cells: Sequence[Cell]) -> str:
    """Return the key of a column and all ways in which its values were measured; empty if they are unknown."""
    measured = metrics.ways(cell.provenance for cell in cells if cell.value is not None)
    return f"{cells[0].key}: {' | '.join(way.text for way in measured)}" if measured else ""
