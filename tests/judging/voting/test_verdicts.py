"""What people said is kept once, from a's side, with its history; what cannot count is refused in a sentence."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from judging.models import Judge, Rubric, Side, Tournament, Turn, Verdict, Voter
from judging.stats.votes import Outcome
from judging.tournaments import commands
from judging.voting import CannotVote, Choice, Judged, NotNow, choose, of_judge, reveal, skip, take_back, turns
from runs.models import Experiment
from tests.judging.tournament_factory import held

pytestmark = pytest.mark.django_db


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    """Three contestants, four prompts, two criteria."""
    return held(ada, experiment)


@pytest.fixture
def voter(tournament: Tournament, bo: User) -> Voter:
    """Bo, the first of its voters."""
    return Voter.objects.create(tournament=tournament, number=0, user=bo)


@pytest.fixture
def turn(voter: Voter) -> Turn:
    """Bo's first pair."""
    return turns.hand(voter)[0]


@pytest.fixture
def rubrics(tournament: Tournament) -> list[Rubric]:
    """The tournament's two."""
    return list(tournament.rubrics.order_by("pk"))


def say(voter: Voter, turn: Turn, rubric: Rubric, said: str, key: str) -> Verdict:
    return choose(voter, Choice(turn.pk, rubric.pk, said, key, seconds=2.5))


def current() -> list[str]:
    """What holds, in the order of criteria."""
    return list(Verdict.objects.current().order_by("rubric").values_list("outcome", flat=True))


def test_left_and_right_become_whose_answer_stood_there(voter: Voter, rubrics: list[Rubric]) -> None:
    for k, turn in enumerate(turns.hand(voter)):
        verdict = say(voter, turn, rubrics[0], "left", f"k{k}")
        assert verdict.outcome == turn.left == verdict.first
        assert say(voter, turn, rubrics[1], "right", f"m{k}").outcome != turn.left


def test_a_choice_sent_again_is_one_verdict(voter: Voter, turn: Turn, rubrics: list[Rubric]) -> None:
    for _ in range(3):
        say(voter, turn, rubrics[0], "tie", "k1")

    assert Verdict.objects.count() == 1


def test_a_change_of_mind_replaces_and_keeps_what_was_said_before(
    voter: Voter, turn: Turn, rubrics: list[Rubric]
) -> None:
    say(voter, turn, rubrics[0], "tie", "k1")
    say(voter, turn, rubrics[0], "both_bad", "k2")
    say(voter, turn, rubrics[0], "tie", "k1")

    assert current() == ["both_bad"]
    assert Verdict.objects.filter(replaced_at__isnull=False, outcome="tie").count() == 1


def test_a_turn_ends_when_it_is_judged_by_every_criterion(voter: Voter, turn: Turn, rubrics: list[Rubric]) -> None:
    say(voter, turn, rubrics[0], "tie", "k1")
    turn.refresh_from_db()
    assert turn.ended_at is None

    say(voter, turn, rubrics[1], "tie", "k2")
    turn.refresh_from_db()
    assert turn.ended_at is not None

    take_back(voter, "k2")
    take_back(voter, "k2")
    turn.refresh_from_db()
    assert (turn.ended_at, current()) == (None, ["tie"])


def test_a_skip_holds_for_all_criteria_until_the_voter_judges_after_all(
    voter: Voter, turn: Turn, rubrics: list[Rubric]
) -> None:
    say(voter, turn, rubrics[0], "tie", "k1")
    skip(voter, turn.pk, "language", "k2")
    turn.refresh_from_db()
    assert (current(), turn.is_passed) == (["skip", "skip"], True)
    assert not Verdict.objects.rating().exists()

    say(voter, turn, rubrics[1], "tie", "k3")
    turn.refresh_from_db()

    assert (current(), turn.is_passed, turn.ended_at) == (["tie"], False, None)


def test_whose_answers_they_are_is_shown_after_the_vote_which_then_stays(
    voter: Voter, turn: Turn, rubrics: list[Rubric]
) -> None:
    with pytest.raises(CannotVote, match="after your own vote"):
        reveal(voter, turn.pk)
    say(voter, turn, rubrics[0], "tie", "k1")
    with pytest.raises(CannotVote, match="after your own vote"):
        reveal(voter, turn.pk)
    say(voter, turn, rubrics[1], "tie", "k2")

    assert reveal(voter, turn.pk).revealed_at is not None

    with pytest.raises(CannotVote, match="the vote stays as it was"):
        say(voter, turn, rubrics[1], "left", "k3")
    with pytest.raises(CannotVote, match="the vote stays as it was"):
        take_back(voter, "k2")
    assert current() == ["tie", "tie"]


def test_what_cannot_count_is_refused_and_names_what_would(
    voter: Voter, turn: Turn, rubrics: list[Rubric], ada: User, tournament: Tournament
) -> None:
    other = Voter.objects.create(tournament=tournament, number=1, user=ada)
    stranger = Rubric.objects.create(criterion=rubrics[0].criterion, version=9, question="?", text="?")

    with pytest.raises(CannotVote, match="one of left, right, tie, both_bad"):
        say(voter, turn, rubrics[0], "a", "k1")
    with pytest.raises(CannotVote, match="one of unsure, expert"):
        skip(voter, turn.pk, "bored", "k1")
    with pytest.raises(CannotVote, match="not one of yours"):
        say(other, turn, rubrics[0], "tie", "k1")
    with pytest.raises(CannotVote, match="not judged by that criterion"):
        say(voter, turn, stranger, "tie", "k1")
    with pytest.raises(CannotVote, match="key of its own"):
        say(voter, turn, rubrics[0], "tie", "")
    assert not Verdict.objects.exists()


def test_a_pause_asks_to_keep_the_vote_and_an_end_refuses_it(
    voter: Voter, turn: Turn, rubrics: list[Rubric], tournament: Tournament
) -> None:
    commands.pause(tournament)
    with pytest.raises(NotNow, match="is paused"):
        say(voter, turn, rubrics[0], "tie", "k1")
    commands.close(tournament)
    with pytest.raises(CannotVote, match="is closed"):
        say(voter, turn, rubrics[0], "tie", "k1")


def test_a_name_in_an_answer_makes_the_vote_not_blind(voter: Voter, turn: Turn, rubrics: list[Rubric]) -> None:
    assert say(voter, turn, rubrics[0], "tie", "k1").is_blind
    turn.comparison.leaks = ["b:name"]
    turn.comparison.save()

    assert not say(voter, turn, rubrics[1], "tie", "k2").is_blind


def test_a_judge_has_one_current_verdict_a_pair_and_order(turn: Turn, rubrics: list[Rubric]) -> None:
    judge = Judge.objects.create(name="rules", kind="rules", model="rules", digest="0")

    def says(first: Side, outcome: Outcome, *scores: float) -> None:
        said = Judged(turn.comparison_id, rubrics[0].pk, first, outcome, (scores[0], scores[1]))
        of_judge(judge, [said])

    says(Side.A, Outcome.B, 1, 9)
    says(Side.A, Outcome.B, 1, 9)
    says(Side.B, Outcome.A, 8, 2)
    says(Side.A, Outcome.A, 7, 3)

    said = Verdict.objects.current().order_by("first").values_list("first", "outcome", "score_a", "score_b")
    assert list(said) == [("a", "a", 7.0, 3.0), ("b", "b", 2.0, 8.0)]
    assert Verdict.objects.count() == 3
