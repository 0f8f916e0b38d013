"""The badge that tells whether a response is right."""

from __future__ import annotations

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext

from runs.models import Response
from runs.responses.viewer.correctness import badge_of

register = template.Library()


@register.simple_tag
def correctness_badge(response: Response, *, is_narrow: bool = False) -> SafeString:
    """Return the badge of a response, with its meaning as a tooltip; empty if its task has no right answers."""
    badge = badge_of(response)
    if badge is None:
        return SafeString("")
    return format_html(
        '<span class="badge tone-{}" title="{}"><span class="sign" aria-hidden="true">{}</span>{}</span>',
        badge.tone, gettext(badge.help), badge.sign, gettext(badge.short if is_narrow and badge.short else badge.label),
    )  # fmt: skip
