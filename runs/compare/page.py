"""Build the content of a comparison, for signed-in readers and for readers with a shared link alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runs import metrics
from runs.charts import MAIN_KEYS, Chart, Mark, marks, overlay, with_provenance
from runs.compare.baseline_table import BaselineRow, Setting, standings
from runs.compare.cautions import cautions
from runs.compare.config_diff import config_diff, diff_to_json
from runs.compare.final_results import OUTCOMES, Outcome, finals
from runs.compare.keys import KeySearch, key_sections, search_keys
from runs.compare.options import ComparisonSettings
from runs.compare.selection import MAX_NAMED_RUNS
from runs.flags import open_flags
from runs.metrics import cursors
from runs.models import Run
from runs.models.experiment import Person

CHART_PX = 800
TABLE_PX = 60


@dataclass(frozen=True)
class SearchedCharts:
    """Charts of the keys that match a search, and the total number of such keys."""

    charts: list[Chart]
    total: int
    problem: str = ""


def page_context(runs: Sequence[Run], settings: ComparisonSettings, person: Person) -> dict[str, Any]:
    """Return the page context for these runs. The number of queries does not depend on the number of runs."""
    run_marks = marks(runs)
    # Read the cursors before the points, so that the socket delivers all points that are not among them.
    watch = cursors(runs)
    key_search = search_keys(runs, settings.pattern) if settings.pattern else KeySearch()
    all_charts = charts_for_keys(run_marks, (*MAIN_KEYS, *key_search.keys), settings, CHART_PX)
    return {
        "marks": run_marks, "watch": watch, "is_open": any(run.is_open for run in runs), "settings": settings,
        "charts": all_charts[: len(MAIN_KEYS)], "sections": key_sections(runs),
        "found": SearchedCharts(all_charts[len(MAIN_KEYS) :], key_search.total, key_search.problem),
        **standings_context(runs, run_marks, settings, person), **_diff_context(run_marks, settings),
    }  # fmt: skip


def charts_for_keys(
    run_marks: Sequence[Mark], keys: Iterable[str], settings: ComparisonSettings, px: int | None
) -> list[Chart]:
    """Draw a chart for each key, in the order given. Points are read once, whole, and smoothed here."""
    key_list, runs = list(keys), [mark.run for mark in run_marks]
    curves = {(c.run_id, c.key): c for c in metrics.read(runs, key_list, x=settings.x)}
    provenances = metrics.provenances(runs, key_list, metrics.origins_of(runs))
    charts = [overlay(key, run_marks, curves, settings.overlay_options(px), provenances) for key in key_list]
    return [with_provenance(chart, runs, curves, provenances) for chart in charts]


def standings_context(
    runs: Sequence[Run], run_marks: Sequence[Mark], settings: ComparisonSettings, person: Person
) -> dict[str, Any]:
    """Return the comparison of each setting with the baseline, the cautions, and the seeds that are left out."""
    groups = list({mark.group.slug: mark.group for mark in run_marks}.values())
    settings_rows = [Setting(group.name, group.slug, group.whole) for group in groups]
    if not settings_rows:
        return {"standings": [], "standing_heads": [], "cautions": [], "left_out": []}
    numbers = finals(runs)
    provenances = metrics.provenances(runs, [outcome.key for outcome in OUTCOMES], metrics.origins_of(runs))
    matches = (
        s for s, g in zip(settings_rows, groups, strict=True) if settings.baseline in {run.uid for run in g.runs}
    )
    baseline = next(matches, settings_rows[0])
    flags = open_flags(run.pk for run in runs)
    rows = [
        replace(row, flagged=sum(run.pk in flags for run in group.runs))
        for group, row in zip(groups, standings(settings_rows, numbers, baseline, provenances), strict=True)
    ]
    whole_groups = [Setting(group.name, group.slug, group.runs) for group in groups]
    return {
        "standings": list(zip(groups, rows, strict=True)), "standing_heads": _heads(rows),
        "cautions": cautions(whole_groups, numbers, provenances, flags),
        "left_out": _left_out(runs, person), "open_flags": flags,
    }  # fmt: skip


def _heads(rows: Sequence[BaselineRow]) -> list[tuple[Outcome, tuple[metrics.Provenance, ...]]]:
    """Return each outcome with the ways in which its column's cells were measured."""
    columns = zip(*(row.cells for row in rows), strict=True)
    return [(cells[0].outcome, metrics.ways(way for cell in cells for way in cell.ways)) for cells in columns]


def _left_out(runs: Sequence[Run], person: Person) -> list[str]:
    """Return uids of other seeds of the selected settings: a mean over some seeds may be a choice of the best."""
    visible = Run.objects.visible_to(person).filter(
        experiment__in={run.experiment_id for run in runs}, recipe__in={run.recipe for run in runs},
        archived_at__isnull=True,
    )  # fmt: skip
    others = visible.exclude(pk__in=[run.pk for run in runs]).order_by("pk")
    return list(others.values_list("uid", flat=True)[: MAX_NAMED_RUNS + 1])


def _diff_context(run_marks: Sequence[Mark], settings: ComparisonSettings) -> dict[str, Any]:
    uids = [mark.run.uid for mark in run_marks]
    baseline = uids.index(settings.baseline) if settings.baseline in uids else 0
    diff = config_diff([mark.run.config for mark in run_marks], baseline, everything=settings.everything)
    names = [mark.name for mark in run_marks]
    return {
        "diff": diff,
        "diff_json": diff_to_json(diff, names),
        "diff_baseline": run_marks[baseline] if run_marks else None,
    }
