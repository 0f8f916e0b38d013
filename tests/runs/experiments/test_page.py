import csv
import io
import json
import re

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from tests.cases import each_case
from tests.runs.full_runs import a_bit_of_everything, evaluation, make_run, record

pytestmark = pytest.mark.django_db


def figures(page):
    return [json.loads(f) for f in re.findall(r'<script type="application/json">(.*?)</script>', page)]


def test_experiment_without_runs_explains_the_next_step(ada_client, experiment):
    page = ada_client.get(experiment.get_absolute_url()).content.decode()
    assert "No runs yet" in page
    assert reverse("launch", args=[experiment.pk]) in page


def test_colleague_is_not_offered_actions_of_the_owner(bo_client, experiment):
    page = bo_client.get(experiment.get_absolute_url()).content.decode()
    assert reverse("launch", args=[experiment.pk]) not in page
    assert "Only ada" in page


def test_the_table_shows_the_evaluators_last_word(ada_client, experiment):
    record(make_run(experiment), [evaluation(0, -45.9), evaluation(5, -7.25)])
    page = ada_client.get(experiment.get_absolute_url()).content.decode()
    assert "−7.25" in page
    assert "90\N{NARROW NO-BREAK SPACE}%" in page
    assert "5 of 60" in page


def test_both_methods_are_drawn_in_their_own_colour(ada_client, experiment):
    for name in ("es-tiny", "grpo-tiny"):
        record(make_run(experiment, name), [evaluation(0, -40), evaluation(5, -10)])
    page = ada_client.get(experiment.get_absolute_url()).content.decode()
    assert [t["meta"]["colour"] for t in figures(page)[0]["data"]] == ["es", "grpo"]


def test_page_draws_ten_runs_and_reports_it(ada_client, experiment):
    for seed in range(12):
        record(make_run(experiment, seed=seed), [evaluation(0, -40.0), evaluation(5, float(-seed))])
    page = ada_client.get(experiment.get_absolute_url()).content.decode()
    assert page.count('class="run-name"') == 12
    assert "Thin: the first 10 listed runs." in " ".join(page.split())
    assert len([t for t in figures(page)[0]["data"] if "seed" in t["name"]]) == 10


def test_mean_includes_seeds_outside_the_table_page(ada_client, experiment):
    for seed in range(12):
        record(make_run(experiment, seed=seed), [evaluation(0, -40.0), evaluation(5, float(-seed))])
    for query in ("", "seed:3"):
        page = ada_client.get(experiment.get_absolute_url(), {"q": query}).content.decode()
        assert [t["y"] for t in figures(page)[0]["data"] if "n = 12" in t["name"]] == [[-40.0, -5.5]]


@pytest.mark.parametrize(("sort", "first"), [("reward", "es-tiny seed 0"), ("-reward", "es-tiny seed 2")])
def test_the_table_sorts_by_a_number_and_runs_without_it_come_last(ada_client, experiment, sort, first):
    for seed in range(3):
        record(make_run(experiment, seed=seed), [evaluation(0, -40.0 + seed)])
    make_run(experiment, seed=9)
    page = ada_client.get(f"{experiment.get_absolute_url()}?sort={sort}").content.decode()
    names = re.findall(r'class="run-name"><a [^>]*>([^<]*)<', page)
    assert (names[0], names[-1]) == (first, "es-tiny seed 9")


@each_case(("query", "message"), [("x=foo", "step, wall, relative"), ("sort=foo", "reward"), ("y=foo", "linear")])
def test_invalid_parameter_is_answered_with_the_valid_values(ada_client, experiment, query, message):
    make_run(experiment)
    response = ada_client.get(f"{experiment.get_absolute_url()}?{query}")
    assert response.status_code == 200
    assert "must be one of" in response.content.decode()
    assert message in response.content.decode()


@each_case(("x", "last"), [("step", 5), ("tokens", 500), ("samples", 50), ("relative", 1)])
def test_curves_use_the_requested_axis(ada_client, experiment, x, last):
    record(make_run(experiment), [evaluation(0, -40), evaluation(5, -10)])
    page = ada_client.get(f"{experiment.get_absolute_url()}?x={x}").content.decode()
    assert figures(page)[0]["data"][0]["x"] == [0, last]


def test_a_chart_is_also_csv_and_a_table_and_words(ada_client, experiment):
    record(make_run(experiment), [evaluation(0, -40), evaluation(5, -10)])
    address = reverse("experiment-chart", args=[experiment.pk])
    text = ada_client.get(address, {"name": "reward", "as": "csv"})
    assert text["Content-Type"].startswith("text/csv")
    rows = list(csv.DictReader(io.StringIO(text.content.decode())))
    assert [(r["step"], r["mean"]) for r in rows] == [("0.0", "-40.0"), ("5.0", "-10.0")]
    assert "<table>" in ada_client.get(address, {"name": "reward", "as": "table"}).content.decode()
    words = ada_client.get(address, {"name": "reward"}).content.decode()
    assert "es-tiny rose from −40 to −10 (n = 1)." in words
    assert "<html" not in words


def test_unknown_chart_returns_404(ada_client, experiment):
    assert ada_client.get(reverse("experiment-chart", args=[experiment.pk]), {"name": "nosuch"}).status_code == 404


@each_case("name", ["experiment", "experiment-runs", "experiment-chart", "launch"])
def test_strangers_find_nothing_of_what_is_private(cy_client, private_experiment, name):
    assert cy_client.get(reverse(name, args=[private_experiment.pk]), {"name": "reward"}).status_code == 404


def test_visible_run_is_watched_from_the_batch_of_the_page(ada_client, experiment):
    run = make_run(experiment)
    record(run, a_bit_of_everything())
    page = ada_client.get(experiment.get_absolute_url())
    assert page.context["watch"] == {run.uid: run.batches.latest("pk").pk}


def queries(client, address):
    with CaptureQueriesContext(
        connection,
    ) as captured:
        assert client.get(address).status_code == 200
    return len(captured)


def test_number_of_queries_is_equal_for_one_and_twelve_runs(ada_client, experiment):
    record(make_run(experiment), a_bit_of_everything())
    # The first page stores the looks of its groups.
    ada_client.get(experiment.get_absolute_url())
    query_count = queries(ada_client, experiment.get_absolute_url())
    for seed in range(1, 12):
        record(make_run(experiment, ("es-tiny", "grpo-tiny")[seed % 2], seed), [evaluation(0, -40), evaluation(5, -10)])
    ada_client.get(experiment.get_absolute_url())
    assert queries(ada_client, experiment.get_absolute_url()) == query_count
    assert query_count <= 22


def test_middle_and_band_are_chosen_by_the_address_and_named(ada_client, experiment):
    for seed in range(4):
        record(make_run(experiment, seed=seed), [evaluation(0, -40 - seed), evaluation(5, -10 * seed)])
    page = ada_client.get(experiment.get_absolute_url(), {"center": "median", "band": "ci"}).content.decode()
    assert "Bold: the median of a group" in page
    assert "Shade: 95 % t-interval" in page
    names = {trace["name"] for trace in figures(page)[0]["data"]}
    assert "es-tiny, 95 % t-interval" in names
    (middle,) = [t for t in figures(page)[0]["data"] if t["name"] == "es-tiny (n = 4)"]
    assert middle["y"] == [-41.5, -15]


def test_unknown_aggregate_is_reported_with_the_valid_ones(ada_client, experiment):
    record(make_run(experiment), [evaluation(0, -40)])
    for name, value, choices in (("center", "mode", "mean, median, iqm"), ("band", "huge", "auto, range, std, se, ci")):
        page = ada_client.get(experiment.get_absolute_url(), {name: value})
        assert page.status_code == 404
        assert f"{name} must be one of {choices}" in page.content.decode()
