"""Sentence that names the valid values of a parameter, the same on pages and in the API."""

from __future__ import annotations

from collections.abc import Collection

from django.utils.translation import gettext

MAX_CHOICES = 30


def must_be_one_of(name: str, choices: Collection[str], value: str) -> str:
    """Return the sentence that names the valid choices, the first of them if they are many."""
    valid = [choice for choice in choices if choice]
    params = {"name": name, "choices": ", ".join(valid[:MAX_CHOICES]), "value": value[:100]}
    if not valid:
        return gettext("%(name)s must be omitted, not %(value)r: there are no choices.") % params
    if len(valid) > MAX_CHOICES:
        params["choices"] += gettext(" and %(count)s more") % {"count": len(valid) - MAX_CHOICES}
    return gettext("%(name)s must be one of %(choices)s, not %(value)r.") % params
