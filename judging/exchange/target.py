"""Find the tournament that imported judgments go into: an existing one, or a new one of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from django.contrib.auth.models import User
from django.utils import timezone
from django.utils.translation import gettext

from judging.exchange.files import SUFFIXES
from judging.models import Tournament

NAME_AT_MOST = 200
USUAL = "Imported judgments"


@dataclass(frozen=True)
class ImportTarget:
    """Target of an import: `into`, if it is given.

    Else it is the owner's tournament of that name that was imported before, or a new one. If the name is empty, it is
    the first file's.
    """

    owner: User
    name: str = ""
    into: Tournament | None = None
    is_private: bool = False


def tournament_at(place: ImportTarget, files: Sequence[str]) -> tuple[Tournament, bool]:
    """Return the tournament, locked, and whether it is new."""
    # Two imports of one person at once would make it twice.
    User.objects.select_for_update(no_key=True).get(pk=place.owner.pk)
    if place.into is not None:
        return Tournament.objects.select_for_update(no_key=True).get(pk=place.into.pk), False
    name = (place.name.strip() or _stem(files))[:NAME_AT_MOST]
    known = Tournament.objects.filter(
        owner=place.owner, name=name, deleted_at=None, pk__in=Tournament.objects.filter(judgment_files__isnull=False)
    )
    if found := known.select_for_update(no_key=True).order_by("pk").first():
        return found, False
    # Of the answers nothing is here, so that there is nothing to vote on.
    made = Tournament.objects.create(
        name=name, owner=place.owner, is_private=place.is_private, seed=0, closed_at=timezone.now(),
        question=gettext("Judged elsewhere; imported, not calibrated here."),
    )  # fmt: skip
    return made, True


def _stem(files: Sequence[str]) -> str:
    """Return the first file's name without its extensions, such as votes for votes.jsonl.gz; USUAL without a file."""
    if not files:
        return USUAL
    path = PurePosixPath(files[0])
    return path.with_suffix("").stem if path.suffix.lower() in SUFFIXES else path.stem
