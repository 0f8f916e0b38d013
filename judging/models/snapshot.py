"""A board as it was at a time: nothing in it is worked out anew."""

from __future__ import annotations

from django.db import models

from judging.models.rubric import Rubric
from judging.models.tournament import Tournament


class Snapshot(models.Model):
    """`asked`: how the board was asked for (ties, unit, whose verdicts); `board`: what came out, as the API says it.

    `votes` counts the verdicts that it rests on, the last of which is `last_verdict`. `digest` is the board's hash.
    """

    tournament = models.ForeignKey(Tournament, on_delete=models.CASCADE, related_name="snapshots")
    rubric = models.ForeignKey(Rubric, on_delete=models.PROTECT, related_name="snapshots")
    asked = models.JSONField(default=dict)
    board = models.JSONField()
    votes = models.PositiveIntegerField()
    last_verdict = models.BigIntegerField(null=True, blank=True)
    digest = models.CharField(max_length=64)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = (models.Index(fields=["tournament", "rubric", "-at"], name="snapshot_newest"),)

    def __str__(self) -> str:
        return f"board of {self.tournament} by {self.rubric}"
