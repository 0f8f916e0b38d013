"""Change the chart layouts of users. Each user changes only their own; the last change wins."""

from __future__ import annotations

from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db import transaction

from runs.chart_layouts.cards import Card, parse_cards
from runs.models import ChartLayout, Experiment


def save_layout(person: User, page: str, experiment: Experiment | None, cards: Sequence[Card]) -> None:
    """Store the user's layout of a page. Without cards, the page has its default layout again."""
    if not cards:
        reset_layout(person, page, experiment)
        return
    values = {"cards": [card.text for card in cards]}
    ChartLayout.objects.update_or_create(person=person, page=page, experiment=experiment, defaults=values)


def store_imported_layout(person: User, experiment: Experiment, cards: Sequence[Card]) -> bool:
    """Store a layout of the experiment's page that came with it, unless the user has one. Return whether it is new."""
    values = {"cards": [card.text for card in cards]}
    page = ChartLayout.Page.EXPERIMENT
    _, is_new = ChartLayout.objects.get_or_create(person=person, page=page, experiment=experiment, defaults=values)
    return is_new


def reset_layout(person: User, page: str, experiment: Experiment | None) -> None:
    """Delete the user's layout of a page, so that the page has its default layout again."""
    ChartLayout.objects.filter(person=person, page=page, experiment=experiment).delete()


@transaction.atomic
def append_card(person: User, page: str, experiment: Experiment | None, card: Card) -> tuple[str, ...]:
    """Add a chart at the end of the user's layout, unless the layout has it. Return problems: then nothing changed."""
    row, _is_new = ChartLayout.objects.get_or_create(person=person, page=page, experiment=experiment)
    row = ChartLayout.objects.select_for_update().get(pk=row.pk)
    cards, problems = with_card(parse_cards(row.cards)[0], card)
    if not problems:
        row.cards = [card.text for card in cards]
        row.save()
    return problems


def with_card(cards: Sequence[Card], card: Card) -> tuple[tuple[Card, ...], tuple[str, ...]]:
    """Return the cards with this one at the end, once; and the problems if they are then too many."""
    if any(other.code == card.code for other in cards):
        return tuple(cards), ()
    return parse_cards([*(other.text for other in cards), card.text])
