"""Results of runs of method probe. Only `runs.ingest` writes here."""

from __future__ import annotations

from django.db import models

from runs.models.response import Recorded


class ProbeResult(Recorded):
    """Result of one probe of the weights `subject`, and of `other` if it compares two.

    `values` is a list of the fields of `workers.records.ProbeValue`; those that are absent are left out. If a restart
    records a step again, the newest (attempt, epoch, seq) of (run, probe, measure, subject, other) counts.
    """

    probe = models.CharField(max_length=40)
    measure = models.CharField(max_length=40)
    subject = models.CharField(max_length=300)
    other = models.CharField(max_length=300, blank=True)
    verdict = models.CharField(max_length=100, blank=True)
    values = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"{self.measure} of {self.subject}"
