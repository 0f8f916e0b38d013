"""Addresses that name missing runs: a page reports them, a chart or file is not found."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from runs.models import Experiment, Run
from tests.cases import each_case
from tests.runs.full_runs import evaluation, make_run, record
from workers.records import Metric

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("runs_dir")]
GONE = "zzzzzzzzzz"


@pytest.fixture
def run(experiment: Experiment) -> Run:
    new_run = make_run(experiment)
    record(new_run, [evaluation(0, -40), evaluation(5, -7), Metric(5, {"lambda": 1.0, "J_C": 0.5, "train/loss": 1.0})])
    return new_run


@pytest.fixture
def pages(experiment: Experiment) -> dict[str, str]:
    """Return the addresses of pages of several runs."""
    return {"compare": reverse("compare"), "lambda": reverse("experiment-lambda", args=[experiment.pk])}


@pytest.fixture
def parts(experiment: Experiment) -> dict[str, str]:
    """Return the addresses of their charts and parts."""
    return {
        "compare": f"{reverse('compare-chart')}?name=kl",
        "section": f"{reverse('compare-section')}?section=train",
        "lambda": f"{reverse('experiment-lambda-chart', args=[experiment.pk])}?name=lambda",
    }


@pytest.mark.parametrize("name", ["compare", "lambda"])
def test_page_names_the_missing_run_and_its_charts_leave_it_out(
    ada_client: Client, run: Run, pages: dict[str, str], name: str
) -> None:
    answer = ada_client.get(pages[name], {"run": [run.uid, GONE]})
    assert answer.status_code == 200
    page = answer.content.decode()
    assert GONE in " ".join(answer.context["problems"])
    assert f"?run={run.uid}&amp;name=" in page
    assert page.count(f"run={GONE}&amp;name=") == 0
    assert page.count(f"run={GONE}&amp;section=") == 0


@pytest.mark.parametrize("name", ["compare", "lambda"])
def test_page_of_missing_runs_alone_returns_404(ada_client: Client, run: Run, pages: dict[str, str], name: str) -> None:
    answer = ada_client.get(pages[name], {"run": [GONE, "yyyyyyyyyy"]})
    assert answer.status_code == 404
    assert GONE in answer.content.decode()


@each_case("form", ["", "csv", "table"])
@each_case("name", ["compare", "section", "lambda"])
def test_chart_of_a_missing_run_returns_404(
    ada_client: Client, run: Run, parts: dict[str, str], name: str, form: str
) -> None:
    address = f"{parts[name]}{f'&as={form}' if form else ''}&run={run.uid}"
    assert ada_client.get(address).status_code == 200
    answer = ada_client.get(f"{address}&run={GONE}")
    assert answer.status_code == 404
    assert GONE in answer.content.decode()


def test_run_of_another_experiment_or_without_lambda_returns_404(
    ada_client: Client, run: Run, parts: dict[str, str], experiment: Experiment
) -> None:
    other = make_run(experiment, "grpo-tiny")
    answer = ada_client.get(f"{parts['lambda']}&as=csv&run={run.uid}&run={other.uid}")
    assert answer.status_code == 404
    assert f"run must be one of {run.uid}, not &#x27;{other.uid}&#x27;" in answer.content.decode()


def test_hidden_run_is_answered_as_one_that_is_not_there(
    cy_client: Client, run: Run, parts: dict[str, str], private_experiment: Experiment
) -> None:
    hidden = make_run(private_experiment)
    answer = cy_client.get(f"{parts['compare']}&as=csv&run={run.uid}&run={hidden.uid}")
    assert answer.status_code == 404
    assert hidden.name not in answer.content.decode()


def test_baseline_that_is_not_compared_returns_404(ada_client: Client, run: Run, experiment: Experiment) -> None:
    other = make_run(experiment, "grpo-tiny")
    address = f"{reverse('compare')}?run={run.uid}"
    assert ada_client.get(f"{address}&baseline={run.uid}").status_code == 200
    answer = ada_client.get(f"{address}&baseline={other.uid}")
    assert answer.status_code == 404
    assert f"baseline must be one of {run.uid}, not &#x27;{other.uid}&#x27;" in answer.content.decode()


def test_baseline_stays_in_the_comparison_when_newer_runs_come(
    ada_client: Client, run: Run, experiment: Experiment
) -> None:
    newer = [make_run(experiment, seed=seed) for seed in range(1, 12)]
    queries = ({"experiment": experiment.pk}, {"run": [*(newer_run.uid for newer_run in newer), run.uid]})
    for query in queries:
        context = ada_client.get(reverse("compare"), {**query, "baseline": run.uid}).context
        visible = [mark.run for mark in context["marks"]]
        assert (len(visible), visible[-1]) == (10, run)
        assert context["baseline_uid"] == run.uid


def test_chart_of_an_unmeasured_key_returns_404(ada_client: Client, run: Run) -> None:
    answer = ada_client.get(reverse("compare-chart"), {"run": run.uid, "name": "nosuch"})
    assert answer.status_code == 404
    assert "name must be one of reward/mean" in answer.content.decode()
