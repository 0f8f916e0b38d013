"""What a run wrote besides metrics: members, prompts, answers, checkpoints. Only `runs.ingest` writes here."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.db.models import Q

from runs.models.attempt import Attempt
from runs.models.experiment import Run


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
    """The members of one iteration: a list of {seed, reward, parts, z}."""

    members = models.JSONField()


class Prompt(models.Model):
    """A question, shared by all runs that were asked it, so that their answers stand side by side."""

    name = models.CharField(max_length=200)
    digest = models.CharField(max_length=64, unique=True)
    text = models.TextField()
    target = models.TextField(blank=True)

    def __str__(self) -> str:
        return self.text


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

    class Meta(Recorded.Meta):
        indexes = (
            models.Index(fields=["run", "split", "step", "prompt", "sample"]),
            models.Index(fields=["prompt", "run"]),
        )


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
