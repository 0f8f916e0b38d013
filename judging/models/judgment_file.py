"""Imported files of judgments, and the rows that were read of each."""

from __future__ import annotations

from django.conf import settings
from django.db import models

from judging.models.tournament import Tournament


class JudgmentFile(models.Model):
    """An import of one file. Its judgments become verdicts of the tournament.

    `read`: judgments that were read. Of those `made` were new and `changed` replaced judgments of an earlier file.
    `alone`: the number without a prompt. `problems`: rows that could not be read, the first of `not_read`.
    """

    tournament = models.ForeignKey(Tournament, on_delete=models.CASCADE, related_name="judgment_files")
    name = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64)
    read = models.PositiveIntegerField()
    made = models.PositiveIntegerField()
    changed = models.PositiveIntegerField()
    alone = models.PositiveIntegerField()
    not_read = models.PositiveIntegerField()
    problems = models.JSONField(default=list)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["tournament", "sha256"], name="judgment_file_once"),)

    def __str__(self) -> str:
        return self.name
