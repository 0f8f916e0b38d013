"""The λ page: all curves on one cursor, how well the constraint was met, and the hint for runs without λ."""

import pytest
from django.urls import reverse

from tests.runs.full_runs import make_run, record
from workers.records import Metric

pytestmark = pytest.mark.django_db

J_C = (4.0, 2.0, -1.0, 1.0, -1.0)


def constrained(experiment, name="es-tiny", seed=0):
    run = make_run(experiment, name, seed)
    record(run, [
        Metric(step, {"lambda": 1 + step / 10, "J_C": value, "J_C/smoothed": value / 2, "J_C/threshold": 0.0})
        for step, value in zip(range(0, 50, 10), J_C, strict=True)
    ])  # fmt: skip
    record(run, [Metric(step, {"cost/mean": 3.0 - step / 10, "safety/safe_ratio": step / 50}) for step in (0, 20, 40)])
    return run


@pytest.fixture
def runs(experiment, runs_dir):
    make_run(experiment, "es-tiny", 7)
    return constrained(experiment), constrained(experiment, "grpo-tiny")


def page(client, experiment, **query):
    return client.get(reverse("experiment-lambda", args=[experiment.pk]), query)


def words(response):
    return " ".join(response.content.decode().split())


def test_runs_with_a_lambda_are_on_every_chart(ada_client, experiment, runs):
    response = page(ada_client, experiment)
    assert "2 of 2 runs with a λ shown" in words(response)
    charts = response.context["charts"]
    assert [chart.name for chart in charts] == ["lambda", "J_C", "cost/mean", "safety/safe_ratio"]
    colours = [{t["meta"]["colour"] for t in c.figure["data"] if t.get("meta", {}).get("run")} for c in charts]
    assert colours == [{"es", "grpo"}] * 4


def test_page_reports_how_well_the_constraint_was_met(ada_client, experiment, runs):
    row = page(ada_client, experiment).context["outcomes"][0]
    assert (row.compliance.violated, row.compliance.share, row.compliance.met_at) == (30, 0.75, 20)
    assert (row.compliance.overshoot, row.compliance.settled_at, row.compliance.worst) == (1, 40, 4)
    assert (row.last, row.peak.value, row.peak.at) == (5, 5, 40)


def test_curves_are_smoothed_on_request(ada_client, experiment, runs):
    row = page(ada_client, experiment, smooth="median-3").context["outcomes"][0]
    # The medians of three: 3, 2, 1, -1, 0.
    assert (row.compliance.violated, row.compliance.worst, row.compliance.overshoot, row.compliance.settled_at) == (
        30,
        3,
        0,
        30,
    )


def test_a_run_without_a_threshold_is_held_against_zero(ada_client, experiment, runs_dir):
    run = make_run(experiment)
    record(run, [Metric(step, {"lambda": 1.0, "J_C": 1.0 - step}) for step in (0, 1, 2)])
    row = page(ada_client, experiment).context["outcomes"][0]
    assert (row.compliance.violated, row.compliance.settled_at) == (1, 1)


@pytest.mark.parametrize(
    ("last", "words_of_it"), [(1e-4, "at its lower limit since 5"), (5.0, "at its upper limit since 5")]
)
def test_lambda_that_stays_on_a_limit_is_reported(ada_client, experiment, runs_dir, last, words_of_it):
    run = make_run(experiment, "es-safety-tiny")
    record(run, [Metric(step, {"lambda": last if step >= 5 else 1.0, "J_C": -1.0}) for step in range(14)])
    assert words_of_it not in words(page(ada_client, experiment))
    record(run, [Metric(14, {"lambda": last, "J_C": -1.0})])
    assert words_of_it in words(page(ada_client, experiment))


def test_experiment_without_lambda_shows_a_hint(ada_client, experiment, runs_dir):
    make_run(experiment)
    text = words(page(ada_client, experiment))
    assert "No run of this experiment has a λ" in text
    assert "<code>safety</code>" in text


def test_experiment_and_run_lead_there_only_where_there_is_a_lambda(ada_client, experiment, private_experiment, runs):
    address = reverse("experiment-lambda", args=[experiment.pk])
    assert address in ada_client.get(experiment.get_absolute_url()).content.decode()
    assert address in ada_client.get(runs[0].get_absolute_url()).content.decode()
    plain = make_run(private_experiment, seed=9)
    for listed in (plain, private_experiment):
        assert "/lambda/" not in ada_client.get(listed.get_absolute_url()).content.decode()


def test_numbers_come_as_csv_and_as_a_table(ada_client, experiment, runs):
    address = reverse("experiment-lambda-chart", args=[experiment.pk])
    rows = ada_client.get(address, {"name": "J_C", "as": "csv"}).content.decode().splitlines()
    assert rows[0] == "key,letter,run,group,seed,step,value"
    assert len(rows) == 1 + 3 * 2 * len(J_C)
    assert "<table>" in ada_client.get(address, {"name": "phase", "as": "table"}).content.decode()
    assert ada_client.get(address, {"name": "x"}).status_code == 404


def test_runs_can_be_chosen_and_axes_too(ada_client, experiment, runs):
    response = page(ada_client, experiment, run=runs[1].uid, x="relative")
    assert [mark.run for mark in response.context["marks"]] == [runs[1]]
    assert "1 of 1 run with a λ shown" in words(response)
    assert "x must be one of" in words(page(ada_client, experiment, x="years"))


def test_only_ten_of_many_runs_are_shown(ada_client, experiment, runs_dir):
    for seed in range(12):
        record(make_run(experiment, "es-tiny", seed), [Metric(0, {"lambda": 1.0})])
    assert "10 of 12 runs with a λ shown" in words(page(ada_client, experiment))


def test_number_of_queries_is_independent_of_the_number_of_runs(
    ada_client, experiment, runs, django_assert_max_num_queries
):
    page(ada_client, experiment)
    with django_assert_max_num_queries(14) as few:
        page(ada_client, experiment)
    for seed in range(1, 5):
        constrained(experiment, "es-tiny", seed)
    with django_assert_max_num_queries(len(few)):
        page(ada_client, experiment)


def test_private_experiment_is_hidden_from_others(cy_client, private_experiment):
    assert page(cy_client, private_experiment).status_code == 404
