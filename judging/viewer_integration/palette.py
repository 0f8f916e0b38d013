"""What the command palette offers of judging: its pages, and tournaments by their names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from judging.models import Tournament
from runs.http import PaletteEntry, matching, pages_of
from runs.models.experiment import Person

PAGES = {
    "tournaments": _("Judging: tournaments"), "judges": _("Judging: model judges"), "criteria": _("Judging: criteria"),
    "gold-sets": _("Judging: gold"), "judgments-import": _("Judging: import judgments"),
}  # fmt: skip


def places(person: Person, words: Sequence[str]) -> Iterator[PaletteEntry]:
    """Nothing but tournaments before a word is typed: the newest."""
    yield from pages_of(PAGES, words) if words else ()
    for one in matching(Tournament.objects.visible_to(person), words, "name"):
        yield PaletteEntry(gettext("tournament"), one.name, one.question, one.get_absolute_url())
