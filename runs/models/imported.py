"""Imports: the files from which runs were read that were not launched here, identified by content."""

from __future__ import annotations

from typing import Self

from django.db import models

from runs.models.experiment import Experiment, Run


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
    file that begins with them is a later version. `part` numbers the runs of a file, from 0."""

    run = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="source")
    kind = models.CharField(max_length=40)
    name = models.TextField()
    sha256 = models.CharField(max_length=64)
    bytes = models.BigIntegerField()
    part = models.PositiveIntegerField()
    records = models.BigIntegerField(default=0)
    at = models.DateTimeField(auto_now=True)

    objects = ImportQuerySet.as_manager()

    class Meta:
        indexes = (models.Index(fields=["sha256", "part"], name="import_by_content"),)

    def __str__(self) -> str:
        return self.name
