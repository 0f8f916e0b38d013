"""The sentence that names the valid values of a parameter: pages and the API answer alike."""

from __future__ import annotations

from collections.abc import Collection

from django.utils.translation import gettext

CHOICES_SHOWN = 20


def must_be_one_of(name: str, choices: Collection[str], value: str) -> str:
    """Return the sentence that names the valid choices, the first of them if they are many."""
    listed = [choice for choice in choices if choice]
    params = {"name": name, "choices": ", ".join(listed[:CHOICES_SHOWN]), "value": value[:100]}
    if not listed:
        return gettext("%(name)s must be left out: there is nothing to choose from, and not %(value)r.") % params
    if len(listed) > CHOICES_SHOWN:
        params["choices"] += gettext(" and %(count)s more") % {"count": len(listed) - CHOICES_SHOWN}
    return gettext("%(name)s must be one of %(choices)s, not %(value)r.") % params
