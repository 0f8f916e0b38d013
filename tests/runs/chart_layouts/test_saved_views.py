"""Saved views hold the charts as their owner saw them."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse, QueryDict
from django.test import Client
from django.urls import reverse

from runs.models import Experiment, SavedView
from tests.runs.chart_layouts.conftest import Read

pytestmark = pytest.mark.django_db


def save(client: Client, page: str, query: str = "", **fields: Any) -> HttpResponse:
    form = {"name": "mine", "page": page, "query": query, **fields}
    response: HttpResponse = client.post(reverse("saved-views"), form, follow=True)
    return response


def store(client: Client, page: str, charts: list[str], **fields: Any) -> None:
    client.post(reverse("chart-layout"), {"page": page, "charts": charts, **fields})


def saved_charts() -> list[str] | None:
    query = QueryDict(SavedView.objects.get().query)
    return query.getlist("charts") if "charts" in query else None


def test_saved_view_holds_the_stored_layout(
    ada_client: Client, bo_client: Client, bo: User, experiment: Experiment, read_layout: Read
) -> None:
    store(ada_client, "experiment", ["kl:wide", "own:a%2Cb,c"], experiment=experiment.pk)
    store(bo_client, "experiment", ["kl:small"], experiment=experiment.pk)
    save(ada_client, "experiment", "q=kl%3C1", experiment=experiment.pk, is_shared="on")
    view = SavedView.objects.get()
    assert view.query == "q=kl%3C1&charts=kl:wide&charts=own:a%252Cb,c"
    location = bo_client.get(reverse("saved-view", args=[view.pk]))["Location"]
    shown = read_layout(bo, "experiment", experiment, charts=QueryDict(location.partition("?")[2]).getlist("charts"))
    assert shown.texts == ["kl:wide", "own:a%2Cb,c"]
    assert read_layout(bo, "experiment", experiment).texts == ["kl:small"]


def test_saved_view_holds_the_layout_of_the_address(ada_client: Client) -> None:
    store(ada_client, "compare", ["kl:wide"])
    save(ada_client, "compare", "run=abc&charts=kl%3Asmall&charts=reward%3Aat1")
    assert saved_charts() == ["kl:small", "reward:at1"]


def test_saved_view_of_default_layout_stays_default(
    ada_client: Client, bo: User, bo_client: Client, read_layout: Read
) -> None:
    store(bo_client, "compare", ["kl:wide"])
    save(ada_client, "compare", "run=abc")
    assert saved_charts() == [""]
    assert read_layout(bo, "compare", charts="").texts == []


def test_view_of_page_without_charts_has_no_layout(ada_client: Client) -> None:
    save(ada_client, "experiments", "q=x")
    assert saved_charts() is None


def test_view_that_gets_too_long_with_its_charts_is_refused(ada_client: Client) -> None:
    store(ada_client, "compare", [f"{n:0>190}:wide" for n in range(30)])
    page = save(ada_client, "compare", f"q={'x' * 7000}").content.decode()
    assert "remove some charts" in page
    assert not SavedView.objects.exists()
