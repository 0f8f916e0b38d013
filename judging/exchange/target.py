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

MAX_NAME_LENGTH = 200
DEFAULT_NAME = "Imported judgments"


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


def find_or_create_tournament(target: ImportTarget, files: Sequence[str]) -> tuple[Tournament, bool]:
    """Return the tournament, locked, and whether it is new."""
    # Without this lock, two concurrent imports of one user would create the tournament twice.
    User.objects.select_for_update(no_key=True).get(pk=target.owner.pk)
    if target.into is not None:
        return Tournament.objects.select_for_update(no_key=True).get(pk=target.into.pk), False
    name = (target.name.strip() or _stem(files))[:MAX_NAME_LENGTH]
    imported = Tournament.objects.filter(
        owner=target.owner, name=name, deleted_at=None, pk__in=Tournament.objects.filter(judgment_files__isnull=False)
    )
    if existing := imported.select_for_update(no_key=True).order_by("pk").first():
        return existing, False
    # The responses are not in this database, so nobody can vote on them.
    created = Tournament.objects.create(
        name=name, owner=target.owner, is_private=target.is_private, closed_at=timezone.now(),
        question=gettext("Judged elsewhere; imported, not calibrated here."),
    )  # fmt: skip
    return created, True


def _stem(files: Sequence[str]) -> str:
    """Return the first file's name without its extensions, votes for votes.jsonl.gz; DEFAULT_NAME without a file."""
    if not files:
        return DEFAULT_NAME
    path = PurePosixPath(files[0])
    return path.with_suffix("").stem if path.suffix.lower() in SUFFIXES else path.stem
