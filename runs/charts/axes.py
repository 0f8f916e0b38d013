"""Options of the charts of runs, and units of their axes."""

from __future__ import annotations

from dataclasses import dataclass

from django.utils.translation import gettext_noop as _

from runs.metrics import AXIS_KEYS, TIMES, Span
from workers.analysis.bands import AUTO
from workers.analysis.keys import KL
from workers.analysis.smoothing import Smoothing

UNITS = {"_gb": "GB", "_mb": "MB", "_bytes": "B"}
"""Ends of keys -> the unit of their values."""


def unit_of(key: str) -> str:
    """Return the unit that the end of a key names; empty if it names none."""
    return next((unit for end, unit in UNITS.items() if key.endswith(end)), "")


SCALES = {"linear": _("linear"), "kl": _("log KL"), "log": _("log")}
"""Scales of the y axis: that of KL alone may be logarithmic, or that of every chart."""
RAW = Smoothing()


@dataclass(frozen=True)
class ChartOptions:
    """Hold how charts are drawn. x: one of X_AXES. y: one of SCALES. center: one of MIDDLES. spread: `auto` or one of
    SPREADS. px: the width in pixels, so that no more points are sent than are visible; None for all points. zoom: the
    visible x range. Smoothing, means and bands are computed from all points, whichever are drawn.
    """

    x: str = "step"
    y: str = "linear"
    log_x: bool = False
    smoothing: Smoothing = RAW
    center: str = "mean"
    spread: str = AUTO
    px: int | None = None
    zoom: Span | None = None

    def is_log(self, key: str) -> bool:
        """Return whether the y axis of a key's chart is to be logarithmic."""
        return self.y == "log" or (self.y == "kl" and key.split("/", 1)[0] == KL)

    @property
    def is_by_time(self) -> bool:
        """Return whether the x axis is a time, which records may lack."""
        return AXIS_KEYS.get(self.x) == TIMES

    @property
    def has_log_x(self) -> bool:
        """Return whether the x axis is to be logarithmic; a time of day has no logarithm."""
        return self.log_x and self.x != "wall"
