"""Boards are worked out by a job and kept: once for what there is, again where that changes, whoever is killed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connections
from django.utils import timezone

from judging import boards
from judging.boards import (
    USUAL,
    BoardSettings,
    CannotOrder,
    VerdictFilter,
    board_of,
    history_of,
    keep,
    order,
    schedule,
    tasks,
    work_through,
)
from judging.boards.schedule import OPEN_AT_MOST
from judging.models import BoardOrder, Calibration, Snapshot, Tournament, Verdict
from judging.stats.ratings import board
from runs.models import Experiment
from tests.judging.boards.test_votes import model_judge
from tests.judging.bulk_verdicts import cast, once, ruled
from tests.judging.synthetic_votes import invented
from tests.judging.tournament_factory import gold, held, rubric

pytestmark = pytest.mark.django_db


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    made = held(ada, experiment, prompts=12, contestants=4)
    cast(made, rubric("helpfulness"), once(invented(150, contestants=4, prompts=12)))
    return made


def passed_time(**ago: float) -> None:
    """As if the boards had been kept so long before."""
    for one in Snapshot.objects.all():
        Snapshot.objects.filter(pk=one.pk).update(at=one.at - timedelta(**ago))


def test_what_is_kept_is_the_board_of_the_votes_that_there_are(tournament: Tournament) -> None:
    helpful = rubric("helpfulness")

    kept = keep(tournament, helpful)

    votes = boards.votes_in(tournament, helpful)
    assert kept.digest == kept.board["hash"] == board(votes).hash
    assert (kept.votes, kept.last_verdict) == (len(votes), Verdict.objects.latest("pk").pk)
    assert kept.asked == USUAL.to_json()
    assert board_of(tournament, helpful) == kept
    assert board_of(tournament, rubric("harmlessness")) is None
    assert list(kept.board["controlled"]["effects"]) == ["position"], "all answers are of one length"
    assert kept.board["online_elo"]["orders"]["orders"] == 200


def test_a_vote_that_two_games_became_has_no_side_to_control_for(tournament: Tournament) -> None:
    helpful = rubric("helpfulness")
    judge = ruled(tournament, helpful)
    Verdict.objects.bulk_create(
        Verdict(comparison=one, rubric=helpful, judge=judge, first="b", outcome="a" if one.place % 3 else "b")
        for one in tournament.comparisons.all()
    )

    assert list(keep(tournament, helpful, BoardSettings(swap="half")).board["controlled"]["effects"]) == ["position"]
    assert keep(tournament, helpful, BoardSettings(swap="tie")).board["controlled"] is None


def test_the_same_board_is_kept_once_and_another_beside_it(tournament: Tournament) -> None:
    helpful, other = rubric("helpfulness"), BoardSettings(ties="davidson", level=0.9, whose=VerdictFilter("people"))

    assert keep(tournament, helpful) == keep(tournament, helpful)
    made = keep(tournament, helpful, other)

    assert Snapshot.objects.count() == 2
    assert board_of(tournament, helpful, other) == made
    assert made.board["board"]["asked"]["ties"] == "davidson"
    assert BoardSettings.of(made.asked) == other


def test_a_category_is_rated_by_its_own_votes_alone(tournament: Tournament) -> None:
    tournament.chosen_prompts.filter(place__lt=6).update(categories=["harm"])

    kept = keep(tournament, rubric("helpfulness"), BoardSettings(category="harm"))
    none = keep(tournament, rubric("helpfulness"), BoardSettings(category="unknown"))

    assert 0 < kept.votes < board_votes(tournament)
    assert kept.board["board"]["tally"]["prompts"] == 6
    assert none.board["board"]["sentences"] == ["There is no vote that counts, so there are no ratings."]


def board_votes(tournament: Tournament) -> int:
    return len(boards.votes_in(tournament, rubric("helpfulness")))


def test_work_is_due_where_verdicts_came_or_went_or_a_judge_was_let_in(ada: User, tournament: Tournament) -> None:
    assert [work_through(), work_through()] == [1, 0]

    last = Verdict.objects.latest("pk")
    Verdict.objects.filter(pk=last.pk).update(replaced_at=timezone.now())
    assert work_through() == 0, "a board is not worked out at every vote"
    passed_time(minutes=1)
    assert work_through() == 1

    judge = ruled(tournament, rubric("helpfulness"), judge=model_judge(ada))
    passed_time(minutes=1)
    work_through()
    count = board_of(tournament, rubric("helpfulness")).votes  # type: ignore[union-attr]
    Calibration.objects.create(judge=judge, rubric=rubric("helpfulness"), gold_set=gold(ada), passes=True, measured={})
    passed_time(minutes=1)
    assert work_through() == 1
    assert board_of(tournament, rubric("helpfulness")).votes == count + 72  # type: ignore[union-attr]


def test_of_its_history_a_board_every_ten_minutes_stays_and_the_newest(tournament: Tournament) -> None:
    helpful = rubric("helpfulness")
    for minutes in (20, 4, 3, 2):
        keep(tournament, helpful)
        passed_time(minutes=minutes)
        Verdict.objects.filter(pk=Verdict.objects.current().latest("pk").pk).update(replaced_at=timezone.now())
    newest = keep(tournament, helpful)

    ages = [round((newest.at - one.at).total_seconds() / 60) for one in history_of(tournament, helpful)]
    assert ages == [29, 9, 0]


def test_what_was_ordered_is_done_first_and_ordered_once(ada: User, bo: User, tournament: Tournament) -> None:
    helpful, how = rubric("helpfulness"), BoardSettings(prior=0.5)

    assert order(tournament, helpful, how, ada) == order(tournament, helpful, how, bo)
    assert work_through() == 2

    done = BoardOrder.objects.get()
    assert done.ended_at is not None and not done.problem
    assert board_of(tournament, helpful, how).board["board"]["asked"]["prior"] == 0.5  # type: ignore[union-attr]


def test_an_order_that_makes_no_sense_ends_with_the_reason(ada: User, tournament: Tournament) -> None:
    helpful, how = rubric("helpfulness"), BoardSettings(anchor="nobody")
    order(tournament, helpful, how, ada)

    work_through()

    assert "the anchor must be one of runner 0" in boards.last_problem(tournament, helpful, how)
    assert board_of(tournament, helpful) is not None


def test_nobody_orders_more_than_some_boards_at_a_time(ada: User, tournament: Tournament) -> None:
    for k in range(OPEN_AT_MOST):
        order(tournament, rubric("helpfulness"), BoardSettings(prior=1 + k), ada)

    with pytest.raises(CannotOrder, match=f"^{OPEN_AT_MOST} boards that you asked for are still to be worked out"):
        order(tournament, rubric("helpfulness"), BoardSettings(prior=0.1), ada)


@pytest.mark.django_db(transaction=True)
def test_one_process_at_a_time_works_and_what_another_left_is_done_later(ada: User, tournament: Tournament) -> None:
    order(tournament, rubric("helpfulness"), USUAL, ada)
    BoardOrder.objects.update(begun_at=timezone.now())  # as one that was killed had left it
    other = connections["default"].copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(hashtext(%s))", [schedule.LOCK])
        tasks.keep_boards()
        assert not Snapshot.objects.exists()
        cursor.execute("SELECT pg_advisory_unlock(hashtext(%s))", [schedule.LOCK])
    other.close()

    tasks.keep_boards()

    assert Snapshot.objects.count() == 1
    assert not BoardOrder.objects.filter(ended_at=None).exists()


def test_a_board_of_nothing_and_of_one_vote_say_so(ada: User, experiment: Experiment) -> None:
    tournament, helpful = held(ada, experiment, prompts=2), rubric("helpfulness")
    assert keep(tournament, helpful).board["board"]["sentences"] == [
        "There is no vote that counts, so there are no ratings."
    ]

    cast(tournament, helpful, once(invented(60, contestants=3, prompts=2)).where([0]))
    said = keep(tournament, helpful).board["board"]

    assert any("won every comparison" in one for one in said["sentences"]) or said["tally"]["tie_rate"] == 1
    assert any("was in no comparison that counts" in one for one in said["sentences"])
