"""Share links: they show one page, read-only and for a limited time, to anybody who has the link.

A link has no row in the database: its signed text names its page, the user who shares it and its expiry time. It also
expires when its creator revokes all links, changes the password, or may no longer sign in or share, and when its page
becomes private or moves to the trash. So a link never shows more than its creator may see, and never anything private.

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
REVOKE_MESSAGE = "Revoked all shared links."
MAX_RUNS = 50
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
    """Error for a link that must not be created. The message gives the reason and the valid choices."""


class UnknownLink(ValueError):
    """Error for a link text that this site did not sign."""


class LinkEnded(ValueError):
    """Error for a link that is expired or revoked, or that has nothing left to show."""


@dataclass(frozen=True)
class Share:
    """Contents of a link and the user who shares them. `experiment` is set only for an experiment's page, else None."""

    scope: Scope
    person: User
    ends_at: datetime
    runs: tuple[Run, ...]
    experiment: Experiment | None = None


def may_share(person: Person) -> bool:
    """Return whether the user may share pages by link: members and admins may."""
    return may_make(person)


def link_text(person: User, scope: Scope, targets: Sequence[str | int], lifetime: str) -> str:
    """Return the text of a new link to one run, one experiment (its primary key) or a comparison of runs (their uids).

    Raise CannotShare if the lifetime is unknown, if the user may not share, if `targets` is empty or has over 50
    entries, or if one of them is private or not visible to the user.
    """
    if lifetime not in LIFETIMES:
        message = gettext("The lifetime of a link must be one of %(lifetimes)s, not %(lifetime)r.")
        raise CannotShare(message % {"lifetimes": ", ".join(LIFETIMES), "lifetime": lifetime})
    if not may_share(person):
        raise CannotShare(gettext("Viewers cannot share pages. Ask a member or an admin."))
    if len(targets) > MAX_RUNS:
        message = gettext("A link shows at most %(most)s runs, not %(n)s.")
        raise CannotShare(message % {"most": MAX_RUNS, "n": len(targets)})
    runs, experiment = _visible_targets(person, scope, targets)
    if (len(runs) < len(targets) or not targets) if scope != Scope.EXPERIMENT else experiment is None:
        raise CannotShare(gettext("Runs and experiments that are private cannot be shared."))
    now = timezone.now()
    payload = {
        "p": person.pk, "s": scope.value, "w": list(targets), "i": now.timestamp(),
        "e": (now + LIFETIMES[lifetime][1]).timestamp(), "h": _fingerprint(person),
    }  # fmt: skip
    return signing.dumps(payload, salt=SALT, compress=True)


def open_link(text: str) -> Share:
    """Return the present contents of a link. Raise UnknownLink or LinkEnded."""
    try:
        payload = signing.loads(text, salt=SALT)
    except signing.BadSignature:
        raise UnknownLink("This link is not valid for this site.") from None
    person = User.objects.filter(pk=payload["p"], is_active=True).first()
    if person is None or not _is_valid(payload, person):
        raise LinkEnded("This link has expired or was revoked.")
    scope = Scope(payload["s"])
    runs, experiment = _visible_targets(person, scope, payload["w"])
    if not runs and experiment is None:
        raise LinkEnded("The shared page was deleted or made private.")
    return Share(scope, person, datetime.fromtimestamp(payload["e"], UTC), runs, experiment)


def revoke_all_links(person: User) -> None:
    """Revoke every link that the user has created so far."""
    note(person, person, REVOKE_MESSAGE)


def _is_valid(payload: dict[str, Any], person: User) -> bool:
    created_at = datetime.fromtimestamp(payload["i"], UTC)
    is_young = timezone.now().timestamp() < payload["e"]
    same_password = constant_time_compare(payload["h"], _fingerprint(person))
    revocations = LogEntry.objects.filter(user=person, change_message=REVOKE_MESSAGE, action_time__gte=created_at)
    return is_young and same_password and may_share(person) and not revocations.exists()


def _visible_targets(
    person: User, scope: Scope, targets: Sequence[str | int]
) -> tuple[tuple[Run, ...], Experiment | None]:
    if scope == Scope.EXPERIMENT:
        experiments = Experiment.objects.visible_to(person).filter(is_private=False, pk__in=targets)
        return (), experiments.select_related("owner").first()
    runs = Run.objects.visible_to(person).filter(experiment__is_private=False, uid__in=targets)
    by_uid = {run.uid: run for run in runs.select_related("experiment", "created_by")}
    return tuple(by_uid[str(uid)] for uid in targets if uid in by_uid), None


def _fingerprint(person: User) -> str:
    """Return a value that changes with the password and reveals nothing about it."""
    return person.get_session_auth_hash()[:16]
