"""Parse the display settings of a comparison from an address.

If a parameter that only affects the display is invalid, the page uses the default and reports the problem. The page may
be one that a link shares with a reader without a session, so problems are not reported through cookies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import HttpRequest
from django.utils.translation import gettext

from runs.access import may_make
from runs.chart_layouts import Layout, layout_of
from runs.charts import ChartOptions
from runs.compare.chart_groups import SEEDS, GroupingChoices, grouping_choices, parse_group_columns
from runs.compare.run_table import Column, Kind, Vocabulary, config_keys
from runs.http import ChartControls, UnknownChoice, chart_controls, is_file, must_be_one_of, not_offered, require_choice
from runs.models import ChartLayout, Run

PATTERN_LENGTH = 200
MAX_SINGLE_LINES = 10
"""More runs are grouped, unless the reader chooses single runs."""
UNGROUPED = "none"
DEFAULT_LAYOUT = Layout(ChartLayout.Page.COMPARE)
SHARED_FIELDS = (SEEDS, "method", "preset", "seed")
CONFIG_VIEWS = ("differences", "everything")


@dataclass(frozen=True)
class ComparisonSettings:
    """Display settings of a comparison. controls: those of its charts. pattern: a regular expression of keys. baseline:
    a run's uid. group: the columns by which runs are grouped, none if each run has its own line. stores_looks: new
    looks of groups are stored; not for strangers and viewers. layout: order and sizes of the charts. problems:
    sentences about invalid parameters.
    """

    controls: ChartControls
    pattern: str
    baseline: str
    everything: bool
    problems: tuple[str, ...]
    group: tuple[Column, ...] = ()
    stores_looks: bool = False
    layout: Layout = DEFAULT_LAYOUT

    def chart_options(self, px: int | None) -> ChartOptions:
        """Return the settings of the charts, `px` wide."""
        return self.controls.options(px)


def parse_settings(request: HttpRequest, runs: Sequence[Run] | None = None) -> ComparisonSettings:
    """Return the settings in the address; the baseline is one of `runs`, if given. Raise UnknownChoice if invalid."""
    problems: list[str] = []
    pattern = request.GET.get("key", "")
    if len(pattern) > PATTERN_LENGTH:
        message = gettext("key must have at most %(most)s characters, not %(n)s: showing all.")
        problems.append(message % {"most": PATTERN_LENGTH, "n": len(pattern)})
        pattern = ""
    return ComparisonSettings(
        controls=chart_controls(request, problems),
        pattern=pattern,
        baseline="" if runs is None else require_choice(request, "baseline", [run.uid for run in runs], ""),
        everything=_shows_everything(request, problems),
        problems=tuple(problems),
        group=_group_columns(request, runs or ()),
        stores_looks=may_make(request.user),
        layout=layout_of(request, ChartLayout.Page.COMPARE),
    )


def _group_columns(request: HttpRequest, runs: Sequence[Run]) -> tuple[Column, ...]:
    """Return the columns to group by. Without a choice, many runs with several seeds of a setting are grouped by it."""
    keys = request.GET.getlist("group")
    if not keys and len(runs) > MAX_SINGLE_LINES and len({run.recipe for run in runs}) < len(runs):
        keys = [SEEDS]
    columns = parse_group_columns([key for key in keys if key != UNGROUPED], Vocabulary(()))
    for column in columns:
        if not _is_shared(column):
            raise UnknownChoice(must_be_one_of("group", [*SHARED_FIELDS, *config_keys()], column.key))
    return columns


def _is_shared(column: Column) -> bool:
    """Return whether a shared link may group by this column: it shows neither who launched a run nor notes about it."""
    return column.kind is Kind.CONFIG or column.key in SHARED_FIELDS


def shared_group_keys(keys: Sequence[str]) -> list[str]:
    """Return those of these keys by which a shared link may group runs."""
    columns = {key: Vocabulary(()).column(key) for key in keys}
    return [key for key, column in columns.items() if column and column.is_groupable and _is_shared(column)]


def comparison_grouping(request: HttpRequest, settings: ComparisonSettings) -> GroupingChoices:
    """Return what a comparison offers to group by."""
    first = ((UNGROUPED, gettext("single runs")), (SEEDS, gettext("all but seed")))
    return grouping_choices(request, settings.group, first, config_keys())


def _shows_everything(request: HttpRequest, problems: list[str]) -> bool:
    view = request.GET.get("config", CONFIG_VIEWS[0])
    if view not in CONFIG_VIEWS:
        if is_file(request):
            raise UnknownChoice(must_be_one_of("config", CONFIG_VIEWS, view))
        problems.append(not_offered("config", CONFIG_VIEWS, view[:50], CONFIG_VIEWS[0]))
    return view == "everything"
