"""Pages of model judges: who may add and start one, what is shown of it, and that its key is shown nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from judging.models import Assignment, Calibration, GoldSet, Judge, JudgeKey, Tournament
from runs.models import Experiment
from tests.fakes.judge_server import KEY, Act, JudgeServer, longer, verdict
from tests.judging.judge_factory import judge_at, on, worked
from tests.judging.tournament_factory import gold, held, rubric

pytestmark = pytest.mark.django_db


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer() as running:
        yield running


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    return held(ada, experiment, prompts=1)


def typed(server: JudgeServer, **changes: object) -> dict[str, object]:
    return {
        "name": "local", "base_url": server.url, "model": "fake-1", "sampling": '{"temperature": 0}',
        "max_tokens": 2048, "structured": "on", "limited_by": "max_tokens", "answer_seconds": 5, "price_in": "1000",
        "price_out": "1000", "requests_per_minute": 0, "tokens_per_minute": 0, "at_once": 4, "secret": KEY, **changes,
    }  # fmt: skip


def words(answer: HttpResponse) -> str:
    text = re.sub(r"<[^>]+>", "", answer.content.decode()).replace("&#x27;", "'").replace("&quot;", '"')
    return " ".join(text.split())


def test_a_judge_is_added_tested_and_its_key_is_never_shown(ada_client: Client, server: JudgeServer) -> None:
    page = ada_client.post(reverse("judge-new"), typed(server), follow=True)
    judge = Judge.objects.get(kind="openai")
    assert "Saved local." in words(page) and judge.key is not None and server.url in words(page)
    server.act = lambda _: Act(verdict(9, 1))
    tried = ada_client.post(reverse("judge-change", args=[judge.pk]), {"do": "test"}, follow=True)
    assert "local answered and was understood (read as json)" in words(tried)
    assert server.asked[0].headers["authorization"] == f"Bearer {KEY}"
    edit = ada_client.get(reverse("judge-edit", args=[judge.pk]))
    for shown in (page, tried, edit, ada_client.get(reverse("judges"))):
        assert KEY not in shown.content.decode()
    saved = ada_client.post(reverse("judge-edit", args=[judge.pk]), typed(server, secret="", key=judge.key.pk))
    assert saved.status_code == 302 and JudgeKey.objects.count() == 1


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (Act(status=401), "cannot be asked now: 401"),
        (Act(""), "answered, but gave no verdict: the answer is empty"),
        (Act(verdict(1, 9)), "took seven for two and two"),
    ],
)
def test_a_test_says_what_is_wrong(ada: User, ada_client: Client, server: JudgeServer, act: Act, said: str) -> None:
    server.act = lambda _: act
    judge = judge_at(server, ada)
    answer = ada_client.post(reverse("judge-change", args=[judge.pk]), {"do": "test"}, follow=True)
    assert said in words(answer)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"base_url": "http://169.254.169.254/latest"}, "adds hosts to ESWEB_JUDGE_HOSTS"),
        ({"sampling": "{"}, "Enter a valid JSON."),
        ({"sampling": "[1]"}, 'Must be an object such as {"temperature": 0}.'),
        ({"sampling": '{"model": "x"}'}, "model cannot stand here"),
        ({"max_tokens": 1}, "greater than or equal to 1024"),
        ({"answer_seconds": 9999}, "less than or equal to 120"),
        ({"price_in": "-1"}, "greater than or equal to 0"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(
    ada_client: Client, server: JudgeServer, changes: dict[str, object], said: str
) -> None:
    answer = ada_client.post(reverse("judge-new"), typed(server, **changes))
    assert answer.status_code == 400 and said in words(answer) and not Judge.objects.filter(kind="openai").exists()


def test_an_admin_changes_a_judge_and_its_key_stays_its_owners(ada: User, server: JudgeServer) -> None:
    judge, root = judge_at(server, ada), Client()
    root.force_login(User.objects.create_superuser("root"))
    assert judge.key is not None
    typed_anew = typed(server, secret="sk-another", key=judge.key.pk)
    assert root.post(reverse("judge-edit", args=[judge.pk]), typed_anew).status_code == 302
    judge.refresh_from_db()
    assert {key.owner for key in JudgeKey.objects.all()} == {ada} and judge.owner == ada


def test_others_see_a_judge_and_can_neither_change_it_nor_spend_on_it(
    ada: User, bo_client: Client, server: JudgeServer, tournament: Tournament
) -> None:
    judge = judge_at(server, ada)
    assignment = on(judge, tournament, list(tournament.rubrics.all()))
    assert bo_client.get(reverse("judge", args=[judge.pk])).status_code == 200
    assert bo_client.get(reverse("judge-edit", args=[judge.pk])).status_code == 403
    assert bo_client.post(reverse("judge-change", args=[judge.pk]), {"do": "retire"}).status_code == 403
    assert bo_client.post(reverse("assignment-change", args=[assignment.pk]), {"do": "cancel"}).status_code == 403
    Judge.objects.update(is_private=True)
    assert bo_client.get(reverse("judge", args=[judge.pk])).status_code == 404
    assert bo_client.post(reverse("assignment-change", args=[assignment.pk]), {"do": "cancel"}).status_code == 404


def test_a_judge_that_retired_by_mistake_is_brought_back(ada: User, ada_client: Client, server: JudgeServer) -> None:
    judge, at = judge_at(server, ada), reverse("judges")
    retired = ada_client.post(reverse("judge-change", args=[judge.pk]), {"do": "retire"}, follow=True)
    assert "Bring it back" in retired.content.decode()
    assert judge.get_absolute_url() not in ada_client.get(at).content.decode()
    assert judge.get_absolute_url() in ada_client.get(at, {"shelf": "retired"}).content.decode()
    another = Judge.objects.create(owner=ada, name=judge.name, model="m", base_url=server.url, digest="0")
    path, do = reverse("judge-change", args=[judge.pk]), {"do": "bring-back"}
    assert "rename or retire that one first" in ada_client.post(path, do, follow=True).content.decode()
    another.delete()
    assert "may be asked again" in ada_client.post(path, do, follow=True).content.decode()
    assert judge.get_absolute_url() in ada_client.get(at).content.decode()


def test_a_judge_is_put_to_work_watched_stopped_and_let_go_on(
    ada: User, ada_client: Client, server: JudgeServer, tournament: Tournament
) -> None:
    judge, address = judge_at(server, ada), reverse("tournament-judges", args=[tournament.pk])
    order = {"judge": judge.pk, "rubrics": [r.pk for r in tournament.rubrics.all()], "cap": "2", "both_orders": "on"}
    said = words(ada_client.post(address, order | {"estimate": "1"}))
    assert "12 calls" in said and "at the very most" in said and not Assignment.objects.exists()
    assert ada_client.post(address, order).status_code == 302
    assert "is at work there already" in words(ada_client.post(address, order))
    assignment = Assignment.objects.get()
    change = reverse("assignment-change", args=[assignment.pk])
    ada_client.post(change, {"do": "pause"})
    assert "paused" in words(ada_client.get(address))
    ada_client.post(change, {"do": "go-on"})
    assert "the next call may cost more than the cap leaves" in (worked(assignment).reason)
    assert "A cap is a number from 0" in words(ada_client.post(change, {"do": "go-on", "cap": "much"}, follow=True))
    ada_client.post(change, {"do": "go-on", "cap": "100"})
    server.act = lambda asked: Act(refusal="No.") if asked.number == 0 else longer(asked)
    worked(assignment)
    page = words(ada_client.get(address))
    assert "12 of 12 asked: 11 judged · 1 refused · 0 failed · 0 not understood" in page
    assert "1.4400 spent of 100.00" in page and "has not been held against people's verdicts" in page


def test_a_calibration_is_begun_and_shown_with_its_figures(
    ada: User, ada_client: Client, bo_client: Client, server: JudgeServer
) -> None:
    judge, of = judge_at(server, ada), gold(ada, 3)
    asked = {"gold_set": of.pk, "rubrics": [rubric("helpfulness").pk], "cap": "10", "both_orders": "on"}
    assert ada_client.post(reverse("judge-change", args=[judge.pk]), asked | {"do": "calibrate"}).status_code == 302
    server.act = lambda asked: Act(verdict(8, 2) if asked.answers[0] == "good" else verdict(2, 8))
    worked(Assignment.objects.get())
    GoldSet.objects.update(name="Ada's own", is_private=True)
    assert "Ada's own" not in words(bo_client.get(reverse("judge", args=[judge.pk])))
    page = words(ada_client.get(reverse("judge", args=[judge.pk])))
    assert "Ada's own" in page and "failed fewer than 30 pairs" in page and "1.00" in page and "helpfulness v1" in page


def test_lists_ask_as_often_for_many_as_for_few(
    ada: User, ada_client: Client, server: JudgeServer, tournament: Tournament,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:  # fmt: skip
    judge, rubrics = judge_at(server, ada), list(tournament.rubrics.all())
    pages = [reverse("judges"), reverse("judge", args=[judge.pk]), reverse("tournament-judges", args=[tournament.pk])]

    def fill(count: int) -> None:
        of = gold(ada, 1)
        made = [
            Assignment(judge=judge, cap=1, created_by=ada, state="done", **about)
            for about in ({"tournament": tournament}, {"gold_set": of})
            for _ in range(count)
        ]
        Assignment.objects.bulk_create(made)
        Calibration.objects.bulk_create(
            Calibration(judge=judge, rubric=rubrics[0], gold_set=of, passes=True, measured={}) for _ in range(count)
        )

    fill(1)
    counts = []
    for page in pages:
        ada_client.get(page)
        with django_assert_num_queries(20, exact=False) as few:
            ada_client.get(page)
        counts.append(len(few))
    fill(60)
    Judge.objects.bulk_create(Judge(name=f"j{n}", owner=ada, model="m", digest="0") for n in range(60))
    for page, count in zip(pages, counts, strict=True):
        with django_assert_num_queries(count):
            ada_client.get(page)
