"""Rebuilds of checkpoints that were never saved, from the seeds and coefficients that the run has logged."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.db import models

from runs.models.job import Job, JobQuerySet


class Rebuild(Job):
    """A job that rebuilds a checkpoint, with its result. One per step of a run; a retry replaces a failed job."""

    published_change = "checkpoints"

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
        """Return the checkpoint folder, which is complete as soon as it exists."""
        return self.directory / f"step-{self.step:06d}"

    @property
    def progress_file(self) -> Path:
        """Return the file with the replay's progress."""
        return self.folder.with_name(f"{self.folder.name}.progress.json")
