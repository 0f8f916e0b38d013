"""Named secrets: a scorer's address and the token that it requires."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Case, Q, Value, When

from runs.models.experiment import Person


class ScorerSecretQuerySet(models.QuerySet["ScorerSecret"]):
    """Secrets, selected by the users who may use them."""

    def usable_by(self, person: Person) -> Self:
        """Return the user's own secrets, then those that admins share with everybody."""
        if not person.is_authenticated or not getattr(person, "is_active", False):
            return self.none()
        shared = Q(is_shared=True, owner__is_superuser=True, owner__is_active=True)
        own_first = Case(When(owner_id=person.pk, then=Value(0)), default=Value(1))
        return self.filter(Q(owner_id=person.pk) | shared).order_by(own_first, "name", "pk")


class ScorerSecret(models.Model):
    """A scorer's encrypted token, and the one address that it is sent to; `hint` is the token's last letters.

    If the address is empty, the token is for scorers that the owner's own runs serve, on any node.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="scorer_secrets")
    name = models.CharField(max_length=100)
    address = models.CharField(max_length=500, blank=True)
    is_shared = models.BooleanField(default=False)
    sealed = models.BinaryField()
    hint = models.CharField(max_length=8, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ScorerSecretQuerySet.as_manager()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["owner", "name"], name="scorer_secret_once_a_name"),)

    def __str__(self) -> str:
        return self.name
