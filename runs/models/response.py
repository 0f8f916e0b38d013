"""Tables of a run's records other than metrics: members, engines, probe results, attacks, prompts, responses, scores,
checkpoints. Only `runs.ingest` writes here."""

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
    """A row created from one record, which (attempt, epoch, seq) identifies, so that it exists once."""

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
    """The members of one iteration: a list of {seed, reward, parts, z, engine}, the last only if several engines share
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


class ProbeResult(Recorded):
    """Result of one probe of the weights `subject`, and of `other` if it compares two.

    `values` is a list of the fields of `workers.records.ProbeValue`; those that are absent are left out. If a restart
    records a step again, the newest (attempt, epoch, seq) of (run, probe, measure, subject, other) counts.
    """

    probe = models.CharField(max_length=40)
    measure = models.CharField(max_length=40)
    subject = models.CharField(max_length=300)
    other = models.CharField(max_length=300, blank=True)
    verdict = models.CharField(max_length=100, blank=True)
    values = models.JSONField(default=list)

    def __str__(self) -> str:
        return f"{self.measure} of {self.subject}"


class RewardAttack(Recorded):
    """Result of one attack on the reward of a run's task. If a restart makes the attack again, the newest (attempt,
    epoch, seq) counts.

    `values` has the numbers of `workers.records.Attack`, those that are absent left out; `examples` is a list of the
    fields of `workers.records.AttackExample`.
    """

    name = models.CharField(max_length=40)
    needs = models.CharField(max_length=40)
    verdict = models.CharField(max_length=40)
    response = models.TextField(blank=True)
    """The response, if it is the same to all prompts."""
    failure = models.TextField(blank=True)
    values = models.JSONField(default=dict)
    examples = models.JSONField(default=list)

    def __str__(self) -> str:
        return self.name


class Prompt(models.Model):
    """A prompt, shared by all runs that used it, so that their responses can be compared.

    Its name is part of its identity: a data set that holds one text 52 times has 52 prompts, named by their rows.
    `categories`: all categories that any run's data set names, in alphabetical order; not part of the identity.
    """

    name = models.CharField(max_length=200)
    digest = models.CharField(max_length=64, unique=True)
    text = models.TextField()
    target = models.TextField(blank=True)
    categories = ArrayField(models.TextField(), default=list, db_default=[], blank=True)
    row = models.GeneratedField(
        expression=Func(F("name"), template=ROW), output_field=models.BigIntegerField(), db_persist=True
    )
    """Row of its data set, if its name is a row number; other prompts sort after those."""
    text_key = models.GeneratedField(
        expression=Func(F("text"), template=KEY), output_field=models.BigIntegerField(), db_persist=True
    )
    """Equal for prompts of the same text."""

    def __str__(self) -> str:
        return self.text

    @property
    def word(self) -> str:
        """Return the prompt's name in addresses: the first DIGITS digits of its digest, which is the same in a database
        that is created again."""
        return self.digest[:DIGITS]


class Response(Recorded):
    """A model's response. Sample 0 is greedy. `parts` are the reward's parts, and flags such as exact and contains."""

    split = models.CharField(max_length=20)
    prompt = models.ForeignKey(Prompt, on_delete=models.PROTECT, related_name="responses")
    sample = models.PositiveIntegerField()
    text = models.TextField()
    tokens = models.PositiveIntegerField()
    reward = models.FloatField()
    parts = models.JSONField(default=dict)
    kl = models.FloatField(null=True)
    is_right = models.BooleanField(null=True)
    """Whether its answer is right, the gold measure; None if the prompt has no right answer. Set when it is stored."""
    is_superseded = models.BooleanField(default=False, db_default=False)
    """True if the step was evaluated again later: after a resume the later evaluation counts."""
    cost = models.GeneratedField(
        expression=Func(F("parts"), template=COST), output_field=models.FloatField(), db_persist=True
    )
    words = models.GeneratedField(
        expression=Func(F("text"), template=WORDS), output_field=models.IntegerField(), db_persist=True
    )
    """Number of words; None if only the scores are known, not the text."""
    is_truncated = models.GeneratedField(
        expression=Func(F("text"), template=TRUNCATED),
        output_field=models.BooleanField(), db_persist=True,
    )  # fmt: skip
    is_leaking = models.GeneratedField(
        expression=Func(F("text"), template=LEAKING),
        output_field=models.BooleanField(), db_persist=True,
    )  # fmt: skip
    """True if the response also plays the other side of the conversation."""
    is_refusal = models.GeneratedField(
        expression=Func(F("text"), template=REFUSAL),
        output_field=models.BooleanField(), db_persist=True,
    )  # fmt: skip
    text_key = models.GeneratedField(
        expression=Func(F("text"), template=KEY), output_field=models.BigIntegerField(), db_persist=True
    )
    """Equal for responses that differ only in spaces and capitals."""

    class Meta(Recorded.Meta):
        # The viewer's filters and sorts read only the first index: rows are wide with their texts.
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
    """A number that a scorer gave a response afterwards, in addition to the run's own and never instead of it."""

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
    """A checkpoint: a Hugging Face folder under the attempt's directory."""

    path = models.TextField()
    bytes = models.BigIntegerField()
    sha256 = models.CharField(max_length=64)

    class Meta(Recorded.Meta):
        constraints = (
            *Recorded.Meta.constraints,
            models.CheckConstraint(condition=~Q(path__contains=".."), name="checkpoint_path_stays_inside"),
        )
