"""Tally of the verdicts on a comparison. The database updates it with each verdict, because pages read thousands."""

from __future__ import annotations

from django.db import models

from judging.models.comparison import Comparison
from judging.models.rubric import Rubric


class VerdictTally(models.Model):
    """Tally of a comparison by a rubric, from a's side; there is no row if there is no verdict. Only the trigger of
    migration 0007 writes it.

    A rater is a human or a judge; a rater with several verdicts, as in both orders, counts by their majority. `for_a`
    and `for_b` of the `raters` say which is better. `people` and `judges`: how many more humans, and judges, prefer a
    than b. `is_swapped`: a judge's verdict changed with the order.
    """

    comparison = models.ForeignKey(Comparison, on_delete=models.DO_NOTHING, db_constraint=False, related_name="tallies")
    rubric = models.ForeignKey(Rubric, on_delete=models.DO_NOTHING, db_constraint=False, related_name="+")
    raters = models.IntegerField()
    for_a = models.IntegerField()
    for_b = models.IntegerField()
    people = models.IntegerField()
    judges = models.IntegerField()
    is_swapped = models.BooleanField()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=["comparison", "rubric"],
                include=["raters", "for_a", "for_b", "people", "judges", "is_swapped"],
                name="verdict_tally_once",
            ),
        )

    def __str__(self) -> str:
        return f"{self.for_a} to {self.for_b} of {self.raters} on {self.comparison_id}"
