"""Parse the display settings of a comparison from an address.

If a parameter that only affects the display is invalid, the page uses the default and reports the problem. The page may
be one that a link shares with a reader without a session, so problems are not reported through cookies.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from django.http import HttpRequest
from django.utils.translation import gettext

from runs.charts import OverlayOptions
from runs.http import UnknownChoice, is_file, must_be_one_of, not_offered, require_choice, zoom_of
from runs.metrics import X_AXES, Span
from runs.models import Run
from workers.analysis.smoothing import Smoothing

SMOOTHINGS = tuple(map(Smoothing.parse, ("0", "0.6", "0.9", "0.97", "gaussian-5", "median-9")))
PATTERN_LENGTH = 200


@dataclass(frozen=True)
class ComparisonSettings:
    """Display settings of a comparison. x: one of X_AXES. pattern: a regular expression of keys. baseline: a run's uid.
    problems: sentences about invalid parameters."""

    x: str
    log_y: bool
    smoothing: Smoothing
    pattern: str
    baseline: str
    everything: bool
    problems: tuple[str, ...]
    zoom: Span | None = None
    axes: tuple[str, ...] = X_AXES
    smoothings: tuple[Smoothing, ...] = SMOOTHINGS

    def overlay_options(self, px: int | None) -> OverlayOptions:
        """Return the settings of the charts, `px` wide."""
        return OverlayOptions(self.x, self.log_y, self.smoothing, px, self.zoom)


def parse_settings(request: HttpRequest, runs: Sequence[Run] | None = None) -> ComparisonSettings:
    """Return the settings in the address; the baseline is one of `runs`, if given. Raise UnknownChoice if invalid."""
    problems: list[str] = []
    pattern = request.GET.get("key", "")
    if len(pattern) > PATTERN_LENGTH:
        message = gettext("key must have at most %(most)s characters, not %(n)s: showing all.")
        problems.append(message % {"most": PATTERN_LENGTH, "n": len(pattern)})
        pattern = ""
    return ComparisonSettings(
        x=_one_of(request, "x", X_AXES, problems),
        log_y=_one_of(request, "y", ("linear", "log"), problems) == "log",
        smoothing=_smoothing(request, problems),
        pattern=pattern,
        baseline="" if runs is None else require_choice(request, "baseline", [run.uid for run in runs], ""),
        everything=_one_of(request, "config", ("differences", "everything"), problems) == "everything",
        problems=tuple(problems),
        zoom=zoom_of(request),
    )


def _one_of(request: HttpRequest, name: str, choices: Collection[str], problems: list[str]) -> str:
    first = next(iter(choices))
    value = request.GET.get(name, first)
    if value in choices:
        return value
    if is_file(request):
        raise UnknownChoice(must_be_one_of(name, choices, value))
    problems.append(not_offered(name, choices, value[:50], first))
    return first


def _smoothing(request: HttpRequest, problems: list[str]) -> Smoothing:
    text = request.GET.get("smooth") or "0"
    try:
        return Smoothing.parse(text)
    except ValueError as error:
        if is_file(request):
            message = gettext("smooth %(must)s, not %(value)r.")
            raise UnknownChoice(message % {"must": error, "value": text[:50]}) from error
        problem = gettext("smooth %(must)s, not %(value)r: showing 0.")
        problems.append(problem % {"must": error, "value": text[:50]})
        return Smoothing()
