"""The measures by which experiments are compared, and the options of their charts."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.metrics import Span
from workers.analysis.bands import AUTO
from workers.analysis.smoothing import Smoothing

REWARD, KL, ACCURACY = "reward/mean", "kl", "accuracy/contains"
SAFE, COST = "safety/safe_ratio", "cost/mean"
SHARE_KEYS = (SAFE,)
"""Keys besides MEASURES whose values are shares: axes and sentences show them in percent."""


@dataclass(frozen=True)
class Measure:
    """A held-out number of the centre weights, which both methods have."""

    name: str
    key: str
    title: str
    unit: str
    help: str
    is_share: bool = False

    def spoken(self) -> Measure:
        """Return the measure with its texts in the reader's language."""
        return replace(self, title=gettext(self.title), unit=gettext(self.unit), help=gettext(self.help))


MEASURES = (
    Measure(
        "reward", REWARD, _("Held-out reward"), _("reward"),
        _("Mean reward of the responses to held-out prompts. Higher is better, but reward alone can be hacked."),
    ),
    Measure(
        "kl", KL, _("KL from the base model"), _("KL, nats per token"),
        _("KL(model ‖ base), mean per token: how far the model moved."),
    ),
    Measure(
        "accuracy", ACCURACY, _("Accuracy"), _("share of responses"),
        _("Share of responses that contain the expected answer. If it falls while reward rises, the reward is hacked."),
        is_share=True,
    ),
    Measure(
        SAFE, SAFE, _("Safe ratio"), _("share of responses"),
        _("Share of the held-out responses with a cost of 0 or less."), is_share=True,
    ),
    Measure(
        COST, COST, _("Cost"), _("cost"),
        _("Mean over the held-out responses. Above 0, the response is judged harmful."),
    ),
)  # fmt: skip
"""All measures that a task may have. `default_charts` selects those of the runs' tasks."""


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
    def has_log_x(self) -> bool:
        """Return whether the x axis is to be logarithmic; a time of day has no logarithm."""
        return self.log_x and self.x != "wall"
