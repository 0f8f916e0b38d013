"""Axes of charts of lines: logarithmic scales, times of day, and a range for constant values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from django.utils.translation import gettext, ngettext

from runs.charts import style
from runs.charts.axes import ChartOptions
from runs.charts.chart import X_WORDS, spoken
from runs.metrics.catalogue import Metric
from workers.analysis.aggregate import Floats


def is_logarithmic(key: str, values: Sequence[Floats], options: ChartOptions) -> bool:
    """Return whether the y axis of a key is logarithmic: if the reader chose so and any value is above 0."""
    return options.is_log(key) and any((y > 0).any() for y in values)


def line_layout(
    measure: Metric, values: Sequence[Floats], options: ChartOptions, *, thinned: bool, **more: Any
) -> dict[str, Any]:
    """Return the layout of a chart of lines with these values. thinned: the figure has fewer points than the series."""
    log_y = is_logarithmic(measure.key, values, options)
    layout = style.layout(
        spoken(X_WORDS[options.x]), measure.unit, log_x=options.has_log_x, log_y=log_y,
        meta=style.readout(options.x, measure.is_share, thinned=thinned), **more,
    )  # fmt: skip
    if options.x == "wall":
        layout["xaxis"] |= {"type": "date", "exponentformat": "none"}
    if measure.is_share:
        layout["yaxis"]["tickformat"] = ".0%"
    if values and not log_y:
        layout["yaxis"] |= style.room(values[0] if len(values) == 1 else np.concatenate(values), measure.is_share)
    return layout


def on_scales(data: Sequence[dict[str, Any]], *, log_x: bool, log_y: bool) -> list[dict[str, Any]]:
    """Return the traces for these scales: on a logarithmic one, values without a logarithm become gaps."""
    for axis, is_log in (("x", log_x), ("y", log_y)):
        data = [style.without_nonpositive(trace, axis) for trace in data] if is_log else data
    return list(data)


def log_words(key: str, values: Sequence[Floats], options: ChartOptions) -> str:
    """State how many values a logarithmic scale leaves out, or that the scale is linear because no value is above 0.
    Return an empty text if neither is the case; otherwise one that begins with a space."""
    if not options.is_log(key) or not any(len(y) for y in values):
        return ""
    if not is_logarithmic(key, values, options):
        return " " + gettext("Drawn on a linear scale: no value is above 0.")
    dropped = sum(int((y <= 0).sum()) for y in values)
    message = ngettext(
        "%(n)s value is not above 0 and not drawn on this scale.",
        "%(n)s values are not above 0 and not drawn on this scale.",
        dropped,
    )
    return f" {message % {'n': dropped}}" if dropped else ""
