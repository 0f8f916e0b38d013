"""Parsing of the parameter `sort`: by a column, by the difference from the pinned run, or by a group's runs."""

from __future__ import annotations

from django.http import HttpRequest, QueryDict
from django.utils.translation import gettext

from runs.compare.run_table.columns import FIELDS, RUN_COUNT, Column, Kind
from runs.compare.run_table.gap_order import GapOrigin
from runs.compare.run_table.paging import GAP, Order
from runs.compare.run_table.vocabulary import Vocabulary, unsortable_message
from runs.http import warn

NEWEST_FIRST = Order(FIELDS["created"], descending=True)


def parse_order(request: HttpRequest, sent: QueryDict, vocabulary: Vocabulary, *, is_grouped: bool) -> Order:
    """Return the order that `sort` selects. Warn about an invalid one, and return the newest first."""
    word = sent.get("sort") or NEWEST_FIRST.word
    is_descending, key = word.startswith("-"), word.removeprefix("-")
    if is_grouped and key == RUN_COUNT.key:
        return Order(RUN_COUNT, is_descending)
    has_gap = key.startswith(GAP)
    column = vocabulary.column(key.removeprefix(GAP))
    problem = _gap_problem(column, sent) if has_gap else _problem(column, word)
    if column is None or problem:
        warn(request, problem)
        return NEWEST_FIRST
    return Order(column, is_descending, GapOrigin(None) if has_gap else None)


def _problem(column: Column | None, word: str) -> str:
    """Return the message that runs cannot be sorted by this column; empty if they can."""
    if column is not None and column.is_sortable:
        return ""
    if column is not None and column.kind is Kind.STEP_VALUE:
        return unsortable_message(column)
    message = gettext(
        "sort must be one of the columns, such as created, name, reward, kl or es.sigma, with - before it for the "
        "largest first, not %(asked)r."
    )
    return message % {"asked": word}


def _gap_problem(column: Column | None, sent: QueryDict) -> str:
    if not sent.get("pin"):
        return gettext("Pin a run to sort by the difference from it.")
    if column is not None and column.kind is Kind.STEP_VALUE:
        return unsortable_message(column)
    if column is None or not column.is_measured:
        return gettext("After gap: must be a metric, step or time, as in sort=-gap:kl.")
    return ""
