"""Stored responses of API calls, retained for a day, so that a repeated request does nothing again."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class KeptAnswer(models.Model):
    """A stored response, by the Idempotency-Key of its request. `request` is the digest of the request that may use it.

    The row is written before the work is done and in the same transaction: of two concurrent requests one waits for the
    other, and a failed call leaves nothing.
    """

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    request = models.CharField(max_length=64)
    status = models.PositiveSmallIntegerField(null=True)
    body = models.TextField(blank=True)
    """Response body as sent; empty if it holds a secret, which is never stored."""
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["person", "key"], name="kept_answer_once"),)
        indexes = (models.Index(fields=["made_at"], name="kept_answer_made_at"),)

    def __str__(self) -> str:
        return self.key
