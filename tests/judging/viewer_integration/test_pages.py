"""The run's page shows its rank on boards, the home page open tournaments; or nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from statsmodels.stats.proportion import proportion_confint

from judging import boards, judge_runs, judges
from judging.boards.win_rates import standing_win_rate
from judging.models import Tournament
from judging.tournaments import Entry, create_tournament
from judging.tournaments.commands import move_to_trash
from runs.models import Experiment, Run
from tests.judging.tournament_factory import answered_run, make_tournament, rubric

pytestmark = pytest.mark.django_db
WORDS = ("brief", "a little longer than that", "so long that it says many many more words than anybody ever asked for")


def judged_tournament(owner: User, experiment: Experiment, name: str, **settings: object) -> Tournament:
    """Create a tournament of three runs, the first the briefest in most answers, judged by rules."""
    runs = [
        answered_run(experiment, f"{name} {k}", [f"{WORDS[(k + n // 5) % 3]} {n}." for n in range(12)])
        for k in range(3)
    ]
    entries = [Entry(run, 0, "eval") for run in runs]
    new = Tournament(owner=owner, name=name, **settings)
    tournament = create_tournament(new, entries, [rubric("helpfulness")], prompts=12)
    judge_runs.judge_all(tournament, judges.rules_judge())
    return tournament


def ratings_html(client: Client, run: Run | None) -> str:
    """Return the ratings that the run's page fetches; empty if there are none."""
    assert run is not None
    return client.get(reverse("run-ratings", args=[run.uid])).content.decode()


def test_run_page_shows_rating_and_interval(ada_client: Client, ada: User, experiment: Experiment) -> None:
    tournament = judged_tournament(ada, experiment, "Which is brief?")
    first = tournament.contestants.get(place=0)
    assert "no leaderboard yet" in ratings_html(ada_client, first.run)
    snapshot = boards.save_board(tournament, tournament.rubrics.get())
    standing = next(row for row in snapshot.board["board"]["standings"] if row["contestant"] == first.name)
    page = ratings_html(ada_client, first.run)
    assert f"<strong>{standing['rating']['value']:.0f}</strong>" in page
    assert f"{standing['rating']['low']:.0f} … {standing['rating']['high']:.0f}" in " ".join(page.split())
    assert f"{reverse('tournament-board', args=[tournament.pk])}?criterion=helpfulness" in page
    assert "helpfulness v1" in page and " of 3" in page and ">48<" in page


def test_files_of_ratings_have_interval_rank_and_votes(ada_client: Client, ada: User, experiment: Experiment) -> None:
    tournament = judged_tournament(ada, experiment, "Which is brief?")
    snapshot = boards.save_board(tournament, tournament.rubrics.get())
    first = tournament.contestants.get(place=0)
    standing = next(row for row in snapshot.board["board"]["standings"] if row["contestant"] == first.name)
    rating, (low, high) = standing["rating"], standing["rank_range"]
    address = reverse("run-ratings-table", args=[first.run.uid])  # type: ignore[union-attr]

    row = ada_client.get(address, {"as": "csv"}).content.decode().splitlines()[1]
    won = standing_win_rate(snapshot.board, standing)
    assert won is not None
    numbers = [rating["value"], rating["low"], rating["high"], low, high, 3, standing["record"]["votes"]]
    numbers += [won.value, won.low, won.high]
    assert row == ",".join(["Which is brief?", str(tournament.pk), "0", "helpfulness", *map(str, numbers)])
    text = ada_client.get(address, {"as": "latex"}).content.decode()
    assert "Leaderboard & Step & Criterion & Rating & Rank & Votes \\\\" in text
    assert f"Which is brief? & $0$ & helpfulness v1 & ${format_digits(rating['value'])}$ $[" in text
    assert f"% tournament {tournament.pk}: n = {snapshot.votes} verdicts, hash {snapshot.digest}" in text
    page = ratings_html(ada_client, first.run)
    assert f'{address}?as=csv" download' in page and f'{address}?as=latex" download' in page


def format_digits(points: float) -> str:
    return f"{points:,.0f}".replace(",", r"\,")


def test_run_page_shows_win_rate_for_undefined_rating(ada_client: Client, ada: User, experiment: Experiment) -> None:
    runs = [answered_run(experiment, str(k), [f"{word} {n}." for n in range(3)]) for k, word in enumerate(WORDS[::2])]
    entries = [Entry(run, 0, "eval") for run in runs]
    tournament = create_tournament(
        Tournament(owner=ada, name="One always wins"), entries, [rubric("helpfulness")], prompts=3
    )
    judge_runs.judge_all(tournament, judges.rules_judge())
    boards.save_board(tournament, tournament.rubrics.get())
    text = " ".join(re.sub(r"<[^>]+>", " ", ratings_html(ada_client, runs[0])).split())
    low, _ = proportion_confint(6, 6, method="wilson")
    assert f"win rate 100 % {100 * low:.0f}–100 % of 6" in text
    assert "95 % Wilson interval" in text and "no rating" not in text
    address = reverse("run-ratings-table", args=[runs[0].uid])
    csv_row = ada_client.get(address, {"as": "csv"}).content.decode().splitlines()[1].split(",")
    assert list(map(float, csv_row[-4:])) == pytest.approx([6, 1, low, 1])
    latex = ada_client.get(address, {"as": "latex"}).content.decode()
    assert "Votes & Win rate" in latex and "n = 6" in latex


def test_run_page_states_that_a_contestant_without_votes_has_no_rating(
    ada_client: Client, ada: User, experiment: Experiment
) -> None:
    tournament = make_tournament(ada, experiment, contestants=2)
    boards.save_board(tournament, tournament.rubrics.all()[0])
    text = ratings_html(ada_client, tournament.contestants.get(place=0).run)
    assert "no rating: see the leaderboard for the reason" in text and "Wilson" not in text


def test_run_page_hides_ratings_of_invisible_tournaments(
    ada_client: Client, bo_client: Client, ada: User, experiment: Experiment, private_experiment: Experiment
) -> None:
    hidden = judged_tournament(ada, experiment, "Mine", is_private=True)
    run = hidden.contestants.get(place=0).run
    assert "Mine" in ratings_html(ada_client, run)
    assert bo_client.get(reverse("run-ratings", args=[run.uid])).status_code == 204  # type: ignore[union-attr]
    file = bo_client.get(reverse("run-ratings-table", args=[run.uid]))  # type: ignore[union-attr]
    assert len(file.content.decode().splitlines()) == 1
    move_to_trash(hidden, ada)
    assert ratings_html(ada_client, run) == ""
    secret = answered_run(private_experiment, "secret", ["x"])
    assert bo_client.get(reverse("run-ratings", args=[secret.uid])).status_code == 404
    assert bo_client.get(reverse("run-ratings-table", args=[secret.uid])).status_code == 404


def test_run_ratings_query_count_is_constant(ada_client: Client, ada: User, experiment: Experiment) -> None:
    tournament = judged_tournament(ada, experiment, "First")
    run = tournament.contestants.get(place=0).run
    assert run is not None
    counts = []
    for n in range(2):
        with CaptureQueriesContext(connection) as queries:
            assert ratings_html(ada_client, run).count("<tr>") == 2 + 3 * n
        counts.append(len(queries))
        other = tournament.contestants.get(place=1).run
        assert other is not None
        for k in range(3):
            entries = [Entry(run, 0, "eval"), Entry(other, 0, "eval")]
            again = create_tournament(Tournament(owner=ada, name=f"Again {k}"), entries, [rubric("helpfulness")], 2)
            boards.save_board(again, again.rubrics.get())
    assert counts[0] == counts[1]


def test_home_page_lists_open_tournaments(
    ada_client: Client, bo_client: Client, ada: User, experiment: Experiment, runs_dir: Path
) -> None:
    assert ada_client.get(reverse("judging-news")).status_code == 204
    tournament = make_tournament(ada, experiment, name="Whose?", is_private=True)
    page = ada_client.get(reverse("judging-news")).content.decode()
    assert tournament.get_absolute_url() in page and reverse("vote", args=[tournament.pk]) in page
    assert bo_client.get(reverse("judging-news")).status_code == 204
    assert f'hx-get="{reverse("judging-news")}"' in ada_client.get(reverse("home")).content.decode()
