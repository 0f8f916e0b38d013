"""A run is made whole or not at all, and writes nothing outside the database."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from pytest_django.fixtures import Settings

from runs import clusters, launching
from runs.models import Attempt, Cluster, Experiment, Run
from tests.cases import each_case
from tests.runs.local_cluster import attempt_of, run_of
from workers.config import ConfigError, RunConfig, preset
from workers.executors.states import State
from workers.gpus import Card


def test_a_run_comes_with_its_first_attempt(experiment: Experiment, ada: User, local: Cluster, runs_dir: Path) -> None:
    config = preset("es-micro").config
    run = launching.create_run(experiment=experiment, person=ada, config=RunConfig.from_json(config), preset="es-micro")
    attempt = attempt_of(run)
    assert (attempt.key, attempt.n, attempt.state) == (f"esweb-{run.uid}-a1", 1, State.CREATED.value)
    assert attempt.cluster == local
    assert (run.name, run.method, run.seed, run.state) == ("es-micro seed 0", "es", 0, "created")
    assert run.config == RunConfig.from_json(config).to_json()
    assert [event.why for event in attempt.events.all()] == ["created, to run on local"]
    assert not runs_dir.exists()


def test_invalid_config_reports_every_problem_and_creates_nothing(
    experiment: Experiment, ada: User, local: Cluster
) -> None:
    with pytest.raises(ConfigError) as refused:
        launching.create_run(
            experiment=experiment,
            person=ada,
            config=RunConfig.from_json({"method": "es", "es": {"sigma": -1, "populaton": 3}}),
        )
    assert {p.path for p in refused.value.problems} == {"es.sigma", "es.populaton"}
    assert not Run.objects.exists()


@each_case(
    ("changes", "path", "words"),
    [
        ({"config": {"method": "es", "es": {}, "compute": {"cluster": "moon"}}}, "compute.cluster", "one of local"),
        ({"preset": "no-such"}, "preset", "es-micro"),
        ({"name": "x" * 201}, "name", "at most 200"),
        ({"name": "nul\x00"}, "name", "at most 200"),
    ],
)
def test_a_bad_choice_names_the_good_ones(
    experiment: Experiment, ada: User, local: Cluster, changes: dict[str, object], path: str, words: str
) -> None:
    fields = {"config": {"method": "es", "es": {}}, **changes}
    config = RunConfig.from_json(fields.pop("config"))
    with pytest.raises(ConfigError) as refused:
        launching.create_run(experiment=experiment, person=ada, config=config, **fields)  # type: ignore[arg-type]
    [problem] = refused.value.problems
    assert problem.path == path and words in problem.message
    assert not Run.objects.exists()


def test_the_next_attempt_waits_for_the_end_of_this_one(experiment: Experiment, local: Cluster) -> None:
    run = run_of(experiment)
    first = attempt_of(run)
    assert launching.new_attempt(run) == first
    launching.transition(first, State.FAILED, "for the test")
    second = launching.new_attempt(run)
    assert (second.n, second.key, launching.new_attempt(run)) == (2, f"esweb-{run.uid}-a2", second)
    run.refresh_from_db()
    assert run.state == State.CREATED.value and Attempt.objects.open().count() == 1


def test_timeouts_come_from_the_cluster_config(local: Cluster, settings: Settings) -> None:
    assert clusters.timeouts_of(local) == clusters.Timeouts()
    local.config = {"waits": {"gone": 7}, "cores": 3, "gpus": [0]}
    assert clusters.timeouts_of(local).gone == 7
    executor = clusters.executor_for(local)
    assert (executor.cores, executor.gpus) == (3, (Card("0"),))  # type: ignore[attr-defined]
