"""Build the content of a comparison, for signed-in readers and for readers with a shared link alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from runs import metrics
from runs.charts import MAIN_KEYS, Chart, Mark, marks, overlay, with_provenance
from runs.compare.baseline_table import BaselineRow, Setting, standings
from runs.compare.cautions import cautions
from runs.compare.config_diff import as_json, config_diff
from runs.compare.final_results import OUTCOMES, Outcome, finals
from runs.compare.keys import KeySearch, key_sections, search
from runs.compare.options import Settings
from runs.compare.selection import NAMED_AT_MOST
from runs.metrics import cursors
from runs.models import Run
from runs.models.experiment import Person

CHART_PX = 800
TABLE_PX = 60


@dataclass(frozen=True)
class Shown:
    """Charts of the keys that were asked for, and how many such keys there are."""

    charts: list[Chart]
    total: int
    problem: str = ""


def page_context(runs: Sequence[Run], settings: Settings, person: Person) -> dict[str, Any]:
    """All that the page shows of these runs. The same number of queries for any number of runs."""
    told = marks(runs)
    # Asked before the points are read, so that the socket brings whatever is not among them.
    watch = cursors(runs)
    found = search(runs, settings.pattern) if settings.pattern else KeySearch()
    drawn = charts_of(told, (*MAIN_KEYS, *found.keys), settings, CHART_PX)
    return {
        "marks": told, "watch": watch, "is_open": any(run.is_open for run in runs), "settings": settings,
        "charts": drawn[: len(MAIN_KEYS)], "sections": key_sections(runs),
        "found": Shown(drawn[len(MAIN_KEYS) :], found.total, found.problem),
        **standings_context(runs, told, settings, person), **_diff_context(told, settings),
    }  # fmt: skip


def charts_of(told: Sequence[Mark], keys: Iterable[str], settings: Settings, px: int | None) -> list[Chart]:
    """Draw a chart for each key, in the order given. Points are read once, whole, and smoothed here."""
    wanted, runs = list(keys), [mark.run for mark in told]
    curves = {(c.run_id, c.key): c for c in metrics.read(runs, wanted, x=settings.x)}
    measured = metrics.provenances(runs, wanted, metrics.origins_of(runs))
    charts = [overlay(key, told, curves, settings.how(px), measured) for key in wanted]
    return [with_provenance(chart, runs, curves, measured) for chart in charts]


def standings_context(runs: Sequence[Run], told: Sequence[Mark], settings: Settings, person: Person) -> dict[str, Any]:
    """Each setting of the runs against the baseline, what to be careful about, and which of its seeds are left out."""
    groups = list({mark.group.slug: mark.group for mark in told}.values())
    found = [Setting(group.name, group.slug, group.whole) for group in groups]
    if not found:
        return {"standings": [], "standing_heads": [], "cautions": [], "left_out": []}
    numbers = finals(runs)
    measured = metrics.provenances(runs, [outcome.key for outcome in OUTCOMES], metrics.origins_of(runs))
    chosen = (s for s, g in zip(found, groups, strict=True) if settings.baseline in {run.uid for run in g.runs})
    baseline = next(chosen, found[0])
    rows = standings(found, numbers, baseline, measured)
    return {
        "standings": list(zip(groups, rows, strict=True)), "standing_heads": _heads(rows),
        "cautions": cautions([Setting(group.name, group.slug, group.runs) for group in groups], numbers, measured),
        "left_out": _left_out(runs, person),
    }  # fmt: skip


def _heads(rows: Sequence[BaselineRow]) -> list[tuple[Outcome, tuple[metrics.Provenance, ...]]]:
    """Return each outcome with the ways in which the cells of its column were measured."""
    columns = zip(*(row.cells for row in rows), strict=True)
    return [(cells[0].outcome, metrics.ways(way for cell in cells for way in cell.ways)) for cells in columns]


def _left_out(runs: Sequence[Run], person: Person) -> list[str]:
    """Uids of other seeds of the chosen settings: a mean over some of them may be a choice of the best."""
    mine = Run.objects.visible_to(person).filter(
        experiment__in={run.experiment_id for run in runs}, recipe__in={run.recipe for run in runs},
        archived_at__isnull=True,
    )  # fmt: skip
    others = mine.exclude(pk__in=[run.pk for run in runs]).order_by("pk")
    return list(others.values_list("uid", flat=True)[: NAMED_AT_MOST + 1])


def _diff_context(told: Sequence[Mark], settings: Settings) -> dict[str, Any]:
    uids = [mark.run.uid for mark in told]
    baseline = uids.index(settings.baseline) if settings.baseline in uids else 0
    diff = config_diff([mark.run.config for mark in told], baseline, everything=settings.everything)
    names = [mark.name for mark in told]
    return {"diff": diff, "diff_json": as_json(diff, names), "diff_baseline": told[baseline] if told else None}
