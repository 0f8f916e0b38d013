"""What a person or a model judge said of a comparison. Only `judging.voting` writes here."""

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
"""A person passed it by, and said why. It says nothing of the answers."""
OUTCOMES = [(outcome.name.lower(), outcome.name.lower()) for outcome in Outcome] + [(SKIP, SKIP)]


class VerdictQuerySet(models.QuerySet["Verdict"]):
    """Verdicts, by whether they hold and whether they rate anybody."""

    def current(self) -> VerdictQuerySet:
        """Those that hold: neither replaced nor taken back."""
        return self.filter(replaced_at__isnull=True)

    def comparing(self) -> VerdictQuerySet:
        """Return those that compare two contestants: current, and not passed by."""
        return self.current().filter(comparison__gold_pair__isnull=True).exclude(outcome=SKIP)

    def rating(self) -> VerdictQuerySet:
        """Return those that ratings may be made of: of these, what was said of answers that differ."""
        return self.comparing().filter(comparison__is_identical=False)


class Verdict(models.Model):
    """By a voter or by a judge. `outcome` is from a's side, wherever a stood; `first` is who stood left, if known.

    What is replaced or taken back stays, with its time, as history. `key` is the browser's word for one choice: sent
    twice it is one verdict. `is_blind` is False where something told whose answers they were. `seconds` is how long
    the pair was looked at. Lengths are of both answers, in any one unit, where the answers themselves are not here.
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
