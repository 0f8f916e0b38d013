"""Results on the home page: the runs that ended last, with curves and final values, and the best of each experiment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Exists, F, OuterRef, QuerySet

from runs import metrics
from runs.compare.run_table import Column, Heading, Vocabulary
from runs.experiments.home.best_runs import BestRun, best_runs, find_candidates
from runs.experiments.home.result_rows import ResultRow, result_rows
from runs.experiments.home.sections import FINAL
from runs.experiments.home.sparkline import Sparkline, sparklines
from runs.flags import open_flags
from runs.models import Attempt, Flag, Run, Series
from workers.analysis.keys import KL, REWARD

MAX_RESULTS = 8
COLUMNS = tuple(filter(None, map(Vocabulary(()).column, (REWARD, KL, "method", "state"))))


@dataclass(frozen=True)
class Result:
    """A run that ended: its row, the time of its end if it is known, its curve and its open flags."""

    row: ResultRow
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
    rows = _rows([*ended, *(pk for entry in candidates for pk in entry.select(flags))])
    curves = sparklines([rows[pk].run for pk in ended if pk in rows], REWARD)
    last = [Result(rows[pk], at, curves.get(pk), flags.get(pk, ())) for pk, at in ended.items() if pk in rows]
    return Results(last, _headings([result.row for result in last]), best_runs(candidates, rows, flags))


def best_results(runs: QuerySet[Run], max_experiments: int) -> dict[int, list[BestRun]]:
    """Return by experiment the best of these runs, and the best one without a flag if that is another, as home shows
    them. At most nine queries."""
    candidates = find_candidates(runs, max_experiments)
    flags = open_flags([pk for entry in candidates for pk in entry.runs])
    best = best_runs(candidates, _rows([pk for entry in candidates for pk in entry.select(flags)]), flags)
    return {entry.experiment: [run for run in best if run.experiment.pk == entry.experiment] for entry in candidates}


def _last_ended(runs: QuerySet[Run]) -> dict[int, datetime | None]:
    """Return the times at which the last runs with a reward or a KL ended, by run id, newest first. Imported runs may
    have none, and come last."""
    later = Attempt.objects.filter(run=OuterRef("run"), n__gt=OuterRef("n"))
    measured = Series.objects.filter(run=OuterRef("run"), key__in=(REWARD, KL))
    ended = Attempt.objects.filter(~Exists(later), Exists(measured), run__in=runs.filter(state__in=FINAL))
    newest = ended.order_by(F("ended_at").desc(nulls_last=True), "-run_id")
    return dict(newest.values_list("run_id", "ended_at")[:MAX_RESULTS])


def _rows(run_ids: Sequence[int]) -> dict[int, ResultRow]:
    """Return the rows of these runs by run id."""
    runs = metrics.with_origins(Run.objects.select_related("experiment", "created_by")).in_bulk(run_ids)
    return {row.run.pk: row for row in result_rows(list(runs.values()), COLUMNS)}


def _headings(rows: Sequence[ResultRow]) -> list[Heading]:
    return [_heading(column, [row.cells[i].measured for row in rows]) for i, column in enumerate(COLUMNS)]


def _heading(column: Column, measured: Sequence[metrics.Provenance | None]) -> Heading:
    ways = metrics.ways(measured)
    return Heading(column, "", "", ways if len(ways) > 1 else ())
