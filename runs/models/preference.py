"""Preferences of a user, which apply on every machine."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class Preference(models.Model):
    """Preferences of a user. `shows_answers`: responses that may disturb are shown uncovered."""

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="preference"
    )
    shows_answers = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"preferences of {self.person}"
