"""What answers are judged by, and the words in which judges, people and models alike, are told."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.urls import reverse

from judging.models.owned import OwnedQuerySet


class RubricIsKept(TypeError):
    """Rubrics are not changed: verdicts were given by them. Make the next version."""


class Criterion(models.Model):
    """Helpfulness, harmlessness, a person's own. `owner` is None for those that come with the site.

    `imported_as`: how a file of judgments calls it, by whose words they were given that the file does not tell.
    """

    slug = models.SlugField(max_length=60, unique=True)
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="criteria"
    )
    is_private = models.BooleanField(default=False)
    imported_as = models.CharField(max_length=200, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = OwnedQuerySet["Criterion"].as_manager()

    class Meta:
        verbose_name_plural = "criteria"
        constraints = (
            models.UniqueConstraint(
                fields=["owner", "imported_as"], condition=~Q(imported_as=""), name="criterion_once_imported"
            ),
        )

    def __str__(self) -> str:
        return self.slug

    def get_absolute_url(self) -> str:
        return reverse("criterion", args=[self.slug])

    def newest(self) -> Rubric | None:
        """The rubric of its highest version; None before the first."""
        return self.rubrics.order_by("-version").first()


class Rubric(models.Model):
    """One version of a criterion's words; the database itself refuses to change it.

    `question` is what stands above the buttons; `text` is the definition with its boundary cases. The scale is what
    model judges score on, both ends included: scales of two rubrics need not be the same.
    """

    criterion = models.ForeignKey(Criterion, on_delete=models.PROTECT, related_name="rubrics")
    version = models.PositiveIntegerField()
    question = models.CharField(max_length=200)
    text = models.TextField()
    scale_low = models.IntegerField(default=1)
    scale_high = models.IntegerField(default=10)
    digest = models.CharField(max_length=64, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("criterion", "version")
        constraints = (
            models.UniqueConstraint(fields=["criterion", "version"], name="rubric_once_a_version"),
            models.CheckConstraint(condition=Q(scale_low__lt=F("scale_high")), name="rubric_scale_rises"),
        )

    def __str__(self) -> str:
        return f"{self.criterion.slug} v{self.version}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Makes the row. Raises RubricIsKept for one that there is already."""
        if not self._state.adding:
            raise RubricIsKept(f"{self} cannot be changed: make the next version of {self.criterion.slug}")
        self.digest = digest_of(self.question, self.text, self.scale_low, self.scale_high)
        super().save(*args, **kwargs)

    def get_absolute_url(self) -> str:
        return reverse("rubric", args=[self.criterion.slug, self.version])


def rubric_names(rubrics: Iterable[Rubric]) -> dict[Rubric, str]:
    """Return the name of each rubric in files and addresses: its criterion, with the version if two share one."""
    rows = list(rubrics)
    names = [row.criterion.imported_as or row.criterion.slug for row in rows]
    return {row: f"{name} v{row.version}" if names.count(name) > 1 else name
            for row, name in zip(rows, names, strict=True)}  # fmt: skip


def rubrics_by_name(names: dict[Rubric, str]) -> dict[str, Rubric]:
    """Return rubrics by every name that addresses and the API take: first those of `rubric_names`, then the slug of the
    criterion, which means its first version if there are several."""
    rubrics = {name: rubric for rubric, name in names.items()}
    return rubrics | {rubric.criterion.slug: rubric for rubric in reversed(rubrics.values())} | rubrics


def digest_of(question: str, text: str, scale_low: int, scale_high: int) -> str:
    """The sha256 of what a judge is told: equal digests, equal words."""
    said = {"question": question, "text": text, "scale": [scale_low, scale_high]}
    return sha256(json.dumps(said, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
