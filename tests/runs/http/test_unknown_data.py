"""Data that there is not, over the API: refused with the valid choices, or left out while it may still come."""

import pytest

from runs.models import Run
from tests.cases import each_case
from tests.runs.api_client import calls, paths
from tests.runs.full_runs import a_bit_of_everything, evaluation, make_run, record
from workers.records import Metric


@pytest.fixture
def api(bo):
    return calls(bo, "read")


def ended(run):
    """Return the run, which will write no more."""
    Run.objects.filter(pk=run.pk).update(state="succeeded")
    return run


def test_unknown_key_of_ended_runs_names_those_that_there_are(api, experiment):
    first, second = (ended(make_run(experiment, seed=seed)) for seed in (0, 1))
    record(first, [evaluation(0, -40)])
    record(second, [Metric(0, {"train/loss": 1.0})])
    address = f"/api/v1/series?run={first.uid}&run={second.uid}"
    refused = api.get(f"{address}&key=nosuch&key=kl")
    assert refused.status_code == 422
    choices = "accuracy/right, kl, reward/mean, train/loss"
    assert paths(refused)["key"] == f"key must be one of {choices}, not 'nosuch'."
    assert [curve["run"] for curve in api.get(f"{address}&key=kl").json()["curves"]] == [first.uid]


def test_unknown_key_is_left_out_while_a_run_may_still_write_it(api, experiment):
    first, second = ended(make_run(experiment)), make_run(experiment, seed=1)
    record(first, [evaluation(0, -40)])
    answer = api.get(f"/api/v1/series?run={first.uid}&run={second.uid}&key=nosuch")
    assert (answer.status_code, answer.json()["curves"]) == (200, [])


SELECTED = {
    "responses?step=7": "step must be one of 0, 5, not '7'.",
    "responses?split=test": "split must be one of eval, not 'test'.",
    "populations?step=7": "step must be one of 0, 5, not '7'.",
    "engines?step=7": "step must be one of 0, 5, not '7'.",
}


@each_case("query", SELECTED)
def test_unknown_step_or_split_names_the_existing_ones(api, experiment, query):
    run = make_run(experiment)
    record(run, a_bit_of_everything())
    answer = api.get(f"/api/v1/runs/{run.uid}/{query}")
    assert (answer.status_code, answer.json()["items"]) == (200, [])
    ended(run)
    refused = api.get(f"/api/v1/runs/{run.uid}/{query}")
    assert refused.status_code == 422
    assert SELECTED[query] in paths(refused).values()


@each_case("name", ["runs", "sweeps", "views"])
def test_list_of_an_unknown_experiment_returns_404(api, name):
    answer = api.get(f"/api/v1/{name}?experiment=987654321")
    assert (answer.status_code, answer.json()["detail"]) == (404, "There is no experiment 987654321 that you may see")


def test_list_of_an_unknown_sweep_or_preset_is_refused(api, experiment):
    make_run(experiment)
    assert api.get("/api/v1/runs?sweep=987654321").status_code == 404
    refused = api.get("/api/v1/runs?preset=nosuch")
    assert refused.status_code == 422
    assert "es-tiny" in paths(refused)["preset"]
    assert api.get("/api/v1/runs?preset=grpo-tiny").json()["items"] == []
