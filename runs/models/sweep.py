"""A sweep: cells of values, each with some seeds, launched as one and looked after as one."""

from __future__ import annotations

from typing import Any, Self

from django.conf import settings
from django.db import models
from django.urls import reverse

from runs.models.experiment import Experiment, Person


class SweepQuerySet(models.QuerySet["Sweep"]):
    """Sweeps, as people may see them."""

    def visible_to(self, person: Person) -> Self:
        """Those of the experiments that this person may see."""
        return self.filter(experiment__in=Experiment.objects.visible_to(person))


class Sweep(models.Model):
    """Every cell of `grid` (key -> values) or of `cells`, laid over `base`, once for each of `seeds`.

    Its runs are all made with it, and held back: at most `at_once` are on their clusters at a time, none more while it
    is paused.
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
        """The keys that its cells differ in, in the order in which they were given."""
        cells: list[dict[str, Any]] = [self.grid] if self.grid else self.cells
        return list(dict.fromkeys(key for cell in cells for key in cell))
