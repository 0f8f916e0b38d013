"""A board says how it is made: initial rating, tie threshold, online Elo's K, seed and failures, alike everywhere."""

from __future__ import annotations

import json
import re
from importlib import import_module

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from judging.boards import USUAL, BoardSettings, board_of, keep, tasks, votes_in
from judging.models import Snapshot, Tournament, Verdict
from judging.stats import votes
from judging.stats.ratings import Elo, single_pass
from runs.models import Experiment
from tests.judging.bulk_verdicts import cast, once
from tests.judging.synthetic_votes import invented
from tests.judging.tournament_factory import held, rubric
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
    made = held(ada, experiment, prompts=12, contestants=4)
    cast(made, rubric("helpfulness"), once(invented(150, contestants=4, prompts=12)))
    return made


def words(html: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", html))


def test_what_was_asked_is_said_in_addresses_and_snapshots_and_read_back() -> None:
    assert BoardSettings.of(OTHERWISE.to_json()) == OTHERWISE
    assert OTHERWISE.query.endswith("init=1500&threshold=1.5&k=4&shuffle=7&failed=left-out")
    assert "threshold" not in USUAL.to_json()
    assert BoardSettings.of({"threshold": "0", "shuffle": "-1"}).elo.shuffle is None
    assert BoardSettings.of({"threshold": "0"}).threshold == 0 and BoardSettings.of({"threshold": ""}).threshold is None


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_one_gets_a_sentence_with_what_is_valid(
    ada: User, ada_client: Client, tournament: Tournament, name: str
) -> None:
    value, sentence = WRONG[name]
    at = f"{tournament.get_absolute_url()}board/?{name}={value}"

    assert sentence in words(ada_client.get(at).content.decode()).replace("&#x27;", "'")
    refused = calls(ada).get(f"/api/v1/tournaments/{tournament.pk}/board?{name}={value}")
    assert refused.status_code == 422 and sentence in paths(refused)[""]
    again = ada_client.post(f"{tournament.get_absolute_url()}board/order/", BoardSettings().to_json() | {name: value})
    assert again.status_code == 400 and "field-problems" in again.content.decode()


def test_online_elo_and_the_anchor_are_as_asked(tournament: Tournament) -> None:
    Verdict.objects.filter(pk=Verdict.objects.earliest("pk").pk).update(outcome="refused")

    said = keep(tournament, rubric("helpfulness"), OTHERWISE).board

    votes = votes_in(tournament, rubric("helpfulness"))
    anchor = votes.contestants.index(OTHERWISE.anchor)
    elo = Elo(k=4, init=1500, shuffle=7, missing_as_tie=False)
    assert said["online_elo"]["single"] == pytest.approx(single_pass(votes, elo, anchor).tolist(), abs=1e-9)
    anchored = {one["contestant"]: one["anchored"]["value"] for one in said["board"]["standings"]}
    assert anchored[OTHERWISE.anchor] == said["online_elo"]["single"][anchor] == 1500


def test_scores_decide_by_the_threshold_and_nothing_else_is_touched(tournament: Tournament) -> None:
    rows = list(Verdict.objects.order_by("pk")[:4])
    for row, outcome, scores in zip(
        rows, ("a", "tie", "both_bad", "a"), ((5, 4), (3, 4.25), (1, 9), (None, 2)), strict=True
    ):
        Verdict.objects.filter(pk=row.pk).update(outcome=outcome, score_a=scores[0], score_b=scores[1])

    def said(threshold: float | None) -> list[str]:
        found = votes_in(tournament, rubric("helpfulness"), tie_threshold=threshold)
        return [votes.Outcome(one).name for one in found.outcome[:4]]

    assert said(None) == ["A", "TIE", "BOTH_BAD", "A"]
    assert said(1.0) == ["TIE", "B", "BOTH_BAD", "A"]
    assert said(1.25) == ["TIE", "TIE", "BOTH_BAD", "A"]


def test_form_and_api_order_it_and_the_page_says_it(
    ada: User, ada_client: Client, tournament: Tournament, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(tournament, rubric("helpfulness"))
    monkeypatch.setattr(tasks.keep_boards, "delay", tasks.keep_boards)

    answer = ada_client.post(f"{tournament.get_absolute_url()}board/order/", OTHERWISE.to_json())

    said = words(ada_client.get(answer["Location"]).content.decode())
    for sentence in ("with runner 1 · step 0 · eval at 1500", "The mean stands at 1500.", "K = 4",
                     "shuffled with seed 7, everybody beginning at 1500", "differ by no more than 1.5 are a tie",
                     "From 0.1 to 1000."):  # fmt: skip
        assert sentence in said, sentence
    body = json.dumps(OTHERWISE.to_json() | {"anchor": "", "shuffle": -1})
    address = f"/api/v1/tournaments/{tournament.pk}/board"
    made = calls(ada).post(address, body, content_type="application/json")
    assert made.status_code == 202
    tasks.keep_boards()
    told = calls(ada).get(f"{address}?init=1500&threshold=1.5&k=4&shuffle=-1&failed=left-out").json()
    assert told["asked"] == made.json()["asked"]
    assert told["board"]["online_elo"]["elo"]["shuffle"] is None


def test_boards_that_were_kept_before_it_could_be_said_are_found_again(tournament: Tournament) -> None:
    kept, other = (
        keep(tournament, rubric("helpfulness")),
        keep(tournament, rubric("helpfulness"), BoardSettings(ties="davidson")),
    )
    for one in (kept, other):
        short = {name: one.asked[name] for name in one.asked if name not in ("init", "k", "shuffle", "failed")}
        Snapshot.objects.filter(pk=one.pk).update(asked=short)
    assert board_of(tournament, rubric("helpfulness")) is None

    migration = import_module("judging.migrations.0010_boards_say_more_of_how").Migration
    with connection.cursor() as cursor:
        for operation in migration.operations:
            cursor.execute(operation.sql)

    assert board_of(tournament, rubric("helpfulness")) == kept
    assert board_of(tournament, rubric("helpfulness"), BoardSettings(ties="davidson")) == other
