"""What the verdicts on a comparison come to, kept by the database with each verdict: pages ask it of thousands."""

from __future__ import annotations

from django.db import models

from judging.models.comparison import Comparison
from judging.models.rubric import Rubric


class VerdictTally(models.Model):
    """Of a comparison by a rubric, from a's side; there is none where nobody has said anything. Nothing writes here but
    the trigger of migration 0007.

    A rater is a person or a judge; who judged several times, as both ways round, is taken at what most of it says.
    `for_a` and `for_b` of the `raters` say which is better. `people` and `judges`: how many more of them say a than b.
    `is_swapped`: a judge said otherwise when the two swapped sides.
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
