"""A page's chart layout, and the charts of the page in its order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

from django.http import QueryDict

from runs.chart_layouts.cards import SIZES, Card, escape_name
from runs.charts.chart import Chart
from runs.charts.own import OwnChart
from runs.charts.phases import PHASES

PARAMETER = "charts"
DEFAULT_SIZES = {"run": "small"}
"""Default size of the charts of a page; `medium` on others."""
WIDE = {PHASES.name}
"""Charts that are wide by default."""


@dataclass(frozen=True)
class Layout:
    """Order and sizes of a page's charts for one reader.

    page: one of ChartLayout.Page. experiment_id: only of an experiment's page. cards: see Card. is_from_address: the
    address sets the cards, so that they are the same for every reader. differs: the reader's own layout is another one.
    can_change: the reader is signed in. problems: a sentence for each part of the address that is ignored.
    """

    page: str
    cards: tuple[Card, ...] = ()
    experiment_id: int | None = None
    is_from_address: bool = False
    differs: bool = False
    can_change: bool = False
    problems: tuple[str, ...] = ()

    @property
    def own_charts(self) -> list[OwnChart]:
        """Return the charts that the reader, or the address, defines."""
        return [card.own for card in self.cards if card.own]

    @property
    def may_reset(self) -> bool:
        """Return whether the reader's own layout is shown and differs from the default."""
        return self.can_change and not self.is_from_address and bool(self.cards)

    @property
    def default_size(self) -> str:
        """Return the size of the page's charts that have no size of their own."""
        return DEFAULT_SIZES.get(self.page, "medium")

    @property
    def texts(self) -> list[str]:
        """Return the text form of each card."""
        return [card.text for card in self.cards]

    @property
    def texts_json(self) -> str:
        """Return the text forms as JSON, for the page's script."""
        return json.dumps(self.texts)


@dataclass(frozen=True)
class PlacedChart:
    """A chart of a page with its size, in the order of the page's layout.

    code: the chart's name as a layout's text form writes it. default_position: from 1, in the grid's default order.
    """

    chart: Chart
    size: str
    default_size: str
    is_pinned: bool
    is_own: bool
    code: str
    default_position: int
    can_change: bool = field(default=False)


def arrange(charts: Sequence[Chart], layout: Layout) -> list[PlacedChart]:
    """Return the charts of one grid in the layout's order: pinned ones first, then those with a position, and in
    between the others in their given order. Every chart is returned once; cards of other charts have no effect."""
    own_names = {chart.name for chart in layout.own_charts}
    cards = {(card.name, card.own is not None): card for card in layout.cards}
    ranks = {card.code: rank for rank, card in enumerate(layout.cards)}
    pinned: list[PlacedChart] = []
    flowing: list[PlacedChart] = []
    positioned: list[tuple[int, PlacedChart]] = []
    for number, chart in enumerate(charts, start=1):
        card = cards.get((chart.name, chart.name in own_names)) or Card(chart.name)
        placed = _place(chart, card, layout, number)
        if card.is_pinned:
            pinned.append(placed)
        elif card.position is not None:
            positioned.append((card.position, placed))
        else:
            flowing.append(placed)
    pinned.sort(key=lambda placed: ranks[placed.code])
    for position, placed in sorted(positioned, key=lambda entry: entry[0]):
        flowing.insert(position - 1, placed)
    return [*pinned, *flowing]


def _place(chart: Chart, card: Card, layout: Layout, number: int) -> PlacedChart:
    default_size = SIZES[-1] if chart.name in WIDE else layout.default_size
    code = card.code if card.own else escape_name(chart.name)
    return PlacedChart(
        chart, card.size or default_size, default_size, card.is_pinned, card.own is not None, code, number,
        layout.can_change,
    )  # fmt: skip


def query_with(params: QueryDict, cards: Sequence[Card]) -> QueryDict:
    """Return the parameters of an address with these cards; without any, the address selects the default layout."""
    query = params.copy()
    query.setlist(PARAMETER, [card.text for card in cards] or [""])
    return query


def to_text(query: QueryDict) -> str:
    """Return the query string, in which the separators of a layout stay readable."""
    return query.urlencode(safe="/:,~=") if PARAMETER in query else query.urlencode()
