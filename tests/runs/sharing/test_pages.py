import json
import re

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs.access import Scope, link_text
from tests.cases import each_case
from tests.runs.full_runs import evaluation, make_run, record
from workers.records import Metric

pytestmark = pytest.mark.django_db


@pytest.fixture
def runs(experiment):
    out = [make_run(experiment, name, 0) for name in ("es-tiny", "grpo-tiny")]
    for run in out:
        record(run, [evaluation(0, -40), evaluation(5, -10)])
    return out


@pytest.fixture
def texts(ada, runs, experiment):
    """Create a link of each kind."""
    return {
        "run": link_text(ada, Scope.RUN, [runs[0].uid], "day"),
        "experiment": link_text(ada, Scope.EXPERIMENT, [experiment.pk], "day"),
        "compare": link_text(ada, Scope.COMPARE, [run.uid for run in runs], "day"),
    }


SCOPES = ("run", "experiment", "compare")
CHARTS = {"run": "reward", "experiment": "reward", "compare": "reward/mean"}


def address(page, **query):
    pairs = "&".join(f"{name}={value}" for name, value in query.items())
    return f"{reverse('share')}?page={page}&{pairs}"


def create_link(client, where, lifetime="day"):
    """Create a link and return its address."""
    page = client.post(where, {"lifetime": lifetime}).content.decode()
    return re.search(r'id="shared-link"[^>]*>http://testserver([^<]*)<', page)[1].replace("&amp;", "&")


@each_case("scope", SCOPES)
def test_a_stranger_with_the_link_reads_the_page(client, texts, runs, scope):
    answer = client.get(reverse("shared", args=[texts[scope]]))
    page = answer.content.decode()
    assert answer.status_code == 200
    assert runs[0].name in page
    assert "Shared by ada until" in page
    figures = [json.loads(f) for f in re.findall(r'<script type="application/json">(.*?)</script>', page)]
    assert figures[0]["data"]


def test_shared_pages_omit_the_sites_machines(client, texts, runs):
    record(runs[0], [Metric(5, {"system/cpu_cores": 1.0, "val/loss": 2.0})])
    page = client.get(reverse("shared", args=[texts["run"]])).content.decode()
    assert "val/loss" in page and "system/" not in page
    chart = reverse("shared-chart", args=[texts["run"]])
    assert client.get(chart, {"name": "val/loss"}).status_code == 200
    assert client.get(chart, {"name": "system/cpu"}).status_code == 404


def test_shared_run_folds_metrics_that_stayed_at_zero_after_its_end(client, texts, runs):
    record(runs[0], [Metric(step, {"loss/a": float(step), "loss/b": 0.0, "loss/c": 0.0}) for step in (1, 2)])
    where = reverse("shared", args=[texts["run"]])
    page = client.get(where).content.decode()
    assert "stayed at 0" not in page and '<section class="chart" id="chart-loss-b"' in page
    runs[0].state = "succeeded"
    runs[0].save(update_fields=["state"])
    varying, _, folded = " ".join(client.get(where).content.decode().split()).partition('data-slug="of-loss-zeros"')
    assert "2 metrics stayed at 0: <span>loss/b,</span> <span>loss/c</span>" in folded
    assert (
        'id="chart-loss-a"' in varying
        and 'id="chart-loss-b"' not in varying
        and '<h3 id="chart-loss-b-title"' in folded
    )


@each_case("scope", SCOPES)
def test_nothing_on_it_changes_anything_or_leads_inside(client, texts, scope):
    page = client.get(reverse("shared", args=[texts[scope]])).content.decode()
    assert 'method="post"' not in page
    assert "hx-post" not in page
    assert "csrf" not in page
    leads_to = re.findall(r'(?:href|hx-get|src|action)="(/[^"]*)"', page)
    allowed = ("/static/", "/words.js", f"/shared/{texts[scope]}/")
    assert [where for where in leads_to if not where.startswith(allowed)] == []


@each_case("scope", SCOPES)
def test_no_cookie_is_set_and_no_search_engine_let_in(client, texts, scope):
    for where, query in (("shared", {}), ("shared-chart", {"name": CHARTS[scope]})):
        answer = client.get(reverse(where, args=[texts[scope]]), query)
        assert answer.status_code == 200
        assert not answer.cookies
        assert answer["X-Robots-Tag"] == "noindex, nofollow"
        assert answer["Referrer-Policy"] == "no-referrer"
        assert "private" in answer["Cache-Control"]


@each_case("scope", SCOPES)
def test_shared_charts_are_available_as_words_table_and_csv(client, texts, scope):
    where = reverse("shared-chart", args=[texts[scope]])
    replies = {form: client.get(where, {"name": CHARTS[scope], "as": form}) for form in ("words", "table", "csv")}
    assert {answer.status_code for answer in replies.values()} == {200}
    assert replies["csv"]["Content-Type"].startswith("text/csv")
    assert client.get(where, {"name": CHARTS[scope], "as": "pdf"}).status_code == 404


@each_case("scope", SCOPES)
def test_unchanged_chart_returns_304_until_new_records(client, texts, runs, scope):
    where = reverse("shared-chart", args=[texts[scope]])
    first = client.get(where, {"name": CHARTS[scope]})
    again = {"headers": {"if-none-match": first["ETag"]}}
    assert client.get(where, {"name": CHARTS[scope]}, **again).status_code == 304
    record(runs[0], [evaluation(10, -5)])
    assert client.get(where, {"name": CHARTS[scope]}, **again).status_code == 200


@each_case("name", ["shared", "shared-chart", "shared-section"])
def test_unknown_link_returns_404(client, texts, name):
    for text in ("nosuch", texts["run"] + "x", texts["run"][:-1]):
        assert client.get(reverse(name, args=[text])).status_code == 404


@each_case("name", ["shared", "shared-chart", "shared-section"])
def test_ended_link_is_reported(client, ada, texts, name):
    ada.set_password("another long password")
    ada.save()
    answer = client.get(reverse(name, args=[texts["compare"]]))
    assert answer.status_code == 410
    assert "This link is no longer valid" in answer.content.decode()
    assert not answer.cookies


def test_a_link_opens_no_other_page(client, texts, runs, experiment):
    client.get(reverse("shared", args=[texts["experiment"]]))
    for where in (experiment.get_absolute_url(), runs[0].get_absolute_url(), reverse("compare"), reverse("share")):
        assert client.get(where).status_code == 302


def test_a_link_to_one_run_shows_no_other(client, texts, runs):
    where = reverse("shared", args=[texts["run"]])
    assert runs[1].name not in client.get(f"{where}?run={runs[1].uid}").content.decode()
    chart = reverse("shared-chart", args=[texts["run"]])
    text = client.get(f"{chart}?run={runs[1].uid}&name=reward&as=csv").content.decode()
    assert runs[1].name not in text


def test_shared_config_omits_site_settings(client, ada, runs, texts):
    for run in runs:
        run.config["tracking"]["token_file"] = f"/secret/{run.seed}/token"
        run.config["compute"]["cluster"] = f"hidden-{run.uid}"
        run.config["model"]["path"] = "/secret/models/big-1.5b"
        run.save()
    for scope in SCOPES:
        page = client.get(reverse("shared", args=[texts[scope]]), {"config": "everything"}).content.decode()
        assert "/secret/" not in page
        assert "hidden-" not in page
        assert "…/big-1.5b" in page


def test_only_reading_is_answered(client, texts):
    for name in ("shared", "shared-chart", "shared-section"):
        assert client.post(reverse(name, args=[texts["compare"]])).status_code == 405


def test_sharing_a_comparison_freezes_its_runs_and_keeps_how_it_is_shown(ada_client, client, runs, experiment):
    where = create_link(ada_client, address("compare", experiment=experiment.pk, x="samples", smooth="0.6"))
    late = make_run(experiment, "es-tiny", 5)
    answer = client.get(where)
    assert [mark.run for mark in answer.context["marks"]] == runs[::-1]
    assert late.name not in answer.content.decode()
    controls = answer.context["settings"].controls
    assert (controls.x, str(controls.smoothing)) == ("samples", "0.6")


def test_a_section_is_drawn_on_a_shared_page_too(client, texts):
    where = reverse("shared-section", args=[texts["compare"]])
    assert client.get(where, {"section": "nosuch"}).status_code == 404
    assert client.get(reverse("shared-section", args=[texts["run"]]), {"section": "es"}).status_code == 404


@pytest.mark.parametrize("lifetime", ["", "year"])
def test_invalid_lifetime_is_answered_with_the_valid_ones(ada_client, runs, lifetime):
    answer = ada_client.post(address("run", run=runs[0].uid), {"lifetime": lifetime})
    assert answer.status_code == 400
    assert "The lifetime of a link must be one of hour, day, week, month, not" in answer.content.decode()


def test_all_links_are_taken_back_by_one_button(ada_client, client, runs, texts):
    where = address("run", run=runs[0].uid)
    page = ada_client.post(where, {"take_back": "all"}, follow=True).content.decode()
    assert "Revoked all your links." in page
    assert client.get(reverse("shared", args=[texts["run"]])).status_code == 410
    assert client.get(create_link(ada_client, where)).status_code == 200


def test_private_run_cannot_be_shared(ada_client, private_experiment):
    secret = make_run(private_experiment)
    for where in (
        address("run", run=secret.uid), address("experiment", experiment=private_experiment.pk),
        address("compare", run=secret.uid),
    ):  # fmt: skip
        assert "This is private" in ada_client.get(where).content.decode()
        assert ada_client.post(where, {"lifetime": "day"}).status_code == 400


@each_case("query", [{"page": "run", "run": "nosuch"}, {"page": "experiment", "experiment": "x"}, {}])
def test_missing_run_cannot_be_shared(ada_client, query):
    assert ada_client.get(reverse("share"), query).status_code == 404


def test_strangers_cannot_even_ask_to_share_what_is_private(cy_client, private_experiment):
    secret = make_run(private_experiment)
    assert cy_client.get(address("run", run=secret.uid)).status_code == 404
    assert cy_client.get(address("experiment", experiment=private_experiment.pk)).status_code == 404


def test_an_experiment_without_runs_can_be_shared(ada, client, experiment):
    text = link_text(ada, Scope.EXPERIMENT, [experiment.pk], "day")
    assert "No runs yet" in client.get(reverse("shared", args=[text])).content.decode()


def test_number_of_queries_is_independent_of_the_number_of_runs(ada, client, experiment, runs):
    def queries(text):
        with CaptureQueriesContext(connection) as captured:
            assert Client().get(reverse("shared", args=[text])).status_code == 200
        return len(captured)

    few = [queries(link_text(ada, Scope.COMPARE, [r.uid for r in runs], "day")),
           queries(link_text(ada, Scope.EXPERIMENT, [experiment.pk], "day"))]  # fmt: skip
    for seed in range(1, 6):
        runs.append(make_run(experiment, "es-tiny", seed))
        record(runs[-1], [evaluation(0, -40), evaluation(5, -10)])
    assert few == [
        queries(link_text(ada, Scope.COMPARE, [r.uid for r in runs], "day")),
        queries(link_text(ada, Scope.EXPERIMENT, [experiment.pk], "day")),
    ]
    assert max(few) <= 18
