"""Sweeps: cells of values, each with some seeds, launched and managed together."""

from __future__ import annotations

from typing import Any, Self

from django.conf import settings
from django.db import models
from django.urls import reverse

from runs.models.experiment import Experiment, Person


class SweepQuerySet(models.QuerySet["Sweep"]):
    """Sweeps, selected by the rights of users."""

    def visible_to(self, person: Person) -> Self:
        """Return the sweeps of the experiments that this user may see."""
        return self.filter(experiment__in=Experiment.objects.visible_to(person))


class Sweep(models.Model):
    """A sweep: every cell of `grid` (key -> values) or of `cells`, merged into `base`, once for each of `seeds`.

    All its runs are created with it, and held back: at most `at_once` are on their clusters at a time. While the sweep
    is paused, no further run is submitted.
    """

    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="sweeps")
    name = models.CharField(max_length=200)
    preset = models.CharField(max_length=100, blank=True)
    base = models.JSONField()
    grid = models.JSONField(default=dict)
    cells = models.JSONField(default=list)
    seeds = models.JSONField(default=list)
    at_once = models.PositiveIntegerField()
    paused_at = models.DateTimeField(null=True, blank=True)
    cancelled_at = models.DateTimeField(null=True, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="sweeps")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = SweepQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("sweep", args=[self.pk])

    @property
    def keys(self) -> list[str]:
        """Return the keys that its cells differ in, in the order in which they were given."""
        cells: list[dict[str, Any]] = [self.grid] if self.grid else self.cells
        return list(dict.fromkeys(key for cell in cells for key in cell))
