"""Voters: users of the site, and people who received a link."""

from __future__ import annotations

from typing import Self

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from judging.models.comparison import Comparison, Side
from judging.models.tournament import Tournament


class InvitationQuerySet(models.QuerySet["Invitation"]):
    """QuerySet of invitations, with a filter for the usable ones."""

    def usable(self) -> Self:
        """Return the invitations that are neither revoked nor expired, to a tournament that is not in the trash."""
        return self.filter(revoked_at__isnull=True, expires_at__gt=Now(), tournament__deleted_at__isnull=True)


class Invitation(models.Model):
    """A link for one voter to one tournament's voting page, and to nothing else. Only its digest is stored."""

    tournament = models.ForeignKey(Tournament, on_delete=models.CASCADE, related_name="invitations")
    name = models.CharField(max_length=100)
    digest = models.CharField(max_length=64, unique=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        constraints = (models.UniqueConstraint(fields=["tournament", "name"], name="invitation_once_a_name"),)

    def __str__(self) -> str:
        return self.name


class Voter(models.Model):
    """A voter in one tournament: a user of the site, invited, or known by name alone if verdicts were imported.

    `number` counts from 0 in the tournament: it decides the sides and the order of criteria.
    """

    tournament = models.ForeignKey(Tournament, on_delete=models.CASCADE, related_name="voters")
    number = models.PositiveIntegerField()
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="voters"
    )
    invitation = models.OneToOneField(
        Invitation, on_delete=models.RESTRICT, null=True, blank=True, related_name="voter"
    )
    imported_name = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["tournament", "number"], name="voter_once_a_number"),
            models.UniqueConstraint(fields=["tournament", "user"], name="voter_once"),
            models.UniqueConstraint(
                fields=["tournament", "imported_name"], condition=~Q(imported_name=""), name="voter_once_a_name"
            ),
            models.CheckConstraint(
                condition=Q(user__isnull=False, invitation__isnull=True, imported_name="")
                | Q(user__isnull=True, invitation__isnull=False, imported_name="")
                | (Q(user__isnull=True, invitation__isnull=True) & ~Q(imported_name="")),
                name="voter_is_somebody",
            ),
        )

    def __str__(self) -> str:
        if self.user is not None:
            return self.user.get_username()
        return self.invitation.name if self.invitation is not None else self.imported_name


class Turn(models.Model):
    """A comparison that was assigned to a voter. It is finished if `ended_at` is set: judged by all rubrics, or passed.

    `n` counts a voter's turns from 0. From `revealed_at` on the voter knows whose responses they are, and changes
    nothing. `chance`: the probability that this comparison was picked, of all that the voter could have got; None for
    gold, and if it was not recorded. `first`: whose response is on the left; empty in turns of an earlier version,
    where it follows from the comparison and the voter's number.
    """

    voter = models.ForeignKey(Voter, on_delete=models.CASCADE, related_name="turns")
    comparison = models.ForeignKey(Comparison, on_delete=models.CASCADE, related_name="turns")
    n = models.PositiveIntegerField()
    handed_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    is_passed = models.BooleanField(default=False)
    revealed_at = models.DateTimeField(null=True, blank=True)
    chance = models.FloatField(null=True, blank=True)
    first = models.CharField(max_length=1, choices=Side.choices, blank=True, default="", db_default="")

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=["voter", "comparison"], name="turn_once"),
            models.UniqueConstraint(fields=["voter", "n"], name="turn_once_a_number"),
        )

    def __str__(self) -> str:
        return f"turn {self.n} of {self.voter}"

    @property
    def left(self) -> Side:
        """Return the contestant, a or b, whose response the voter sees on the left."""
        return Side(self.first) if self.first else self.comparison.first_for(self.voter.number)
