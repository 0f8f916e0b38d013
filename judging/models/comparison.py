"""A comparison: two answers to one prompt, of which a judge says which is better."""

from __future__ import annotations

from typing import Self

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q

from judging.models.gold import GoldPair
from judging.models.tournament import ChosenPrompt, Contestant, Tournament
from runs.models import Response


class Side(models.TextChoices):
    """Which of the two answers. On a page a side is left or right; here it is whose answer."""

    A = "a"
    B = "b"


class ComparisonQuerySet(models.QuerySet["Comparison"]):
    """Comparisons, by whether anybody has to judge them."""

    def between_contestants(self) -> Self:
        """Return those that are no gold."""
        return self.filter(gold_pair__isnull=True)

    def to_judge(self) -> Self:
        """Return those of contestants whose answers are there and differ."""
        there = self.between_contestants().filter(is_identical=False)
        return there.filter(response_a__isnull=False, response_b__isnull=False)

    def are_all_identical(self) -> bool:
        """Return whether contestants meet here, and nowhere with answers that differ."""
        met = self.between_contestants()
        return met.exists() and not met.filter(is_identical=False).exists()


class Comparison(models.Model):
    """Either of two contestants, a before b as in the tournament, or of a gold pair, which rates nobody.

    `first` is who stands left for a judge that is asked one way round only, balanced among the comparisons of a pair; a
    voter's turn has its own. `leaks`: what in the answers tells whose they are, such as "a:model name".
    `is_identical`: both answers are the same but for space around them. Nobody is asked about such a pair: it is a tie
    by identity, whatever was said of it before.
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
        """True where the answer is known, and nobody is rated by it."""
        return self.gold_pair_id is not None

    @property
    def texts(self) -> tuple[str, str, str] | None:
        """The prompt, a's answer and b's. None where an answer was removed with its run."""
        if self.gold_pair is not None:
            return self.gold_pair.prompt, self.gold_pair.text_a, self.gold_pair.text_b
        if self.prompt is None or self.response_a is None or self.response_b is None:
            return None
        return self.prompt.prompt.text, self.response_a.text, self.response_b.text

    def first_for(self, number: int) -> Side:
        """Return whose answer stands left for the voter of this number, in turns that do not say it themselves."""
        first = Side(self.first)
        return first if number % 2 == 0 else Side.B if first == Side.A else Side.A
