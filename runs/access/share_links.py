"""Share links: they show one page, read-only and for a limited time, to anybody who has the link.

A link has no row in the database: its signed text names what it shows, who shares it and when it expires. It also ends
when its creator revokes all links, changes the password, or may no longer sign in or share, and when what it shows
becomes private or moves to the bin. So a link never shows more than its creator may see, and never what is private.

Django's admin log records when a user revokes all links, and this module looks it up there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.core import signing
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from runs.access.rights import may_make, note
from runs.models import Experiment, Run
from runs.models.experiment import Person

SALT = "esweb.share"
TAKEN_BACK = "Took back all shared links."
RUNS_AT_MOST = 50
LIFETIMES = {
    "hour": (_("one hour"), timedelta(hours=1)),
    "day": (_("one day"), timedelta(days=1)),
    "week": (_("one week"), timedelta(days=7)),
    "month": (_("30 days"), timedelta(days=30)),
}


class Scope(StrEnum):
    """The kinds of pages that a link can show. Each link shows one page and the data of its charts."""

    RUN = "run"
    EXPERIMENT = "experiment"
    COMPARE = "compare"


class CannotShare(ValueError):
    """A refusal to create a link. The message gives the reason and what is allowed."""


class UnknownLink(ValueError):
    """An error for a link text that this site did not sign."""


class LinkEnded(ValueError):
    """An error for a link that is expired or revoked, or that has nothing left to show."""


@dataclass(frozen=True)
class Share:
    """Contents of a link and the user who shares them. `experiment` is set only for an experiment's page, else None."""

    scope: Scope
    person: User
    ends_at: datetime
    runs: tuple[Run, ...]
    experiment: Experiment | None = None


def may_share(person: Person) -> bool:
    """Return whether the person may share pages by link: members and admins may."""
    return may_make(person)


def link_text(person: User, scope: Scope, what: Sequence[str | int], lifetime: str) -> str:
    """Return the text of a new link to one run, one experiment (its primary key) or a comparison of runs (their uids).

    Raise CannotShare if the lifetime is unknown, if the person may not share, if `what` is empty or has over 50
    entries, or if some of it is private or not visible to the person.
    """
    if lifetime not in LIFETIMES:
        words = gettext("A link lives for %(lifetimes)s, not %(lifetime)r.")
        raise CannotShare(words % {"lifetimes": ", ".join(LIFETIMES), "lifetime": lifetime})
    if not may_share(person):
        raise CannotShare(gettext("Viewers cannot share pages: ask a member or an admin."))
    if len(what) > RUNS_AT_MOST:
        words = gettext("A link shows at most %(most)s runs, not %(n)s.")
        raise CannotShare(words % {"most": RUNS_AT_MOST, "n": len(what)})
    runs, experiment = _shown(person, scope, what)
    if (len(runs) < len(what) or not what) if scope != Scope.EXPERIMENT else experiment is None:
        raise CannotShare(
            gettext("Only what everybody here may see can be shared: private experiments stay with their owner.")
        )
    now = timezone.now()
    said = {
        "p": person.pk, "s": scope.value, "w": list(what), "i": now.timestamp(),
        "e": (now + LIFETIMES[lifetime][1]).timestamp(), "h": _fingerprint(person),
    }  # fmt: skip
    return signing.dumps(said, salt=SALT, compress=True)


def opened(text: str) -> Share:
    """Return what a link shows now. Raise UnknownLink or LinkEnded."""
    try:
        said = signing.loads(text, salt=SALT)
    except signing.BadSignature:
        raise UnknownLink("This site never made that link.") from None
    person = User.objects.filter(pk=said["p"], is_active=True).first()
    if person is None or not _holds(said, person):
        raise LinkEnded("The link has ended.")
    scope = Scope(said["s"])
    runs, experiment = _shown(person, scope, said["w"])
    if not runs and experiment is None:
        raise LinkEnded("What the link showed is gone, or private now.")
    return Share(scope, person, datetime.fromtimestamp(said["e"], UTC), runs, experiment)


def take_back_all(person: User) -> None:
    """Revoke every link that the person has created so far."""
    note(person, person, TAKEN_BACK)


def _holds(said: dict[str, Any], person: User) -> bool:
    made_at = datetime.fromtimestamp(said["i"], UTC)
    is_young = timezone.now().timestamp() < said["e"]
    same_password = constant_time_compare(said["h"], _fingerprint(person))
    taken_back = LogEntry.objects.filter(user=person, change_message=TAKEN_BACK, action_time__gte=made_at)
    return is_young and same_password and may_share(person) and not taken_back.exists()


def _shown(person: User, scope: Scope, what: Sequence[str | int]) -> tuple[tuple[Run, ...], Experiment | None]:
    if scope == Scope.EXPERIMENT:
        found = Experiment.objects.visible_to(person).filter(is_private=False, pk__in=what)
        return (), found.select_related("owner").first()
    runs = Run.objects.visible_to(person).filter(experiment__is_private=False, uid__in=what)
    by_uid = {run.uid: run for run in runs.select_related("experiment", "created_by")}
    return tuple(by_uid[str(uid)] for uid in what if uid in by_uid), None


def _fingerprint(person: User) -> str:
    """Return a value that changes with the password and reveals nothing about it."""
    return person.get_session_auth_hash()[:16]
