"""Verdict of a voter or a model judge on a comparison. Only `judging.voting` writes it."""

from __future__ import annotations

from django.db import models
from django.db.models import Q

from judging.models.call import Call
from judging.models.comparison import Comparison, Side
from judging.models.judge import Judge
from judging.models.rubric import Rubric
from judging.models.voter import Voter
from judging.stats.votes import Outcome

SKIP = "skip"
"""A voter passed the pair, and gave a reason. It has no information about the responses."""
OUTCOMES = [(outcome.name.lower(), outcome.name.lower()) for outcome in Outcome] + [(SKIP, SKIP)]


class VerdictQuerySet(models.QuerySet["Verdict"]):
    """QuerySet of verdicts, with filters for those that are current and those that rate contestants."""

    def current(self) -> VerdictQuerySet:
        """Return the current verdicts: neither replaced nor retracted."""
        return self.filter(replaced_at__isnull=True)

    def comparing(self) -> VerdictQuerySet:
        """Return the verdicts that compare two contestants: current, and not passed."""
        return self.current().filter(comparison__gold_pair__isnull=True).exclude(outcome=SKIP)

    def rating(self) -> VerdictQuerySet:
        """Return the verdicts that ratings use: those of `comparing` on responses that differ."""
        return self.comparing().filter(comparison__is_identical=False)


class Verdict(models.Model):
    """A verdict of a voter or a judge. `outcome` is from a's side, whatever the position; `first` is who was on the
    left, if known.

    A replaced or retracted verdict stays, with its time, as history. `key` is the browser's id of one choice: sent
    twice it is one verdict. `is_blind` is False if something revealed whose responses they were. `seconds` is how long
    the pair was looked at. `preference` is a's share of a soft preference, between 0 and 1; null if the outcome says
    everything. Lengths are of both responses, in any one unit, if the responses themselves are not stored
    here.
    """

    comparison = models.ForeignKey(Comparison, on_delete=models.CASCADE, related_name="verdicts")
    rubric = models.ForeignKey(Rubric, on_delete=models.PROTECT, related_name="verdicts")
    voter = models.ForeignKey(Voter, on_delete=models.RESTRICT, null=True, blank=True, related_name="verdicts")
    judge = models.ForeignKey(Judge, on_delete=models.PROTECT, null=True, blank=True, related_name="verdicts")
    call = models.ForeignKey(Call, on_delete=models.PROTECT, null=True, blank=True, related_name="verdicts")
    sample = models.PositiveSmallIntegerField(default=0)
    outcome = models.CharField(max_length=10, choices=OUTCOMES)
    score_a = models.FloatField(null=True, blank=True)
    score_b = models.FloatField(null=True, blank=True)
    preference = models.FloatField(null=True, blank=True)
    length_a = models.FloatField(null=True, blank=True)
    length_b = models.FloatField(null=True, blank=True)
    reason = models.CharField(max_length=200, blank=True)
    first = models.CharField(max_length=1, choices=Side.choices, blank=True)
    is_blind = models.BooleanField(default=True)
    seconds = models.FloatField(null=True, blank=True)
    key = models.CharField(max_length=40, blank=True)
    at = models.DateTimeField(auto_now_add=True)
    replaced_at = models.DateTimeField(null=True, blank=True)

    objects = VerdictQuerySet.as_manager()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["voter", "comparison", "rubric"],
                condition=Q(voter__isnull=False, replaced_at__isnull=True),
                name="verdict_one_a_voter",
            ),
            models.UniqueConstraint(
                fields=["judge", "comparison", "rubric", "first", "sample"],
                condition=Q(judge__isnull=False, replaced_at__isnull=True),
                name="verdict_one_a_judge_and_order",
            ),
            models.UniqueConstraint(fields=["voter", "key", "rubric"], condition=~Q(key=""), name="verdict_once_a_key"),
            models.CheckConstraint(
                condition=Q(voter__isnull=False, judge__isnull=True, call__isnull=True)
                | Q(voter__isnull=True, judge__isnull=False),
                name="verdict_by_a_voter_or_a_judge",
            ),
        )
        indexes = (models.Index(fields=["comparison", "rubric"], name="verdict_by_comparison"),)

    def __str__(self) -> str:
        return f"{self.outcome} by {self.voter or self.judge}"
