"""A tournament: contestants answer the same prompts, and judges say whose answer is better, by some rubrics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.urls import reverse

from judging.models.gold import GoldSet
from judging.models.owned import OwnedQuerySet
from judging.models.rubric import Rubric, rubric_names
from runs.models import Experiment, Prompt, Response, Run
from runs.models.experiment import Person


class TournamentQuerySet(OwnedQuerySet["Tournament"]):
    """Tournaments, as people may see them."""

    def visible_to(self, person: Person) -> Self:
        """What is not private, and their own, of runs all of which they may see; nothing from the bin.

        A contestant whose run lies in the bin still counts as seen by whoever could see it before.
        """
        return self.permitted_to(person).filter(deleted_at__isnull=True)

    def permitted_to(self, person: Person) -> Self:
        """As `visible_to`, with what lies in the bin."""
        hidden = Contestant.objects.filter(tournament=OuterRef("pk"), run__isnull=False).exclude(
            run__experiment__in=Experiment.objects.permitted_to(person)
        )
        return super().visible_to(person).filter(~Exists(hidden))

    def open(self) -> Self:
        """Those that take verdicts now."""
        return self.filter(deleted_at__isnull=True, closed_at__isnull=True, paused_at__isnull=True)


class Tournament(models.Model):
    """`seed` decides which prompts are drawn, in which order pairs come, and who stands left.

    `overlap`: how many people see a pair. `gold_every`: every so many pairs a voter gets one whose answer is known,
    from `gold_set`; never where that is None. `reveals`: voters may see whose answers they were, after their own vote.
    `warns`: answers are blurred until one asks to see them. `picks`: which pair a voter gets next.
    """

    class Picks(models.TextChoices):
        """In rounds, all pairs alike; or where one more vote tells most, once each pair was judged a few times."""

        BALANCED = "balanced"
        TELLING = "telling"

    name = models.CharField(max_length=200)
    question = models.TextField(blank=True)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="tournaments")
    is_private = models.BooleanField(default=False)
    rubrics = models.ManyToManyField(Rubric, related_name="tournaments")
    seed = models.BigIntegerField()
    overlap = models.PositiveSmallIntegerField(default=1)
    gold_set = models.ForeignKey(GoldSet, on_delete=models.SET_NULL, null=True, blank=True, related_name="tournaments")
    gold_every = models.PositiveSmallIntegerField(default=15)
    reveals = models.BooleanField(default=True)
    warns = models.BooleanField(default=False)
    picks = models.CharField(max_length=10, choices=Picks.choices, default=Picks.BALANCED)
    created_at = models.DateTimeField(auto_now_add=True)
    paused_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    deleted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    objects = TournamentQuerySet.as_manager()

    class Meta:
        constraints = (
            models.CheckConstraint(condition=Q(overlap__gte=1), name="tournament_of_one_voter_at_least"),
            models.CheckConstraint(condition=Q(gold_every__gte=2), name="tournament_not_of_gold_alone"),
        )

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("tournament", args=[self.pk])

    @property
    def is_open(self) -> bool:
        """True while it takes verdicts."""
        return self.deleted_at is None and self.closed_at is None and self.paused_at is None

    @property
    def methods(self) -> dict[str, str]:
        """Return each contestant's name -> the method that its answers were trained by, such as es.

        Empty where that is not known, and for the model before training: a run's answers at step 0, where it has later
        ones. An imported file that says no step stands at step 0 alone, and is of its method.
        """
        later = Exists(Response.objects.filter(run=OuterRef("run"), step__gt=0))
        rows = self.contestants.annotate(has_later=later).values_list("name", "run__method", "step", "has_later")
        return {name: "" if step == 0 and later else method or "" for name, method, step, later in rows}


class Contestant(models.Model):
    """Who is rated: a run's answers on a split at a step. An imported file of answers is a run too.

    `run` is None where it was removed for good, or where only judgments were imported, under this name.
    """

    tournament = models.ForeignKey(Tournament, on_delete=models.CASCADE, related_name="contestants")
    name = models.CharField(max_length=250)
    place = models.PositiveSmallIntegerField()
    run = models.ForeignKey(Run, on_delete=models.SET_NULL, null=True, blank=True, related_name="contestants")
    step = models.BigIntegerField(null=True, blank=True)
    split = models.CharField(max_length=20, blank=True)

    class Meta:
        ordering = ("tournament", "place")
        constraints = (
            models.UniqueConstraint(fields=["tournament", "name"], name="contestant_once_a_name"),
            models.UniqueConstraint(fields=["tournament", "run", "step", "split"], name="contestant_once"),
        )

    def __str__(self) -> str:
        return self.name


class ChosenPrompt(models.Model):
    """A prompt that was drawn for a tournament. Votes on one prompt are not independent of each other.

    `categories`: those that it had when it was drawn, so that no board depends on what is learnt of it later.
    """

    tournament = models.ForeignKey(Tournament, on_delete=models.CASCADE, related_name="chosen_prompts")
    prompt = models.ForeignKey(Prompt, on_delete=models.PROTECT, related_name="chosen_for")
    place = models.PositiveIntegerField()
    categories = ArrayField(models.TextField(), default=list, db_default=[], blank=True)

    class Meta:
        ordering = ("tournament", "place")
        constraints = (models.UniqueConstraint(fields=["tournament", "prompt"], name="chosen_prompt_once"),)

    def __str__(self) -> str:
        return f"prompt {self.place} of {self.tournament}"


def rubrics_of(tournament: Tournament) -> dict[Rubric, str]:
    """Return the tournament's rubrics, oldest first, with their names in files and addresses."""
    return rubric_names(tournament.rubrics.select_related("criterion").order_by("pk"))


def identifying_names(contestants: Iterable[Contestant]) -> list[str]:
    """Return the names that would tell voters which contestant wrote a response: of runs and of their base models."""
    runs = [contestant.run for contestant in contestants if contestant.run is not None]
    models = {str(run.config.get("model", {}).get("path", "")).rsplit("/", 1)[-1] for run in runs}
    return sorted({run.name for run in runs} | (models - {""}))
