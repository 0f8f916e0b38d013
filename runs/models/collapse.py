"""What a run's answers at one step have in common, measured by a job. Only `runs.ingest` writes here."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from runs.models.experiment import Run


class Collapse(models.Model):
    """The measures of one (run, step, split), as `workers.analysis.collapse` takes them of the answers that hold."""

    # The constraint's index begins with it.
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="collapses", db_index=False)
    split = models.CharField(max_length=20)
    step = models.BigIntegerField()
    arrived = models.BigIntegerField(default=0)
    """Answers that have come, again after a resume too."""
    measured = models.BigIntegerField(default=0)
    """How many of them had come when they were measured last: fewer than `arrived` where it is to be done again."""
    measures = models.JSONField(null=True)
    """None before the first time, and where no answer has a text."""

    class Meta:
        constraints = (models.UniqueConstraint(fields=["run", "split", "step"], name="collapse_once"),)
        indexes = (models.Index(fields=["id"], condition=Q(measured__lt=F("arrived")), name="collapse_due"),)

    def __str__(self) -> str:
        return f"{self.split}, step {self.step}"
