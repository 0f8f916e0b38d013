"""External runs: trainings that other programs run elsewhere, and report here."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from runs.models.experiment import Run

LOST_AFTER_SECONDS = 300
"""Default silence after which an external run counts as lost."""


class ExternalRun(models.Model):
    """The program that trains a run elsewhere and reports it. Each start of the program is an attempt of the run.

    `client_id` is the program's own name for the run, by which a later start continues it; empty if it gave none.
    `git`: commit, branch, remote and dirty, as far as they are known. `summary`: the program's results, as plain JSON.
    """

    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="external")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    client_id = models.CharField(max_length=64, blank=True)
    program = models.CharField(max_length=200, blank=True)
    host = models.CharField(max_length=200, blank=True)
    command = models.TextField(blank=True)
    git = models.JSONField(default=dict)
    summary = models.JSONField(default=dict)
    lost_after_seconds = models.FloatField(default=LOST_AFTER_SECONDS)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["owner", "client_id"], condition=~Q(client_id=""), name="external_run_once_a_client_id"
            ),
        )

    def __str__(self) -> str:
        return self.client_id or self.run.uid
