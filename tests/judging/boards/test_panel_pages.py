"""The page of panels: what it says of known votes, to whom, how often it is worked out, and where its links lead."""

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
from judging.boards.panels.tables import Names, policy_rows
from judging.boards.panels.tasks import work_out_panels
from judging.models import Contestant, Judge, Rubric, Tournament, Verdict, Voter
from runs.models import Experiment, Response, Score
from tests.judging.bulk_verdicts import cast, comparisons, once, ruled
from tests.judging.synthetic_votes import invented
from tests.judging.tournament_factory import held, rubric

pytestmark = pytest.mark.django_db


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    return held(ada, experiment, prompts=6, contestants=3)


@pytest.fixture
def helpful(tournament: Tournament) -> Rubric:
    return rubric("helpfulness")


@pytest.fixture
def voted(tournament: Tournament, helpful: Rubric) -> Tournament:
    """Two people and the judge by rules; every answer of the first contestant is scored above all others."""
    cast(tournament, helpful, once(invented(120, contestants=3, prompts=6, annotators=2)))
    ruled(tournament, helpful)
    first = tournament.contestants.order_by("place")[0].run
    Response.objects.filter(run=first).update(reward=1.0)
    return tournament


def page(client: Client, tournament: Tournament, **asked: object) -> HttpResponse:
    answer = client.get(reverse("tournament-panels", args=[tournament.pk]), asked)
    assert answer.status_code == 200
    return answer


def words(answer: HttpResponse) -> str:
    text = re.sub(r"<[^>]+>", " ", answer.content.decode()).replace("&#x27;", "'")
    return " ".join(text.split())


def test_it_says_what_the_votes_say(ada_client: Client, voted: Tournament, helpful: Rubric) -> None:
    said = words(page(ada_client, voted))
    known = panels.kept(voted, helpful)
    assert known is not None and known.is_current
    numbers = known.panels
    assert f"{numbers['votes']} votes by" in said
    share = numbers["position"]["rows"][0]["share"]["value"]
    assert f"everybody {numbers['votes']} {100 * share:.1f} %" in said
    assert "Half a win" not in said and "A tie is half a win for each" in said and "Davidson" in said
    assert "reward and judges prefer the same answer in" in said
    assert "n/a: there is no item that both judged" in said


def test_the_numbers_are_there_for_programs(ada_client: Client, voted: Tournament) -> None:
    found = page(ada_client, voted, **{"as": "json"}).json()
    assert found["criterion"] == "helpfulness" and found["is_current"]
    assert {"position", "policies", "ties", "length", "agreement", "scorers", "contested"} <= set(found["panels"])
    scorer = found["panels"]["scorers"][0]
    assert scorer["name"] == "reward" and scorer["contestants"][0]["said"]["value"] == 1.0


def test_a_scorer_that_scored_afterwards_stands_beside_the_runs_own(ada_client: Client, voted: Tournament) -> None:
    first = voted.contestants.order_by("place")[0].run
    answers = Response.objects.filter(run__in=voted.contestants.values("run"))
    page(ada_client, voted)
    Score.objects.bulk_create(
        Score(response=one, scorer="later", key="cost", value=float(one.run_id == first.pk)) for one in answers
    )
    said = words(page(ada_client, voted, scorer="later: -cost", contested="scorer"))
    assert "later: -cost and judges prefer the same answer in" in said
    numbers = page(ada_client, voted, **{"as": "json"}).json()["panels"]["scorers"]
    # The dearest is the first: by cost it should win nothing, by its own reward everything.
    assert [one["contestants"][0]["said"]["value"] for one in numbers] == [1.0, 0.0]


def test_nothing_is_worked_out_twice_until_somebody_votes_or_takes_back(
    ada_client: Client, voted: Tournament, helpful: Rubric
) -> None:
    page(ada_client, voted)
    first = panels.kept(voted, helpful)
    page(ada_client, voted)
    assert first is not None and panels.kept(voted, helpful) == first
    voter = voted.voters.first()
    assert voter is not None
    Verdict.objects.filter(voter=voter).first().delete()  # type: ignore[union-attr]
    stale = panels.kept(voted, helpful)
    assert stale is not None and not stale.is_current and stale.panels == first.panels
    page(ada_client, voted)
    newest = panels.kept(voted, helpful)
    assert newest is not None and newest.is_current
    assert newest.panels["votes"] == first.panels["votes"] - 1


def test_of_many_votes_a_job_works_it_out_and_the_page_waits(
    ada_client: Client, voted: Tournament, helpful: Rubric, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr(view, "AT_ONCE", 10)
    monkeypatch.setattr(work_out_panels, "delay", lambda *said: asked.append(said))
    waiting = [page(ada_client, voted).content.decode() for _ in range(2)]
    assert asked == [(voted.pk, helpful.pk)], "asked for once, though two looked"
    assert all("Being worked out" in one and 'hx-trigger="load delay:3s"' in one for one in waiting)
    work_out_panels(*asked[0])
    there = page(ada_client, voted).content.decode()
    assert "Being worked out" not in there and "hx-trigger" not in there.split('id="panels"')[1].split(">")[0]
    work_out_panels(0, 0)


def test_people_are_numbers_but_for_who_looks_after_it(
    ada_client: Client, bo_client: Client, voted: Tournament
) -> None:
    voter = voted.voters.order_by("number")[0]
    Voter.objects.filter(pk=voter.pk).update(imported_name="Rosalind")
    own, others = words(page(ada_client, voted)), words(page(bo_client, voted))
    assert "Rosalind" in own and "Rosalind" not in others and "person 1" in others
    for client in (ada_client, bo_client):
        assert "Rosalind" not in page(client, voted, **{"as": "json"}).content.decode()


def test_a_judge_that_is_called_as_a_person_is_none(tournament: Tournament, helpful: Rubric, ada: User) -> None:
    cast(tournament, helpful, once(invented(20, contestants=3, prompts=6, annotators=1)))
    named = Judge.objects.create(name="person 1", kind=Judge.Kind.RULES, model="rules", digest="d", owner=ada)
    ruled(tournament, helpful, judge=named)
    raters = panels.work_out(tournament, helpful).panels["agreement"]["raters"]
    assert [(one["name"], one["person"]) for one in raters] == [
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


def test_scores_and_links_are_of_whom_they_name_whatever_they_are_called(ada_client: Client, voted: Tournament) -> None:
    uids = {}
    for name, one in zip(("zebra", "mole", "ant"), voted.contestants.order_by("place"), strict=True):
        Contestant.objects.filter(pk=one.pk).update(name=name)
        assert one.run is not None
        uids[name] = one.run.uid
    numbers = page(ada_client, voted, **{"as": "json"}).json()["panels"]
    said = {
        numbers["contestants"][one["contestant"]]: one["said"]["value"] for one in numbers["scorers"][0]["contestants"]
    }
    assert said == {"ant": 0.0, "mole": 0.0, "zebra": 1.0}, "the first by place is scored above all others"
    rows = page(ada_client, voted).context["contested"]
    assert {name for row in rows for name in row["names"]} == set(uids)
    assert all(uids[name] in link for row in rows for name, link in zip(row["names"], row["links"], strict=True))


def test_which_comparisons_are_contested_is_not_told_to_who_may_still_vote(
    ada_client: Client, bo_client: Client, voted: Tournament
) -> None:
    def told(client: Client) -> list[list[object]]:
        numbers = page(client, voted, **{"as": "json"}).json()["panels"]
        return [*(one["shown"] for one in numbers["contested"].values()), numbers["scorers"][0]["differing"]["shown"]]

    own, others = told(ada_client), page(bo_client, voted)
    assert all(own[k] for k in (0, 2, 3)) and not any(told(bo_client))
    assert not others.context["contested"] and others.context["all"] == len(own[0])
    assert "Which ones these are is shown once the tournament is closed" in words(others)
    Tournament.objects.filter(pk=voted.pk).update(closed_at=timezone.now())
    assert told(bo_client) == own and page(bo_client, voted).context["contested"]


def test_runs_in_the_bin_are_named_and_not_linked(ada_client: Client, voted: Tournament) -> None:
    Experiment.objects.update(deleted_at=timezone.now())
    answer = page(ada_client, voted)
    rows = answer.context["contested"]
    assert rows and all(row["links"] == ["", ""] and row["both"] == "" for row in rows)


@pytest.mark.parametrize(
    ("query", "choices"),
    [
        ("criterion=beauty", "criterion must be one of helpfulness, harmlessness, not 'beauty'"),
        ("contested=loudest", "contested must be one of split, swapped, person, scorer, not 'loudest'"),
    ],
)
def test_a_panel_that_there_is_not_is_answered_with_those_there_are(
    ada_client: Client, voted: Tournament, query: str, choices: str
) -> None:
    answer = ada_client.get(f"/judging/{voted.pk}/panels/?{query}")
    assert answer.status_code == 404 and choices in words(answer)


def test_one_criterion_and_one_kind_are_chosen_by_the_address(ada_client: Client, voted: Tournament) -> None:
    assert "No vote counts yet" in words(page(ada_client, voted, criterion="harmlessness"))
    assert "Most people prefer one answer, most models the other" in words(page(ada_client, voted, contested="person"))


def test_swaps_make_four_rankings(ada_client: Client, tournament: Tournament, helpful: Rubric) -> None:
    judge = ruled(tournament, helpful)
    places = comparisons(tournament)
    Verdict.objects.bulk_create(
        Verdict(
            comparison_id=pk, rubric=helpful, judge=judge, first="b",
            outcome="a" if (prompt + b) % 3 else "b" if prompt % 2 else "tie",
        )
        for (prompt, a, b), pk in places.items()
    )  # fmt: skip
    found = panels.work_out(tournament, helpful).panels
    assert list(found["policies"]["boards"]) == ["as-is", "half", "tie", "consistent"]
    assert found["position"]["pairs"] == len(places) == int(np.sum(found["position"]["table"]))
    said = words(page(ada_client, tournament))
    assert f"{len(places)} pairs were judged both ways round by one judge" in said
    assert "Only where they agree" in said


def test_whoever_may_not_see_the_tournament_is_told_nothing(
    bo_client: Client, client: Client, voted: Tournament
) -> None:
    Tournament.objects.filter(pk=voted.pk).update(is_private=True)
    address = reverse("tournament-panels", args=[voted.pk])
    assert bo_client.get(address).status_code == 404
    assert client.get(address).status_code == 302


def test_queries_do_not_grow_with_votes(ada_client: Client, voted: Tournament, helpful: Rubric) -> None:
    def asked() -> int:
        page(ada_client, voted)
        with CaptureQueriesContext(connection) as queries:
            page(ada_client, voted)
        return len(queries)

    before = asked()
    more = once(invented(200, contestants=3, prompts=6, annotators=8))
    cast(voted, helpful, more.where(more.annotator > 1))
    assert asked() == before <= 30


def test_what_several_ways_of_counting_say_is_said_once() -> None:
    def board(*sentences: str) -> dict[str, object]:
        return {"standings": [], "votes": 3, "sentences": sentences}

    boards = {"as-is": board("Few prompts."), "half": board("Few prompts."), "tie": board("Few prompts.", "A won all.")}
    said = policy_rows({"boards": boards}, Names((), {}))["sentences"]
    assert said == [("", "Few prompts."), ("A tie where they differ", "A won all.")]
