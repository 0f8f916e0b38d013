"""Limits of the hours of a user or an experiment, set by admins and enforced by launches."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from runs.models.experiment import Experiment


class Limit(models.Model):
    """A limit of hours of one kind, per calendar month (UTC) or in total, for a user's or an experiment's runs."""

    class Kind(models.TextChoices):
        """Resource of the hours. A run with GPUs uses no core hours."""

        GPU = "gpu"
        CPU = "cpu"

    class Period(models.TextChoices):
        """Period after which the count starts again."""

        MONTH = "month"
        ALL = "all"

    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, null=True, blank=True, related_name="limits"
    )
    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, null=True, blank=True, related_name="limits")
    kind = models.CharField(max_length=3, choices=Kind.choices)
    period = models.CharField(max_length=5, choices=Period.choices)
    hours = models.FloatField()

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=Q(person__isnull=False, experiment__isnull=True)
                | Q(person__isnull=True, experiment__isnull=False),
                name="limit_of_a_person_or_an_experiment",
            ),
            models.CheckConstraint(condition=Q(hours__gte=0), name="limit_of_no_less_than_nothing"),
            models.UniqueConstraint(fields=["person", "kind", "period"], name="limit_once_a_person"),
            models.UniqueConstraint(fields=["experiment", "kind", "period"], name="limit_once_an_experiment"),
        )

    def __str__(self) -> str:
        when = "per month" if self.period == self.Period.MONTH else "in total"
        return f"{self.hours:g} {self.kind.upper()}-hours {when} for {self.person or self.experiment}"
