"""Votes are saved once, from a's side, with their history; an invalid vote is refused with a sentence."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User

from judging.models import Judge, Rubric, Side, Tournament, Turn, Verdict, Voter
from judging.stats.votes import Outcome
from judging.tournaments import commands
from judging.voting import (
    Choice,
    JudgeVerdict,
    VoteRefused,
    VotingPaused,
    retract_choice,
    reveal_turn,
    save_choice,
    save_judge_verdicts,
    skip_turn,
    turns,
)
from runs.models import Experiment
from tests.judging.tournament_factory import make_tournament

pytestmark = pytest.mark.django_db


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    """Return a tournament of three contestants, four prompts and two criteria."""
    return make_tournament(ada, experiment)


@pytest.fixture
def voter(tournament: Tournament, bo: User) -> Voter:
    """Return Bo, the first of the tournament's voters."""
    return Voter.objects.create(tournament=tournament, number=0, user=bo)


@pytest.fixture
def turn(voter: Voter) -> Turn:
    """Return Bo's first turn."""
    return turns.hand_out_turns(voter)[0]


@pytest.fixture
def rubrics(tournament: Tournament) -> list[Rubric]:
    """Return the tournament's two rubrics."""
    return list(tournament.rubrics.order_by("pk"))


def vote(voter: Voter, turn: Turn, rubric: Rubric, side: str, key: str) -> Verdict:
    return save_choice(voter, Choice(turn.pk, rubric.pk, side, key, seconds=2.5))


def current() -> list[str]:
    """Return the current outcomes in the order of criteria."""
    return list(Verdict.objects.current().order_by("rubric").values_list("outcome", flat=True))


def test_left_and_right_become_contestants_sides(voter: Voter, rubrics: list[Rubric]) -> None:
    for k, turn in enumerate(turns.hand_out_turns(voter)):
        verdict = vote(voter, turn, rubrics[0], "left", f"k{k}")
        assert verdict.outcome == turn.left == verdict.first
        assert vote(voter, turn, rubrics[1], "right", f"m{k}").outcome != turn.left


def test_repeated_choice_is_one_verdict(voter: Voter, turn: Turn, rubrics: list[Rubric]) -> None:
    for _ in range(3):
        vote(voter, turn, rubrics[0], "tie", "k1")

    assert Verdict.objects.count() == 1


def test_changed_choice_replaces_verdict_and_keeps_history(voter: Voter, turn: Turn, rubrics: list[Rubric]) -> None:
    vote(voter, turn, rubrics[0], "tie", "k1")
    vote(voter, turn, rubrics[0], "both_bad", "k2")
    vote(voter, turn, rubrics[0], "tie", "k1")

    assert current() == ["both_bad"]
    assert Verdict.objects.filter(replaced_at__isnull=False, outcome="tie").count() == 1


def test_turn_ends_when_judged_by_every_criterion(voter: Voter, turn: Turn, rubrics: list[Rubric]) -> None:
    vote(voter, turn, rubrics[0], "tie", "k1")
    turn.refresh_from_db()
    assert turn.ended_at is None

    vote(voter, turn, rubrics[1], "tie", "k2")
    turn.refresh_from_db()
    assert turn.ended_at is not None

    retract_choice(voter, "k2")
    retract_choice(voter, "k2")
    turn.refresh_from_db()
    assert (turn.ended_at, current()) == (None, ["tie"])


def test_skip_applies_to_all_criteria_until_later_choice(voter: Voter, turn: Turn, rubrics: list[Rubric]) -> None:
    vote(voter, turn, rubrics[0], "tie", "k1")
    skip_turn(voter, turn.pk, "language", "k2")
    turn.refresh_from_db()
    assert (current(), turn.is_passed) == (["skip", "skip"], True)
    assert not Verdict.objects.rating().exists()

    vote(voter, turn, rubrics[1], "tie", "k3")
    turn.refresh_from_db()

    assert (current(), turn.is_passed, turn.ended_at) == (["tie"], False, None)


def test_revealed_vote_cannot_be_changed(voter: Voter, turn: Turn, rubrics: list[Rubric]) -> None:
    with pytest.raises(VoteRefused, match="after your own vote"):
        reveal_turn(voter, turn.pk)
    vote(voter, turn, rubrics[0], "tie", "k1")
    with pytest.raises(VoteRefused, match="after your own vote"):
        reveal_turn(voter, turn.pk)
    vote(voter, turn, rubrics[1], "tie", "k2")

    assert reveal_turn(voter, turn.pk).revealed_at is not None

    with pytest.raises(VoteRefused, match="your vote can no longer change"):
        vote(voter, turn, rubrics[1], "left", "k3")
    with pytest.raises(VoteRefused, match="your vote can no longer change"):
        retract_choice(voter, "k2")
    assert current() == ["tie", "tie"]


def test_invalid_choice_is_refused_with_choices(
    voter: Voter, turn: Turn, rubrics: list[Rubric], ada: User, tournament: Tournament
) -> None:
    other = Voter.objects.create(tournament=tournament, number=1, user=ada)
    stranger = Rubric.objects.create(criterion=rubrics[0].criterion, version=9, question="?", text="?")

    with pytest.raises(VoteRefused, match="one of left, right, tie, both_bad"):
        vote(voter, turn, rubrics[0], "a", "k1")
    with pytest.raises(VoteRefused, match="one of unsure, expert"):
        skip_turn(voter, turn.pk, "bored", "k1")
    with pytest.raises(VoteRefused, match="not given to you"):
        vote(other, turn, rubrics[0], "tie", "k1")
    with pytest.raises(VoteRefused, match="does not have that criterion"):
        vote(voter, turn, stranger, "tie", "k1")
    with pytest.raises(VoteRefused, match="must have its own key"):
        vote(voter, turn, rubrics[0], "tie", "")
    assert not Verdict.objects.exists()


def test_pause_defers_vote_and_close_refuses_it(
    voter: Voter, turn: Turn, rubrics: list[Rubric], tournament: Tournament
) -> None:
    commands.pause(tournament)
    with pytest.raises(VotingPaused, match="is paused"):
        vote(voter, turn, rubrics[0], "tie", "k1")
    commands.close(tournament)
    with pytest.raises(VoteRefused, match="is closed"):
        vote(voter, turn, rubrics[0], "tie", "k1")


def test_leaked_name_makes_vote_not_blind(voter: Voter, turn: Turn, rubrics: list[Rubric]) -> None:
    assert vote(voter, turn, rubrics[0], "tie", "k1").is_blind
    turn.comparison.leaks = ["b:name"]
    turn.comparison.save()

    assert not vote(voter, turn, rubrics[1], "tie", "k2").is_blind


def test_judge_has_one_current_verdict_per_pair_and_order(turn: Turn, rubrics: list[Rubric]) -> None:
    judge = Judge.objects.create(name="rules", kind="rules", model="rules", digest="0")

    def add_verdict(first: Side, outcome: Outcome, *scores: float) -> None:
        rows = JudgeVerdict(turn.comparison_id, rubrics[0].pk, first, outcome, (scores[0], scores[1]))
        save_judge_verdicts(judge, [rows])

    add_verdict(Side.A, Outcome.B, 1, 9)
    add_verdict(Side.A, Outcome.B, 1, 9)
    add_verdict(Side.B, Outcome.A, 8, 2)
    add_verdict(Side.A, Outcome.A, 7, 3)

    rows = Verdict.objects.current().order_by("first").values_list("first", "outcome", "score_a", "score_b")
    assert list(rows) == [("a", "a", 7.0, 3.0), ("b", "b", 2.0, 8.0)]
    assert Verdict.objects.count() == 3
