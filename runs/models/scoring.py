"""Scorings of a run's responses afterwards: the request, its progress and its end."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from runs.models.experiment import Run


class Scoring(models.Model):
    """A scoring of all responses of a run that a scorer has not scored, or those of one `step` or `split`.

    `done` of `total` are scored, including responses that arrive meanwhile. `reason` explains why it waits or failed.
    """

    class State(models.TextChoices):
        GOING = "going"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    # The constraint's index covers this column only while the scoring is going.
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="scorings")
    scorer = models.CharField(max_length=100)
    split = models.CharField(max_length=20, blank=True)
    """Split to score; empty for all."""
    step = models.BigIntegerField(null=True)
    """Step to score; None for all."""
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    state = models.CharField(max_length=10, choices=State.choices, default=State.GOING)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    reason = models.TextField(blank=True)
    started_at = models.DateTimeField(auto_now_add=True)
    moved_at = models.DateTimeField(default=timezone.now)
    """Time of the last scores, or of the request."""
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["run", "scorer"], condition=Q(state="going"), name="one_scoring_of_a_run_by_a_scorer"
            ),
        )
        indexes = (models.Index(fields=["id"], condition=Q(state="going"), name="scoring_going"),)

    def __str__(self) -> str:
        return f"scoring of {self.run.name} by {self.scorer}"

    @property
    def is_going(self) -> bool:
        return self.state == self.State.GOING

    @property
    def can_resume(self) -> bool:
        """Return whether it stopped before it was done."""
        return self.state in (self.State.FAILED, self.State.CANCELLED)
