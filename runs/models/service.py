"""A program that others call over HTTP, such as a scorer or a vLLM server: it registered itself, and beats."""

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
    """Services, by who may use them and whether they live."""

    def visible_to(self, person: Person) -> Self:
        """One's own, and those that admins run for all; a superuser sees all.

        Whoever is called reads what runs answer and decides what it is worth: another member's service is not used by
        accident.
        """
        if not person.is_authenticated or not getattr(person, "is_active", False):
            return self.none()
        if getattr(person, "is_superuser", False):
            return self
        return self.filter(Q(owner_id=person.pk) | Q(owner__is_superuser=True, owner__is_active=True))

    def alive(self) -> Self:
        """Those whose lease has not run out."""
        return self.filter(expires_at__gt=Now())

    def own_first(self, person: Person) -> Self:
        """The person's own, then what admins run for all, then others', whom superusers see; of each the one that came
        last first: no member's name takes an admin's place."""
        whose = Case(
            When(owner_id=person.pk, then=Value(0)), When(owner__is_superuser=True, then=Value(1)), default=Value(2)
        )
        return self.order_by(whose, "-registered_at", "-pk")


class Service(models.Model):
    """`instance` is one process's own word: who else holds the name has taken it over.

    `token_file` says where programs that people start by hand find the token, on their own machines; this site reads no
    such file. `secret` holds the token of a scorer that a run serves; only the site sets it. Times are the database's.
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
        """True while its lease lasts."""
        return self.expires_at > (now or timezone.now())
