"""The settings of a tournament. The form, the API, creation and the export read them from these fields."""

from __future__ import annotations

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from judging.models.gold import GoldSet


class TournamentSettings(models.Model):
    """Settings of a tournament, in the order of the form: each field states its title, help, choices, bounds and
    default. A new field needs a migration; only pages that act on it need more.

    A voter gets a pair of `gold_set` after `gold_every` pairs; never if `gold_set` is None.
    """

    class Picks(models.TextChoices):
        """Order of pairs: in rounds, all pairs alike; or where one more vote is most informative, after a few verdicts
        on each pair."""

        BALANCED = "balanced", _("Balanced: all pairs equally often")
        TELLING = "telling", _("The most informative")

    name = models.CharField(_("Name"), max_length=200)
    question = models.TextField(
        _("Question"), blank=True, help_text=_("The question that the tournament answers. Voters do not see it.")
    )
    overlap = models.PositiveSmallIntegerField(
        _("Voters per pair"), default=1, validators=[MinValueValidator(1), MaxValueValidator(100)],
        help_text=_("Two or more show how far voters agree."),
    )  # fmt: skip
    seed = models.BigIntegerField(
        _("Seed"), default=0, validators=[MinValueValidator(0)], help_text=_("Determines prompts, order and sides.")
    )
    gold_set = models.ForeignKey(
        GoldSet, on_delete=models.SET_NULL, null=True, blank=True, related_name="tournaments",
        verbose_name=_("Gold set"),
        help_text=_("Pairs whose better response is known, to check how carefully voters vote."),
    )  # fmt: skip
    gold_every = models.PositiveSmallIntegerField(
        _("One gold pair in"), default=15, validators=[MinValueValidator(2), MaxValueValidator(1000)],
        help_text=_("15 is about 7 in 100."),
    )  # fmt: skip
    picks = models.CharField(
        _("Next pair"), max_length=10, choices=Picks.choices, default=Picks.BALANCED,
        help_text=_("In replays, the most informative gained nothing below 400 votes."),
    )  # fmt: skip
    reveals = models.BooleanField(_("Reveal the contestants to voters after their own vote"), default=True)
    warns = models.BooleanField(_("Blur responses until the voter shows them"), default=False)
    is_private = models.BooleanField(_("Only I may see it"), default=False)

    class Meta:
        abstract = True
        constraints = (
            models.CheckConstraint(condition=Q(overlap__gte=1), name="tournament_of_one_voter_at_least"),
            models.CheckConstraint(condition=Q(gold_every__gte=2), name="tournament_not_of_gold_alone"),
        )


SETTINGS = tuple(field.name for field in TournamentSettings._meta.local_fields)
SECRETS = ("seed", "gold_set", "gold_every")
"""Settings that could reveal a contestant or a gold pair to a voter."""
