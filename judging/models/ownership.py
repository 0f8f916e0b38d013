"""Objects with an owner that others see unless they are private: criteria, gold sets, judges, tournaments."""

from __future__ import annotations

from typing import Self, TypeVar

from django.db import models
from django.db.models import Q

from runs.models.experiment import Person

OwnedT = TypeVar("OwnedT", bound=models.Model)


class OwnedQuerySet(models.QuerySet[OwnedT]):
    """QuerySet of rows with an `owner`, None for those that come with the site, and `is_private`."""

    def visible_to(self, person: Person) -> Self:
        """Return the rows that are not private, and the user's own; all for a superuser, none for a user who is not
        signed in."""
        if not person.is_authenticated or not getattr(person, "is_active", False):
            return self.none()
        if getattr(person, "is_superuser", False):
            return self
        return self.filter(Q(is_private=False) | Q(owner_id=person.pk))
