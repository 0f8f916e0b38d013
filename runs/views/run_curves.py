"""The curves of a run's pages, the shared one too. The first charts come with the page, the others when somebody gets
there: a run may log hundreds of keys, and a page is to open at once.
"""

from __future__ import annotations

from runs import series
from runs.charts import Chart, Plan, Section, Spec, drawn, plans
from runs.models import Run
from runs.series import Curve, Span
from runs.views.parameters import Axes

CHART_PX = 600
DRAWN_AT_FIRST = 16


def curve_sections(run: Run, keys: list[str], along: Axes) -> list[Section]:
    """All sections of these keys; drawn are the first charts of those that are not folded."""
    planned = _plans(run, keys)
    first = [(plan, spec) for plan in planned if not plan.section(()).is_folded for spec in plan.specs][:DRAWN_AT_FIRST]
    made: dict[str, Chart] = {}
    for x in dict.fromkeys(plan.x or along.x for plan, _ in first):
        specs = [spec for plan, spec in first if (plan.x or along.x) == x]
        made |= {chart.name: chart for chart in drawn(run, specs, _read(run, specs, x, CHART_PX), x, along.log_kl)}
    # What is not there along this axis has no chart; of the others that is only known once they are read.
    gone = {spec.name for _, spec in first} - set(made)
    filled = (
        plan.section(made.get(spec.name) or spec.waiting() for spec in plan.specs if spec.name not in gone)
        for plan in planned
    )
    return [section for section in filled if section.charts]


def curve_chart(
    run: Run, keys: list[str], name: str, along: Axes, px: int | None, zoom: Span | None = None
) -> Chart | None:
    """One of the charts of these keys, from its own alone; None where there is none of this name."""
    found = [(plan, spec) for plan in _plans(run, keys) for spec in plan.specs if spec.name == name]
    return _drawn_alone(run, *found[0], along, px, zoom) if found else None


def curve_names(keys: list[str]) -> list[str]:
    """Return the names of all charts of these keys."""
    return [spec.name for plan in plans(keys) for spec in plan.specs]


def _plans(run: Run, keys: list[str]) -> list[Plan]:
    """The sections of these keys, in which every held-out line says how it was measured."""
    measured = series.provenances([run], keys, series.origins_of([run]))
    return plans(keys, {key: one for (_run, key), one in measured.items()})


def _drawn_alone(run: Run, plan: Plan, spec: Spec, along: Axes, px: int | None, zoom: Span | None) -> Chart:
    x = plan.x or along.x
    charts = drawn(run, [spec], _read(run, [spec], x, px, zoom), x, along.log_kl)
    return charts[0] if charts else spec.empty()


def _read(run: Run, specs: list[Spec], x: str, px: int | None, zoom: Span | None = None) -> dict[str, Curve]:
    keys = [key for spec in specs for key in spec.keys]
    return {curve.key: curve for curve in series.read([run], keys, x=x, px=px, zoom=zoom)}
