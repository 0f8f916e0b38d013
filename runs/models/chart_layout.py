"""Order and sizes of a page's charts, as a user arranged them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q

from runs.models.experiment import Experiment


class ChartLayout(models.Model):
    """A user's layout of the charts of a kind of page; each experiment's page has its own.

    cards: the text forms of the charts that differ from the default, which `runs.chart_layouts` writes and reads.
    """

    class Page(models.TextChoices):
        """Kinds of pages with charts, by the name of their route."""

        EXPERIMENT = "experiment"
        COMPARE = "compare"
        SWEEP = "sweep"
        RUN = "run"

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="chart_layouts")
    page = models.CharField(max_length=20, choices=Page.choices)
    experiment = models.ForeignKey(
        Experiment, on_delete=models.CASCADE, null=True, blank=True, related_name="chart_layouts"
    )
    cards = models.JSONField(default=list)
    changed_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["person", "page", "experiment"], nulls_distinct=False, name="chart_layout_once_a_page"
            ),
            models.CheckConstraint(
                condition=Q(page="experiment", experiment__isnull=False)
                | (~Q(page="experiment") & Q(experiment__isnull=True)),
                name="chart_layout_of_an_experiment_names_it",
            ),
        )

    def __str__(self) -> str:
        return f"charts of {self.page}"
