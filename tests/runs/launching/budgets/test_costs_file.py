"""Hours of runs as files: CSV with every digit, and LaTeX with the total."""

from __future__ import annotations

import csv
import io

import pytest
from django.test import Client
from django.urls import reverse

from runs.models import Experiment
from tests.runs.launching.budgets.test_hours import make_ended_run

pytestmark = pytest.mark.usefixtures("db", "local")
BY_EXPERIMENT = {"by": "experiment", "since": "all"}


def file_of(client: Client, **query: str) -> str:
    reply = client.get(reverse("costs-table"), query)
    assert reply.status_code == 200, reply.content
    return reply.content.decode()


def test_csv_of_costs_has_a_row_for_each_experiment(ada_client: Client, experiment: Experiment) -> None:
    make_ended_run(experiment, 2.0, gpus=3)
    make_ended_run(experiment, 0.5, cores=4)
    rows = list(csv.reader(io.StringIO(file_of(ada_client, **BY_EXPERIMENT))))
    assert rows == [
        ["experiment", "number", "gpu_hours", "cpu_hours", "runs"],
        [experiment.name, str(experiment.pk), "6.0", "2.0", "2"],
    ]


def test_latex_of_costs_has_the_total(ada_client: Client, experiment: Experiment) -> None:
    make_ended_run(experiment, 2.0, gpus=3)
    text = file_of(ada_client, **BY_EXPERIMENT, **{"as": "latex"})
    assert "Experiment & GPU-hours & CPU-hours & Runs \\\\" in text
    assert f"{experiment.name} & $6$ & $0$ & $1$ \\\\\nTotal & $6$ & $0$ & -- \\\\\n" in text
    assert "% Hours by experiment, all time, at " in text and "% Of the runs that ada may see" in text


def test_file_of_costs_has_no_hours_of_invisible_runs(bo_client: Client, private_experiment: Experiment) -> None:
    make_ended_run(private_experiment, 2.0)
    assert len(file_of(bo_client, **BY_EXPERIMENT).splitlines()) == 1


def test_costs_page_links_to_files_of_the_same_hours(ada_client: Client, experiment: Experiment) -> None:
    make_ended_run(experiment, 2.0)
    page = ada_client.get(reverse("costs"), BY_EXPERIMENT).content.decode()
    for form in ("csv", "latex"):
        assert f"{reverse('costs-table')}?by=experiment&amp;since=all&amp;as={form}" in page


def test_costs_file_of_an_unknown_form_is_not_found(ada_client: Client) -> None:
    reply = ada_client.get(reverse("costs-table"), {"as": "pdf"})
    assert reply.status_code == 404 and "as must be one of csv, latex" in reply.content.decode()
