"""What ratings say, in templates."""

from __future__ import annotations

from django import template

from judging.boards import settings
from judging.translation import messages

register = template.Library()


@register.filter
def in_words(said: str) -> str:
    """A sentence of a board or a panel, in the language of who reads."""
    return messages.in_words(said)


@register.filter
def plain(number: float) -> str:
    """A number as it was asked for: 1000, 0.5."""
    return settings.plain(number)
