"""Preferences of a user, which apply on every machine."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class Preference(models.Model):
    """Preferences of a user. `shows_answers`: responses that may disturb are shown uncovered.

    `notes_read_at`: notes that others changed up to then are read; None if the user never marked any as read.
    `notes_read_before_at` is the time before the last mark, which was set at `notes_marked_at`.
    """

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="preference"
    )
    shows_answers = models.BooleanField(default=False)
    notes_read_at = models.DateTimeField(null=True)
    notes_read_before_at = models.DateTimeField(null=True)
    notes_marked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"preferences of {self.person}"
