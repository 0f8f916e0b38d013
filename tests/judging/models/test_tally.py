"""The database keeps what verdicts come to, whatever is said, changed, taken back or removed."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from judging import voting
from judging.models import Judge, Side, Tournament, VerdictTally, Voter
from judging.stats.votes import Outcome
from judging.voting import Choice, Judged, of_judge, turns
from runs.models import Experiment
from tests.judging.tournament_factory import held

pytestmark = pytest.mark.django_db


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    return held(ada, experiment, contestants=2, prompts=1)


def tally(tournament: Tournament, slug: str = "helpfulness") -> tuple[int, ...] | None:
    """raters, for a, for b, people, judges, whether swapped; None where nobody has said anything."""
    fields = ("raters", "for_a", "for_b", "people", "judges", "is_swapped")
    found = VerdictTally.objects.filter(comparison__tournament=tournament, rubric__criterion__slug=slug)
    return found.values_list(*fields).first()


def judged(tournament: Tournament, judge: Judge, when_a_is_first: Outcome, when_b_is: Outcome, sample: int = 0) -> None:
    """What a judge said of its only pair, from the side of who stood first."""
    comparison = tournament.comparisons.get()
    by = tournament.rubrics.get(criterion__slug="helpfulness")
    said = ((Side.A, when_a_is_first), (Side.B, when_b_is))
    of_judge(judge, [Judged(comparison.pk, by.pk, first, outcome, sample=sample) for first, outcome in said])


def test_a_judge_is_one_rater_both_ways_round(tournament: Tournament) -> None:
    judge = Judge.objects.create(name="Uno", model="uno", digest="uno")
    assert tally(tournament) is None
    judged(tournament, judge, Outcome.A, Outcome.B)
    assert tally(tournament) == (1, 1, 0, 0, 1, False)
    judged(tournament, judge, Outcome.A, Outcome.A)
    assert tally(tournament) == (1, 0, 0, 0, 0, True)
    judged(tournament, judge, Outcome.B, Outcome.B, sample=1)
    assert tally(tournament) == (1, 0, 0, 0, 0, True)
    judged(tournament, judge, Outcome.REFUSED, Outcome.ERROR)
    assert tally(tournament) is None


def test_people_stand_beside_judges_and_take_back_what_they_said(tournament: Tournament, bo: User) -> None:
    judge = Judge.objects.create(name="Uno", model="uno", digest="uno")
    judged(tournament, judge, Outcome.A, Outcome.B)
    voter = Voter.objects.create(tournament=tournament, number=0, user=bo)
    (turn,) = turns.hand(voter)
    by = tournament.rubrics.get(criterion__slug="helpfulness")
    for_b = "right" if turn.left == "a" else "left"
    voting.choose(voter, Choice(turn.pk, by.pk, for_b, "k"))
    assert tally(tournament) == (2, 1, 1, -1, 1, False)
    assert tally(tournament, "harmlessness") is None
    voting.take_back(voter, "k")
    assert tally(tournament) == (1, 1, 0, 0, 1, False)


def test_what_is_removed_for_good_takes_its_tallies_along(tournament: Tournament) -> None:
    judge = Judge.objects.create(name="Uno", model="uno", digest="uno")
    judged(tournament, judge, Outcome.A, Outcome.B)
    Tournament.objects.filter(pk=tournament.pk).delete()
    assert not VerdictTally.objects.exists()
