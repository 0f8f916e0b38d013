"""What belongs to a person, and is seen by others unless it is private: criteria, gold sets, judges, tournaments."""

from __future__ import annotations

from typing import Self, TypeVar

from django.db import models
from django.db.models import Q

from runs.models.experiment import Person

OwnedT = TypeVar("OwnedT", bound=models.Model)


class OwnedQuerySet(models.QuerySet[OwnedT]):
    """Rows with an `owner`, None for what comes with the site, and `is_private`."""

    def visible_to(self, person: Person) -> Self:
        """What is not private, and their own; a superuser sees all. Nothing for whoever is not signed in."""
        if not person.is_authenticated or not getattr(person, "is_active", False):
            return self.none()
        if getattr(person, "is_superuser", False):
            return self
        return self.filter(Q(is_private=False) | Q(owner_id=person.pk))
