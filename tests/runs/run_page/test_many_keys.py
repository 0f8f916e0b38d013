"""A run that logs hundreds of keys: its page opens quickly, and each chart loads when it is scrolled into view."""

import gzip
import json
import math

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from runs import metrics
from runs.run_page.curves import INITIAL_CHARTS
from tests.runs.full_runs import a_bit_of_everything, make_run, record
from workers.records import Metric

pytestmark = pytest.mark.django_db
KEYS = [f"layer{i:03d}/norm" for i in range(150)]
STEPS = 50


def queries_of(client, run):
    with CaptureQueriesContext(connection) as counted:
        client.get(reverse("run-curves", args=[run.uid]))
    return len(counted)


@pytest.fixture
def run(experiment, runs_dir):
    run = make_run(experiment)
    record(run, a_bit_of_everything())
    record(run, [Metric(s, {key: math.sin(s * i) for i, key in enumerate(KEYS)}) for s in range(STEPS)])
    return run


def chart(client, run, name, **query):
    return client.get(reverse("run-chart", args=[run.uid]), {"name": name, **query})


def test_page_contains_the_first_charts_and_all_names(ada_client, run):
    page = ada_client.get(reverse("run-curves", args=[run.uid]))
    charts = [placed.chart for _, placed_charts, _zeros in page.context["sections"] for placed in placed_charts]
    assert {chart.title for chart in charts} >= {"Reward", *KEYS}
    assert len(charts) > len(KEYS)
    drawn_names = [chart.name for chart in charts if chart.figure]
    assert len(drawn_names) == INITIAL_CHARTS
    assert drawn_names[0] == "reward"
    assert len(gzip.compress(page.content)) < 200_000


def test_other_chart_is_loaded_from_its_own_keys(ada_client, run, monkeypatch):
    read, keys_read = metrics.read, []
    monkeypatch.setattr(
        metrics, "read", lambda runs, keys, **options: keys_read.append(keys) or read(runs, keys, **options)
    )
    words = chart(ada_client, run, KEYS[-1]).content.decode()
    assert keys_read == [[KEYS[-1]]]
    assert "from 0 to" in words or "stayed" in words
    figure = json.loads(words.partition('type="application/json">')[2].partition("</script>")[0])
    assert len(figure["data"][0]["x"]) == STEPS


def test_key_without_points_along_an_axis_is_reported(ada_client, run):
    words = chart(ada_client, run, KEYS[0], x="tokens").content.decode()
    assert "There are no values along this x axis." in words and 'type="application/json"' in words
    assert chart(ada_client, run, KEYS[0], x="tokens", **{"as": "csv"}).status_code == 200


def test_a_chart_that_there_is_not_is_answered_with_those_there_are(ada_client, run):
    assert chart(ada_client, run, "nosuch").status_code == 404


def test_the_number_of_queries_is_the_same_for_few_keys_and_many(
    ada_client, experiment, run, django_assert_num_queries
):
    few = make_run(experiment, seed=1)
    record(few, a_bit_of_everything())
    for each_run in (few, run):
        ada_client.get(reverse("run-curves", args=[each_run.uid]))
    assert queries_of(ada_client, few) == queries_of(ada_client, run)
