"""Rebuilds of checkpoints that were never saved, from the seeds and coefficients that the run has logged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from django.conf import settings
from django.db import models

from runs.models.job import Job, JobQuerySet
from workers.config.run import ComputeConfig


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

    def command(self) -> tuple[str, ...]:
        """Return the replay of the run's log up to the step."""
        # Noise is the same on every device, so a rebuild leaves the GPUs to training.
        arguments = ("--step", str(self.step), "--out", self.folder.name, "--device", "cpu")
        return ("workers.engines.es.replay", str(self.run.root), *arguments)

    @property
    def compute(self) -> ComputeConfig:
        """Return the run's cores and memory on one node, without its GPUs, and without a limit of time."""
        return replace(super().compute, nodes=1, gpus=0, gpu_type="", time_limit_seconds=0, partition="")

    @property
    def folder(self) -> Path:
        """Return the checkpoint folder, which is complete as soon as it exists."""
        return self.directory / f"step-{self.step:06d}"

    @property
    def progress_file(self) -> Path:
        """Return the file with the replay's progress."""
        return self.folder.with_name(f"{self.folder.name}.progress.json")
