"""What a call of the API was answered, kept for a day, so that asking again does nothing again."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class KeptAnswer(models.Model):
    """An answer by the Idempotency-Key of its request. `request` digests what was asked; the key stands for that alone.

    Its row is written before the work is done and in the same transaction: of two that come at once one waits for the
    other, and a call that failed leaves nothing.
    """

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    request = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    body = models.TextField(blank=True)
    """As it was sent; empty for an answer that holds a secret, which is never kept."""
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["person", "key"], name="kept_answer_once"),)
        indexes = (models.Index(fields=["made_at"], name="kept_answer_made_at"),)

    def __str__(self) -> str:
        return self.key
