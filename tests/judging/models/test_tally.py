"""The database keeps tallies of verdicts through every change, withdrawal and removal."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from judging import voting
from judging.models import Judge, Side, Tournament, VerdictTally, Voter
from judging.stats.votes import Outcome
from judging.voting import Choice, JudgeVerdict, save_judge_verdicts, turns
from runs.models import Experiment
from tests.judging.tournament_factory import make_tournament

pytestmark = pytest.mark.django_db


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    return make_tournament(ada, experiment, contestants=2, prompts=1)


def tally(tournament: Tournament, slug: str = "helpfulness") -> tuple[int, ...] | None:
    """Return (raters, for a, for b, people, judges, is swapped), or None without verdicts."""
    fields = ("raters", "for_a", "for_b", "people", "judges", "is_swapped")
    rows = VerdictTally.objects.filter(comparison__tournament=tournament, rubric__criterion__slug=slug)
    return rows.values_list(*fields).first()


def add_judgment(
    tournament: Tournament, judge: Judge, when_a_is_first: Outcome, when_b_is: Outcome, sample: int = 0
) -> None:
    """Save a judge's verdicts on the only pair in both orders, from the side of the first answer."""
    comparison = tournament.comparisons.get()
    by = tournament.rubrics.get(criterion__slug="helpfulness")
    outcomes = ((Side.A, when_a_is_first), (Side.B, when_b_is))
    save_judge_verdicts(
        judge, [JudgeVerdict(comparison.pk, by.pk, first, outcome, sample=sample) for first, outcome in outcomes]
    )


def test_judge_in_both_orders_is_one_rater(tournament: Tournament) -> None:
    judge = Judge.objects.create(name="Uno", model="uno", digest="uno")
    assert tally(tournament) is None
    add_judgment(tournament, judge, Outcome.A, Outcome.B)
    assert tally(tournament) == (1, 1, 0, 0, 1, False)
    add_judgment(tournament, judge, Outcome.A, Outcome.A)
    assert tally(tournament) == (1, 0, 0, 0, 0, True)
    add_judgment(tournament, judge, Outcome.B, Outcome.B, sample=1)
    assert tally(tournament) == (1, 0, 0, 0, 0, True)
    add_judgment(tournament, judge, Outcome.REFUSED, Outcome.ERROR)
    assert tally(tournament) is None


def test_tally_follows_votes_and_their_withdrawal(tournament: Tournament, bo: User) -> None:
    judge = Judge.objects.create(name="Uno", model="uno", digest="uno")
    add_judgment(tournament, judge, Outcome.A, Outcome.B)
    voter = Voter.objects.create(tournament=tournament, number=0, user=bo)
    (turn,) = turns.hand_out_turns(voter)
    by = tournament.rubrics.get(criterion__slug="helpfulness")
    for_b = "right" if turn.left == "a" else "left"
    voting.save_choice(voter, Choice(turn.pk, by.pk, for_b, "k"))
    assert tally(tournament) == (2, 1, 1, -1, 1, False)
    assert tally(tournament, "harmlessness") is None
    voting.retract_choice(voter, "k")
    assert tally(tournament) == (1, 1, 0, 0, 1, False)


def test_deleted_tournament_deletes_its_tallies(tournament: Tournament) -> None:
    judge = Judge.objects.create(name="Uno", model="uno", digest="uno")
    add_judgment(tournament, judge, Outcome.A, Outcome.B)
    Tournament.objects.filter(pk=tournament.pk).delete()
    assert not VerdictTally.objects.exists()
