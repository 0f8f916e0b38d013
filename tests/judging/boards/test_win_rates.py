"""Contestants without a rating: their win rate with its interval, on the page, in files and in sentences."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from statsmodels.stats.proportion import proportion_confint  # type: ignore[import-untyped]

from judging.boards import save_board
from judging.boards.leaders import leader_sentence
from judging.boards.win_rates import add_win_rates, win_rate
from judging.models import Snapshot, Tournament
from judging.stats.votes import Outcome
from runs.models import Experiment
from tests.cases import each_case
from tests.judging.bulk_verdicts import cast
from tests.judging.synthetic_votes import make_game_votes
from tests.judging.tournament_factory import make_tournament, rubric

pytestmark = pytest.mark.django_db
FIRST, SECOND = (f"runner {k} · step 0 · eval" for k in range(2))


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    return make_tournament(ada, experiment, prompts=24, contestants=2)


def save_one_sided_board(tournament: Tournament, *outcomes: Outcome) -> Snapshot:
    cast(tournament, rubric("helpfulness"), make_game_votes(("a", "b"), *[(0, 1, outcome) for outcome in outcomes]))
    return save_board(tournament, rubric("helpfulness"))


def page_text(client: Client, snapshot: Snapshot) -> str:
    html = client.get(reverse("tournament-board", args=[snapshot.tournament_id])).content.decode()
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def file_of(client: Client, snapshot: Snapshot, form: str) -> str:
    address = reverse("tournament-board-file", args=[snapshot.tournament_id])
    return client.get(address, {"as": form, "table": "standings"}).content.decode()


@each_case(("wins", "ties", "votes"), [(12, 0, 12), (0, 0, 5), (3, 2, 9), (1, 0, 1), (0.5, 0, 1.5)])
def test_win_rate_has_wilsons_interval(wins: float, ties: float, votes: float) -> None:
    rate = win_rate({"wins": wins, "ties": ties, "losses": votes - wins - ties, "votes": votes}, level=0.9)
    assert rate is not None
    low, high = proportion_confint(wins + ties / 2, votes, alpha=0.1, method="wilson")
    assert (rate.value, rate.low, rate.high) == pytest.approx(((wins + ties / 2) / votes, low, high), abs=1e-12)
    assert 0 <= rate.low <= rate.high <= 1


def test_contestant_without_votes_has_no_win_rate() -> None:
    assert win_rate({"wins": 0, "ties": 0, "losses": 0, "votes": 0}, level=0.95) is None


def test_board_of_a_one_sided_result_shows_win_rates_and_no_rating(ada_client: Client, tournament: Tournament) -> None:
    text = page_text(ada_client, save_one_sided_board(tournament, *[Outcome.A] * 12))
    standings = text.partition(" Standings ")[2].partition("Hash of this leaderboard")[0]
    assert f"1. {FIRST} 100 % 76–100 % of 12 12 12 0 0" in standings
    assert f"2. {SECOND} 0 % 0–24 % of 12 12 0 12 0" in standings
    assert "Wilson interval" in standings and "No rating fits these votes" in standings
    assert "Collect more votes" in standings
    assert "Rating" not in standings.partition("No rating")[0] and " – " not in standings


def test_board_with_ratings_has_no_column_of_win_rates(ada_client: Client, tournament: Tournament) -> None:
    snapshot = save_one_sided_board(tournament, *[Outcome.A] * 12, Outcome.B)
    assert "Win rate" not in page_text(ada_client, snapshot)
    assert "Win rate" not in file_of(ada_client, snapshot, "latex")


def test_files_of_a_one_sided_result_have_win_rates(ada_client: Client, tournament: Tournament) -> None:
    snapshot = save_one_sided_board(tournament, *[Outcome.A] * 12)
    first, second = csv.DictReader(io.StringIO(file_of(ada_client, snapshot, "csv")))
    assert (first["rating value"], float(first["win rate value"]), float(second["win rate value"])) == ("", 1, 0)
    assert float(first["win rate low"]) == pytest.approx(1 - float(second["win rate high"]))
    latex = file_of(ada_client, snapshot, "latex")
    assert "Win rate" in latex and "n = 12" in latex and "Wilson interval" in latex
    assert [rate["value"] for rate in add_win_rates(snapshot.board)["win_rates"]] == [1, 0]


@each_case(
    ("outcomes", "sentence"),
    [
        ([Outcome.B] * 12, f"{SECOND} won all of its 12 votes: win rate 100\u202f% (76–100\u202f%), no rating yet."),
        ([Outcome.A] * 3, f"Nothing is decided: {FIRST} won all of its 3 votes (win rate 100\u202f%, 44–100\u202f%)."),
        ([Outcome.A], f"Nothing is decided: {FIRST} won its only vote (win rate 100\u202f%, 21–100\u202f%)."),
    ],
)
def test_sentence_names_the_contestant_that_won_all_votes(
    tournament: Tournament, outcomes: list[Outcome], sentence: str
) -> None:
    assert leader_sentence(save_one_sided_board(tournament, *outcomes).board["board"]["standings"]) == sentence


def standing(
    name: str, rating: float, ranks: tuple[int, int], after: tuple[str, float, float] | None
) -> dict[str, Any]:
    """Return a row of standings. after: the next contestant, and the interval of the lead over it."""
    lead = after and {"of": after[0], "by": {"value": (after[1] + after[2]) / 2, "low": after[1], "high": after[2]}}
    rating_range = {"value": rating, "low": rating - 50, "high": rating + 50}
    record = {"votes": 10, "wins": 5, "losses": 5, "ties": 0}
    return {
        "contestant": name, "group": 1, "rating": rating_range, "rank_range": list(ranks), "ahead": lead,
        "record": record,
    }  # fmt: skip


@each_case(
    ("rows", "sentence"),
    [
        ([("a", 1, 1, 10, 90), ("b", 2, 2, 1, 9), ("c", 3, 3)], "a leads at 1100, 1050 … 1150."),
        (
            [("a", 1, 2, -10, 90), ("b", 1, 2, 5, 90), ("c", 3, 3)],
            "The lead is not decided: a is first, and its lead over b may be −10 … +90.",
        ),
        (
            [("a", 1, 3, 10, 90), ("b", 2, 3, -5, 90), ("c", 1, 3)],
            "The lead is not decided: a is ahead of b, but its rank may be 1–3.",
        ),
        (
            [("a", 1, 3, -10, 90), ("b", 1, 3, -5, 90), ("c", 1, 3)],
            "Nothing is decided: a is first, and its lead over b may be −10 … +90.",
        ),
    ],
)
def test_nothing_is_decided_only_if_no_pair_is(rows: list[tuple[Any, ...]], sentence: str) -> None:
    names = [row[0] for row in rows] + [None]
    standings = [
        standing(name, 1100 - 50 * k, (best, worst), (names[k + 1], *lead) if lead else None)
        for k, (name, best, worst, *lead) in enumerate(rows)
    ]

    assert leader_sentence(standings) == sentence
