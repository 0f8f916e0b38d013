"""Imports: the files from which runs were read that were not launched here, identified by content."""

from __future__ import annotations

from typing import Self

from django.db import models

from runs.models.experiment import Experiment, Run

RUN_FOLDER = "run folder"
"""Kind of imports that are folders of attempts, as our own trainer writes them."""


class ImportQuerySet(models.QuerySet["Import"]):
    """Imports, selected by their runs."""

    def not_deleted(self) -> Self:
        """Return the imports whose run is not in the trash. A deleted run may be imported again."""
        return self.filter(run__deleted_at__isnull=True, run__experiment__deleted_at__isnull=True)

    def among(self, experiments: models.QuerySet[Experiment]) -> Self:
        """Return the imports of runs in these experiments."""
        return self.filter(run__experiment__in=experiments)


class Import(models.Model):
    """The file behind a run. `sha256` is the digest of its first `bytes` bytes, its length when it was read: a longer
    file that begins with them is a later version. `part` numbers the runs of a file, from 0.

    A run that was read from the folders of its attempts has the first line of its first records there, which no other
    run has. Its `foreign_uid` is the uid in the folders' names: a label of the sender, which names no run of this site.
    `files`: attempt -> its `details`, a digest of its config and its end, and its `records`: epoch -> [bytes that were
    read, their sha256, that of their first line]. `series_origin`: who measured its series, as
    `runs.metrics.origins_of` names it; empty for the common evaluator.
    """

    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="source")
    kind = models.CharField(max_length=40)
    name = models.TextField()
    sha256 = models.CharField(max_length=64)
    bytes = models.BigIntegerField()
    part = models.PositiveIntegerField()
    records = models.BigIntegerField(default=0)
    foreign_uid = models.CharField(max_length=10, blank=True, default="")
    files = models.JSONField(default=dict, blank=True)
    series_origin = models.CharField(max_length=60, blank=True, default="")
    at = models.DateTimeField(auto_now=True)

    objects = ImportQuerySet.as_manager()

    class Meta:
        indexes = (models.Index(fields=["sha256", "part"], name="import_by_content"),)

    def __str__(self) -> str:
        return self.name
