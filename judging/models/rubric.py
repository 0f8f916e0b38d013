"""Criteria by which responses are judged, and their rubrics: the texts that human and model judges receive."""

from __future__ import annotations

import json
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.urls import reverse

from judging.models.ownership import OwnedQuerySet


class RubricIsImmutable(TypeError):
    """Error for a change of a rubric: verdicts were given by it. Create the next version instead."""


class Criterion(models.Model):
    """A criterion: helpfulness, harmlessness, or a user's own. `owner` is None for those that come with the site.

    `imported_as`: the name of the criterion in a file of judgments; the file does not contain the criterion's text.
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
        """Return the rubric of its highest version; None before the first."""
        return self.rubrics.order_by("-version").first()


class Rubric(models.Model):
    """A version of a criterion's text; the database itself refuses to change it.

    `question` is the text above the buttons; `text` is the definition with its boundary cases. Model judges score on
    the scale, both ends included: scales of two rubrics may differ.
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
        """Insert the row. Raise RubricIsImmutable for an existing one."""
        if not self._state.adding:
            raise RubricIsImmutable(f"{self} cannot be changed: create the next version of {self.criterion.slug}")
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
    """Return the sha256 of the text that a judge receives: equal digests, equal texts."""
    content = {"question": question, "text": text, "scale": [scale_low, scale_high]}
    return sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode()).hexdigest()
