"""Results of probe runs by the API: all of them page by page, one measure, and the newest of what was repeated."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from runs.models import Experiment, Run
from tests.runs.api_client import calls
from tests.runs.evaluation_runs import make_training
from tests.runs.full_runs import record
from tests.runs.probe_runs import make_probe_run, record_norms, reward_line
from workers.records import Probe, ProbeValue


@pytest.fixture
def probe_run(experiment: Experiment) -> Run:
    """Return a probe run with norms of two steps and the rewards along a line."""
    trainings = [make_training(experiment, method) for method in ("es", "grpo")]
    run = make_probe_run(experiment, trainings)
    for step in (10, 20):
        record_norms(run, trainings[0], step=step)
    record(run, [reward_line(*trainings)])
    return run


def read(person: User, run: Run, **query: Any) -> Any:
    return calls(person, "read").get(f"/api/v1/runs/{run.uid}/probes", query)


def test_results_have_each_value_with_its_band(ada: User, probe_run: Run) -> None:
    first, _second, line = read(ada, probe_run).json()["items"]
    assert (first["probe"], first["measure"], first["step"], first["other"]) == ("magnitude", "norm", 10, "")
    assert first["subject"].endswith("@10")
    whole, tensor = first["values"][:2]
    assert (whole["tensor"], whole["value"], whole["n"]) == ("", 2.0, 4096)
    assert (tensor["tensor"], tensor["null_low"], tensor["null_high"]) == ("model.embed_tokens.weight", 0.9, 1.1)
    assert tensor["low"] is None and tensor["draw"] is None
    assert [value["x"] for value in line["values"]] == [0.0, 0.5, 1.0]


def test_results_are_selected_and_paged(ada: User, probe_run: Run) -> None:
    assert [item["step"] for item in read(ada, probe_run, measure="norm").json()["items"]] == [10, 20]
    assert [item["measure"] for item in read(ada, probe_run, probe="interpolation").json()["items"]] == ["reward"]
    page = read(ada, probe_run, limit=2).json()
    rest = read(ada, probe_run, limit=2, cursor=page["next"]).json()
    assert [item["measure"] for item in (*page["items"], *rest["items"])] == ["norm", "norm", "reward"]
    assert rest["next"] is None


def test_an_unknown_measure_is_refused_with_the_choices(ada: User, probe_run: Run) -> None:
    refused = read(ada, probe_run, measure="norms")
    assert refused.status_code == 422
    assert "norm, reward" in refused.json()["problems"][0]["message"]


def test_newest_of_a_repeated_result_counts(ada: User, probe_run: Run, experiment: Experiment) -> None:
    subject = read(ada, probe_run).json()["items"][0]["subject"]
    record(probe_run, [Probe(10, "magnitude", "norm", subject, (ProbeValue(7.0, 4096),))])
    items = read(ada, probe_run, measure="norm").json()["items"]
    assert [item["values"][0]["value"] for item in items] == [2.0, 7.0]


def test_results_of_a_private_experiment_are_not_found(bo: User, private_experiment: Experiment) -> None:
    assert read(bo, make_probe_run(private_experiment)).status_code == 404
