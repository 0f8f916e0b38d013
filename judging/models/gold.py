"""Gold: pairs of responses with known better ones, for calibrating judges and for checking voters."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from judging.models.ownership import OwnedQuerySet


class GoldSet(models.Model):
    """A set of gold pairs, from one file."""

    name = models.CharField(max_length=200)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="gold_sets")
    is_private = models.BooleanField(default=False)
    sha256 = models.CharField(max_length=64, blank=True)
    """The sha256 of the file that it was read from."""
    created_at = models.DateTimeField(auto_now_add=True)

    objects = OwnedQuerySet["GoldSet"].as_manager()

    def __str__(self) -> str:
        return self.name


class GoldPair(models.Model):
    """A pair of responses with known verdicts. `expected`: slug of a criterion -> "a", "b" or "tie". `place` counts
    from 0, as in the file."""

    gold_set = models.ForeignKey(GoldSet, on_delete=models.CASCADE, related_name="pairs")
    place = models.PositiveIntegerField()
    prompt = models.TextField()
    text_a = models.TextField()
    text_b = models.TextField()
    category = models.CharField(max_length=200, blank=True)
    expected = models.JSONField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["gold_set", "place"], name="gold_pair_once_a_place"),)

    def __str__(self) -> str:
        return f"pair {self.place} of {self.gold_set}"
