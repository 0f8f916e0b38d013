"""Groups of runs for charts: as tables group them, by method, preset, any key of the config, or all but the seed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django.contrib.postgres.aggregates import ArrayAgg
from django.contrib.postgres.fields import ArrayField
from django.db.models import (
    Avg,
    BigIntegerField,
    Count,
    F,
    FilteredRelation,
    Func,
    Max,
    Q,
    QuerySet,
    prefetch_related_objects,
)
from django.http import HttpRequest
from django.utils.translation import gettext

from runs import metrics
from runs.charts import Group, groups_by, groups_of
from runs.compare.run_table import Column, Kind, Vocabulary, rows_of
from runs.compare.run_table.expressions import annotate_column, column_expression
from runs.http import UnknownChoice, must_be_one_of
from runs.models import Run
from workers.analysis.keys import REWARD
from workers.config.methods import short_title

MAX_GROUPS = 12
MAX_RUNS_A_GROUP = 30
"""A mean is taken over at most so many runs of a group, the newest; its n says so."""
MAX_THIN_LINES = 10
"""Runs of all groups together that have a line of their own beside the means."""
SEEDS = "recipe"
"""Key of groups whose runs differ only in their seed."""
GROUP_KEYS = (SEEDS, "method", "preset")
"""Keys that every page offers for groups."""
CHARTED_FIELDS = (
    "experiment", "uid", "name", "preset", "method", "seed", "recipe", "state", "last_step", "created_by",
)  # fmt: skip
"""What charts need of a run, besides its config."""


class FirstItems(Func):
    """The first items of an array."""

    output_field = ArrayField(BigIntegerField())

    def __init__(self, array: Any, n: int) -> None:
        super().__init__(array, template=f"(%(expressions)s)[1:{int(n)}]")


def seed_groups(runs: QuerySet[Run], charted: Sequence[Run]) -> list[Group]:
    """Return the settings of the charted runs, each with its newest runs in `runs`: a mean never depends on which seeds
    are charted. Two queries.

    Configs are long, and those of one recipe differ only in keys that no chart reads (IGNORED_KEYS). A run that is not
    charted gets the config of a charted run of its recipe.
    """
    if not charted:
        return []
    rows = _members(runs.filter(recipe__in={run.recipe for run in charted}).values("method", "preset", "recipe"))
    members_by_id = _runs_by_id((pk for row in rows for pk in row["members"]), CHARTED_FIELDS)
    configs = {run.recipe: run.config for run in charted}
    for member in members_by_id.values():
        if member.recipe in configs:
            member.config = configs[member.recipe]
    totals = {(row["method"], row["preset"], row["recipe"]): row["n"] for row in rows}
    # A charted run that is older than the newest of a large group is in no mean, or the mean would depend on the page.
    members_by_id |= {run.pk: run for run in charted if totals.get(_setting(run), 0) <= MAX_RUNS_A_GROUP}
    settings = {_setting(run) for run in charted}
    groups = groups_of(run for run in members_by_id.values() if _setting(run) in settings)
    return [replace(group, total=totals.get(_setting(group.runs[0]), 0)) for group in groups]


def _setting(run: Run) -> tuple[str, str, str]:
    return run.method, run.preset, run.recipe


def value_groups(runs: QuerySet[Run], by: Sequence[Column], newest: Sequence[int]) -> list[Group]:
    """Return the groups by these columns whose newest runs are `newest`, at most MAX_GROUPS. Two queries, and those of
    the columns' values."""
    names = [f"by_{i}" for i in range(len(by))]
    groups = _annotated(runs, by, names).values(*names).annotate(newest=Max("pk"))
    rows = _members(groups.filter(newest__in=list(newest[:MAX_GROUPS])))
    members_by_id = _runs_by_id((pk for row in rows for pk in row["members"]), (*CHARTED_FIELDS, "config"))
    totals = {row["newest"]: row["n"] for row in rows}
    return [
        replace(group, total=next((totals[run.pk] for run in group.runs if run.pk in totals), 0))
        for group in groups_of_values(list(members_by_id.values()), by)
    ]


def best_groups(runs: QuerySet[Run], by: Sequence[Column]) -> tuple[list[Group], int]:
    """Return the groups by these columns with the highest mean of their last held-out rewards, at most MAX_GROUPS, and
    the number of all groups. Four queries, and those of the columns' values."""
    names = [f"by_{i}" for i in range(len(by))]
    annotated = _annotated(runs, by, names)
    reward = FilteredRelation("series", condition=Q(series__key=REWARD, series__last_value__lt=float("nan")))
    groups = annotated.annotate(reward_row=reward).order_by().values(*names)
    ranked = groups.annotate(newest=Max("pk"), reward=Avg("reward_row__last_value"))
    first = ranked.order_by(F("reward").desc(nulls_last=True), "-newest")[:MAX_GROUPS]
    return value_groups(runs, by, [row["newest"] for row in first]), groups.distinct().count()


def _annotated(runs: QuerySet[Run], by: Sequence[Column], names: Sequence[str]) -> QuerySet[Run]:
    for name, column in zip(names, by, strict=True):
        # A config's long text is compared as a whole.
        is_config = column.kind is Kind.CONFIG
        runs = runs.annotate(**{name: column_expression(column)}) if is_config else annotate_column(runs, column, name)
    return runs


def _members(groups: QuerySet[Run, Any]) -> list[dict[str, Any]]:
    members = FirstItems(ArrayAgg("pk", order_by="-pk"), MAX_RUNS_A_GROUP)
    return list(groups.order_by().annotate(n=Count("pk"), members=members))


def _runs_by_id(ids: Iterable[int], fields: Sequence[str]) -> dict[int, Run]:
    """Return the runs with these fields, the newest first. One query."""
    runs = metrics.with_origins(Run.objects.filter(pk__in=list(ids)))
    return {run.pk: run for run in runs.only(*fields).order_by("-pk")}


def lines_each(groups: Sequence[Group]) -> int:
    """Return how many runs of each group have a line of their own, so that every group has at least one."""
    return max(1, MAX_THIN_LINES // max(1, len(groups)))


def newest_of_each(groups: Sequence[Group]) -> set[int]:
    """Return the ids of the newest runs of each group, `lines_each` of them."""
    each = lines_each(groups)
    return {pk for group in groups for pk in sorted((run.pk for run in group.runs), reverse=True)[:each]}


def groups_of_values(runs: Sequence[Run], by: Sequence[Column]) -> list[Group]:
    """Return the groups of these runs that have the same values in these columns."""
    if [column.key for column in by] == [SEEDS]:
        return groups_of(runs)
    if any(column.key == "by" for column in by):
        prefetch_related_objects(list(runs), "created_by")
    rows = rows_of(runs, by)
    values = {row.run.pk: [_value(row.run, cell.column, cell.value) for cell in row.cells] for row in rows}
    return groups_by(runs, {pk: (_identity(by, own), _label(by, own)) for pk, own in values.items()})


def _value(run: Run, column: Column, value: Any) -> str | None:
    """Return what a table groups by: the preset itself, the whole recipe, and the value as text otherwise."""
    if column.key == "preset":
        return run.preset
    if column.key == SEEDS:
        return str(run.recipe)
    return None if value is None else str(value)


def _identity(by: Sequence[Column], values: Sequence[str | None]) -> str:
    return "&".join(f"{column.key}={value}" for column, value in zip(by, values, strict=True))


def _label(by: Sequence[Column], values: Sequence[str | None]) -> str:
    return ", ".join(_words(column, value) for column, value in zip(by, values, strict=True))


def _words(column: Column, value: str | None) -> str:
    if column.key == "method":
        return short_title(value or "")
    if column.key == "preset":
        return value or gettext("own settings")
    shown = gettext("none") if value is None else value[:8] if column.key == SEEDS else value
    return f"{column.key.rpartition('.')[2]} {shown}"


def parse_group_columns(keys: Sequence[str], vocabulary: Vocabulary) -> tuple[Column, ...]:
    """Return the columns to group charts by. Raise UnknownChoice for a key by which runs cannot be grouped."""
    columns = []
    for key in dict.fromkeys(key for key in keys if key):
        column = vocabulary.column(key)
        if column is None or not column.is_groupable:
            choices = [*GROUP_KEYS, *(name for name in vocabulary.keys if name not in GROUP_KEYS)]
            raise UnknownChoice(must_be_one_of("group", choices, key))
        columns.append(column)
    return tuple(columns)


@dataclass(frozen=True)
class GroupingChoices:
    """Hold the choices of what a page's charts average over.

    offered: (value of the parameter `group`, label) of each. chosen: the value of the current one. other_keys: the
    current keys if they are none of the offered, and `chosen` has no meaning. keys: those that a form offers. carried:
    the parameters that the form must carry.
    """

    offered: tuple[tuple[str | None, str], ...]
    chosen: str | None
    other_keys: tuple[str, ...]
    keys: tuple[str, ...]
    carried: tuple[tuple[str, str], ...]

    @property
    def other(self) -> str:
        """Return the label of chosen keys that are not offered; empty if there are none."""
        return ", ".join(self.other_keys)


def grouping_choices(
    request: HttpRequest, group: Sequence[Column], first: Sequence[tuple[str | None, str]], keys: Iterable[str]
) -> GroupingChoices:
    """Return what a page offers to group by: `first`, then method and preset. group: the current columns."""
    offered = (*first, ("method", gettext("method")), ("preset", gettext("preset")))
    current = [column.key for column in group]
    values = [value for value, _ in offered]
    alone = current[0] if len(current) == 1 else None
    if alone == SEEDS and SEEDS not in values:
        # Charts of an experiment group by all but the seed already if the table shows single runs.
        current = []
    is_offered = not current or (alone is not None and alone in values)
    chosen = alone if current and is_offered else first[0][0]
    carried = [(name, v) for name, many in request.GET.lists() if name not in ("group", "after") for v in many]
    return GroupingChoices(offered, chosen, () if is_offered else tuple(current), tuple(keys), tuple(carried))
