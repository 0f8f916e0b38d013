"""Tables of a leaderboard as files: CSV with every digit, LaTeX with whole Elo points and intervals."""

from __future__ import annotations

import csv
import io
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoDbBlocker

from judging.boards import save_board
from judging.models import ChosenPrompt, Snapshot, Tournament
from runs.models import Experiment
from tests.cases import each_case
from tests.conftest import person
from tests.judging.bulk_verdicts import cast, first_votes
from tests.judging.synthetic_votes import make_random_votes
from tests.judging.tournament_factory import make_tournament, rubric

pytestmark = pytest.mark.django_db
TABLES = ("standings", "pairs", "wins", "categories", "controlled", "online")


@pytest.fixture(scope="module")
def saved(shared_rows: DjangoDbBlocker) -> Snapshot:
    """Compute Ada's board once: the tests only read it."""
    with shared_rows.unblock():
        ada = person("ada")
        experiment = Experiment.objects.create(name="Concise", owner=ada)
        tournament = make_tournament(ada, experiment, prompts=12, contestants=4)
        ChosenPrompt.objects.filter(tournament=tournament).update(categories=["maths"])
        cast(tournament, rubric("helpfulness"), first_votes(make_random_votes(150, contestants=4, prompts=12)))
        return save_board(tournament, rubric("helpfulness"))


@pytest.fixture
def ada(db: None, saved: Snapshot) -> User:
    return User.objects.get(username="ada")


@pytest.fixture
def snapshot(db: None, saved: Snapshot) -> Snapshot:
    return Snapshot.objects.get(pk=saved.pk)


def file_of(client: Client, tournament: Tournament, form: str, table: str) -> str:
    reply = client.get(reverse("tournament-board-file", args=[tournament.pk]), {"as": form, "table": table})
    assert reply.status_code == 200, reply.content
    return reply.content.decode()


def body(text: str) -> list[str]:
    return text.partition("\\midrule\n")[2].partition("\\bottomrule")[0].splitlines()


def test_latex_of_standings_shows_the_columns_of_the_page(ada_client: Client, snapshot: Snapshot) -> None:
    text = file_of(ada_client, snapshot.tournament, "latex", "standings")
    first: dict[str, Any] = snapshot.board["board"]["standings"][0]
    rating, by, record = first["rating"], first["ahead"]["by"], first["record"]
    low, high = first["rank_range"]
    numbers = [
        f"${rating['value']:,.0f}$ $[{rating['low']:,.0f}, {rating['high']:,.0f}]$".replace(",", r"\,").replace(
            r"\, ", ", "
        ),
        f"{low}" if low == high else f"{low}--{high}",
        f"{100 * first['p_first']:.1f}\\,\\%",
        f"${by['value']:.0f}$ $[{by['low']:.0f}, {by['high']:.0f}]$",
        *(f"${record[key]:.0f}$" for key in ("votes", "wins", "losses", "ties")),
    ]
    heads = "Rating & Rank & Probability of being best & Ahead of the next by & Votes & Won & Lost & Tied"
    assert f"Contestant & {heads} \\\\" in text
    assert body(text)[0] == " & ".join([first["contestant"], *numbers]) + r" \\"


def test_latex_states_n_estimator_and_origin(ada_client: Client, snapshot: Snapshot) -> None:
    text = file_of(ada_client, snapshot.tournament, "latex", "standings")
    tally = snapshot.board["board"]["tally"]
    assert f"% Leaderboard of {snapshot.tournament.name}: helpfulness v1\n" in text
    assert f"% n = {tally['counted']} of {tally['votes']} verdicts on 12 prompts by 3 voters and judges\n" in text
    assert "% Bradley-Terry strengths on the Elo scale, ties as half wins; mean 1000; prior 0\n" in text
    student = "95 % intervals: Student's t, standard errors clustered by prompt (CR3)"
    assert f"% {student}; ranks from 1000 resamples by prompt, seed 0\n" in text
    assert f"% {student}\n" in file_of(ada_client, snapshot.tournament, "latex", "categories")
    assert f"hash {snapshot.digest}\n" in text


@each_case(
    ("table", "rows", "heads"),
    [
        ("pairs", 6, "Contestant & over & Difference, Elo & Won & Games"),
        ("wins", 4, "Contestant & 1 & 2 & 3 & 4"),
        ("categories", 4, "Category & Prompts & Contestant & Rating & Votes"),
        ("controlled", 4, "contestant & rating & controlled & change"),
        ("online", 4, "contestant & single & orders & orders spread"),
    ],
)
def test_latex_of_other_tables_has_all_rows(
    ada_client: Client, snapshot: Snapshot, table: str, rows: int, heads: str
) -> None:
    text = file_of(ada_client, snapshot.tournament, "latex", table)
    assert f"{heads} \\\\\n" in text and len(body(text)) == rows


def test_files_of_categories_are_empty_without_categories(ada_client: Client, snapshot: Snapshot) -> None:
    Snapshot.objects.filter(pk=snapshot.pk).update(board=snapshot.board | {"categories": None})
    assert len(file_of(ada_client, snapshot.tournament, "csv", "categories").splitlines()) == 1
    assert body(file_of(ada_client, snapshot.tournament, "latex", "categories")) == []


def test_csv_of_other_estimates_has_every_digit(ada_client: Client, snapshot: Snapshot) -> None:
    text = file_of(ada_client, snapshot.tournament, "csv", "online")
    rows = list(csv.DictReader(io.StringIO(text)))
    online = snapshot.board["online_elo"]
    best = max(range(4), key=lambda k: online["single"][k])
    assert rows[0] == {
        "contestant": snapshot.board["contestants"][best], "single": str(online["single"][best]),
        "orders mean": str(online["orders"]["mean"][best]), "orders std": str(online["orders"]["sd"][best]),
        "orders spread": str(online["orders"]["spread"][best]),
    }  # fmt: skip
    controlled = list(csv.reader(io.StringIO(file_of(ada_client, snapshot.tournament, "csv", "controlled"))))
    assert controlled[0] == ["contestant", "rating", "controlled mean", "controlled se", "change"]
    assert float(controlled[1][1]) == snapshot.board["board"]["standings"][0]["rating"]["value"]


def test_page_links_to_files_of_every_table(ada_client: Client, snapshot: Snapshot) -> None:
    page = ada_client.get(reverse("tournament-board", args=[snapshot.tournament.pk])).content.decode()
    for form in ("csv", "latex"):
        assert f'criterion=helpfulness&amp;as={form}" download' in page
        for table in TABLES[1:]:
            assert f"as={form}&amp;table={table}" in page


def test_files_of_an_invisible_tournament_are_not_found(bo_client: Client, snapshot: Snapshot) -> None:
    Tournament.objects.filter(pk=snapshot.tournament.pk).update(is_private=True)
    for form in ("csv", "latex"):
        for table in TABLES:
            address = reverse("tournament-board-file", args=[snapshot.tournament.pk])
            assert bo_client.get(address, {"as": form, "table": table}).status_code == 404


@pytest.mark.parametrize(
    ("query", "words"),
    [({"as": "pdf"}, "as must be one of json, csv, latex"), ({"as": "latex", "table": "x"}, "table must be one of")],
)
def test_unknown_file_of_a_leaderboard_is_refused(
    ada_client: Client, snapshot: Snapshot, query: dict[str, str], words: str
) -> None:
    reply = ada_client.get(reverse("tournament-board-file", args=[snapshot.tournament.pk]), query)
    assert reply.status_code == 404 and words in reply.content.decode()
