"""Requests to model judges and their replies: each is stored once, even if a worker is killed or a job is repeated."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from judging.models.comparison import Comparison, Side
from judging.models.gold import GoldPair, GoldSet
from judging.models.judge import Judge
from judging.models.rubric import Rubric
from judging.models.tournament import Tournament


class Assignment(models.Model):
    """A judge's work on a tournament, or on a gold set to be calibrated. It never spends more than `cap`.

    `reserved` is the highest possible cost of calls under way, `spent` the cost of finished ones; both are in the
    judge's currency. `planned` is the number of all questions, created or not. `asks_twice`: one question in twenty is
    asked a second time, to see whether the judge gives the same verdict.
    """

    class State(models.TextChoices):
        """State of the assignment. HALTED: stopped automatically, with the reason: the cap, a refused key, a server
        that is down."""

        RUNNING = "running"
        PAUSED = "paused"
        HALTED = "halted"
        CANCELLED = "cancelled"
        DONE = "done"

    judge = models.ForeignKey(Judge, on_delete=models.PROTECT, related_name="assignments")
    tournament = models.ForeignKey(Tournament, on_delete=models.CASCADE, null=True, related_name="assignments")
    gold_set = models.ForeignKey(GoldSet, on_delete=models.CASCADE, null=True, related_name="assignments")
    rubrics = models.ManyToManyField(Rubric, related_name="assignments")
    both_orders = models.BooleanField(default=True)
    samples = models.PositiveSmallIntegerField(default=1)
    asks_twice = models.BooleanField(default=False)
    planned = models.PositiveIntegerField(default=0)
    cap = models.DecimalField(max_digits=14, decimal_places=6)
    reserved = models.DecimalField(max_digits=18, decimal_places=8, default=0)
    spent = models.DecimalField(max_digits=18, decimal_places=8, default=0)
    state = models.CharField(max_length=10, choices=State.choices, default=State.RUNNING)
    reason = models.TextField(blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = (
            models.CheckConstraint(
                condition=Q(tournament__isnull=False, gold_set__isnull=True)
                | Q(tournament__isnull=True, gold_set__isnull=False),
                name="assignment_to_a_tournament_or_gold",
            ),
            models.CheckConstraint(condition=Q(cap__gte=0), name="assignment_cap_is_no_debt"),
        )

    def __str__(self) -> str:
        return f"{self.judge} on {self.tournament or self.gold_set}"


class Call(models.Model):
    """A request to a judge, identified by the hash of exactly what is sent and of the sample number.

    `sent` is the request body. `raw` is the text of the reply; `parsed` is the result of parsing it, by `parser`;
    `flags` name oddities, such as a verdict that contradicts its own scores. Tokens are the server's count unless
    `is_estimated`.
    """

    class State(models.TextChoices):
        """State of the call. The last four are final, and none of them is a tie. A lapsed lease is pending again."""

        PENDING = "pending"
        LEASED = "leased"
        DONE = "done"
        FAILED = "failed"
        UNPARSED = "unparsed"
        REFUSED = "refused"

    judge = models.ForeignKey(Judge, on_delete=models.PROTECT, related_name="calls")
    rubric = models.ForeignKey(Rubric, on_delete=models.PROTECT, related_name="calls")
    key = models.CharField(max_length=64, unique=True)
    sample = models.PositiveSmallIntegerField(default=0)
    sent = models.JSONField()
    state = models.CharField(max_length=10, choices=State.choices, default=State.PENDING)
    tries = models.PositiveSmallIntegerField(default=0)
    paid_by = models.ForeignKey(Assignment, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    reserved = models.DecimalField(max_digits=18, decimal_places=8, default=0)
    leased_until = models.DateTimeField(null=True, blank=True)
    not_before = models.DateTimeField(null=True, blank=True)
    raw = models.TextField(blank=True)
    parsed = models.JSONField(null=True, blank=True)
    parser = models.CharField(max_length=20, blank=True)
    flags = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    error = models.TextField(blank=True)
    answered_by = models.CharField(max_length=200, blank=True)
    """The model's name that the server reports."""
    finish_reason = models.CharField(max_length=40, blank=True)
    tokens_in = models.PositiveIntegerField(default=0)
    tokens_out = models.PositiveIntegerField(default=0)
    is_estimated = models.BooleanField(default=False)
    cost = models.DecimalField(max_digits=18, decimal_places=8, default=0)
    seconds = models.FloatField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = (
            models.Index(fields=["judge", "state", "id"], name="call_by_state"),
            models.Index(fields=["leased_until"], condition=Q(state="leased"), name="call_lease"),
        )

    def __str__(self) -> str:
        return f"call {self.key[:12]}"


class Question(models.Model):
    """A question of an assignment: which response is better by this rubric, shown in this order. A call answers it.

    Two comparisons with equal texts share a call, and so do two assignments that ask the same.
    """

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="questions")
    comparison = models.ForeignKey(Comparison, on_delete=models.CASCADE, null=True, related_name="questions")
    gold_pair = models.ForeignKey(GoldPair, on_delete=models.CASCADE, null=True, related_name="questions")
    rubric = models.ForeignKey(Rubric, on_delete=models.PROTECT, related_name="+")
    first = models.CharField(max_length=1, choices=Side.choices)
    sample = models.PositiveSmallIntegerField(default=0)
    call = models.ForeignKey(Call, on_delete=models.PROTECT, related_name="questions")

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["assignment", "comparison", "rubric", "first", "sample"],
                condition=Q(comparison__isnull=False),
                name="question_once",
            ),
            models.UniqueConstraint(
                fields=["assignment", "gold_pair", "rubric", "first", "sample"],
                condition=Q(gold_pair__isnull=False),
                name="question_once_of_gold",
            ),
            models.CheckConstraint(
                condition=Q(comparison__isnull=False, gold_pair__isnull=True)
                | Q(comparison__isnull=True, gold_pair__isnull=False),
                name="question_of_a_comparison_or_gold",
            ),
        )

    def __str__(self) -> str:
        return f"{self.rubric} of {self.comparison or self.gold_pair}, {self.first} first"
