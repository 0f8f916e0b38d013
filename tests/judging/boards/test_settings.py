"""Settings of a board: initial rating, tie threshold, online Elo's K, seed and failures, alike in page and API."""

from __future__ import annotations

import json
import re
from importlib import import_module
from urllib.parse import parse_qsl

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from esweb.api import api
from judging.boards import DEFAULT_SETTINGS, BoardSettings, newest_snapshot, save_board, tasks, votes_in
from judging.boards.api import NewOrder
from judging.boards.forms import BoardSettingsForm
from judging.boards.settings import SETTINGS
from judging.models import Snapshot, Tournament, Verdict
from judging.stats import votes
from judging.stats.ratings import Elo, single_pass
from runs.models import Experiment
from tests.cases import each_case
from tests.judging.bulk_verdicts import cast, first_votes
from tests.judging.synthetic_votes import make_random_votes
from tests.judging.tournament_factory import make_tournament, rubric
from tests.runs.api_client import calls, paths

pytestmark = pytest.mark.django_db
OTHERWISE = BoardSettings(
    anchor="runner 1 · step 0 · eval", init=1500, threshold=1.5, k=4, shuffle=7, failed="left-out"
)
WRONG = {
    "init": ("-1", "init must be a number from 0 to 10000, not '-1'"),
    "threshold": ("much", "threshold must be a number from 0 to 100, not 'much'"),
    "k": ("0", "k must be a number from 0.1 to 1000, not '0'"),
    "shuffle": ("1.5", "shuffle must be a whole number from -1 to 2147483647, not '1.5'"),
    "failed": ("won", "failed must be one of tie, left-out, not 'won'"),
}


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    tournament = make_tournament(ada, experiment, prompts=12, contestants=4)
    cast(tournament, rubric("helpfulness"), first_votes(make_random_votes(150, contestants=4, prompts=12)))
    return tournament


def page_text(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_board_settings_round_trip_through_json_and_query() -> None:
    assert BoardSettings.parse(OTHERWISE.to_json()) == OTHERWISE
    assert OTHERWISE.query.endswith("init=1500&threshold=1.5&k=4&shuffle=7&failed=left-out")
    assert "threshold" not in DEFAULT_SETTINGS.to_json()
    assert BoardSettings.parse({"threshold": "0", "shuffle": "-1"}).elo.shuffle is None
    assert (
        BoardSettings.parse({"threshold": "0"}).threshold == 0
        and BoardSettings.parse({"threshold": ""}).threshold is None
    )


def test_stored_boards_keep_their_key() -> None:
    assert DEFAULT_SETTINGS.to_json() == {
        "whose": "all", "category": "", "ties": "half-win", "swap": "as-is", "unit": "prompt", "level": 0.95,
        "anchor": "", "prior": 0.0, "init": 1000.0, "k": 32.0, "shuffle": 123, "failed": "tie", "identical": "left-out",
    }  # fmt: skip
    assert BoardSettings.parse({"threshold": "0.5"}).to_json() == DEFAULT_SETTINGS.to_json() | {"threshold": 0.5}


def test_form_api_and_url_have_every_setting(ada: User, tournament: Tournament) -> None:
    form = BoardSettingsForm(tournament=tournament, rubric=rubric("helpfulness"), settings=DEFAULT_SETTINGS)
    assert [*form.fields] == [name for name in SETTINGS if name != "category"], "no prompt has a category"
    board = api.get_openapi_schema()["paths"]["/api/v1/tournaments/{pk}/board"]
    parameters = {parameter["name"]: parameter for parameter in board["get"]["parameters"]}
    assert [*parameters] == ["pk", "criterion", *SETTINGS]
    assert parameters["k"]["description"].endswith("Published tables use 32, or 4. From 0.1 to 1000.")
    assert [*NewOrder.model_fields] == ["criterion", *SETTINGS]
    assert BoardSettings.parse(NewOrder().dict()) == DEFAULT_SETTINGS
    odd = {name: next(iter(reversed(rule.choices)), "") or (rule.bounds or [""])[0] for name, rule in SETTINGS.items()}
    other = BoardSettings.parse(odd)
    assert BoardSettings.parse(dict(parse_qsl(other.query))) == other


@each_case("name", WRONG)
def test_invalid_board_setting_is_answered_with_valid_range(
    ada: User, ada_client: Client, tournament: Tournament, name: str
) -> None:
    value, sentence = WRONG[name]
    at = f"{tournament.get_absolute_url()}board/?{name}={value}"

    assert sentence in page_text(ada_client.get(at).content.decode()).replace("&#x27;", "'")
    refused = calls(ada).get(f"/api/v1/tournaments/{tournament.pk}/board?{name}={value}")
    assert refused.status_code == 422 and sentence in paths(refused)[""]
    again = ada_client.post(f"{tournament.get_absolute_url()}board/order/", BoardSettings().to_json() | {name: value})
    assert again.status_code == 400 and "field-problems" in again.content.decode()


def test_board_uses_ordered_elo_settings_and_anchor(tournament: Tournament) -> None:
    Verdict.objects.filter(pk=Verdict.objects.earliest("pk").pk).update(outcome="refused")

    saved_board = save_board(tournament, rubric("helpfulness"), OTHERWISE).board

    votes = votes_in(tournament, rubric("helpfulness"))
    anchor = votes.contestants.index(OTHERWISE.anchor)
    elo = Elo(k=4, init=1500, shuffle=7, missing_as_tie=False)
    assert saved_board["online_elo"]["single"] == pytest.approx(single_pass(votes, elo, anchor).tolist(), abs=1e-9)
    anchored = {standing["contestant"]: standing["anchored"]["value"] for standing in saved_board["board"]["standings"]}
    assert anchored[OTHERWISE.anchor] == saved_board["online_elo"]["single"][anchor] == 1500


def test_tie_threshold_changes_only_scored_outcomes(tournament: Tournament) -> None:
    rows = list(Verdict.objects.order_by("pk")[:4])
    for row, outcome, scores in zip(
        rows, ("a", "tie", "both_bad", "a"), ((5, 4), (3, 4.25), (1, 9), (None, 2)), strict=True
    ):
        Verdict.objects.filter(pk=row.pk).update(outcome=outcome, score_a=scores[0], score_b=scores[1])

    def outcomes(threshold: float | None) -> list[str]:
        selected = votes_in(tournament, rubric("helpfulness"), tie_threshold=threshold)
        return [votes.Outcome(outcome).name for outcome in selected.outcome[:4]]

    assert outcomes(None) == ["A", "TIE", "BOTH_BAD", "A"]
    assert outcomes(1.0) == ["TIE", "B", "BOTH_BAD", "A"]
    assert outcomes(1.25) == ["TIE", "TIE", "BOTH_BAD", "A"]


def test_form_and_api_order_same_board_settings(
    ada: User, ada_client: Client, tournament: Tournament, monkeypatch: pytest.MonkeyPatch
) -> None:
    save_board(tournament, rubric("helpfulness"))
    monkeypatch.setattr(tasks.update_boards, "delay", tasks.update_boards)

    answer = ada_client.post(f"{tournament.get_absolute_url()}board/order/", OTHERWISE.to_json())

    text = page_text(ada_client.get(answer["Location"]).content.decode())
    for sentence in ("with runner 1 · step 0 · eval at 1500", "The mean is 1500.", "K = 4",
                     "shuffled with seed 7. All contestants start at 1500", "differ by at most 1.5 are a tie",
                     "From 0.1 to 1000."):  # fmt: skip
        assert sentence in text, sentence
    body = json.dumps(OTHERWISE.to_json() | {"anchor": "", "shuffle": -1})
    address = f"/api/v1/tournaments/{tournament.pk}/board"
    accepted = calls(ada).post(address, body, content_type="application/json")
    assert accepted.status_code == 202
    tasks.update_boards()
    fetched = calls(ada).get(f"{address}?init=1500&threshold=1.5&k=4&shuffle=-1&failed=left-out").json()
    assert fetched["asked"] == accepted.json()["asked"]
    assert fetched["board"]["online_elo"]["elo"]["shuffle"] is None


def test_migration_completes_settings_of_older_snapshots(tournament: Tournament) -> None:
    usual, other = (
        save_board(tournament, rubric("helpfulness")),
        save_board(tournament, rubric("helpfulness"), BoardSettings(ties="davidson")),
    )
    for snapshot in (usual, other):
        short = {
            name: snapshot.asked[name] for name in snapshot.asked if name not in ("init", "k", "shuffle", "failed")
        }
        Snapshot.objects.filter(pk=snapshot.pk).update(asked=short)
    assert newest_snapshot(tournament, rubric("helpfulness")) is None

    migration = import_module("judging.migrations.0010_boards_say_more_of_how").Migration
    with connection.cursor() as cursor:
        for operation in migration.operations:
            cursor.execute(operation.sql)

    assert newest_snapshot(tournament, rubric("helpfulness")) == usual
    assert newest_snapshot(tournament, rubric("helpfulness"), BoardSettings(ties="davidson")) == other
