"""Disk space of a run's files, as it was measured last."""

from __future__ import annotations

from django.db import models

from runs.models.experiment import Run


class DiskUse(models.Model):
    """Bytes of all files of a run on this site's disk, and of those among them that can be deleted.

    `rebuildable_bytes`: checkpoints that the run's replay log rebuilds. `other_bytes`: weights, and what a resume
    needs, that nothing rebuilds. The rest are records, responses, logs and configs.
    """

    run = models.OneToOneField(Run, on_delete=models.CASCADE, primary_key=True, related_name="disk_use")
    total_bytes = models.BigIntegerField()
    rebuildable_bytes = models.BigIntegerField()
    other_bytes = models.BigIntegerField()
    measured_at = models.DateTimeField()

    class Meta:
        indexes = (models.Index(fields=["-total_bytes"], name="disk_use_by_size"),)

    def __str__(self) -> str:
        return f"{self.run_id}: {self.total_bytes} bytes"
