"""Define the tables of what a run wrote besides metrics: members, engines, prompts, responses, scores, checkpoints.
Only `runs.ingest` writes here."""

from __future__ import annotations

from typing import ClassVar

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models
from django.db.models import F, Func, Q

from runs.models.attempt import Attempt
from runs.models.experiment import Run
from runs.models.response_sql import COST, KEY, LEAKING, REFUSAL, ROW, TRUNCATED, WORDS

DIGITS = 16


class Recorded(models.Model):
    """A row made from one record: (attempt, epoch, seq) says which, and makes it exist once."""

    run = models.ForeignKey(Run, on_delete=models.CASCADE)
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE)
    epoch = models.PositiveIntegerField()
    seq = models.BigIntegerField()
    step = models.BigIntegerField()

    class Meta:
        abstract = True
        constraints: ClassVar[tuple[models.BaseConstraint, ...]] = (
            models.UniqueConstraint(fields=["attempt", "epoch", "seq"], name="%(class)s_once"),
        )
        indexes: ClassVar[tuple[models.Index, ...]] = (models.Index(fields=["run", "step"]),)

    def __str__(self) -> str:
        return f"step {self.step}"


class Population(Recorded):
    """The members of one iteration: a list of {seed, reward, parts, z, engine}, the last where several engines share
    them."""

    members = models.JSONField()


class EngineReport(Recorded):
    """The engines after one iteration: a list of `workers.records.Engine`. `bytes` were sent to each for the update.

    They count from the start of their training process: a run's totals add up the last report of each epoch.
    """

    t = models.FloatField()
    """Unix seconds at which the report was written."""
    bytes = models.BigIntegerField()
    engines = models.JSONField()


class Prompt(models.Model):
    """A question, shared by all runs that were asked it, so that their answers stand side by side.

    Its name is part of it: a data set that holds one text 52 times has 52 prompts, named by their rows. `categories`:
    whatever any run's data set names, in the order of the alphabet; they are no part of what makes it the same one.
    """

    name = models.CharField(max_length=200)
    digest = models.CharField(max_length=64, unique=True)
    text = models.TextField()
    target = models.TextField(blank=True)
    categories = ArrayField(models.TextField(), default=list, db_default=[], blank=True)
    row = models.GeneratedField(
        expression=Func(F("name"), template=ROW), output_field=models.BigIntegerField(), db_persist=True
    )
    """The row of its data set, where its name is one; others come after those."""
    text_key = models.GeneratedField(
        expression=Func(F("text"), template=KEY), output_field=models.BigIntegerField(), db_persist=True
    )
    """The same for prompts of the same text."""

    def __str__(self) -> str:
        return self.text

    @property
    def word(self) -> str:
        """Return the prompt's name in addresses: the first DIGITS digits of its digest, which is the same in a database
        that is created again."""
        return self.digest[:DIGITS]


class Response(Recorded):
    """A model's answer. Sample 0 is greedy. `parts` are the reward's, and flags such as exact and contains."""

    split = models.CharField(max_length=20)
    prompt = models.ForeignKey(Prompt, on_delete=models.PROTECT, related_name="responses")
    sample = models.PositiveIntegerField()
    text = models.TextField()
    tokens = models.PositiveIntegerField()
    reward = models.FloatField()
    parts = models.JSONField(default=dict)
    kl = models.FloatField(null=True)
    is_superseded = models.BooleanField(default=False, db_default=False)
    """Evaluated again since, at the same step: after a resume the later evaluation holds."""
    cost = models.GeneratedField(
        expression=Func(F("parts"), template=COST), output_field=models.FloatField(), db_persist=True
    )
    words = models.GeneratedField(
        expression=Func(F("text"), template=WORDS), output_field=models.IntegerField(), db_persist=True
    )
    """None where only its scores are known, not its text."""
    is_truncated = models.GeneratedField(
        expression=Func(F("text"), template=TRUNCATED),
        output_field=models.BooleanField(), db_persist=True,
    )  # fmt: skip
    is_leaking = models.GeneratedField(
        expression=Func(F("text"), template=LEAKING),
        output_field=models.BooleanField(), db_persist=True,
    )  # fmt: skip
    """It plays the other side of the conversation too."""
    is_refusal = models.GeneratedField(
        expression=Func(F("text"), template=REFUSAL),
        output_field=models.BooleanField(), db_persist=True,
    )  # fmt: skip
    text_key = models.GeneratedField(
        expression=Func(F("text"), template=KEY), output_field=models.BigIntegerField(), db_persist=True
    )
    """The same for answers that differ in nothing but spaces and capitals."""

    class Meta(Recorded.Meta):
        # The first is all that filters and sorts of the viewer read: rows are wide with their texts.
        indexes = (
            models.Index(
                fields=["run", "split", "step", "prompt", "sample"],
                include=[
                    "id",
                    "reward",
                    "cost",
                    "words",
                    "text_key",
                    "is_superseded",
                    "is_truncated",
                    "is_leaking",
                    "is_refusal",
                ],
                name="response_by_step",
            ),
            models.Index(fields=["prompt", "run"]),
            GinIndex(fields=["text"], opclasses=["gin_trgm_ops"], name="response_by_trigram"),
        )


class Score(models.Model):
    """A number that a scorer gave a response afterwards, beside the run's own and never instead of it."""

    response = models.ForeignKey(Response, on_delete=models.CASCADE, related_name="scores")
    scorer = models.CharField(max_length=100)
    key = models.CharField(max_length=20)
    value = models.FloatField()
    at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=["scorer", "key", "response"], name="score_once"),)

    def __str__(self) -> str:
        return f"{self.scorer} {self.key} {self.value:g}"


class Checkpoint(Recorded):
    """A Hugging Face folder under the attempt's directory."""

    path = models.TextField()
    bytes = models.BigIntegerField()
    sha256 = models.CharField(max_length=64)

    class Meta(Recorded.Meta):
        constraints = (
            *Recorded.Meta.constraints,
            models.CheckConstraint(condition=~Q(path__contains=".."), name="checkpoint_path_stays_inside"),
        )
