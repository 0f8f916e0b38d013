"""What the configs of runs hold, value by value, so that a table of runs is sorted and asked by any of them quickly."""

from __future__ import annotations

from django.db import models

from runs.models.experiment import Run


class Knob(models.Model):
    """What a run's config holds at a dotted path. The database keeps these rows itself, whoever writes the config.

    Nothing is kept of null, of the sections of the config as a whole, and of names that a dotted path cannot say. Of a
    value that takes more than 200 characters to write, the first 200 are kept, as a text.
    """

    pk = models.CompositePrimaryKey("run", "key")
    run = models.ForeignKey(Run, on_delete=models.DO_NOTHING, related_name="knobs", db_constraint=False, db_index=False)
    key = models.TextField()
    value = models.JSONField()

    class Meta:
        indexes = (models.Index(fields=["key", "value", "run"], name="knob_by_value"),)

    def __str__(self) -> str:
        return self.key
