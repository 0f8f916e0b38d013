"""Evaluations of a training, which are separate runs: the rows of its page, and the table as CSV and LaTeX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _
from django.views.decorators.http import require_safe

from runs import metrics
from runs.charts import MEASURED, Table
from runs.http import FILES, SignedIn, require_choice, table_response, visible_run
from runs.metrics import Provenance
from runs.models import PROBE, Run

STEP_KEY = "evaluate/prompts"
"""Key that runs of method evaluate record once for each step."""
MAX_COMPARED = 10
"""Number of evaluations that a link compares, the newest ones."""
SHARES = ("accuracy/contains", "pass@1", "safety/safe_ratio")
COLUMNS = {
    "reward/mean": _("Reward"),
    "accuracy/contains": _("Accuracy"),
    "pass@1": _("pass@1"),
    "kl": _("KL, nats per token"),
    "cost/mean": _("Cost"),
    "safety/safe_ratio": _("Safe"),
    "eval/n": _("Responses"),
}


@dataclass(frozen=True)
class Cell:
    """A number of an evaluation, None if it has none. `provenance`: how it was measured, None for other than held-out
    series."""

    key: str
    value: float | None
    provenance: Provenance | None

    @property
    def is_share(self) -> bool:
        """Return whether the number is written in percent."""
        return self.key in SHARES


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

    @property
    def measured(self) -> str:
        """Return how the reward was measured, in words."""
        return self.provenance.words if self.provenance else ""


def evaluations_context(training: Run, person: User) -> dict[str, Any]:
    """Return the rows of a training's evaluations that this user may see, and the titles of the columns that any of
    them fills."""
    rows = list_evaluations(training, person)
    titles = [gettext(COLUMNS[cell.key]) for cell in rows[0].cells] if rows else []
    launched = [row.run.uid for row in rows if row.run.is_evaluation]
    compared = urlencode([("run", uid) for uid in launched[-MAX_COMPARED:]])
    return {"evaluation_rows": rows, "evaluation_titles": titles, "compared_evaluations": compared}


def list_evaluations(training: Run, person: User) -> list[EvaluationRow]:
    """Return the training's evaluations that this user may see, the oldest first, with a cell for each key that any of
    them has."""
    children = Run.objects.visible_to(person).filter(parent=training).exclude(method=PROBE)
    runs = list(children.order_by("created_at", "pk"))
    if not runs:
        return []
    numbers, origins, steps = metrics.latest(runs), metrics.origins_of(runs), _evaluated_steps(runs)
    keys = [key for key in COLUMNS if any(key in numbers[run.pk] for run in runs)]
    rows = []
    for run in runs:
        provenances = {key: metrics.provenance(run.config, key, origins[run.pk]) for key in COLUMNS}
        cells = [Cell(key, numbers[run.pk].get(key), provenances[key]) for key in keys]
        rows.append(EvaluationRow(run, cells, provenances["reward/mean"], steps.get(run.pk)))
    return rows


def _evaluated_steps(runs: Sequence[Run]) -> dict[int, tuple[int, int]]:
    """Return run id -> (number of evaluated steps, last one) of the runs of method evaluate. One query."""
    launched = [run for run in runs if run.is_evaluation]
    curves = metrics.read(launched, [STEP_KEY]) if launched else []
    return {curve.run_id: (int((~curve.overwritten).sum()), int(curve.x[-1])) for curve in curves if len(curve.x)}


@require_safe
def run_evaluations_table(request: SignedIn, uid: str) -> HttpResponse:
    """Return the evaluations of a run as a file. Raise UnknownChoice if `as` is not a kind of file."""
    run = visible_run(request, uid)
    form = require_choice(request, "as", FILES, FILES[0])
    rows = list_evaluations(run, request.user)
    table = evaluations_table(rows) if form == "csv" else _paper_table(rows)
    return table_response(request, table, f"{run.name} evaluations", _notes(run, rows))


def evaluations_table(rows: Sequence[EvaluationRow]) -> Table:
    """Return a row for each evaluation with all digits, and with how each held-out value was measured."""
    heads = ["uid", "name", "state"]
    for cell in rows[0].cells if rows else []:
        heads += [cell.key, f"{cell.key} {MEASURED}"]
    return Table(
        tuple(heads),
        tuple(
            (row.run.uid, row.run.name, row.run.state, *(part for cell in row.cells for part in _cell_parts(cell)))
            for row in rows
        ),
    )


def _cell_parts(cell: Cell) -> tuple[float | None, Provenance | None]:
    return cell.value, None if cell.value is None else cell.provenance


def _paper_table(rows: Sequence[EvaluationRow]) -> Table:
    titles = [gettext(COLUMNS[cell.key]) for cell in rows[0].cells] if rows else []
    return Table(
        (gettext("Run"), *titles, gettext("Measured on")),
        tuple((row.run.name, *(cell.value for cell in row.cells), row.provenance) for row in rows),
    )


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
