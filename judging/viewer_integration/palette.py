"""Tournaments as entries of the command palette."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.utils.translation import gettext

from judging.models import Tournament
from runs.http import PaletteEntry, find_rows
from runs.models.experiment import Person


def tournament_entries(person: Person, words: Sequence[str]) -> Iterator[PaletteEntry]:
    """Yield the newest tournaments that this person may see and whose names hold every word."""
    for tournament in find_rows(Tournament.objects.visible_to(person), words, "name"):
        yield PaletteEntry(gettext("tournament"), tournament.name, tournament.question, tournament.get_absolute_url())
