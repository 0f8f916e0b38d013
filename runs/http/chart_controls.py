"""Settings of charts in an address: axes, scales, smoothing, and how groups are summarized."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

from django.http import HttpRequest
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.charts import SCALES, ChartOptions
from runs.http.choices import must_be_one_of
from runs.http.parameters import UnknownChoice, is_file, not_offered, require_choice, warn, zoom_of
from runs.metrics import X_AXES
from workers.analysis.aggregate import MIDDLES, SPREADS
from workers.analysis.bands import AUTO
from workers.analysis.smoothing import Smoothing

AXIS_LABELS = {"gpu_seconds": _("GPU seconds")}
"""Labels of axes that do not have their name as label."""


@dataclass(frozen=True)
class ChartControls(ChartOptions):
    """The options of a page's charts, which its address holds, with the choices that the page offers."""

    @property
    def axis_choices(self) -> list[tuple[str, str]]:
        """Return the x axes to choose from, with their labels."""
        return [(name, gettext(AXIS_LABELS.get(name, name))) for name in X_AXES]

    @property
    def scales(self) -> list[tuple[str, str]]:
        """Return the scales of the y axis to choose from, with their labels."""
        return [(name, gettext(words)) for name, words in SCALES.items()]

    @property
    def centers(self) -> list[tuple[str, str]]:
        """Return the middles to choose from, with their labels."""
        return [(name, gettext(words)) for name, words in MIDDLES.items()]

    @property
    def spreads(self) -> list[tuple[str, str]]:
        """Return the bands to choose from, with their labels."""
        auto_label = gettext("±1 std; min–max if there are fewer than 4 seeds")
        return [(AUTO, auto_label), *((name, gettext(words)) for name, words in SPREADS.items())]

    @property
    def center_words(self) -> str:
        """Return the name of the bold lines' statistic, as a hint writes it."""
        return dict(self.centers)[self.center]

    @property
    def spread_words(self) -> str:
        """Return the name of the bands' statistic, as a hint writes it."""
        return dict(self.spreads)[self.spread]

    def options(self, px: int | None) -> ChartOptions:
        """Return the options of charts that are `px` wide; of every point if px is None."""
        return replace(self, px=px)


def chart_controls(request: HttpRequest, problems: list[str] | None = None) -> ChartControls:
    """Return the settings of charts in the address.

    An invalid setting that only affects the display gets its default: append a sentence about it to `problems`, or show
    it as a warning at the top of the page if `problems` is None. Raise UnknownChoice for a file, and if center or band,
    which change numbers, are invalid; BadRequest for an invalid zoom.
    """
    return ChartControls(
        x=_display_choice(request, "x", X_AXES, problems),
        y=_display_choice(request, "y", SCALES, problems),
        log_x=_display_choice(request, "xscale", ("linear", "log"), problems) == "log",
        smoothing=_smoothing(request, problems),
        center=require_choice(request, "center", MIDDLES, "mean"),
        spread=require_choice(request, "band", (AUTO, *SPREADS), AUTO),
        zoom=zoom_of(request),
    )


def _display_choice(request: HttpRequest, name: str, choices: Collection[str], problems: list[str] | None) -> str:
    first = next(iter(choices))
    value = request.GET.get(name, first)
    if value not in choices:
        if is_file(request):
            raise UnknownChoice(must_be_one_of(name, choices, value))
        _report(request, not_offered(name, choices, value[:50], first), problems)
        return first
    return value


def _smoothing(request: HttpRequest, problems: list[str] | None) -> Smoothing:
    text = request.GET.get("smooth") or "0"
    try:
        return Smoothing.parse(text)
    except ValueError as error:
        if is_file(request):
            message = gettext("smooth %(must)s, not %(value)r.")
            raise UnknownChoice(message % {"must": error, "value": text[:50]}) from error
        problem = gettext("smooth %(must)s, not %(value)r: showing 0.") % {"must": error, "value": text[:50]}
        _report(request, problem, problems)
        return Smoothing()


def _report(request: HttpRequest, problem: str, problems: list[str] | None) -> None:
    if problems is None:
        warn(request, problem)
    else:
        problems.append(problem)
