"""Tournament: contestants respond to the same prompts, and judges compare their responses by some rubrics."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Exists, OuterRef
from django.urls import reverse

from judging.models.ownership import OwnedQuerySet
from judging.models.rubric import Rubric, rubric_names
from judging.models.tournament_settings import TournamentSettings
from runs.models import Experiment, Prompt, Response, Run
from runs.models.experiment import Person, config_section


class TournamentQuerySet(OwnedQuerySet["Tournament"]):
    """QuerySet of tournaments, with the rules of visibility."""

    def visible_to(self, person: Person) -> Self:
        """Return the tournaments that are not private or the user's own, if all its runs are visible to the user; none
        from the trash.

        A contestant whose run is in the trash still counts as visible to users who could see it before.
        """
        return self.permitted_to(person).filter(deleted_at__isnull=True)

    def permitted_to(self, person: Person) -> Self:
        """Return the tournaments of `visible_to`, and those in the trash."""
        hidden = Contestant.objects.filter(tournament=OuterRef("pk"), run__isnull=False).exclude(
            run__experiment__in=Experiment.objects.permitted_to(person)
        )
        return super().visible_to(person).filter(~Exists(hidden))

    def open(self) -> Self:
        """Return the tournaments that accept verdicts now."""
        return self.filter(deleted_at__isnull=True, closed_at__isnull=True, paused_at__isnull=True)


class Tournament(TournamentSettings):
    """A tournament: its settings, its owner and its state. `seed` decides which prompts are sampled, in which order
    pairs come, and who is on the left."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="tournaments")
    rubrics = models.ManyToManyField(Rubric, related_name="tournaments")
    created_at = models.DateTimeField(auto_now_add=True)
    paused_at = models.DateTimeField(null=True, blank=True)
    closed_at = models.DateTimeField(null=True, blank=True)
    deleted_at = models.DateTimeField(null=True, blank=True)
    deleted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    objects = TournamentQuerySet.as_manager()

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("tournament", args=[self.pk])

    @property
    def is_open(self) -> bool:
        """Return whether it accepts verdicts."""
        return self.deleted_at is None and self.closed_at is None and self.paused_at is None

    @property
    def state(self) -> str:
        """Return the state in which it is, or was when it was moved to the trash: open, paused or closed."""
        return "closed" if self.closed_at else "paused" if self.paused_at else "open"

    @property
    def methods(self) -> dict[str, str]:
        """Return each contestant's name -> the method that its responses were trained by, such as es.

        The method is empty if it is not known, and for the model before training: a run's responses at step 0, if it
        has later ones. An imported file without steps has step 0 alone, and has its method.
        """
        later = Exists(Response.objects.filter(run=OuterRef("run"), step__gt=0))
        rows = self.contestants.annotate(has_later=later).values_list("name", "run__method", "step", "has_later")
        return {name: "" if step == 0 and later else method or "" for name, method, step, later in rows}


class Contestant(models.Model):
    """A contestant: a run's responses on a split at a step. An imported file of responses is a run too.

    `run` is None if the run was purged, or if only judgments were imported, under this name.
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
    """A prompt that was sampled for a tournament. Votes on one prompt are not independent of each other.

    `categories`: the prompt's categories at the time of sampling, so that no board depends on later changes.
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
    """Return the names that would reveal to voters which contestant wrote a response: of runs and of their base
    models."""
    runs = [contestant.run for contestant in contestants if contestant.run is not None]
    models = {str(config_section(run.config, "model").get("path", "")).rsplit("/", 1)[-1] for run in runs}
    return sorted({run.name for run in runs} | (models - {""}))
