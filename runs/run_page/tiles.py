"""Tiles of a run's page: what its task measures, at the first and at the last evaluation."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext

from runs import metrics
from runs.charts import chart_slug, number, share
from runs.metrics import Curve, headline_of_run, resolve_fallbacks
from runs.metrics.catalogue import Metric
from runs.models import Run


@dataclass(frozen=True)
class Tile:
    """Value of a metric at the last and at the first evaluation. `chart` is the slug of the chart that shows it."""

    chart: str
    title: str
    is_share: bool
    first: float
    last: float

    @property
    def first_text(self) -> str:
        return self._format(self.first)

    @property
    def last_text(self) -> str:
        return self._format(self.last)

    @property
    def sentence(self) -> str:
        params = {"title": self.title, "last": self.last_text, "first": self.first_text}
        return gettext("%(title)s %(last)s, from %(first)s.") % params

    def _format(self, value: float) -> str:
        return share(value) if self.is_share else number(value)


def read_tiles(run: Run) -> list[Tile]:
    """Return a tile for each headline metric of the run's task that the run has recorded."""
    headline = headline_of_run(run)
    curves = {curve.key: curve for curve in metrics.read([run], [metric.key for metric in headline])}
    keys = resolve_fallbacks(curves, curves)
    return [_tile(curves[metric.key], metric) for metric in headline if metric.key in keys]


def _tile(curve: Curve, metric: Metric) -> Tile:
    values = curve.y[~curve.overwritten]
    return Tile(chart_slug(metric.key), metric.heading, metric.is_share, float(values[0]), float(values[-1]))
