"""A checkpoint that was never saved, made again from the seeds and coefficients that its run has logged."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.db import models

from runs.models.job import Job, JobQuerySet


class Rebuild(Job):
    """The job that makes it, and what came of it. One a step of a run; a further try replaces one that went wrong."""

    told = "checkpoints"

    step = models.BigIntegerField()
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="rebuilds")
    bytes = models.BigIntegerField(null=True, blank=True)
    sha256 = models.CharField(max_length=64, blank=True)

    objects = JobQuerySet["Rebuild"].as_manager()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["run", "step"], name="rebuild_once_a_step"),)
        indexes = (models.Index(fields=["cluster", "state"]),)

    @property
    def folder(self) -> Path:
        """The checkpoint, whole as soon as it is there."""
        return self.directory / f"step-{self.step:06d}"

    @property
    def progress_file(self) -> Path:
        """How far the replay is."""
        return self.folder.with_name(f"{self.folder.name}.progress.json")
