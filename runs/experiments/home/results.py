"""Results on the home page: the runs that ended last, with curves and final values, and the best of each experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db.models import Exists, F, OuterRef, QuerySet

from runs import metrics
from runs.compare.run_table import Cell, Column, Heading, Row, Vocabulary, rows_of
from runs.experiments.home.best_runs import REWARD, BestRun, best_runs, find_candidates
from runs.experiments.home.sections import FINAL
from runs.experiments.home.sparkline import Sparkline, sparklines
from runs.flags import open_flags
from runs.metrics import HEADLINE_KEYS
from runs.models import Attempt, Flag, Run, Series

MAX_RESULTS = 8
KL = "kl"
COLUMNS = tuple(filter(None, map(Vocabulary(()).column, (REWARD, KL, "method", "state"))))
TASK_KEYS = tuple(key for key in HEADLINE_KEYS if key not in (REWARD, KL))
TASK_COLUMNS = tuple(filter(None, map(Vocabulary(()).column, TASK_KEYS)))


@dataclass(frozen=True)
class Result:
    """A run that ended: its row, the cells of its task's other headline metrics, the time of its end if it is known,
    its curve and its open flags."""

    row: Row
    task_cells: Sequence[Cell]
    ended_at: datetime | None
    curve: Sparkline | None
    flags: Sequence[Flag]


@dataclass(frozen=True)
class Results:
    """The last results with the headings of their columns, and the best runs, which have the same columns."""

    last: list[Result]
    headings: list[Heading]
    best: list[BestRun]

    @property
    def differing(self) -> frozenset[str]:
        """Return the keys of the columns whose values in the last results were measured differently."""
        return frozenset(heading.column.key for heading in self.headings if heading.ways)


def results(runs: QuerySet[Run]) -> Results:
    """Return the last results of these runs, and the best run of each of their newest experiments.

    At most eleven queries.
    """
    ended, candidates = _last_ended(runs), find_candidates(runs)
    flags = open_flags([*ended, *(pk for entry in candidates for pk in entry.runs)])
    rows, task_cells = _rows([*ended, *(pk for entry in candidates for pk in entry.select(flags))])
    curves = sparklines([rows[pk].run for pk in ended if pk in rows], REWARD)
    last = [
        Result(rows[pk], task_cells[pk], at, curves.get(pk), flags.get(pk, ()))
        for pk, at in ended.items()
        if pk in rows
    ]
    best = best_runs(candidates, rows, task_cells, flags)
    return Results(last, _headings([result.row for result in last]), best)


def _last_ended(runs: QuerySet[Run]) -> dict[int, datetime | None]:
    """Return the times at which the last runs with a reward or a KL ended, by run id, newest first. Imported runs may
    have none, and come last."""
    later = Attempt.objects.filter(run=OuterRef("run"), n__gt=OuterRef("n"))
    measured = Series.objects.filter(run=OuterRef("run"), key__in=(REWARD, KL))
    ended = Attempt.objects.filter(~Exists(later), Exists(measured), run__in=runs.filter(state__in=FINAL))
    newest = ended.order_by(F("ended_at").desc(nulls_last=True), "-run_id")
    return dict(newest.values_list("run_id", "ended_at")[:MAX_RESULTS])


def _rows(run_ids: Sequence[int]) -> tuple[dict[int, Row], dict[int, list[Cell]]]:
    """Return, by run id, the rows of these runs, and the measured cells of their tasks' other headline metrics."""
    runs = metrics.with_origins(Run.objects.select_related("experiment", "created_by")).in_bulk(run_ids)
    rows = rows_of(list(runs.values()), (*COLUMNS, *TASK_COLUMNS))
    n = len(COLUMNS)
    return (
        {row.run.pk: replace(row, cells=row.cells[:n]) for row in rows},
        {row.run.pk: [cell for cell in row.cells[n:] if _is_headline(row.run, cell)] for row in rows},
    )


def _is_headline(run: Run, cell: Cell) -> bool:
    keys = {metric.key for metric in metrics.headline_metrics(metrics.task_of(run.config))}
    return cell.value is not None and cell.column.key in keys


def _headings(rows: Sequence[Row]) -> list[Heading]:
    return [_heading(column, [row.cells[place].measured for row in rows]) for place, column in enumerate(COLUMNS)]


def _heading(column: Column, measured: Sequence[metrics.Provenance | None]) -> Heading:
    ways = metrics.ways(measured)
    return Heading(column, "", "", ways if len(ways) > 1 else ())
