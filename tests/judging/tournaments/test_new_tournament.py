"""The form of a new tournament has exactly the runs selected with which the user came."""

from __future__ import annotations

import re

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from judging.judges import create_standard_rubrics
from judging.models import Criterion, Tournament
from runs.access import give_role
from runs.models import Experiment, Response, Run
from tests.judging.tournament_factory import answered_run

pytestmark = pytest.mark.django_db
SELECTED = re.compile(r'value="(\w+:\d+):eval"\s+checked')


@pytest.fixture
def runs(experiment: Experiment) -> list[Run]:
    """Return three runs with responses at steps 0, 10 and 20."""
    runs = [answered_run(experiment, name, [f"{name} {k}" for k in range(4)]) for name in ("first", "second", "third")]
    for run in runs:
        for step in (10, 20):
            rows = Response.objects.filter(run=run, step=0)
            Response.objects.bulk_create(
                Response(
                    run=run, attempt=row.attempt, epoch=1, seq=step + row.seq, step=step, split="eval",
                    prompt=row.prompt, sample=0, text=f"{row.text} {step}", tokens=3, reward=0.0,
                )
                for row in rows
            )  # fmt: skip
    return runs


def selected(client: Client, **params: list[str]) -> set[str]:
    return set(SELECTED.findall(client.get(reverse("tournament-new"), params).content.decode()))


def test_two_runs_are_selected_and_created_without_a_change(ada_client: Client, runs: list[Run]) -> None:
    first, second, _ = runs
    html = ada_client.get(reverse("tournament-new"), {"run": [first.uid, second.uid]}).content.decode()
    assert set(SELECTED.findall(html)) == {f"{first.uid}:20", f"{second.uid}:20"}
    assert "1 other run to add" in html
    fields = re.findall(r'<(?:input|textarea)[^>]*name="(\w+)"[^>]*>', html)
    assert "name" in fields and 'value="second against first"' in html
    create_standard_rubrics()
    sent = {
        "name": "second against first", "prompts": 50, "seed": 0, "overlap": 1, "gold_every": 15,
        "criteria": [criterion.newest().pk for criterion in Criterion.objects.all()],  # type: ignore[union-attr]
        "contestant": [f"{value}:eval" for value in SELECTED.findall(html)],
    }  # fmt: skip
    assert ada_client.post(reverse("tournament-new"), sent).status_code == 302
    assert {c.run_id for c in Tournament.objects.get().contestants.all()} == {first.pk, second.pk}


def test_one_run_is_selected_with_its_model_before_training(ada_client: Client, runs: list[Run]) -> None:
    html = ada_client.get(reverse("tournament-new"), {"run": runs[0].uid}).content.decode()
    assert set(SELECTED.findall(html)) == {f"{runs[0].uid}:0", f"{runs[0].uid}:20"}
    assert 'value="first: step 20 against step 0"' in html


def test_contestants_in_the_address_are_selected_at_their_steps(ada_client: Client, runs: list[Run]) -> None:
    values = [f"{runs[0].uid}:10:eval", f"{runs[2].uid}:0:eval"]
    assert selected(ada_client, contestant=values) == {value.removesuffix(":eval") for value in values}
    assert selected(ada_client, contestant=values[:1]) == {f"{runs[0].uid}:10"}


def test_responses_side_by_side_link_to_a_tournament_of_exactly_them(
    ada_client: Client, bo_client: Client, bo: User, runs: list[Run]
) -> None:
    columns = {"run": [f"{runs[0].uid}@10", f"{runs[1].uid}@20"]}
    html = ada_client.get(reverse("viewer"), columns).content.decode()
    (address,) = re.findall(r'<a href="([^"]*)"[^>]*>Judge these', html)
    page = ada_client.get(address.replace("&amp;", "&")).content.decode()
    assert set(SELECTED.findall(page)) == {f"{runs[0].uid}:10", f"{runs[1].uid}:20"}
    assert "Judge these" not in ada_client.get(reverse("viewer"), {"run": runs[0].uid}).content.decode()
    give_role(bo, "viewer")
    assert "Judge these" not in bo_client.get(reverse("viewer"), columns).content.decode()


def test_runs_without_greedy_responses_are_not_counted(
    ada_client: Client, runs: list[Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("judging.tournaments.create_view.MAX_RUNS", 1)
    Response.objects.filter(run=runs[2]).update(sample=1)
    html = re.sub(r"\s+", " ", ada_client.get(reverse("tournament-new")).content.decode())
    assert "1 of 2 runs are offered" in html
