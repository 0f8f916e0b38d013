"""Pages of model judges: who may add and start a judge, what they show, and that its key appears nowhere."""

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
from tests.cases import each_case
from tests.fakes.judge_server import KEY, JudgeServer, Reply, prefer_longer, verdict
from tests.judging.judge_factory import assign, make_judge, work_until_done
from tests.judging.tournament_factory import make_gold_set, make_tournament, rubric

pytestmark = pytest.mark.django_db


@pytest.fixture
def server() -> Iterator[JudgeServer]:
    with JudgeServer() as running:
        yield running


@pytest.fixture
def tournament(ada: User, experiment: Experiment) -> Tournament:
    return make_tournament(ada, experiment, prompts=1)


def form_fields(server: JudgeServer, **changes: object) -> dict[str, object]:
    return {
        "name": "local", "base_url": server.url, "model": "fake-1", "sampling": '{"temperature": 0}',
        "max_tokens": 2048, "structured": "on", "limited_by": "max_tokens", "answer_seconds": 5, "price_in": "1000",
        "price_out": "1000", "requests_per_minute": 0, "tokens_per_minute": 0, "at_once": 4, "secret": KEY, **changes,
    }  # fmt: skip


def page_text(answer: HttpResponse) -> str:
    text = re.sub(r"<[^>]+>", "", answer.content.decode()).replace("&#x27;", "'").replace("&quot;", '"')
    return " ".join(text.split())


def test_judge_is_added_and_tested_without_exposing_key(ada_client: Client, server: JudgeServer) -> None:
    page = ada_client.post(reverse("judge-new"), form_fields(server), follow=True)
    judge = Judge.objects.get(kind="openai")
    assert "Saved local." in page_text(page) and judge.key is not None and server.url in page_text(page)
    server.reply_to = lambda _: Reply(verdict(9, 1))
    tried = ada_client.post(reverse("judge-change", args=[judge.pk]), {"do": "test"}, follow=True)
    assert "local replied with the correct verdict (parsed as json)" in page_text(tried)
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    edit = ada_client.get(reverse("judge-edit", args=[judge.pk]))
    for response in (page, tried, edit, ada_client.get(reverse("judges"))):
        assert KEY not in response.content.decode()
    saved = ada_client.post(reverse("judge-edit", args=[judge.pk]), form_fields(server, secret="", key=judge.key.pk))
    assert saved.status_code == 302 and JudgeKey.objects.count() == 1


@each_case(
    ("act", "text"),
    [
        (Reply(status=401), "cannot be asked now: 401"),
        (Reply(""), "replied without a verdict: the reply is empty"),
        (Reply(verdict(1, 9)), "chose seven for two and two"),
    ],
)
def test_judge_test_reports_problem(ada: User, ada_client: Client, server: JudgeServer, act: Reply, text: str) -> None:
    server.reply_to = lambda _: act
    judge = make_judge(server, ada)
    answer = ada_client.post(reverse("judge-change", args=[judge.pk]), {"do": "test"}, follow=True)
    assert text in page_text(answer)


@each_case(
    ("changes", "text"),
    [
        ({"base_url": "http://169.254.169.254/latest"}, "can add hosts to ESWEB_JUDGE_HOSTS"),
        ({"sampling": "{"}, "Enter a valid JSON."),
        ({"sampling": "[1]"}, 'Must be an object such as {"temperature": 0}.'),
        ({"sampling": '{"model": "x"}'}, "model cannot be set here"),
        ({"max_tokens": 1}, "greater than or equal to 1024"),
        ({"answer_seconds": 9999}, "less than or equal to 120"),
        ({"price_in": "-1"}, "greater than or equal to 0"),
    ],
)
def test_invalid_judge_field_is_reported(
    ada_client: Client, server: JudgeServer, changes: dict[str, object], text: str
) -> None:
    answer = ada_client.post(reverse("judge-new"), form_fields(server, **changes))
    assert answer.status_code == 400 and text in page_text(answer) and not Judge.objects.filter(kind="openai").exists()


def test_admin_edit_leaves_key_with_judge_owner(ada: User, server: JudgeServer) -> None:
    judge, root = make_judge(server, ada), Client()
    root.force_login(User.objects.create_superuser("root"))
    assert judge.key is not None
    typed_anew = form_fields(server, secret="sk-another", key=judge.key.pk)
    assert root.post(reverse("judge-edit", args=[judge.pk]), typed_anew).status_code == 302
    judge.refresh_from_db()
    assert {key.owner for key in JudgeKey.objects.all()} == {ada} and judge.owner == ada


def test_other_users_cannot_change_or_start_judge(
    ada: User, bo_client: Client, server: JudgeServer, tournament: Tournament
) -> None:
    judge = make_judge(server, ada)
    assignment = assign(judge, tournament, list(tournament.rubrics.all()))
    assert bo_client.get(reverse("judge", args=[judge.pk])).status_code == 200
    assert bo_client.get(reverse("judge-edit", args=[judge.pk])).status_code == 403
    assert bo_client.post(reverse("judge-change", args=[judge.pk]), {"do": "retire"}).status_code == 403
    assert bo_client.post(reverse("assignment-change", args=[assignment.pk]), {"do": "cancel"}).status_code == 403
    Judge.objects.update(is_private=True)
    assert bo_client.get(reverse("judge", args=[judge.pk])).status_code == 404
    assert bo_client.post(reverse("assignment-change", args=[assignment.pk]), {"do": "cancel"}).status_code == 404


def test_retired_judge_can_be_restored(ada: User, ada_client: Client, server: JudgeServer) -> None:
    judge, at = make_judge(server, ada), reverse("judges")
    retired = ada_client.post(reverse("judge-change", args=[judge.pk]), {"do": "retire"}, follow=True)
    assert "Restore" in retired.content.decode()
    assert judge.get_absolute_url() not in ada_client.get(at).content.decode()
    assert judge.get_absolute_url() in ada_client.get(at, {"shelf": "retired"}).content.decode()
    another = Judge.objects.create(owner=ada, name=judge.name, model="m", base_url=server.url, digest="0")
    path, do = reverse("judge-change", args=[judge.pk]), {"do": "bring-back"}
    assert "rename or retire it first" in ada_client.post(path, do, follow=True).content.decode()
    another.delete()
    assert "Restored" in ada_client.post(path, do, follow=True).content.decode()
    assert judge.get_absolute_url() in ada_client.get(at).content.decode()


def test_judge_assignment_is_started_paused_and_resumed(
    ada: User, ada_client: Client, server: JudgeServer, tournament: Tournament
) -> None:
    judge, address = make_judge(server, ada), reverse("tournament-judges", args=[tournament.pk])
    order = {"judge": judge.pk, "rubrics": [r.pk for r in tournament.rubrics.all()], "cap": "2", "both_orders": "on"}
    text = page_text(ada_client.post(address, order | {"estimate": "1"}))
    assert "12 calls" in text and "at most" in text and not Assignment.objects.exists()
    assert ada_client.post(address, order).status_code == 302
    assert "already has an unfinished assignment" in page_text(ada_client.post(address, order))
    assignment = Assignment.objects.get()
    change = reverse("assignment-change", args=[assignment.pk])
    ada_client.post(change, {"do": "pause"})
    assert "paused" in page_text(ada_client.get(address))
    ada_client.post(change, {"do": "go-on"})
    assert "the next call may cost more than the rest of the cap" in (work_until_done(assignment).reason)
    assert "cap must be a number of at least 0" in page_text(
        ada_client.post(change, {"do": "go-on", "cap": "much"}, follow=True)
    )
    ada_client.post(change, {"do": "go-on", "cap": "100"})
    server.reply_to = lambda request: Reply(refusal="No.") if request.number == 0 else prefer_longer(request)
    work_until_done(assignment)
    page = page_text(ada_client.get(address))
    assert "12 of 12 asked: 11 judged · 1 refused · 0 failed · 0 unparsed" in page
    assert "1.4400 spent of 100.00" in page and "has not been calibrated" in page


def test_calibration_is_started_and_displayed(
    ada: User, ada_client: Client, bo_client: Client, server: JudgeServer
) -> None:
    judge, gold_set = make_judge(server, ada), make_gold_set(ada, 3)
    form = {"gold_set": gold_set.pk, "rubrics": [rubric("helpfulness").pk], "cap": "10", "both_orders": "on"}
    assert ada_client.post(reverse("judge-change", args=[judge.pk]), form | {"do": "calibrate"}).status_code == 302
    server.reply_to = lambda request: Reply(verdict(8, 2) if request.answers[0] == "good" else verdict(2, 8))
    work_until_done(Assignment.objects.get())
    GoldSet.objects.update(name="Ada's own", is_private=True)
    assert "Ada's own" not in page_text(bo_client.get(reverse("judge", args=[judge.pk])))
    page = page_text(ada_client.get(reverse("judge", args=[judge.pk])))
    assert "Ada's own" in page and "failed fewer than 30 pairs" in page and "1.00" in page and "helpfulness v1" in page


def test_judge_pages_query_count_is_constant(
    ada: User, ada_client: Client, server: JudgeServer, tournament: Tournament,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:  # fmt: skip
    judge, rubrics = make_judge(server, ada), list(tournament.rubrics.all())
    pages = [reverse("judges"), reverse("judge", args=[judge.pk]), reverse("tournament-judges", args=[tournament.pk])]

    def fill(count: int) -> None:
        gold_set = make_gold_set(ada, 1)
        assignments = [
            Assignment(judge=judge, cap=1, created_by=ada, state="done", **about)
            for about in ({"tournament": tournament}, {"gold_set": gold_set})
            for _ in range(count)
        ]
        Assignment.objects.bulk_create(assignments)
        Calibration.objects.bulk_create(
            Calibration(judge=judge, rubric=rubrics[0], gold_set=gold_set, passes=True, measured={})
            for _ in range(count)
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


def test_edit_form_of_a_judge_selects_its_limit_of_length(ada: User, ada_client: Client) -> None:
    judge = Judge.objects.create(owner=ada, name="j", model="m", limited_by="max_completion_tokens", digest="0")
    page = ada_client.get(reverse("judge-edit", args=[judge.pk])).content.decode()
    assert '<option value="max_completion_tokens" selected>' in page
