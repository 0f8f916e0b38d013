"""Boards are computed by a job and saved once per set of votes, again after changes, also after a kill."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import connections
from django.utils import timezone

from judging import boards
from judging.boards import (
    DEFAULT_SETTINGS,
    BoardSettings,
    OrderRefused,
    VerdictFilter,
    add_order,
    compute_due_boards,
    newest_snapshot,
    save_board,
    schedule,
    snapshot_history,
    tasks,
)
from judging.boards.schedule import MAX_OPEN_ORDERS
from judging.models import BoardOrder, Calibration, Snapshot, Tournament, Verdict
from judging.stats.ratings import compute_board
from runs.models import Experiment
from tests.judging.boards.test_votes import model_judge
from tests.judging.bulk_verdicts import add_judge_verdicts, cast, first_votes
from tests.judging.synthetic_votes import make_random_votes
from tests.judging.tournament_factory import make_gold_set, make_tournament, rubric

pytestmark = pytest.mark.django_db


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    tournament = make_tournament(ada, experiment, prompts=12, contestants=4)
    cast(tournament, rubric("helpfulness"), first_votes(make_random_votes(150, contestants=4, prompts=12)))
    return tournament


def age_snapshots(**ago: float) -> None:
    """Move all snapshots into the past by this time."""
    for snapshot in Snapshot.objects.all():
        Snapshot.objects.filter(pk=snapshot.pk).update(at=snapshot.at - timedelta(**ago))


def test_snapshot_holds_board_of_current_votes(tournament: Tournament) -> None:
    helpful = rubric("helpfulness")

    snapshot = save_board(tournament, helpful)

    votes = boards.votes_in(tournament, helpful)
    assert snapshot.digest == snapshot.board["hash"] == compute_board(votes).hash
    assert (snapshot.votes, snapshot.last_verdict) == (len(votes), Verdict.objects.latest("pk").pk)
    assert snapshot.asked == DEFAULT_SETTINGS.to_json()
    assert newest_snapshot(tournament, helpful) == snapshot
    assert newest_snapshot(tournament, rubric("harmlessness")) is None
    assert list(snapshot.board["controlled"]["effects"]) == ["position"], "all answers are of one length"
    assert snapshot.board["online_elo"]["orders"]["orders"] == 200


def test_swap_tie_board_has_no_position_control(tournament: Tournament) -> None:
    helpful = rubric("helpfulness")
    judge = add_judge_verdicts(tournament, helpful)
    Verdict.objects.bulk_create(
        Verdict(
            comparison=comparison, rubric=helpful, judge=judge, first="b", outcome="a" if comparison.place % 3 else "b"
        )
        for comparison in tournament.comparisons.all()
    )

    assert list(save_board(tournament, helpful, BoardSettings(swap="half")).board["controlled"]["effects"]) == [
        "position"
    ]
    assert save_board(tournament, helpful, BoardSettings(swap="tie")).board["controlled"] is None


def test_same_board_settings_are_saved_once(tournament: Tournament) -> None:
    helpful, other = rubric("helpfulness"), BoardSettings(ties="davidson", level=0.9, whose=VerdictFilter("people"))

    assert save_board(tournament, helpful) == save_board(tournament, helpful)
    snapshot = save_board(tournament, helpful, other)

    assert Snapshot.objects.count() == 2
    assert newest_snapshot(tournament, helpful, other) == snapshot
    assert snapshot.board["board"]["asked"]["ties"] == "davidson"
    assert BoardSettings.parse(snapshot.asked) == other


def test_category_board_uses_only_its_votes(tournament: Tournament) -> None:
    tournament.chosen_prompts.filter(place__lt=6).update(categories=["harm"])

    snapshot = save_board(tournament, rubric("helpfulness"), BoardSettings(category="harm"))
    none = save_board(tournament, rubric("helpfulness"), BoardSettings(category="unknown"))

    assert 0 < snapshot.votes < count_votes(tournament)
    assert snapshot.board["board"]["tally"]["prompts"] == 6
    assert none.board["board"]["sentences"] == ["There is no vote that counts, so there are no ratings."]


def count_votes(tournament: Tournament) -> int:
    return len(boards.votes_in(tournament, rubric("helpfulness")))


def test_board_work_is_due_after_verdict_or_calibration_changes(ada: User, tournament: Tournament) -> None:
    assert [compute_due_boards(), compute_due_boards()] == [1, 0]

    last = Verdict.objects.latest("pk")
    Verdict.objects.filter(pk=last.pk).update(replaced_at=timezone.now())
    assert compute_due_boards() == 0, "a board is not worked out at every vote"
    age_snapshots(minutes=1)
    assert compute_due_boards() == 1

    judge = add_judge_verdicts(tournament, rubric("helpfulness"), judge=model_judge(ada))
    age_snapshots(minutes=1)
    compute_due_boards()
    count = newest_snapshot(tournament, rubric("helpfulness")).votes  # type: ignore[union-attr]
    Calibration.objects.create(
        judge=judge, rubric=rubric("helpfulness"), gold_set=make_gold_set(ada), passes=True, measured={}
    )
    age_snapshots(minutes=1)
    assert compute_due_boards() == 1
    assert newest_snapshot(tournament, rubric("helpfulness")).votes == count + 72  # type: ignore[union-attr]


def test_board_history_keeps_newest_and_ten_minute_steps(tournament: Tournament) -> None:
    helpful = rubric("helpfulness")
    for minutes in (20, 4, 3, 2):
        save_board(tournament, helpful)
        age_snapshots(minutes=minutes)
        Verdict.objects.filter(pk=Verdict.objects.current().latest("pk").pk).update(replaced_at=timezone.now())
    newest = save_board(tournament, helpful)

    ages = [round((newest.at - snapshot.at).total_seconds() / 60) for snapshot in snapshot_history(tournament, helpful)]
    assert ages == [29, 9, 0]


def test_equal_board_orders_are_merged(ada: User, bo: User, tournament: Tournament) -> None:
    helpful, settings = rubric("helpfulness"), BoardSettings(prior=0.5)

    assert add_order(tournament, helpful, settings, ada) == add_order(tournament, helpful, settings, bo)
    assert compute_due_boards() == 2

    done = BoardOrder.objects.get()
    assert done.ended_at is not None and not done.problem
    assert newest_snapshot(tournament, helpful, settings).board["board"]["asked"]["prior"] == 0.5  # type: ignore[union-attr]


def test_impossible_board_order_ends_with_reason(ada: User, tournament: Tournament) -> None:
    helpful, settings = rubric("helpfulness"), BoardSettings(anchor="nobody")
    add_order(tournament, helpful, settings, ada)

    compute_due_boards()

    assert "the anchor must be one of runner 0" in boards.last_problem(tournament, helpful, settings)
    assert newest_snapshot(tournament, helpful) is not None


def test_open_board_orders_per_user_are_limited(ada: User, tournament: Tournament) -> None:
    for k in range(MAX_OPEN_ORDERS):
        add_order(tournament, rubric("helpfulness"), BoardSettings(prior=1 + k), ada)

    with pytest.raises(OrderRefused, match=f"^{MAX_OPEN_ORDERS} leaderboards that you ordered are not computed yet"):
        add_order(tournament, rubric("helpfulness"), BoardSettings(prior=0.1), ada)


@pytest.mark.django_db(transaction=True)
def test_board_job_waits_for_lock_of_another_process(ada: User, tournament: Tournament) -> None:
    add_order(tournament, rubric("helpfulness"), DEFAULT_SETTINGS, ada)
    BoardOrder.objects.update(begun_at=timezone.now())  # as one that was killed had left it
    other = connections["default"].copy()
    with other.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(hashtext(%s))", [schedule.LOCK])
        tasks.update_boards()
        assert not Snapshot.objects.exists()
        cursor.execute("SELECT pg_advisory_unlock(hashtext(%s))", [schedule.LOCK])
    other.close()

    tasks.update_boards()

    assert Snapshot.objects.count() == 1
    assert not BoardOrder.objects.filter(ended_at=None).exists()


def test_board_of_too_few_votes_gives_reasons(ada: User, experiment: Experiment) -> None:
    tournament, helpful = make_tournament(ada, experiment, prompts=2), rubric("helpfulness")
    assert save_board(tournament, helpful).board["board"]["sentences"] == [
        "There is no vote that counts, so there are no ratings."
    ]

    cast(tournament, helpful, first_votes(make_random_votes(60, contestants=3, prompts=2)).select([0]))
    saved_board = save_board(tournament, helpful).board["board"]

    assert (
        any("won every comparison" in sentence for sentence in saved_board["sentences"])
        or saved_board["tally"]["tie_rate"] == 1
    )
    assert any("was in no comparison that counts" in sentence for sentence in saved_board["sentences"])
