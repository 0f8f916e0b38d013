"""Registry of the command palette: features register their pages in their `urls`, with sources of other entries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils.translation import gettext

from runs.http.parameters import Row
from runs.models.experiment import Person

MAX_ROWS = 8


@dataclass(frozen=True)
class PaletteEntry:
    """A link of the palette; `where` names what it belongs to."""

    kind: str
    title: str
    where: str
    address: str


@dataclass(frozen=True)
class PalettePage:
    """A page without arguments: the name of its address and its title, marked for translation.

    Common pages come first, and appear before the user types.
    """

    url_name: str
    title: str
    is_common: bool = False
    is_for_admins: bool = False


EntrySource = Callable[[Person, Sequence[str]], Iterable[PaletteEntry]]
"""Return the entries that this user may see and that match all words."""
_PAGES: dict[str, PalettePage] = {}
_SOURCES: list[EntrySource] = []


def register_pages(*pages: PalettePage) -> None:
    """Add pages. A page of the same `url_name` is replaced."""
    _PAGES.update({page.url_name: page for page in pages})


def register_source(source: EntrySource) -> None:
    """Add a source of entries, such as judging's tournaments, which runs does not import."""
    _SOURCES.append(source)


def find_pages(person: User, words: Sequence[str]) -> list[PaletteEntry]:
    """Return the pages with all words in their titles, common ones first; without words, common pages only."""
    pages = [page for page in _PAGES.values() if person.is_superuser or not page.is_for_admins]
    titles = {page: gettext(page.title) for page in sorted(pages, key=lambda page: not page.is_common)}
    return [
        PaletteEntry(gettext("page"), title, "", reverse(page.url_name))
        for page, title in titles.items()
        if (_matches(title, words) if words else page.is_common)
    ]


def find_entries(person: Person, words: Sequence[str]) -> list[PaletteEntry]:
    """Return the entries of all registered sources."""
    return [entry for source in _SOURCES for entry in source(person, words)]


def find_rows(rows: QuerySet[Row], words: Sequence[str], *fields: str) -> QuerySet[Row]:
    """Return the newest MAX_ROWS rows. Each word must occur in one of the fields."""
    for word in words:
        condition = Q()
        for field in fields:
            condition |= Q(**{f"{field}__icontains": word})
        rows = rows.filter(condition)
    return rows.order_by("-pk")[:MAX_ROWS]


def _matches(title: str, words: Sequence[str]) -> bool:
    return all(word.lower() in title.lower() for word in words)
