"""Layouts that users store: each sees and changes only their own."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.db import IntegrityError
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from runs.models import ChartLayout, Experiment
from tests.runs.chart_layouts.conftest import Read

pytestmark = pytest.mark.django_db


def post(client: Client, **fields: Any) -> HttpResponse:
    response: HttpResponse = client.post(reverse("chart-layout"), fields)
    return response


def test_layout_is_stored_for_its_user_alone(ada_client: Client, ada: User, bo: User, read_layout: Read) -> None:
    assert post(ada_client, page="run", charts=["kl:wide:pinned", "own:kl,kl/k3"]).status_code == 204
    assert read_layout(ada).texts == ["kl:wide:pinned", "own:kl,kl/k3"]
    assert read_layout(bo).texts == []
    assert read_layout(None).texts == []
    assert read_layout(ada, "compare").texts == []


def test_each_experiment_has_its_own_layout(
    ada_client: Client, ada: User, experiment: Experiment, read_layout: Read
) -> None:
    other = Experiment.objects.create(name="Other", owner=ada)
    assert post(ada_client, page="experiment", experiment=experiment.pk, charts="kl:wide").status_code == 204
    assert read_layout(ada, "experiment", experiment).texts == ["kl:wide"]
    assert read_layout(ada, "experiment", other).texts == []


def test_last_layout_replaces_the_one_before(ada_client: Client, ada: User, read_layout: Read) -> None:
    for charts in (["kl:wide"], ["kl:small", "reward:at2"], ["kl:small", "reward:at2"]):
        post(ada_client, page="sweep", charts=charts)
    assert read_layout(ada, "sweep").texts == ["kl:small", "reward:at2"]
    assert ChartLayout.objects.count() == 1


def test_reset_restores_the_default(ada_client: Client, ada: User, read_layout: Read) -> None:
    for fields in ({"do": "reset"}, {"charts": ""}, {}):
        post(ada_client, page="run", charts="kl:wide")
        assert post(ada_client, page="run", **fields).status_code == 204
        assert read_layout(ada).texts == []
        assert not ChartLayout.objects.exists()


def test_address_wins_over_the_stored_layout(ada_client: Client, ada: User, read_layout: Read) -> None:
    post(ada_client, page="run", charts="kl:wide")
    shown = read_layout(ada, charts=["reward:small", "kl:huge"])
    assert (shown.texts, shown.is_from_address, shown.differs, shown.may_reset) == (["reward:small"], True, True, False)
    assert len(shown.problems) == 1
    default = read_layout(ada, charts="")
    assert (default.texts, default.is_from_address, default.differs) == ([], True, True)
    assert not read_layout(ada, charts="kl:wide").differs
    assert read_layout(None, charts="kl:wide").texts == ["kl:wide"]
    assert read_layout(ada).texts == ["kl:wide"]


def test_layout_takes_one_query(ada: User, read_layout: Read, django_assert_num_queries: Any) -> None:
    for params in ({}, {"charts": ["kl:wide", "own:a"]}):
        with django_assert_num_queries(1):
            read_layout(ada, **params)


def test_invalid_layout_is_reported_and_not_stored(ada_client: Client, private_experiment: Experiment) -> None:
    for fields, message in (
        ({"page": "home"}, "page: Select a valid choice"),
        ({"page": "experiment"}, "must name an experiment that you may see"),
        ({"page": "experiment", "experiment": 10**6}, "experiment: Select a valid choice"),
        ({"page": "run", "experiment": private_experiment.pk}, "other pages must not"),
        ({"page": "run", "charts": ["kl:wide", "kl:huge"]}, "'huge' is not a setting"),
        ({"page": "run", "charts": [f"k{n}:wide" for n in range(61)]}, "at most 60 charts"),
        ({"page": "run", "do": "burn"}, "do must be one of save, add, reset, not 'burn'"),
        ({"page": "run", "do": "add"}, "1 to 4 keys"),
    ):
        response = post(ada_client, **fields)
        assert response.status_code == 400, fields
        assert message in response.content.decode(), fields
    assert not ChartLayout.objects.exists()


def test_layout_of_hidden_experiment_is_refused(cy_client: Client, private_experiment: Experiment) -> None:
    response = post(cy_client, page="experiment", experiment=private_experiment.pk, charts="kl:wide")
    assert response.status_code == 400
    assert not ChartLayout.objects.exists()


def test_viewer_stores_a_layout(bo_client: Client, bo: User, read_layout: Read) -> None:
    bo.groups.add(Group.objects.get_or_create(name="viewers")[0])
    assert post(bo_client, page="compare", charts="kl:wide").status_code == 204
    assert read_layout(bo, "compare").texts == ["kl:wide"]


def test_layout_needs_csrf_token(ada: User) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(ada)
    assert post(client, page="run", charts="kl:wide").status_code == 403
    assert client.get(reverse("chart-layout")).status_code == 405


def test_chart_is_added_to_the_stored_layout(ada_client: Client, ada: User, read_layout: Read) -> None:
    post(ada_client, page="compare", charts="kl:wide")
    page = "/compare/?run=abc&x=tokens"
    response = post(
        ada_client, do="add", page="compare", next=page, key=["reward/mean", "", " kl "], against="es/x", title="T"
    )
    assert response["Location"].startswith(f"{page}#chart-own")
    assert read_layout(ada, "compare").texts == ["kl:wide", "own:reward/mean,kl~es/x=T"]


def test_chart_is_added_once(ada_client: Client, ada: User, read_layout: Read) -> None:
    for _ in range(2):
        post(ada_client, do="add", page="run", key="kl", next="/")
    assert read_layout(ada).texts == ["own:kl"]


def test_chart_is_added_to_the_layout_of_the_address(ada_client: Client, ada: User, read_layout: Read) -> None:
    response = post(ada_client, do="add", page="run", key="kl", next="/runs/abc/?charts=reward:wide&x=wall")
    assert response["Location"].startswith("/runs/abc/?charts=reward:wide&charts=own:kl&x=wall#")
    assert read_layout(ada).texts == []


def test_invalid_chart_is_reported_on_the_page(ada_client: Client, experiment: Experiment) -> None:
    fields = {"do": "add", "page": "experiment", "experiment": experiment.pk, "key": list("abcde")}
    page = ada_client.post(
        reverse("chart-layout"), {**fields, "next": experiment.get_absolute_url()}, follow=True
    ).content.decode()
    assert "A chart must have 1 to 4 keys" in page
    assert not ChartLayout.objects.exists()


def test_layout_of_the_address_is_saved_as_own(ada_client: Client, ada: User, read_layout: Read) -> None:
    response = post(ada_client, page="run", charts="kl:wide", next="/runs/abc/?charts=kl:wide&x=wall")
    assert response["Location"] == "/runs/abc/?x=wall"
    assert read_layout(ada).texts == ["kl:wide"]


def test_redirect_stays_on_this_site(ada_client: Client) -> None:
    for page in ("https://evil.example/", "//evil.example/", "javascript:alert(1)", "runs/abc/"):
        assert post(ada_client, page="run", do="reset", next=page)["Location"] == "/", page


def test_full_layout_refuses_another_chart(ada_client: Client, ada: User, read_layout: Read) -> None:
    post(ada_client, page="run", charts=[f"k{n}:wide" for n in range(60)])
    response = post(ada_client, do="add", page="run", key="kl")
    assert (response.status_code, len(read_layout(ada).texts)) == (400, 60)
    assert "at most 60 charts" in response.content.decode()


def test_database_holds_one_layout_a_page(ada: User) -> None:
    ChartLayout.objects.create(person=ada, page="run")
    with pytest.raises(IntegrityError):
        ChartLayout.objects.create(person=ada, page="run")
