"""Base model and queries of rows that users tag, annotate, archive and move to the trash: experiments and runs."""

from __future__ import annotations

from typing import Self, TypeVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models

ShelvedT = TypeVar("ShelvedT", bound=models.Model)
TAG_LENGTH = 50
DAYS_IN_BIN = 30


class ShelvedQuerySet(models.QuerySet[ShelvedT]):
    """Queries that select rows by whether they are current, archived or in the trash."""

    def current(self) -> Self:
        """Return the rows that lists show: neither archived nor in the trash."""
        return self.filter(deleted_at__isnull=True, archived_at__isnull=True)


class Shelved(models.Model):
    """Row that can be archived and deleted.

    An archived row is hidden in lists but keeps its page; a deleted one is only in the trash, until it is purged.
    """

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
