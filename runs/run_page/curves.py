"""The curves of a run's pages, the shared one too. The first charts come with the page, the others when somebody gets
there: a run may log hundreds of keys, and a page is to open at once.
"""

from __future__ import annotations

from runs import metrics
from runs.charts import Chart, Spec, drawn
from runs.http import Axes
from runs.metrics import Span
from runs.models import Run
from runs.run_page.charts.sections import Plan, Section, plans

CHART_PX = 600
DRAWN_AT_FIRST = 16


def curve_sections(run: Run, keys: list[str], along: Axes) -> list[Section]:
    """All sections of these keys; drawn are the first charts of those that are not folded."""
    planned = _plans(run, keys)
    first = [spec for plan in planned if not plan.section(()).is_folded for spec in plan.specs][:DRAWN_AT_FIRST]
    made = {chart.name: chart for chart in _charts(run, first, along, CHART_PX)}
    # What is not there along this axis has no chart; of the others that is only known once they are read.
    gone = {spec.name for spec in first} - set(made)
    filled = (
        plan.section(made.get(spec.name) or spec.waiting() for spec in plan.specs if spec.name not in gone)
        for plan in planned
    )
    return [section for section in filled if section.charts]


def curve_chart(
    run: Run, keys: list[str], name: str, along: Axes, px: int | None, zoom: Span | None = None
) -> Chart | None:
    """One of the charts of these keys, from its own alone; None where there is none of this name."""
    found = [spec for plan in _plans(run, keys) for spec in plan.specs if spec.name == name][:1]
    charts = _charts(run, found, along, px, zoom) or [spec.empty() for spec in found]
    return charts[0] if charts else None


def curve_names(keys: list[str]) -> list[str]:
    """Return the names of all charts of these keys."""
    return [spec.name for plan in plans(keys) for spec in plan.specs]


def _plans(run: Run, keys: list[str]) -> list[Plan]:
    """The sections of these keys, in which every held-out line says how it was measured."""
    measured = metrics.provenances([run], keys, metrics.origins_of([run]))
    return plans(keys, {key: one for (_run, key), one in measured.items()})


def _charts(run: Run, specs: list[Spec], along: Axes, px: int | None, zoom: Span | None = None) -> list[Chart]:
    """Return the charts of those specs that have points. Those with an axis and a width in common are read together."""
    groups: dict[tuple[str, int | None], list[Spec]] = {}
    for spec in specs:
        groups.setdefault((spec.x or along.x, None if spec.draw else px), []).append(spec)
    charts: list[Chart] = []
    for (x, width), group in groups.items():
        keys = [key for spec in group for key in (*spec.keys, *spec.also)]
        curves = {curve.key: curve for curve in metrics.read([run], keys, x=x, px=width, zoom=zoom if width else None)}
        charts += drawn(run, group, curves, x, along.log_kl, px)
    return charts
