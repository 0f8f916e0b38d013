"""Find the groups whose series were measured alike, so that means may be taken, and state in charts how they were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from django.utils.translation import gettext, ngettext

from runs.charts.chart import Chart
from runs.charts.groups import Group
from runs.metrics import Provenance, Provenances, ways
from runs.models import Run

NAMES_AT_MOST = 5


def ways_of(
    runs: Iterable[Run], key: str, curves: Collection[tuple[int, str]], measured: Provenances
) -> tuple[Provenance, ...]:
    """Return how the series of this key of these runs were measured; `curves` says which runs have one."""
    return ways(measured.get((run.pk, key)) for run in runs if (run.pk, key) in curves)


def averaged(
    groups: Sequence[Group], keys: Sequence[str], curves: Collection[tuple[int, str]], measured: Provenances
) -> tuple[list[Group], list[Group]]:
    """Return the groups of which means over these keys may be taken, then those of which none may.

    A mean is taken over series that were measured alike. Where those of a group were not, each of its runs is a group
    of its own.
    """
    mixed = [g for g in groups if any(len(ways_of(g.whole, key, curves, measured)) > 1 for key in keys)]
    alone = {g.slug: [replace(g, label=f"{g.label}, {run.name}", runs=(run,)) for run in g.runs] for g in mixed}
    return [one for g in groups for one in alone.get(g.slug, [g])], mixed


def with_partial(chart: Chart, partial: Sequence[Run]) -> Chart:
    """Say in the chart's summary which runs hold a part of their answers, so that no mean is taken over them."""
    if not partial:
        return chart
    names = ", ".join(run.name for run in partial[:NAMES_AT_MOST])
    words = ngettext(
        "%(n)s run is partial and is left out of the means: %(names)s.",
        "%(n)s runs are partial and are left out of the means: %(names)s.",
        len(partial),
    )
    return replace(chart, summary=f"{chart.summary} {words % {'n': len(partial), 'names': names}}")


def without_means(
    chart: Chart, groups: Sequence[Group], curves: Collection[tuple[int, str]], measured: Provenances
) -> Chart:
    """Say in the chart's summary which groups have no mean, since their runs were not measured alike."""
    _, mixed = averaged(groups, chart.keys, curves, measured)
    if not mixed:
        return chart
    words = gettext(
        "No mean of %(names)s, whose runs were not measured alike: each run is drawn by itself. For a mean, compare "
        "runs that were measured alike."
    )
    names = "; ".join(group.name for group in mixed[:NAMES_AT_MOST])
    return replace(chart, summary=f"{chart.summary} {words % {'names': names}}".strip())


def with_provenance(
    chart: Chart, runs: Sequence[Run], curves: Collection[tuple[int, str]], measured: Provenances
) -> Chart:
    """Say in the chart's help how its series were measured; in its summary, too, if they differ."""
    words, differs = list[str](), False
    for key in chart.keys:
        mine = (measured.get((run.pk, key)) for run in runs if (run.pk, key) in curves)
        counts = Counter(one for one in mine if one is not None)
        differs |= len(counts) > 1
        listed = "; ".join(
            ngettext("%(n)s run: %(how)s", "%(n)s runs: %(how)s", n) % {"n": n, "how": one.words}
            for one, n in counts.most_common()
        )
        words += [f"{key}: {listed}." if len(chart.keys) > 1 else f"{listed}."] if listed else []
    warning = gettext("These series are not measured alike, so they may differ for that reason alone.")
    summary = " ".join(filter(None, [chart.summary, warning, *words])) if differs else chart.summary
    return replace(chart, help=" ".join(filter(None, [chart.help, *words])), summary=summary)
