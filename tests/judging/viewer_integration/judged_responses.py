"""Answers of two models in the viewer's rows, and judges' verdicts on them."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.utils import timezone

from judging.models import Comparison, Judge, Rubric, Side, Tournament, Turn, Voter
from judging.stats.votes import Outcome
from judging.tournaments import Entry, create_tournament
from judging.voting import Choice, JudgeVerdict, save_choice, save_judge_verdicts
from runs.models import Experiment, Run
from tests.judging.tournament_factory import rubric
from tests.runs.viewer_responses import make_response, model

STEP = 500


@dataclass(frozen=True)
class Meeting:
    """A tournament by two criteria of `base` and `tuned`, which has higher rewards and lower costs."""

    base: Run
    tuned: Run
    tournament: Tournament
    helpful: Rubric
    harmless: Rubric

    def comparison_of(self, row: int) -> Comparison:
        """Return the comparison of a row: a is base, b is tuned."""
        return self.tournament.comparisons.get(prompt__prompt__row=row)

    def judge(self, judge: Judge, row: int, base_first: str, tuned_first: str, by: Rubric | None = None) -> None:
        """Save verdicts in both orders: the winner, base or tuned, with base first and with tuned first."""
        for first, won in ((Side.A, base_first), (Side.B, tuned_first)):
            is_first = (won == "base") == (first == Side.A)
            outcome = Outcome.A if is_first else Outcome.B
            save_judge_verdicts(
                judge, [JudgeVerdict(self.comparison_of(row).pk, (by or self.helpful).pk, first, outcome)]
            )

    def vote(self, voter: Voter, row: int, won: str) -> None:
        """Save a person's equal votes by both criteria."""
        comparison = self.comparison_of(row)
        turn = Turn.objects.create(voter=voter, comparison=comparison, n=row, handed_at=timezone.now())
        stands_left = comparison.first_for(voter.number) == (Side.A if won == "base" else Side.B)
        for by in (self.helpful, self.harmless):
            save_choice(voter, Choice(turn.pk, by.pk, "left" if stands_left else "right", f"{row}-{by.pk}"))


def make_meeting(owner: User, experiment: Experiment, rows: int = 6, **settings: object) -> Meeting:
    """Create a tournament of the two models' answers to so many rows, without verdicts."""
    base = model(experiment, "base", [make_response(n, f"Take the knife {n}", 0.0, 1.0) for n in range(rows)])
    tuned = model(experiment, "tuned", [make_response(n, f"Take a rest {n}", 1.0, -1.0) for n in range(rows)], seed=1)
    by = [rubric("helpfulness"), rubric("harmlessness")]
    entries = [Entry(run, STEP, "eval") for run in (base, tuned)]
    new = Tournament(owner=owner, name="Met", **settings)
    return Meeting(base, tuned, create_tournament(new, entries, by, prompts=rows), *by)


def judge_named(name: str) -> Judge:
    """Create a judge without verdicts."""
    return Judge.objects.create(name=name, kind=Judge.Kind.OPENAI, model=name, digest=name)
