"""A run's answers that are scored afterwards: what was asked for, how far it has come, how it ended."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from runs.models.experiment import Run


class Scoring(models.Model):
    """All answers of a run that a scorer has not scored, or those of one `step` or `split`.

    `done` of `total` are scored; answers that come meanwhile are scored too. `reason` says why it waits, or failed.
    """

    class State(models.TextChoices):
        GOING = "going"
        DONE = "done"
        FAILED = "failed"
        CANCELLED = "cancelled"

    # The constraint's index begins with it only where it is going.
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="scorings")
    scorer = models.CharField(max_length=100)
    split = models.CharField(max_length=20, blank=True)
    """Empty for all."""
    step = models.BigIntegerField(null=True)
    """None for all."""
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    state = models.CharField(max_length=10, choices=State.choices, default=State.GOING)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    reason = models.TextField(blank=True)
    started_at = models.DateTimeField(auto_now_add=True)
    moved_at = models.DateTimeField(default=timezone.now)
    """When scores last came, or it was asked for."""
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["run", "scorer"], condition=Q(state="going"), name="one_scoring_of_a_run_by_a_scorer"
            ),
        )
        indexes = (models.Index(fields=["id"], condition=Q(state="going"), name="scoring_going"),)

    def __str__(self) -> str:
        return f"{self.scorer} scores {self.run.name}"

    @property
    def is_going(self) -> bool:
        return self.state == self.State.GOING

    @property
    def can_resume(self) -> bool:
        """True where it ended before its end."""
        return self.state in (self.State.FAILED, self.State.CANCELLED)
