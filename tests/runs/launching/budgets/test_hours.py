"""Hours of GPUs and cores, by what took them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from runs.launching.budgets import Hours, expected, shares, spent
from runs.models import Attempt, Cluster, Experiment, Run
from tests.runs.full_runs import make_run

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
pytestmark = pytest.mark.usefixtures("db", "local")


def ran(experiment: Experiment, hours: float, gpus: int = 0, cores: int = 1, ended: datetime = NOON) -> Run:
    """A run that has taken so many hours of the clock until then."""
    run = make_run(experiment, "es-micro", Run.objects.count(), "succeeded")
    run.config["compute"] |= {"gpus": gpus, "cores": cores}
    run.save()
    run.attempts.update(started_at=ended - timedelta(hours=hours), ended_at=ended)
    return run


def everything() -> list[Hours]:
    """The hours of all attempts, as a list that can be compared."""
    return [spent(Attempt.objects.all())]


def test_a_run_with_gpus_costs_hours_of_those_and_none_of_cores(experiment: Experiment) -> None:
    ran(experiment, 2.0, gpus=3, cores=8)
    ran(experiment, 0.5, cores=4)
    assert everything() == [Hours(gpu=6.0, cpu=2.0)]


def test_what_waits_or_ran_elsewhere_costs_nothing(experiment: Experiment) -> None:
    make_run(experiment, "es-micro", state="queued")
    Attempt.objects.filter(run=ran(experiment, 5.0)).update(cluster=None, origin="import", drained_at=NOON)
    assert everything() == [Hours()]


def test_what_still_runs_has_cost_what_it_has_run(experiment: Experiment) -> None:
    run = make_run(experiment, "es-micro")
    run.attempts.update(started_at=timezone.now() - timedelta(hours=2))
    assert spent(run.attempts.all()).cpu == pytest.approx(2.0, rel=1e-3)


def test_only_what_lies_after_a_moment_counts_from_there(experiment: Experiment) -> None:
    ran(experiment, 4.0)
    assert spent(Attempt.objects.all(), NOON - timedelta(hours=1)) == Hours(cpu=1.0)
    assert spent(Attempt.objects.all(), NOON) == Hours()


def test_hours_are_told_apart_by_person_experiment_sweep_and_cluster(
    ada: User, bo: User, experiment: Experiment
) -> None:
    other = Experiment.objects.create(name="Other", owner=bo)
    far = Cluster.objects.create(name="far", kind="slurm")
    ran(experiment, 1.0)
    ran(experiment, 2.0)
    Attempt.objects.filter(run=ran(other, 3.0, gpus=1)).update(cluster=far)

    def told(by: str) -> list[tuple[str, float, float, int]]:
        return [(s.name, s.hours.gpu, s.hours.cpu, s.runs) for s in shares(Run.objects.all(), by)]

    assert told("person") == [("bo", 3.0, 0.0, 1), ("ada", 0.0, 3.0, 2)]
    assert told("experiment") == [("Other", 3.0, 0.0, 1), ("Concise", 0.0, 3.0, 2)]
    assert told("cluster") == [("far", 3.0, 0.0, 1), ("local", 0.0, 3.0, 2)]
    assert told("sweep") == [("", 3.0, 3.0, 3)]


def test_what_runs_were_to_cost_is_said_with_how_many_nobody_could_tell_of(experiment: Experiment) -> None:
    run = ran(experiment, 1.0, cores=2)
    ran(experiment, 1.0)
    Run.objects.filter(pk=run.pk).update(estimated_seconds=1800)
    assert expected(Run.objects.all()) == (Hours(cpu=1.0), 1)
