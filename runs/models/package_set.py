"""Installed packages of attempts: one row for all attempts with the same packages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from hashlib import sha256
from typing import Self

from django.db import models


class PackageSetQuerySet(models.QuerySet["PackageSet"]):
    """Package sets, by digest."""

    def store(self, versions: Mapping[str, str]) -> str:
        """Store the set if it is new, and return its digest."""
        text = json.dumps(versions, sort_keys=True, ensure_ascii=False)
        digest = sha256(text.encode()).hexdigest()
        self.bulk_create([PackageSet(sha256=digest, versions=dict(versions))], ignore_conflicts=True)
        return digest

    def with_digests(self, digests: Iterable[str]) -> Self:
        """Return the package sets with these digests."""
        return self.filter(pk__in=set(digests))


class PackageSet(models.Model):
    """Versions by distribution. Never changed."""

    sha256 = models.CharField(max_length=64, primary_key=True)
    versions = models.JSONField()

    objects = PackageSetQuerySet.as_manager()

    def __str__(self) -> str:
        return f"{len(self.versions)} packages"
