"""A page as somebody left it: which rows, columns, order. It is an address with a name."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse

from runs.models.experiment import Experiment, Person


class SavedViewQuerySet(models.QuerySet["SavedView"]):
    """Saved views, as people may see them."""

    def visible_to(self, person: Person) -> Self:
        """One's own and those that are shared, of pages that this person may see."""
        if not person.is_authenticated or not getattr(person, "is_active", False):
            return self.none()
        mine = Q(owner_id=person.pk) | Q(is_shared=True)
        return self.filter(mine, Q(experiment=None) | Q(experiment__in=Experiment.objects.visible_to(person)))


class SavedView(models.Model):
    """Where it points is a page of ours and an experiment, never a path that somebody typed."""

    class Page(models.TextChoices):
        """The pages whose state is worth a name, by the name of their route."""

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
        """The address that it stands for."""
        path = reverse(self.page, args=[self.experiment_id] if self.experiment_id else [])
        return f"{path}?{self.query}" if self.query else path
