"""Template tag that links pages of responses to a new tournament of them."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlencode

from django import template
from django.urls import reverse

from judging.access import may_create
from runs.models.experiment import Person
from runs.responses.viewer.columns import SPLIT, Column

register = template.Library()


@register.simple_tag
def judge_address(columns: Iterable[Column], person: Person) -> str:
    """Return the address of the form of a tournament of these columns' responses.

    Empty if there are fewer than two columns, or if the user may not create tournaments.
    """
    contestants = [f"{column.run.uid}:{column.step}:{SPLIT}" for column in columns]
    if not may_create(person) or len(contestants) < 2:
        return ""
    return f"{reverse('tournament-new')}?{urlencode({'contestant': contestants}, doseq=True)}"
