"""Format times and states, as pages and templates show them."""

from __future__ import annotations

from datetime import UTC, datetime

from django.utils import timezone
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext

DAY = 86400


def moment(at: datetime) -> str:
    """Format a time to the second, with its date if that is not today."""
    then, today = at.astimezone(UTC), timezone.now().astimezone(UTC).date()
    text = f"{then:%H:%M:%S}" if then.date() == today else f"{then:%Y-%m-%d %H:%M}"
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', then.isoformat(timespec="seconds"), f"{then:%F %T UTC}", text
    )


def ago(at: datetime | None) -> str:
    """Return how long ago a time was, or – for None.

    The element carries the time itself, for readers who point at it and for programs that parse it.
    """
    if at is None:
        return "–"
    utc_time = at.astimezone(UTC)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        utc_time.isoformat(timespec="seconds"),
        utc_time.strftime("%Y-%m-%d %H:%M:%S UTC"),
        _ago((timezone.now() - at).total_seconds(), utc_time),
    )


def state_words(state: str) -> str:
    """Return a state as words."""
    return gettext(state.replace("_", " ")) if state else ""


def _ago(seconds: float, utc_time: datetime) -> str:
    if seconds < 2:
        return gettext("just now")
    if seconds < 60:
        return gettext("%(n)d s ago") % {"n": seconds}
    if seconds < 3600:
        return gettext("%(n)d min ago") % {"n": seconds // 60}
    if seconds < 2 * DAY:
        return gettext("%(n)d h ago") % {"n": seconds // 3600}
    days = int(seconds // DAY)
    return ngettext("%(n)d day ago", "%(n)d days ago", days) % {"n": days} if days < 60 else f"{utc_time:%Y-%m-%d}"
