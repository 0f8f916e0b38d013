"""The panels page: its contents for known votes, its visibility, how often it is computed, and its links."""

from __future__ import annotations

import re

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.http import HttpResponse
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from judging.boards import panels
from judging.boards.panels import views as view
from judging.boards.panels.tables import policies_context
from judging.boards.panels.tasks import work_out_panels
from judging.models import Contestant, Judge, Rubric, Tournament, Verdict, Voter
from runs.models import Experiment, Response, Score
from tests.judging.bulk_verdicts import add_judge_verdicts, cast, comparisons, first_votes
from tests.judging.synthetic_votes import make_random_votes
from tests.judging.tournament_factory import make_tournament, rubric

pytestmark = pytest.mark.django_db


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    return make_tournament(ada, experiment, prompts=6, contestants=3)


@pytest.fixture
def helpful(tournament: Tournament) -> Rubric:
    return rubric("helpfulness")


@pytest.fixture
def voted(tournament: Tournament, helpful: Rubric) -> Tournament:
    """Return the tournament with votes of two people and the rules judge; the first contestant has all rewards."""
    cast(tournament, helpful, first_votes(make_random_votes(120, contestants=3, prompts=6, annotators=2)))
    add_judge_verdicts(tournament, helpful)
    first = tournament.contestants.order_by("place")[0].run
    Response.objects.filter(run=first).update(reward=1.0)
    return tournament


def page(client: Client, tournament: Tournament, **query: object) -> HttpResponse:
    answer = client.get(reverse("tournament-panels", args=[tournament.pk]), query)
    assert answer.status_code == 200
    return answer


def page_text(answer: HttpResponse) -> str:
    text = re.sub(r"<[^>]+>", " ", answer.content.decode()).replace("&#x27;", "'")
    return " ".join(text.split())


def test_panels_page_shows_votes_and_agreement(ada_client: Client, voted: Tournament, helpful: Rubric) -> None:
    text = page_text(page(ada_client, voted))
    saved = panels.stored_panels(voted, helpful)
    assert saved is not None and saved.is_current
    numbers = saved.panels
    assert f"{numbers['votes']} votes by" in text
    share = numbers["position"]["rows"][0]["share"]["value"]
    assert f"all judges {numbers['votes']} {100 * share:.1f} %" in text
    assert "Half a win" not in text and "A tie is half a win for each" in text and "Davidson" in text
    assert "reward and judges prefer the same response in" in text
    assert "n/a: there is no item that both judged" in text


def test_panels_page_serves_json(ada_client: Client, voted: Tournament) -> None:
    body = page(ada_client, voted, **{"as": "json"}).json()
    assert body["criterion"] == "helpfulness" and body["is_current"]
    assert {"position", "policies", "ties", "length", "agreement", "scorers", "contested"} <= set(body["panels"])
    scorer = body["panels"]["scorers"][0]
    assert scorer["name"] == "reward" and scorer["contestants"][0]["said"]["value"] == 1.0


def test_later_scorer_is_listed_with_own_reward(ada_client: Client, voted: Tournament) -> None:
    first = voted.contestants.order_by("place")[0].run
    answers = Response.objects.filter(run__in=voted.contestants.values("run"))
    page(ada_client, voted)
    Score.objects.bulk_create(
        Score(response=response, scorer="later", key="cost", value=float(response.run_id == first.pk))
        for response in answers
    )
    text = page_text(page(ada_client, voted, scorer="later: -cost", contested="scorer"))
    assert "later: -cost and judges prefer the same response in" in text
    numbers = page(ada_client, voted, **{"as": "json"}).json()["panels"]["scorers"]
    # The dearest is the first: by cost it should win nothing, by its own reward everything.
    assert [scorer["contestants"][0]["said"]["value"] for scorer in numbers] == [1.0, 0.0]


def test_panels_are_recomputed_only_after_verdicts_change(
    ada_client: Client, voted: Tournament, helpful: Rubric
) -> None:
    page(ada_client, voted)
    first = panels.stored_panels(voted, helpful)
    page(ada_client, voted)
    assert first is not None and panels.stored_panels(voted, helpful) == first
    voter = voted.voters.first()
    assert voter is not None
    Verdict.objects.filter(voter=voter).first().delete()  # type: ignore[union-attr]
    stale = panels.stored_panels(voted, helpful)
    assert stale is not None and not stale.is_current and stale.panels == first.panels
    page(ada_client, voted)
    newest = panels.stored_panels(voted, helpful)
    assert newest is not None and newest.is_current
    assert newest.panels["votes"] == first.panels["votes"] - 1


def test_panels_of_many_votes_are_computed_by_job(
    ada_client: Client, voted: Tournament, helpful: Rubric, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[int, int]] = []
    monkeypatch.setattr(view, "MAX_VERDICTS_IN_REQUEST", 10)
    monkeypatch.setattr(work_out_panels, "delay", lambda *args: calls.append(args))
    waiting = [page(ada_client, voted).content.decode() for _ in range(2)]
    assert calls == [(voted.pk, helpful.pk)], "asked for once, though two looked"
    assert all("Being computed" in html and 'hx-trigger="load delay:3s"' in html for html in waiting)
    work_out_panels(*calls[0])
    there = page(ada_client, voted).content.decode()
    assert "Being computed" not in there and "hx-trigger" not in there.split('id="panels"')[1].split(">")[0]
    work_out_panels(0, 0)


def test_voter_names_are_visible_only_to_owner(ada_client: Client, bo_client: Client, voted: Tournament) -> None:
    voter = voted.voters.order_by("number")[0]
    Voter.objects.filter(pk=voter.pk).update(imported_name="Rosalind")
    own, others = page_text(page(ada_client, voted)), page_text(page(bo_client, voted))
    assert "Rosalind" in own and "Rosalind" not in others and "person 1" in others
    for client in (ada_client, bo_client):
        assert "Rosalind" not in page(client, voted, **{"as": "json"}).content.decode()


def test_judge_named_like_a_voter_is_no_person(tournament: Tournament, helpful: Rubric, ada: User) -> None:
    cast(tournament, helpful, first_votes(make_random_votes(20, contestants=3, prompts=6, annotators=1)))
    named = Judge.objects.create(name="person 1", kind=Judge.Kind.RULES, model="rules", digest="d", owner=ada)
    add_judge_verdicts(tournament, helpful, judge=named)
    raters = panels.compute_panels(tournament, helpful).panels["agreement"]["raters"]
    assert [(rater["name"], rater["person"]) for rater in raters] == [
        ("person 1", True), (f"person 1 ({named.pk})", False),
    ]  # fmt: skip


def test_contested_comparisons_lead_to_their_answers(ada_client: Client, voted: Tournament) -> None:
    split = page(ada_client, voted)
    row = re.search(r'<table class="contested">.*?<tbody>(.*?)</tr>', split.content.decode(), re.DOTALL)
    assert row is not None
    links = [link.replace("&amp;", "&") for link in re.findall(r'href="([^"]+)"', row[1])]
    assert len(links) == 3
    for link in links:
        assert ada_client.get(link).status_code == 200
    both = ada_client.get(links[0])
    assert len(both.context["columns"].all) == 2 and len(both.context["found"].rows) == 1


def test_scores_and_links_match_renamed_contestants(ada_client: Client, voted: Tournament) -> None:
    uids = {}
    for name, contestant in zip(("zebra", "mole", "ant"), voted.contestants.order_by("place"), strict=True):
        Contestant.objects.filter(pk=contestant.pk).update(name=name)
        assert contestant.run is not None
        uids[name] = contestant.run.uid
    numbers = page(ada_client, voted, **{"as": "json"}).json()["panels"]
    values = {
        numbers["contestants"][row["contestant"]]: row["said"]["value"] for row in numbers["scorers"][0]["contestants"]
    }
    assert values == {"ant": 0.0, "mole": 0.0, "zebra": 1.0}, "the first by place is scored above all others"
    responses = [link for row in page(ada_client, voted).context["contested"].rows for link in row[1:3]]
    assert {link.text for link in responses} == set(uids)
    assert all(uids[link.text] in link.url for link in responses)


def test_contested_comparisons_are_hidden_from_active_voters(
    ada_client: Client, bo_client: Client, voted: Tournament
) -> None:
    def shown_comparisons(client: Client) -> list[list[object]]:
        numbers = page(client, voted, **{"as": "json"}).json()["panels"]
        return [
            *(group["shown"] for group in numbers["contested"].values()),
            numbers["scorers"][0]["differing"]["shown"],
        ]

    own, others = shown_comparisons(ada_client), page(bo_client, voted)
    assert all(own[k] for k in (0, 2, 3)) and not any(shown_comparisons(bo_client))
    assert not others.context["contested"].rows and others.context["contested_count"] == len(own[0])
    assert "They are listed once the tournament is closed" in page_text(others)
    Tournament.objects.filter(pk=voted.pk).update(closed_at=timezone.now())
    assert shown_comparisons(bo_client) == own and page(bo_client, voted).context["contested"].rows


def test_runs_in_the_bin_are_named_and_not_linked(ada_client: Client, voted: Tournament) -> None:
    Experiment.objects.update(deleted_at=timezone.now())
    answer = page(ada_client, voted)
    rows = answer.context["contested"].rows
    assert rows and all(isinstance(cell, str) for row in rows for cell in row)


@pytest.mark.parametrize(
    ("query", "choices"),
    [
        ("criterion=beauty", "criterion must be one of helpfulness, harmlessness, not 'beauty'"),
        ("contested=loudest", "contested must be one of split, swapped, person, scorer, not 'loudest'"),
    ],
)
def test_invalid_panel_query_is_answered_with_valid_choices(
    ada_client: Client, voted: Tournament, query: str, choices: str
) -> None:
    answer = ada_client.get(f"/judging/{voted.pk}/panels/?{query}")
    assert answer.status_code == 404 and choices in page_text(answer)


def test_panel_query_selects_criterion_and_contested_kind(ada_client: Client, voted: Tournament) -> None:
    assert "No vote counts yet" in page_text(page(ada_client, voted, criterion="harmlessness"))
    assert "Most humans prefer one response, most models the other" in page_text(
        page(ada_client, voted, contested="person")
    )


def test_swaps_make_four_rankings(ada_client: Client, tournament: Tournament, helpful: Rubric) -> None:
    judge = add_judge_verdicts(tournament, helpful)
    places = comparisons(tournament)
    Verdict.objects.bulk_create(
        Verdict(
            comparison_id=pk, rubric=helpful, judge=judge, first="b",
            outcome="a" if (prompt + b) % 3 else "b" if prompt % 2 else "tie",
        )
        for (prompt, a, b), pk in places.items()
    )  # fmt: skip
    panel = panels.compute_panels(tournament, helpful).panels
    assert list(panel["policies"]["boards"]) == ["as-is", "half", "tie", "consistent"]
    assert panel["position"]["pairs"] == len(places) == int(np.sum(panel["position"]["table"]))
    text = page_text(page(ada_client, tournament))
    assert f"{len(places)} pairs were judged in both orders by one judge" in text
    assert "Only if they agree" in text


def test_panels_page_is_hidden_without_access(bo_client: Client, client: Client, voted: Tournament) -> None:
    Tournament.objects.filter(pk=voted.pk).update(is_private=True)
    address = reverse("tournament-panels", args=[voted.pk])
    assert bo_client.get(address).status_code == 404
    assert client.get(address).status_code == 302


def test_queries_do_not_grow_with_votes(ada_client: Client, voted: Tournament, helpful: Rubric) -> None:
    def count_queries() -> int:
        page(ada_client, voted)
        with CaptureQueriesContext(connection) as queries:
            page(ada_client, voted)
        return len(queries)

    before = count_queries()
    more = first_votes(make_random_votes(200, contestants=3, prompts=6, annotators=8))
    cast(voted, helpful, more.select(more.annotator > 1))
    assert count_queries() == before <= 30


def test_repeated_policy_sentences_are_listed_once() -> None:
    def board(*sentences: str) -> dict[str, object]:
        return {"standings": [], "votes": 3, "sentences": sentences}

    boards = {"as-is": board("Few prompts."), "half": board("Few prompts."), "tie": board("Few prompts.", "A won all.")}
    rows = policies_context({"boards": boards})["sentences"]
    assert rows == [("", "Few prompts."), ("A tie if they differ", "A won all.")]
