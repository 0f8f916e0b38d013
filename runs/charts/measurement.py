"""Find groups of series that were measured alike, so that means may be taken, and describe measurements in charts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from django.utils.translation import gettext, ngettext

from runs.charts.chart import Chart
from runs.charts.groups import Group
from runs.metrics import Provenance, Provenances, ways
from runs.models import Run

MAX_NAMES = 5


def ways_of(
    runs: Iterable[Run], key: str, curves: Collection[tuple[int, str]], measured: Provenances
) -> tuple[Provenance, ...]:
    """Return the measurements of this key's series of these runs; `curves` holds the existing series."""
    return ways(measured.get((run.pk, key)) for run in runs if (run.pk, key) in curves)


def averaged(
    groups: Sequence[Group], keys: Sequence[str], curves: Collection[tuple[int, str]], measured: Provenances
) -> tuple[list[Group], list[Group]]:
    """Return the groups of which means over these keys may be taken, then those of which none may.

    A mean is taken over series that were measured alike. If a group's series were not, each of its runs becomes a
    separate group.
    """
    mixed = [g for g in groups if any(len(ways_of(g.whole, key, curves, measured)) > 1 for key in keys)]
    alone = {g.slug: [replace(g, label=f"{g.label}, {run.name}", runs=(run,)) for run in g.runs] for g in mixed}
    return [group for g in groups for group in alone.get(g.slug, [g])], mixed


def with_partial(chart: Chart, partial: Sequence[Run]) -> Chart:
    """Add to the chart's summary the runs with only a part of their responses, which no mean includes."""
    if not partial:
        return chart
    names = ", ".join(run.name for run in partial[:MAX_NAMES])
    message = ngettext(
        "%(n)s run is partial and is left out of the means: %(names)s.",
        "%(n)s runs are partial and are left out of the means: %(names)s.",
        len(partial),
    )
    return replace(chart, summary=f"{chart.summary} {message % {'n': len(partial), 'names': names}}")


def without_means(
    chart: Chart, groups: Sequence[Group], curves: Collection[tuple[int, str]], measured: Provenances
) -> Chart:
    """Add to the chart's summary the groups that have no mean, because their runs were not measured alike."""
    _, mixed = averaged(groups, chart.keys, curves, measured)
    if not mixed:
        return chart
    message = gettext(
        "No mean of %(names)s, because its runs were measured differently: each run has its own line. For a mean, "
        "compare runs that were measured alike."
    )
    names = "; ".join(group.name for group in mixed[:MAX_NAMES])
    return replace(chart, summary=f"{chart.summary} {message % {'names': names}}".strip())


def with_provenance(
    chart: Chart, runs: Sequence[Run], curves: Collection[tuple[int, str]], measured: Provenances
) -> Chart:
    """Add the measurement of the series to the chart's help, and to its summary if measurements differ."""
    sentences, differs = list[str](), False
    for key in chart.keys:
        provenances = (measured.get((run.pk, key)) for run in runs if (run.pk, key) in curves)
        counts = Counter(provenance for provenance in provenances if provenance is not None)
        differs |= len(counts) > 1
        listed = "; ".join(
            ngettext("%(n)s run: %(how)s", "%(n)s runs: %(how)s", n) % {"n": n, "how": provenance.words}
            for provenance, n in counts.most_common()
        )
        sentences += [f"{key}: {listed}." if len(chart.keys) > 1 else f"{listed}."] if listed else []
    warning = gettext("These series were measured differently, so they may differ for that reason alone.")
    summary = " ".join(filter(None, [chart.summary, warning, *sentences])) if differs else chart.summary
    return replace(chart, help=" ".join(filter(None, [chart.help, *sentences])), summary=summary)
