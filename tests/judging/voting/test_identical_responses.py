"""Pairs of identical answers are ties by identity: not judged, counted apart, and in votes only on request."""

from __future__ import annotations

from decimal import Decimal
from importlib import import_module

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from judging import boards, judge_runs
from judging.boards import BoardSettings
from judging.boards.votes import IDENTITY
from judging.judges import rules_judge
from judging.models import Assignment, Comparison, Judge, Tournament, Turn, Verdict, Voter
from judging.stats.votes import Outcome
from judging.tournaments import Entry, create_tournament
from judging.voting import are_identical, turns
from runs.models import Experiment, Response
from tests.judging.bulk_verdicts import add_judge_verdicts
from tests.judging.tournament_factory import answered_run, make_tournament, rubric
from tests.runs.api_client import calls

pytestmark = pytest.mark.django_db
ANSWERS = {"first run": ["same", "fox", "", " line\n"], "second run": ["\nsame ", "cat", " \t\n", "line"]}
TIES = BoardSettings(identical="tie")
migration = import_module("judging.migrations.0012_identical_answers")


def make_comparisons(owner: User, experiment: Experiment, answers: dict[str, list[str]]) -> Tournament:
    """Create a tournament of runs with these answers by one criterion, on every prompt."""
    entries = [Entry(answered_run(experiment, name, texts), 0, "eval") for name, texts in answers.items()]
    prompts = len(next(iter(answers.values())))
    new = Tournament(owner=owner, name="Alike?", seed=3)
    return create_tournament(new, entries, [rubric("helpfulness")], prompts)


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    """Return a tournament of four pairs, of which three are identical except for space."""
    return make_comparisons(ada, experiment, ANSWERS)


@pytest.fixture
def voter(tournament: Tournament, ada: User) -> Voter:
    return Voter.objects.create(tournament=tournament, number=0, user=ada)


def texts(given_turns: list[Turn]) -> list[tuple[str, ...]]:
    return [turn.comparison.texts or () for turn in given_turns]


def test_identical_answers_are_given_to_no_voter(tournament: Tournament, voter: Voter) -> None:
    assert texts(turns.hand_out_turns(voter)) == [("What is 1?", "fox", "cat")]
    assert turns.count_remaining(voter) == 1
    assert tournament.comparisons.filter(is_identical=True).count() == 3


def test_identical_answers_in_older_turns_are_hidden(tournament: Tournament, voter: Voter) -> None:
    for n, comparison in enumerate(tournament.comparisons.order_by("place")):
        Turn.objects.create(voter=voter, comparison=comparison, n=n, handed_at=timezone.now())

    assert texts(turns.hand_out_turns(voter)) == [("What is 1?", "fox", "cat")]
    assert turns.count_remaining(voter) == 1


def test_identical_answers_are_sent_to_no_judge(tournament: Tournament, ada: User) -> None:
    judge = Judge.objects.create(owner=ada, name="mine", model="m", base_url="http://localhost:9/v1", digest="0")
    new = Assignment(judge=judge, tournament=tournament, cap=Decimal(1), created_by=ada)

    assignment = judge_runs.start(new, list(tournament.rubrics.all()))

    assert assignment.planned == 2, "one pair, both ways round"
    assert (judge_runs.fill(assignment), judge_runs.fill(assignment)) == (1, 0)
    assert judge_runs.judge_all(tournament, rules_judge()) == 2


def test_tournament_of_only_identical_answers_has_no_questions(
    ada: User, experiment: Experiment, client: Client
) -> None:
    tournament = make_comparisons(ada, experiment, {"first run": ["a", "b"], "second run": ["a", " b"]})
    judge = Judge.objects.create(owner=ada, name="mine", model="m", base_url="http://localhost:9/v1", digest="0")
    client.force_login(ada)

    page = client.get(reverse("vote", args=[tournament.pk])).content.decode()

    assert "Both responses of every pair are identical. They are ties by identity: there is nothing to judge." in page
    board = client.get(reverse("tournament-board", args=[tournament.pk])).content.decode()
    assert "Both responses of every pair are identical, so nothing is decided" in board
    with pytest.raises(judge_runs.CannotAsk, match="no pair has two different responses"):
        new = Assignment(judge=judge, tournament=tournament, cap=Decimal(1), created_by=ada)
        judge_runs.start(new, list(tournament.rubrics.all()))
    assert boards.save_board(tournament, rubric("helpfulness")).votes == 0


def test_pages_and_api_count_identical_pairs(tournament: Tournament, ada: User, client: Client) -> None:
    client.force_login(ada)
    boards.save_board(tournament, rubric("helpfulness"))

    page = client.get(tournament.get_absolute_url()).content.decode()
    board = client.get(reverse("tournament-board", args=[tournament.pk])).content.decode()
    body = calls(ada).get(f"/api/v1/tournaments/{tournament.pk}").json()

    assert (
        "3 of 4 pairs have identical responses. They are ties by identity, not shown to voters and not in the votes."
        in page
    )
    assert "0 of 1 pair judged by" in page
    assert "3 of 4 pairs: ties by identity, not in the votes" in " ".join(board.split())
    assert (body["pairs"], body["identical"]) == (1, 3)


def test_board_excludes_verdicts_on_identical_answers(tournament: Tournament) -> None:
    helpful = rubric("helpfulness")
    add_judge_verdicts(tournament, helpful)
    assert Verdict.objects.comparing().count() == 4

    usual, with_ties = boards.save_board(tournament, helpful), boards.save_board(tournament, helpful, TIES)

    assert (usual.votes, usual.board["board"]["tally"]["tie_rate"]) == (1, 0)
    assert (with_ties.votes, with_ties.board["board"]["tally"]["tie_rate"]) == (4, 0.75)
    assert usual.board["identical"] == with_ties.board["identical"] == {"pairs": 3, "of": 4}
    votes = boards.votes_in(tournament, helpful, identical_as_ties=True)
    assert votes.annotators[-1] == IDENTITY
    assert votes.outcome.tolist() == [Outcome.A, *[Outcome.TIE] * 3]
    assert votes.features["length"][1:].tolist() == [0.0] * 3


def test_board_option_for_identical_answers_works_in_api(tournament: Tournament, ada: User) -> None:
    helpful, script = rubric("helpfulness"), calls(ada)
    add_judge_verdicts(tournament, helpful)
    path = f"/api/v1/tournaments/{tournament.pk}/board"
    assert TIES.query == "identical=tie"

    ordered = script.post(path, {"identical": "tie"}, content_type="application/json")
    boards.compute_due_boards()

    assert (ordered.status_code, ordered.json()["asked"]["identical"]) == (202, "tie")
    assert script.get(f"{path}?identical=tie").json()["votes"] == 4
    assert script.get(path).json()["votes"] == 1
    wrong = script.get(f"{path}?identical=maybe")
    assert wrong.status_code == 422
    assert "identical must be one of left-out, tie, not 'maybe'." in str(wrong.json())


def test_migration_detects_identical_answers_like_python(ada: User, experiment: Experiment) -> None:
    spaces = [chr(character) for character in range(1, 0x3001) if chr(character).isspace()]
    others = ["\u200b", "\ufeff", "x", "\x08"]
    answers = {
        "first run": ["same"] * len(spaces + others),
        "second run": [f"{character}same" for character in spaces + others],
    }
    tournament = make_comparisons(ada, experiment, answers)
    expected = dict(tournament.comparisons.values_list("pk", "is_identical"))
    tournament.comparisons.update(is_identical=False)

    with connection.cursor() as cursor:
        cursor.execute(migration.IDENTICAL, [migration.SPACE, migration.SPACE])

    assert dict(tournament.comparisons.values_list("pk", "is_identical")) == expected
    assert sum(expected.values()) == len(spaces)


def test_identity_remains_after_answers_are_removed(tournament: Tournament) -> None:
    assert all(
        are_identical(*(comparison.texts or ("", "", ""))[1:]) == comparison.is_identical
        for comparison in tournament.comparisons.all()
    )
    Response.objects.filter(run__name="first run").delete()

    assert Comparison.objects.filter(is_identical=True).count() == 3


def test_pages_omit_identity_without_identical_answers(ada: User, experiment: Experiment, client: Client) -> None:
    tournament = make_tournament(ada, experiment, prompts=2, contestants=2)
    boards.save_board(tournament, rubric("helpfulness"))
    client.force_login(ada)

    for address in (
        tournament.get_absolute_url(),
        reverse("tournament-board", args=[tournament.pk]),
        reverse("tournaments"),
    ):
        assert "ties by identity" not in client.get(address).content.decode()
