"""Entries of the command palette: features register theirs, and each finds its rows by the words that were typed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext

from runs.http.parameters import Row
from runs.models.experiment import Person

OF_EACH = 8


@dataclass(frozen=True)
class PaletteEntry:
    """Somewhere to go; `where` says what it belongs to."""

    kind: str
    title: str
    where: str
    address: str


Offer = Callable[[Person, Sequence[str]], Iterable[PaletteEntry]]
OFFERS: list[Offer] = []


def offer(places: Offer) -> None:
    """Adds places of others, such as of judging, which is not known here. They ask who wants them, by which words."""
    OFFERS.append(places)


def pages_of(named: dict[str, str], words: Sequence[str]) -> list[PaletteEntry]:
    """Pages by the names of their addresses -> words for them: those whose words hold all that was typed."""
    titles = {name: gettext(title) for name, title in named.items()}
    return [
        PaletteEntry(gettext("page"), title, "", reverse(name))
        for name, title in titles.items()
        if _holds(title, words)
    ]


def matching(rows: QuerySet[Row], words: Sequence[str], *fields: str) -> QuerySet[Row]:
    """The newest rows of which one of the fields holds each of the words."""
    for word in words:
        wanted = Q()
        for field in fields:
            wanted |= Q(**{f"{field}__icontains": word})
        rows = rows.filter(wanted)
    return rows.order_by("-pk")[:OF_EACH]


def _holds(title: str, words: Sequence[str]) -> bool:
    return all(word.lower() in title.lower() for word in words)
