"""Final results of the groups of a comparison: each compared with the baseline, which is chosen here for a reader who
has not chosen one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from runs import metrics
from runs.charts import Group, Mark
from runs.compare.baseline_table import BaselineChoice, BaselineRow, Setting, choose_baseline, standings
from runs.compare.final_results import Final, at_common_steps, compared_outcomes, finals
from runs.flags import open_flags
from runs.metrics import Provenance, Provenances
from runs.metrics.catalogue import Metric
from runs.models import Flag, Run


@dataclass(frozen=True)
class Results:
    """Final results of compared runs. rows: one for each group, in the same order. flags: open flags by run id.

    baseline_uid: run whose config and environment the others are compared with. is_automatic: whether the page chose
    the baseline.
    """

    groups: tuple[Group, ...]
    marks: tuple[Mark, ...]
    rows: tuple[BaselineRow, ...]
    baseline: BaselineChoice
    baseline_uid: str
    is_automatic: bool
    numbers: Mapping[int, Final]
    provenances: Provenances
    flags: Mapping[int, list[Flag]]

    @property
    def pairs(self) -> list[tuple[Group, BaselineRow]]:
        """Return each group with its row."""
        return list(zip(self.groups, self.rows, strict=True))

    @property
    def marks_by_group(self) -> list[list[Mark]]:
        """Return the marks of each group's runs, in the order of the page."""
        return [[mark for mark in self.marks if mark.group.slug == group.slug] for group in self.groups]

    @property
    def heads(self) -> list[tuple[Metric, tuple[Provenance, ...]]]:
        """Return each outcome with the ways in which its column's cells were measured."""
        columns = zip(*(row.cells for row in self.rows), strict=True)
        return [(cells[0].outcome, metrics.ways(way for cell in cells for way in cell.ways)) for cells in columns]


def load_results(runs: Sequence[Run], run_marks: Sequence[Mark], baseline_uid: str = "") -> Results | None:
    """Return the final results of the runs by the groups of their marks; None if there is no run.

    baseline_uid: a run of the group to compare with; empty, or a run that is not among them, for `choose_baseline`. The
    number of queries does not depend on the number of runs.
    """
    groups = tuple({mark.group.slug: mark.group for mark in run_marks}.values())
    if not groups:
        return None
    numbers = at_common_steps((group.whole for group in groups), finals(runs))
    flags = open_flags(run.pk for run in runs)
    outcomes = compared_outcomes(runs, numbers)
    provenances = metrics.provenances(runs, [outcome.key for outcome in outcomes], metrics.origins_of(runs))
    settings = [Setting(group.name, group.slug, group.whole) for group in groups]
    chosen = next((i for i, group in enumerate(groups) if baseline_uid in {run.uid for run in group.runs}), None)
    choice = choose_baseline(settings, numbers, flags) if chosen is None else BaselineChoice(settings[chosen])
    group = groups[settings.index(choice.setting)]
    rows = tuple(
        replace(row, flagged=sum(run.pk in flags for run in group.runs))
        for group, row in zip(groups, standings(settings, numbers, choice.setting, provenances, outcomes), strict=True)
    )
    uid = baseline_uid if chosen is not None else (group.whole or group.runs)[0].uid
    return Results(groups, tuple(run_marks), rows, choice, uid, chosen is None, numbers, provenances, flags)
