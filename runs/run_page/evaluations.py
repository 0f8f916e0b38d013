"""The evaluations that belong to a training: what each measured at its newest step, and on which answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs import metrics
from runs.models import Run

COLUMNS = {
    "reward/mean": _("Reward"),
    "accuracy/contains": _("Accuracy"),
    "kl": _("KL, nats per token"),
    "cost/mean": _("Cost"),
    "safety/safe_ratio": _("Safe"),
    "eval/n": _("Answers"),
}
SHARES = ("accuracy/contains", "safety/safe_ratio")


@dataclass(frozen=True)
class Cell:
    """A number of an evaluation, None if it has none; `is_share`: it is written in percent."""

    title: str
    value: float | None
    is_share: bool


@dataclass(frozen=True)
class EvaluationRow:
    """An evaluation. `measured`: how its reward was measured, in words."""

    run: Run
    cells: list[Cell]
    measured: str


def evaluations_context(training: Run) -> dict[str, Any]:
    """Return the rows of a training's evaluations, and the titles of the columns that any of them fills."""
    runs = list(training.evaluations.filter(deleted_at=None).order_by("created_at", "pk"))
    if not runs:
        return {"evaluation_rows": [], "evaluation_titles": []}
    numbers, origins = metrics.latest(runs), metrics.origins_of(runs)
    keys = [key for key in COLUMNS if any(key in numbers[run.pk] for run in runs)]
    rows = []
    for run in runs:
        cells = [Cell(gettext(COLUMNS[key]), numbers[run.pk].get(key), key in SHARES) for key in keys]
        measured = metrics.provenance(run.config, "reward/mean", origins[run.pk])
        rows.append(EvaluationRow(run, cells, measured.words if measured else ""))
    return {"evaluation_rows": rows, "evaluation_titles": [gettext(COLUMNS[key]) for key in keys]}
