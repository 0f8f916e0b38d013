"""Collapse measures of a run's responses at a step, measured by a job. Only `runs.ingest` writes here."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q

from runs.models.experiment import Run


class Collapse(models.Model):
    """Measures of one (run, step, split), which `workers.analysis.collapse` takes of the current responses."""

    # The constraint's index begins with this column.
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="collapses", db_index=False)
    split = models.CharField(max_length=20)
    step = models.BigIntegerField()
    arrived = models.BigIntegerField(default=0)
    """Number of responses that have arrived, counted again after a resume."""
    measured = models.BigIntegerField(default=0)
    """Number of arrived responses at the last measurement; fewer than `arrived` if they must be measured again."""
    measures = models.JSONField(null=True)
    """None before the first measurement, and if no response has a text."""

    class Meta:
        constraints = (models.UniqueConstraint(fields=["run", "split", "step"], name="collapse_once"),)
        indexes = (models.Index(fields=["id"], condition=Q(measured__lt=F("arrived")), name="collapse_due"),)

    def __str__(self) -> str:
        return f"{self.split}, step {self.step}"
