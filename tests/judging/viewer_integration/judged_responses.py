"""Answers of two models in the viewer's rows, and what judges said of them."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.utils import timezone

from judging.models import Comparison, Judge, Rubric, Side, Tournament, Turn, Voter
from judging.stats.votes import Outcome
from judging.tournaments import Draft, Entry, make
from judging.voting import Choice, Judged, choose, of_judge
from runs.models import Experiment, Run
from tests.judging.tournament_factory import rubric
from tests.runs.viewer_responses import model, said

STEP = 500


@dataclass(frozen=True)
class Meeting:
    """`base` and `tuned`, whose rewards are higher and costs lower, in a tournament by two criteria."""

    base: Run
    tuned: Run
    tournament: Tournament
    helpful: Rubric
    harmless: Rubric

    def of(self, row: int) -> Comparison:
        """The comparison of a row: a is base, b is tuned."""
        return self.tournament.comparisons.get(prompt__prompt__row=row)

    def judge(self, judge: Judge, row: int, base_first: str, tuned_first: str, by: Rubric | None = None) -> None:
        """Both ways round: who won, base or tuned, when base stood first and when tuned did."""
        for first, won in ((Side.A, base_first), (Side.B, tuned_first)):
            is_first = (won == "base") == (first == Side.A)
            outcome = Outcome.A if is_first else Outcome.B
            of_judge(judge, [Judged(self.of(row).pk, (by or self.helpful).pk, first, outcome)])

    def vote(self, voter: Voter, row: int, won: str) -> None:
        """A person judges by both criteria alike."""
        comparison = self.of(row)
        turn = Turn.objects.create(voter=voter, comparison=comparison, n=row, handed_at=timezone.now())
        stands_left = comparison.first_for(voter.number) == (Side.A if won == "base" else Side.B)
        for by in (self.helpful, self.harmless):
            choose(voter, Choice(turn.pk, by.pk, "left" if stands_left else "right", f"{row}-{by.pk}"))


def meeting(owner: User, experiment: Experiment, rows: int = 6, **draft: object) -> Meeting:
    """The two models' answers to so many rows, of which none is judged."""
    base = model(experiment, "base", [said(n, f"Take the knife {n}", 0.0, 1.0) for n in range(rows)])
    tuned = model(experiment, "tuned", [said(n, f"Take a rest {n}", 1.0, -1.0) for n in range(rows)], seed=1)
    by = [rubric("helpfulness"), rubric("harmlessness")]
    entries = [Entry(run, STEP, "eval") for run in (base, tuned)]
    return Meeting(base, tuned, make(owner, Draft("Met", entries, by, prompts=rows, **draft)), *by)  # type: ignore[arg-type]


def judge_named(name: str) -> Judge:
    """A judge that has said nothing yet."""
    return Judge.objects.create(name=name, kind=Judge.Kind.OPENAI, model=name, digest=name)
