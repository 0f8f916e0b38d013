"""Find the best runs of the newest experiments by their final held-out reward, ranked by the stored last values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from django.db.models import Count, F, Max, QuerySet, Window
from django.db.models.functions import RowNumber
from django.urls import reverse

from runs import metrics
from runs.experiments.home.result_rows import ResultRow
from runs.experiments.home.sections import FINAL
from runs.metrics import Provenance
from runs.models import Experiment, Flag, Run, Series
from workers.analysis.keys import REWARD

MAX_EXPERIMENTS = 8
MAX_CANDIDATES = 20
"""Most runs of an experiment that are read, to find one without a flag."""
INFINITY = float("inf")


@dataclass(frozen=True)
class Candidates:
    """The best runs of an experiment, best first, and the number `n` of its runs that ended with a reward."""

    experiment: int
    n: int
    runs: tuple[int, ...]

    def select(self, flags: Mapping[int, Sequence[Flag]]) -> tuple[int, ...]:
        """Return the best run, then the best one without a flag if that is another and one of the candidates."""
        unflagged = next((pk for pk in self.runs if not flags.get(pk)), self.runs[0])
        return tuple(dict.fromkeys((self.runs[0], unflagged)))


@dataclass(frozen=True)
class BestRun:
    """The best of an experiment's `n` runs, or the best one without a flag. Its row has no cell of the state.

    ways: measurements of the reward among the candidates, if there are several. flagged: number of candidates, if all
    of them have flags.
    """

    row: ResultRow
    n: int
    flags: Sequence[Flag]
    is_alternative: bool
    flagged: int
    ways: tuple[Provenance, ...]

    @property
    def experiment(self) -> Experiment:
        return self.row.run.experiment

    @property
    def address(self) -> str:
        """Return the address of the table of the experiment's runs, those with the highest reward first."""
        return f"{reverse('experiment', args=[self.experiment.pk])}?sort=-{REWARD}"


def find_candidates(runs: QuerySet[Run], max_experiments: int = MAX_EXPERIMENTS) -> list[Candidates]:
    """Return the candidates of the experiments whose runs with a final reward are the newest. Two queries."""
    finals = Series.objects.filter(run__in=runs.filter(state__in=FINAL), key=REWARD)
    # PostgreSQL sorts NaN above infinity.
    finals = finals.filter(last_value__gt=-INFINITY, last_value__lt=INFINITY).order_by()
    counted = finals.values_list("run__experiment_id").annotate(n=Count("pk"), newest=Max("run_id"))
    counts = {pk: n for pk, n, _ in counted.order_by("-newest")[:max_experiments]}
    rank = Window(
        RowNumber(), partition_by=F("run__experiment_id"), order_by=[F("last_value").desc(), F("run_id").desc()]
    )
    ranked = finals.filter(run__experiment_id__in=counts).annotate(rank=rank).filter(rank__lte=MAX_CANDIDATES)
    pairs = sorted(ranked.values_list("run__experiment_id", "rank", "run_id"))
    best = {pk: tuple(run for *_, run in group) for pk, group in groupby(pairs, key=lambda pair: pair[0])}
    return [Candidates(pk, n, best[pk]) for pk, n in counts.items() if pk in best]


def measurements(candidates: Iterable[Candidates]) -> dict[int, tuple[Provenance, ...]]:
    """Return by experiment the ways in which its candidates' rewards were measured, if there are several. One query."""
    experiments = {pk: entry.experiment for entry in candidates for pk in entry.runs}
    measured: dict[int, list[Provenance | None]] = {}
    for pk, facts in Run.objects.filter(pk__in=experiments).values_list("pk", metrics.facts_expression()):
        measured.setdefault(experiments[pk], []).append(metrics.provenance_of_facts(facts, REWARD))
    ways = {pk: metrics.ways(several) for pk, several in measured.items()}
    return {pk: several for pk, several in ways.items() if len(several) > 1}


def best_runs(
    candidates: Sequence[Candidates], rows: Mapping[int, ResultRow], flags: Mapping[int, Sequence[Flag]]
) -> list[BestRun]:
    """Return one or two entries for each experiment whose rows were read. One query."""
    ways = measurements(candidates)
    return [
        BestRun(
            row=_without_state(rows[pk]), n=entry.n, flags=flags.get(pk, ()), is_alternative=pk != entry.runs[0],
            flagged=len(entry.runs) if all(map(flags.get, entry.runs)) else 0, ways=ways.get(entry.experiment, ()),
        )
        for entry in candidates
        for pk in entry.select(flags)
        if pk in rows
    ]  # fmt: skip


def _without_state(row: ResultRow) -> ResultRow:
    """Return the row without its last cell: all these runs ended, and the page shows only if one did not succeed."""
    return replace(row, cells=row.cells[:-1])
