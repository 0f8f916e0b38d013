"""Numbers of panels on pages: cells of tables, with their intervals and strips, and the reasons for missing ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from judging.boards.format import BoardData, bracketed, estimate_cell
from runs.tables import Badge, Cell, Column, Drawing, Interval, NumberStyle, cell_html

WIDTH = 100.0
"""Width of a strip, in the units of its `viewBox`."""
STRIP = (
    '<svg class="strip" viewBox="-3 0 106 10" preserveAspectRatio="none" aria-hidden="true"><line class="strip-range"'
    ' x1="{1}" x2="{2}" y1="5" y2="5"/><line class="strip-at" x1="{0}" x2="{0}" y1="1" y2="9"/></svg>'
)
SHARE_POINTS = bracketed(1, _("points"), 100, is_signed=True)
RATINGS = bracketed(0)
RATING_DIFFERENCES = bracketed(0, is_signed=True)


@dataclass(frozen=True)
class Axis:
    """Range of the axis that the strips of a panel share."""

    low: float
    high: float

    def strip(self, estimate: BoardData) -> Drawing:
        """Draw a number and its range."""
        ends = [estimate["value"] if estimate.get(bound) is None else estimate[bound] for bound in ("low", "high")]
        return Drawing(format_html(STRIP, *(self._at(number) for number in (estimate["value"], *ends))))

    def _at(self, number: float) -> float:
        return round(WIDTH * (number - self.low) / (self.high - self.low or 1.0), 2)


def common_axis(ranges: Iterable[BoardData]) -> Axis:
    """Return the axis that covers all values and intervals, or 0 to 1 if there are none."""
    numbers = [
        estimate[bound] for estimate in ranges for bound in ("value", "low", "high") if estimate.get(bound) is not None
    ]
    return Axis(min(numbers), max(numbers)) if numbers else Axis(0.0, 1.0)


def contestant_column() -> Column:
    """Return the column of contestants' names."""
    return Column("contestant", gettext("Contestant"), str)


def rated_column(title: str, head: Cell = None) -> Column:
    """Return a column of ratings with their strips."""
    return Column(title, title, tuple, RATINGS, tint=lambda cell: "rated", head=head)


def rated_cell(estimate: BoardData, axis: Axis, *before: Badge) -> Cell:
    """Return a rating with its strip."""
    strip = () if estimate.get("value") is None else (axis.strip(estimate),)
    return (*before, estimate_cell(estimate), *strip)


def number_html(style: NumberStyle, estimate: BoardData) -> SafeString:
    """Return a number with its interval, for a sentence."""
    return cell_html(Column("", kind=Interval, style=style), estimate_cell(estimate))


def missing_reasons(estimates: Iterable[BoardData]) -> list[str]:
    """Return the reasons for missing numbers, without repeats."""
    reasons = (estimate.get("why") for estimate in estimates if estimate["value"] is None)
    return list(dict.fromkeys(reason for reason in reasons if reason))


def rank_standings(standings: Sequence[BoardData]) -> dict[int, int | None]:
    """Map each index in `standings` to its rank. The rank is None without a rating, or if there are several groups."""
    one_group = len({standing["group"] for standing in standings}) == 1
    return {k: k + 1 if one_group and standing["value"] is not None else None for k, standing in enumerate(standings)}
