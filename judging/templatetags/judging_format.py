"""Template filters for ratings."""

from __future__ import annotations

from django import template

from judging.boards.setting import plain_number
from judging.translation import messages

register = template.Library()


@register.filter
def in_words(text: str) -> str:
    """Translate a sentence of a board or a panel into the reader's language."""
    return messages.in_words(text)


@register.filter
def plain(number: float) -> str:
    """Format a number as in the options: 1000, 0.5."""
    return plain_number(number)
