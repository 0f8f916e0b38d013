"""What ratings say, in templates."""

from __future__ import annotations

from django import template

from judging import words_of_ratings
from judging.boards import how

register = template.Library()


@register.filter
def in_words(said: str) -> str:
    """A sentence of a board or a panel, in the language of who reads."""
    return words_of_ratings.in_words(said)


@register.filter
def plain(number: float) -> str:
    """A number as it was asked for: 1000, 0.5."""
    return how.plain(number)
