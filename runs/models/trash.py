"""What people do with experiments and runs besides looking: tag, annotate, archive, and put in the bin."""

from __future__ import annotations

from typing import Self, TypeVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

ShelvedT = TypeVar("ShelvedT", bound=models.Model)
TAG_LENGTH = 50
DAYS_IN_BIN = 30


class ShelvedQuerySet(models.QuerySet[ShelvedT]):
    """Rows by where they lie: on the table, archived, or in the bin."""

    def current(self) -> Self:
        """What lists show: neither archived nor in the bin."""
        return self.filter(deleted_at__isnull=True, archived_at__isnull=True)


class Shelved(models.Model):
    """Archived is out of lists, but still at its address; deleted is nowhere but in the bin, until it is purged."""

    tags = ArrayField(models.CharField(max_length=TAG_LENGTH), default=list, blank=True)
    note = models.TextField(blank=True)
    archived_at = models.DateTimeField(null=True, blank=True)
    archived_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    deleted_at = models.DateTimeField(null=True, blank=True)
    deleted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        abstract = True
