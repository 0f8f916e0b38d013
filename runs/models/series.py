"""Storage of series: a packed batch per flush, chunks, and a summary per series. Only `runs.ingest` writes here."""

from __future__ import annotations

from django.contrib.postgres.fields import ArrayField
from django.db import models

from runs.models.attempt import Attempt
from runs.models.experiment import Run


class RecordFile(models.Model):
    """Position up to which an epoch's records are stored. It moves in the transaction that writes them."""

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="record_files")
    epoch = models.PositiveIntegerField()
    offset = models.BigIntegerField(default=0)
    next_seq = models.BigIntegerField(default=0)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["attempt", "epoch"], name="record_file_once"),)

    def __str__(self) -> str:
        return f"{self.attempt_id}.{self.epoch}"


class Batch(models.Model):
    """The metric points of one flush, packed (`runs.metrics`).

    Within a run its id grows in commit order and serves as a page's cursor.
    """

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="batches")
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="batches")
    epoch = models.PositiveIntegerField()
    first_seq = models.BigIntegerField()
    last_seq = models.BigIntegerField()
    keys = ArrayField(models.TextField())
    data = models.BinaryField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["attempt", "epoch", "first_seq"], name="batch_once"),)
        indexes = (models.Index(fields=["run", "id"]),)

    def __str__(self) -> str:
        return f"{self.attempt_id}.{self.epoch}:{self.first_seq}-{self.last_seq}"


class Chunk(models.Model):
    """Up to 4096 points of one key, merged from batches (`runs.metrics.chunks`); the last of a key may grow."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="chunks")
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="chunks")
    epoch = models.PositiveIntegerField()
    key = models.TextField(blank=True)
    first_seq = models.BigIntegerField()
    # The newest batch whose points are in this chunk. All older batches of the run are in chunks too.
    cursor = models.BigIntegerField()
    points = models.PositiveIntegerField()
    first_step = models.BigIntegerField()
    last_step = models.BigIntegerField()
    last_value = models.FloatField()
    # NULL if every value is NaN.
    min_value = models.FloatField(null=True)
    max_value = models.FloatField(null=True)
    data = models.BinaryField()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["attempt", "epoch", "key", "first_seq"], name="chunk_once"),)
        indexes = (models.Index(fields=["run", "key"]), models.Index(fields=["run", "cursor"]))

    def __str__(self) -> str:
        return f"{self.attempt_id}.{self.epoch}:{self.key}@{self.first_seq}"


class Series(models.Model):
    """Summary of one key of a run, which a table shows without reading points."""

    # The constraint's index begins with it.
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="series", db_index=False)
    key = models.TextField()
    points = models.BigIntegerField(default=0)
    last_step = models.BigIntegerField()
    last_value = models.FloatField()
    min_value = models.FloatField(null=True)
    max_value = models.FloatField(null=True)

    class Meta:
        verbose_name_plural = "series"
        constraints = (models.UniqueConstraint(fields=["run", "key"], name="series_once"),)
        # For tables of runs, which sort by any key.
        indexes = (
            models.Index(fields=["key", "last_value", "run"], name="series_by_last"),
            models.Index(fields=["key", "min_value", "run"], name="series_by_min"),
            models.Index(fields=["key", "max_value", "run"], name="series_by_max"),
        )

    def __str__(self) -> str:
        return self.key
