"""Layouts of charts: order, size and pins of a page's charts for each user, and charts of a user's own."""

from runs.chart_layouts.arrangement import PARAMETER, Layout, PlacedChart, arrange, query_with, to_text
from runs.chart_layouts.cards import SIZES, Card, own_card, parse_cards
from runs.chart_layouts.commands import store_imported_layout
from runs.chart_layouts.queries import layout_of, shared_layout, with_layout

__all__ = [
    "PARAMETER",
    "SIZES",
    "Card",
    "Layout",
    "PlacedChart",
    "arrange",
    "layout_of",
    "own_card",
    "parse_cards",
    "query_with",
    "shared_layout",
    "store_imported_layout",
    "to_text",
    "with_layout",
]
