"""Build the content of a comparison, for signed-in readers and for readers with a shared link alike."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

from runs import kinds
from runs.access import may_launch
from runs.chart_layouts import arrange
from runs.charts import Chart, Mark, marks
from runs.compare.baseline_table import Setting
from runs.compare.cautions import cautions
from runs.compare.charts import CHART_PX, charts_for_names, comparison_groups, gold_paths
from runs.compare.config_columns import config_columns
from runs.compare.config_diff import ConfigDiff, config_diff, diff_to_json
from runs.compare.keys import KeySearch, compared_keys, every_key, search_keys
from runs.compare.options import ComparisonSettings
from runs.compare.results import load_results
from runs.compare.selection import MAX_NAMED_RUNS
from runs.metrics import cursors
from runs.models import Run
from runs.models.experiment import Person
from runs.responses import judgeable_uids


@dataclass(frozen=True)
class SearchedCharts:
    """Charts of the keys that match a search, and the total number of such keys."""

    charts: list[Chart]
    total: int
    problem: str = ""


def page_context(
    runs: Sequence[Run],
    settings: ComparisonSettings,
    person: Person,
    is_shown: Callable[[str], bool] = every_key,
) -> dict[str, Any]:
    """Return the page context for these runs, with the series whose keys are shown.

    The number of queries does not depend on the number of runs.
    """
    groups, layout = comparison_groups(runs, settings), settings.layout
    run_marks = marks(runs, groups)
    # Read the cursors before the points, so that the socket delivers all points that are not among them.
    watch = cursors(runs)
    keys = compared_keys(runs, is_shown)
    key_search = KeySearch()
    if settings.pattern:
        key_search = search_keys(runs, settings.pattern, keys.main, is_shown, person.pk)
    first = [*keys.main, *(own.name for own in layout.own_charts)]
    gold = [name for name in gold_paths(keys.all) if name not in first]
    all_charts = charts_for_names(run_marks, (*first, *key_search.keys, *gold), settings, CHART_PX)
    searched = all_charts[len(first) : len(first) + len(key_search.keys)]
    return {
        "marks": run_marks, "watch": watch, "is_open": any(run.is_open for run in runs), "settings": settings,
        "controls": settings.controls, "grouping": groups if settings.group else [],
        "chart_layout": layout, "placed_charts": arrange(all_charts[: len(first)], layout), "sections": keys.sections,
        "chart_keys": keys.all,
        "found": SearchedCharts(searched, key_search.total, key_search.problem),
        "gold_charts": [chart for chart in all_charts[len(all_charts) - len(gold) :] if not chart.is_empty],
        **tables_context(runs, run_marks, settings, person),
    }  # fmt: skip


def tables_context(
    runs: Sequence[Run], run_marks: Sequence[Mark], settings: ComparisonSettings, person: Person
) -> dict[str, Any]:
    """Return the final results and the differences of the configs, both against the same baseline."""
    results = standings_context(runs, run_marks, settings, person)
    return {**results, **_diff_context(run_marks, settings, results["baseline_uid"])}


def standings_context(
    runs: Sequence[Run], run_marks: Sequence[Mark], settings: ComparisonSettings, person: Person
) -> dict[str, Any]:
    """Return the comparison of each group with the baseline, the cautions, and the seeds that are left out."""
    results = load_results(runs, run_marks, settings.baseline)
    if results is None:
        return {"standings": [], "standing_heads": [], "cautions": [], "left_out": [], "baseline_uid": ""}
    whole_groups = [Setting(group.name, group.slug, group.runs) for group in results.groups]
    return {
        "standings": results.pairs, "standing_heads": results.heads, "baseline_choice": results.baseline,
        "baseline_uid": results.baseline_uid, "baseline_is_automatic": results.is_automatic,
        "cautions": cautions(whole_groups, results.numbers, results.provenances, results.flags),
        "left_out": _left_out(runs, person), "open_flags": results.flags,
    }  # fmt: skip


def judge_context(runs: Sequence[Run], person: Person) -> dict[str, Any]:
    """Return the uids of the runs whose responses can be judged, in their order, if the user may create tournaments."""
    return {"judge_uids": judgeable_uids([run.uid for run in runs], person)}


def examination_context(runs: Sequence[Run], person: Person) -> dict[str, Any]:
    """Return (examination, address) for each way to examine several of these runs: the launch form with them, in the
    experiment of the first; empty if this user may not launch there, and if none of the runs has weights on this site.
    One query."""
    examinable = Run.objects.filter(
        pk__in=[run.pk for run in runs], method__in=kinds.EXAMINABLE_METHODS, **kinds.LAUNCHED.filters
    )
    with_weights = set(examinable.values_list("pk", flat=True))
    examined = [run for run in runs if run.pk in with_weights]
    if not examined or not may_launch(person, examined[0].experiment):
        return {"examinations": []}
    launch = reverse("launch", args=[examined[0].experiment_id])
    several = [examination for examination in kinds.EXAMINATIONS if examination.is_list]
    uids = {e: urlencode([(e.method, run.uid) for run in examined[: e.max_runs]]) for e in several}
    return {"examinations": [(examination, f"{launch}?{uids[examination]}") for examination in several]}


def load_config_diff(run_marks: Sequence[Mark], settings: ComparisonSettings, baseline_uid: str) -> ConfigDiff:
    """Return the differences of the runs' configs from that of the baseline, a run's uid."""
    uids = [mark.run.uid for mark in run_marks]
    baseline = uids.index(baseline_uid) if baseline_uid in uids else 0
    return config_diff([mark.run.config for mark in run_marks], baseline, everything=settings.everything)


def _left_out(runs: Sequence[Run], person: Person) -> list[str]:
    """Return uids of other seeds of the selected settings: a mean over some seeds may be a choice of the best."""
    visible = Run.objects.visible_to(person).filter(
        experiment__in={run.experiment_id for run in runs}, recipe__in={run.recipe for run in runs},
        archived_at__isnull=True,
    )  # fmt: skip
    others = visible.exclude(pk__in=[run.pk for run in runs]).order_by("pk")
    return list(others.values_list("uid", flat=True)[: MAX_NAMED_RUNS + 1])


def _diff_context(run_marks: Sequence[Mark], settings: ComparisonSettings, baseline_uid: str) -> dict[str, Any]:
    diff = load_config_diff(run_marks, settings, baseline_uid)
    names = [mark.name for mark in run_marks]
    return {"diff": diff, "diff_json": diff_to_json(diff, names), "diff_columns": config_columns(diff, run_marks)}
