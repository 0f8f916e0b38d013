"""What a person has chosen for themselves and keeps, on every machine."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class Preference(models.Model):
    """`shows_answers`: answers that may disturb stand open, without being asked for."""

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="preference"
    )
    shows_answers = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"what {self.person} prefers"
