"""Tests of a cluster with a real job, step by step."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from runs.models.job import Cluster


class ClusterTest(models.Model):
    """A test of a cluster. `steps`: [{"name", "said"}] of the finished steps, in order; after a failure the last step
    has "failed" as true.

    `waits_for` describes the wait of the current step. The test has finished if `ended_at` is set.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.CASCADE, related_name="tests")
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", null=True)
    steps = models.JSONField(default=list)
    waits_for = models.TextField(blank=True)
    turns = models.PositiveIntegerField(default=0)
    started_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["cluster"], condition=models.Q(ended_at__isnull=True), name="one_test_a_cluster"
            ),
        )

    def __str__(self) -> str:
        return f"test {self.pk} of {self.cluster}"

    @property
    def has_failed(self) -> bool:
        """Return whether a step failed."""
        return any(step.get("failed") for step in self.steps)

    @property
    def state(self) -> str:
        """Return going, passed or failed."""
        return "going" if self.ended_at is None else "failed" if self.has_failed else "passed"
