"""Looks of groups of runs on charts: each keeps its own on every page."""

from __future__ import annotations

from django.core.validators import RegexValidator
from django.db import models

from runs.models.experiment import Experiment

MAX_IDENTITY = 64


class LineStyle(models.Model):
    """The look of a group of runs of an experiment: the number of its look among those of its method, and a colour that
    a user chose.

    dimension: the keys by which runs are grouped; the groups of each have their own looks from the first on, because a
    page groups by one at a time. identity: what the group's runs have in common. Both are digests if they are long.
    """

    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="line_styles")
    dimension = models.CharField(max_length=MAX_IDENTITY)
    identity = models.CharField(max_length=MAX_IDENTITY)
    method = models.CharField(max_length=20, blank=True)
    variant = models.PositiveIntegerField()
    colour = models.CharField(max_length=7, blank=True, validators=[RegexValidator(r"^#[0-9a-f]{6}$")])

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["experiment", "identity"], name="line_style_once_a_group"),
            models.UniqueConstraint(
                fields=["experiment", "dimension", "method", "variant"], name="line_style_for_one_group"
            ),
        )

    def __str__(self) -> str:
        return f"look {self.variant} of {self.identity}"
