"""Services: programs called over HTTP, such as a scorer or a vLLM server, that register and send heartbeats."""

from __future__ import annotations

from datetime import datetime
from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Case, Q, Value, When
from django.db.models.functions import Now
from django.utils import timezone

from runs.models.experiment import Person


class ServiceQuerySet(models.QuerySet["Service"]):
    """Services, selected by the users who may use them and by their lease."""

    def visible_to(self, person: Person) -> Self:
        """Return the user's own services, and those that admins run for all; all services for a superuser.

        A service reads the responses of runs and decides their rewards, so another member's service must not be used by
        accident.
        """
        if not person.is_authenticated or not getattr(person, "is_active", False):
            return self.none()
        if getattr(person, "is_superuser", False):
            return self
        return self.filter(Q(owner_id=person.pk) | Q(owner__is_superuser=True, owner__is_active=True))

    def usable_by(self, person: Person) -> Self:
        """Return the services that the user's runs take: the user's own, and those of admins.

        A superuser sees the services of members too, but the owner of a service reads the responses of the runs that
        take it, and decides their rewards.
        """
        return self.visible_to(person).filter(
            Q(owner_id=person.pk) | Q(owner__is_superuser=True, owner__is_active=True)
        )

    def alive(self) -> Self:
        """Return the services whose lease has not expired."""
        return self.filter(expires_at__gt=Now())

    def own_first(self, person: Person) -> Self:
        """Order by owner: the user's own, then those that admins run for all, then others', which superusers see; the
        latest registered first within each. So no member's service precedes an admin's of the same name."""
        owner_rank = Case(
            When(owner_id=person.pk, then=Value(0)), When(owner__is_superuser=True, then=Value(1)), default=Value(2)
        )
        return self.order_by(owner_rank, "-registered_at", "-pk")


class Service(models.Model):
    """A registered service. `instance` identifies the process: another instance with the name has taken it over.

    `token_file` is the path of the token on the machines of programs started by hand; this site reads no such file.
    `secret` holds the token of a scorer that a run serves; only the site sets it. Times are the database's.
    """

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="services")
    kind = models.CharField(max_length=40)
    name = models.CharField(max_length=100)
    instance = models.CharField(max_length=64)
    address = models.CharField(max_length=500)
    health_path = models.CharField(max_length=200, blank=True)
    token_file = models.CharField(max_length=500, blank=True)
    secret = models.ForeignKey("runs.ScorerSecret", on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    version = models.CharField(max_length=100, blank=True)
    capabilities = models.JSONField(default=dict, blank=True)
    lease_seconds = models.PositiveIntegerField()
    registered_at = models.DateTimeField()
    beat_at = models.DateTimeField()
    expires_at = models.DateTimeField()

    objects = ServiceQuerySet.as_manager()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["owner", "kind", "name"], name="service_once_a_name"),)
        indexes = (models.Index(fields=["kind", "expires_at"], name="service_alive"),)

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"

    def is_alive(self, now: datetime | None = None) -> bool:
        """Return whether the lease has not expired."""
        return self.expires_at > (now or timezone.now())
