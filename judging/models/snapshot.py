"""Board as it was at a time: nothing in it is computed again."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from judging.models.rubric import Rubric
from judging.models.tournament import Tournament


class Snapshot(models.Model):
    """A stored board. `asked`: the settings of the board (ties, unit, verdict filter); `board`: the result, as the API
    returns it.

    `votes` counts the verdicts behind it, the last of which is `last_verdict`. `digest` is the board's hash. `stamp`
    stays the same as long as none of its sources has changed.
    """

    tournament = models.ForeignKey(Tournament, on_delete=models.CASCADE, related_name="snapshots")
    rubric = models.ForeignKey(Rubric, on_delete=models.PROTECT, related_name="snapshots")
    asked = models.JSONField(default=dict)
    board = models.JSONField()
    votes = models.PositiveIntegerField()
    last_verdict = models.BigIntegerField(null=True, blank=True)
    digest = models.CharField(max_length=64)
    stamp = models.CharField(max_length=64, blank=True)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = (models.Index(fields=["tournament", "rubric", "-at"], name="snapshot_newest"),)

    def __str__(self) -> str:
        return f"board of {self.tournament} by {self.rubric}"


class BoardOrder(models.Model):
    """A request for a board with certain settings. It stays open until the board is computed, even if a worker is
    killed.

    `problem` is the reason why there is no board; empty if there is one.
    """

    tournament = models.ForeignKey(Tournament, on_delete=models.CASCADE, related_name="board_orders")
    rubric = models.ForeignKey(Rubric, on_delete=models.PROTECT, related_name="+")
    asked = models.JSONField(default=dict)
    ordered_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    ordered_at = models.DateTimeField(auto_now_add=True)
    begun_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    problem = models.TextField(blank=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["tournament", "rubric", "asked"],
                condition=Q(ended_at__isnull=True),
                name="board_order_once_at_a_time",
            ),
        )

    def __str__(self) -> str:
        return f"order of a board of {self.tournament} by {self.rubric}"
