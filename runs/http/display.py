"""Format times and states, as pages and templates show them."""

from __future__ import annotations

from datetime import UTC, datetime

from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_noop as _

DAY = 86400
SENTENCES = {
    "created": _("%(name)s is waiting."),
    "submitting": _("%(name)s is being submitted."),
    "queued": _("%(name)s is queued."),
    "starting": _("%(name)s is starting."),
    "running": _("%(name)s is running."),
    "paused": _("%(name)s is paused."),
    "stopping": _("%(name)s is stopping."),
    "succeeded": _("%(name)s has succeeded."),
    "done": _("%(name)s has finished."),
    "failed": _("%(name)s has failed."),
    "oom": _("%(name)s ran out of memory."),
    "timeout": _("%(name)s reached its time limit."),
    "lost": _("%(name)s is lost."),
    "node_lost": _("%(name)s lost its node."),
    "preempted": _("%(name)s was preempted."),
    "interrupted": _("%(name)s was interrupted."),
    "cancelled": _("%(name)s was cancelled."),
    "partial": _("%(name)s has only a part of its responses."),
    "unknown": _("The state of %(name)s is unknown."),
}
"""State of a run or a sweep -> the sentence that says it."""


def moment(at: datetime) -> str:
    """Format a time to the second, with its date if that is not today."""
    then, today = at.astimezone(UTC), timezone.now().astimezone(UTC).date()
    text = f"{then:%H:%M:%S}" if then.date() == today else f"{then:%Y-%m-%d %H:%M}"
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', then.isoformat(timespec="seconds"), f"{then:%F %T UTC}", text
    )


def ago(at: datetime | None) -> str:
    """Return how long ago a time was, as an element, or – for None.

    The element carries the time itself, for readers who point at it and for programs that parse it, and its age in
    seconds, from which `relative-time.js` rewrites the words as time passes.
    """
    if at is None:
        return "–"
    utc_time, age = at.astimezone(UTC), (timezone.now() - at).total_seconds()
    return format_html(
        '<time datetime="{}" title="{}" data-age="{}">{}</time>',
        utc_time.isoformat(timespec="seconds"),
        utc_time.strftime("%Y-%m-%d %H:%M:%S UTC"),
        int(age),
        _ago(age, utc_time),
    )


def state_words(state: str) -> str:
    """Return a state as words."""
    return gettext(state.replace("_", " ")) if state else ""


def state_sentence(name: str, state: str) -> str:
    """Return a sentence that says in which state a run or a sweep of this name is."""
    return gettext(SENTENCES.get(state, SENTENCES["unknown"])) % {"name": name}


def _ago(seconds: float, utc_time: datetime) -> str:
    """Return the words of `relative-time.js`, which must be the same."""
    if seconds < 2:
        return gettext("just now")
    if seconds < 60:
        return gettext("%(n)s s ago") % {"n": int(seconds)}
    if seconds < 3600:
        return gettext("%(n)s min ago") % {"n": int(seconds // 60)}
    if seconds < 2 * DAY:
        return gettext("%(n)s h ago") % {"n": int(seconds // 3600)}
    days = int(seconds // DAY)
    return ngettext("%(n)s day ago", "%(n)s days ago", days) % {"n": days} if days < 60 else f"{utc_time:%Y-%m-%d}"
