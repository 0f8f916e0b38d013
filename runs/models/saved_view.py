"""Saved views: named addresses of pages with their rows, columns and order."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse

from runs.models.experiment import Experiment, Person


class SavedViewQuerySet(models.QuerySet["SavedView"]):
    """Saved views, selected by the rights of users."""

    def visible_to(self, person: Person) -> Self:
        """Return the user's own and shared views, of pages that this user may see."""
        if not person.is_authenticated or not getattr(person, "is_active", False):
            return self.none()
        own_or_shared = Q(owner_id=person.pk) | Q(is_shared=True)
        return self.filter(own_or_shared, Q(experiment=None) | Q(experiment__in=Experiment.objects.visible_to(person)))


class SavedView(models.Model):
    """A saved view. It refers to a page of this site and an experiment, never to a typed path."""

    class Page(models.TextChoices):
        """Pages whose state can be saved, by the name of their route."""

        EXPERIMENTS = "experiments"
        EXPERIMENT = "experiment"
        COMPARE = "compare"

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views")
    name = models.CharField(max_length=100)
    page = models.CharField(max_length=20, choices=Page.choices)
    experiment = models.ForeignKey(
        Experiment, on_delete=models.CASCADE, null=True, blank=True, related_name="saved_views"
    )
    query = models.TextField(blank=True)
    is_shared = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = SavedViewQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["owner", "name"], name="saved_view_name_once_an_owner"),
            models.CheckConstraint(
                condition=Q(page="experiment", experiment__isnull=False)
                | (~Q(page="experiment") & Q(experiment__isnull=True)),
                name="saved_view_of_an_experiment_names_it",
            ),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def target(self) -> str:
        """Return the address of the view."""
        path = reverse(self.page, args=[self.experiment_id] if self.experiment_id else [])
        return f"{path}?{self.query}" if self.query else path
