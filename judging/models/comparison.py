"""Comparison: two responses to one prompt, of which a judge picks the better one."""

from __future__ import annotations

from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from judging.models.gold import GoldPair
from judging.models.tournament import ChosenPrompt, Contestant, Tournament
from runs.models import Response


class Side(models.TextChoices):
    """Side of a comparison: one of the two responses, by contestant. On a page a response is left or right; here it
    belongs to contestant a or b."""

    A = "a"
    B = "b"


class ComparisonQuerySet(models.QuerySet["Comparison"]):
    """QuerySet of comparisons, with filters for those that need a judge."""

    def between_contestants(self) -> Self:
        """Return the comparisons that are not gold."""
        return self.filter(gold_pair__isnull=True)

    def to_judge(self) -> Self:
        """Return the comparisons of contestants with responses that are stored and differ."""
        distinct = self.between_contestants().filter(is_identical=False)
        return distinct.filter(response_a__isnull=False, response_b__isnull=False)

    def are_all_identical(self) -> bool:
        """Return whether there are comparisons of contestants, and all of them have identical responses."""
        pairs = self.between_contestants()
        return pairs.exists() and not pairs.filter(is_identical=False).exists()


class Comparison(models.Model):
    """A comparison of two contestants, a before b as in the tournament, or of a gold pair, which rates nobody.

    `first` is the contestant on the left for a judge that is asked in one order only, balanced among the comparisons of
    a pair; a voter's turn has its own. `leaks` names texts in the responses that reveal their contestant, such as
    "a:model name". `is_identical`: both responses are equal except for surrounding space. Nobody is asked about such a
    pair: it is a tie by identity, whatever earlier verdicts were.
    """

    tournament = models.ForeignKey(Tournament, on_delete=models.CASCADE, related_name="comparisons")
    place = models.PositiveIntegerField()
    prompt = models.ForeignKey(ChosenPrompt, on_delete=models.CASCADE, null=True, related_name="comparisons")
    a = models.ForeignKey(Contestant, on_delete=models.CASCADE, null=True, related_name="+")
    b = models.ForeignKey(Contestant, on_delete=models.CASCADE, null=True, related_name="+")
    response_a = models.ForeignKey(Response, on_delete=models.SET_NULL, null=True, related_name="+")
    response_b = models.ForeignKey(Response, on_delete=models.SET_NULL, null=True, related_name="+")
    gold_pair = models.ForeignKey(GoldPair, on_delete=models.CASCADE, null=True, related_name="comparisons")
    first = models.CharField(max_length=1, choices=Side.choices)
    leaks = ArrayField(models.CharField(max_length=40), default=list, blank=True)
    is_identical = models.BooleanField(default=False, db_default=False)

    objects = ComparisonQuerySet.as_manager()

    class Meta:
        ordering = ("tournament", "place")
        constraints = (
            models.UniqueConstraint(fields=["tournament", "prompt", "a", "b"], name="comparison_once"),
            models.UniqueConstraint(fields=["tournament", "gold_pair"], name="comparison_once_a_gold_pair"),
            models.UniqueConstraint(fields=["tournament", "place"], name="comparison_once_a_place"),
            models.CheckConstraint(
                condition=Q(gold_pair__isnull=True, prompt__isnull=False, a__isnull=False, b__isnull=False)
                | Q(gold_pair__isnull=False, prompt__isnull=True, a__isnull=True, b__isnull=True),
                name="comparison_of_contestants_or_gold",
            ),
            models.CheckConstraint(condition=~Q(a=F("b")), name="comparison_of_two"),
        )

    def __str__(self) -> str:
        return f"comparison {self.place} of {self.tournament}"

    @property
    def is_gold(self) -> bool:
        """Return whether the better response is known, so that the comparison rates nobody."""
        return self.gold_pair_id is not None

    @property
    def texts(self) -> tuple[str, str, str] | None:
        """Return the prompt, a's response and b's. None if a response was deleted with its run."""
        if self.gold_pair is not None:
            return self.gold_pair.prompt, self.gold_pair.text_a, self.gold_pair.text_b
        if self.prompt is None or self.response_a is None or self.response_b is None:
            return None
        return self.prompt.prompt.text, self.response_a.text, self.response_b.text

    def first_for(self, number: int) -> Side:
        """Return the contestant on the left for the voter of this number, for turns without a `first` of their own."""
        first = Side(self.first)
        return first if number % 2 == 0 else Side.B if first == Side.A else Side.A
