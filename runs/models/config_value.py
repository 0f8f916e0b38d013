"""Values of the configs of runs, one row each, so that run tables sort and filter by any of them quickly."""

from __future__ import annotations

from django.db import models

from runs.models.experiment import Run


class Knob(models.Model):
    """The value of a run's config at a dotted path. A database trigger maintains these rows for every writer.

    Nulls, whole sections of the config, and names that a dotted path cannot express have no row. If a value takes more
    than 200 characters to write, its first 200 characters are stored, as a text.
    """

    pk = models.CompositePrimaryKey("run", "key")
    run = models.ForeignKey(Run, on_delete=models.DO_NOTHING, related_name="knobs", db_constraint=False, db_index=False)
    key = models.TextField()
    value = models.JSONField()

    class Meta:
        indexes = (models.Index(fields=["key", "value", "run"], name="knob_by_value"),)

    def __str__(self) -> str:
        return self.key
