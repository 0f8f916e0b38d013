"""Hours of GPUs and cores, by what took them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from runs.launching.budgets import Hours, estimated_hours, hours_of, shares, spent_hours
from runs.models import Attempt, Cluster, Experiment, Run
from tests.runs.full_runs import make_run

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
pytestmark = pytest.mark.usefixtures("db", "local")


def make_ended_run(
    experiment: Experiment, hours: float, gpus: float | str = 0, cores: int = 1, ended: datetime = NOON, nodes: int = 1
) -> Run:
    """Create a run that has taken this many hours of wall-clock time until then."""
    run = make_run(experiment, "es-micro", Run.objects.count(), "succeeded")
    run.config["compute"] |= {"nodes": nodes, "gpus": gpus, "cores": cores}
    run.save()
    run.attempts.update(started_at=ended - timedelta(hours=hours), ended_at=ended)
    return run


def all_hours() -> list[Hours]:
    """Return the hours of all attempts, as a list that can be compared."""
    return [spent_hours(Attempt.objects.all())]


def test_a_run_with_gpus_costs_hours_of_those_and_none_of_cores(experiment: Experiment) -> None:
    make_ended_run(experiment, 2.0, gpus=3, cores=8)
    make_ended_run(experiment, 0.5, cores=4)
    assert all_hours() == [Hours(gpu=6.0, cpu=2.0)]


def test_hours_of_all_nodes_count(experiment: Experiment) -> None:
    run = make_ended_run(experiment, 1.0, nodes=2, gpus=4, cores=8)
    assert (hours_of(run.run_config, 3600.0), all_hours()) == (Hours(gpu=8.0), [Hours(gpu=8.0)])
    assert shares(Run.objects.all(), "person")[0].hours == Hours(gpu=8.0)
    Run.objects.filter(pk=run.pk).update(estimated_seconds=1800)
    assert estimated_hours(Run.objects.all()) == (Hours(gpu=4.0), 0)
    without_gpus = make_ended_run(experiment, 1.0, nodes=3, cores=2)
    assert hours_of(without_gpus.run_config, 3600.0) == Hours(cpu=6.0)
    assert all_hours() == [Hours(gpu=8.0, cpu=6.0)]


def test_share_of_a_gpu_costs_that_share_of_the_hours(experiment: Experiment) -> None:
    quarter = make_ended_run(experiment, 2.0, gpus=0.25, cores=4)
    assert (hours_of(quarter.run_config, 3600.0), all_hours()) == (Hours(gpu=0.25), [Hours(gpu=0.5)])
    auto = make_ended_run(experiment, 2.0, gpus="auto", cores=4)
    # Not planned yet: as much as a whole GPU.
    assert (hours_of(auto.run_config, 3600.0), spent_hours(auto.attempts.all())) == (Hours(gpu=1.0), Hours(gpu=2.0))
    auto.attempts.update(gpu_share=0.07)
    assert spent_hours(auto.attempts.all()).gpu == pytest.approx(0.14)
    Run.objects.filter(pk=auto.pk).update(estimated_seconds=3600)
    assert estimated_hours(Run.objects.filter(pk=auto.pk)) == (Hours(gpu=0.07), 0)
    [share] = shares(Run.objects.all(), "person")
    assert (share.hours.gpu, share.hours.cpu, share.runs) == (pytest.approx(0.64), 0.0, 2)


def test_whole_gpus_cost_their_number_whatever_was_planned(experiment: Experiment) -> None:
    make_ended_run(experiment, 1.0, gpus=4).attempts.update(gpu_share=1.0)
    assert all_hours() == [Hours(gpu=4.0)]


def test_run_of_an_earlier_version_costs_one_node(experiment: Experiment) -> None:
    run = make_ended_run(experiment, 1.0, gpus=4)
    del run.config["compute"]["nodes"], run.config["compute"]["gpu_type"]
    run.save()
    assert all_hours() == [Hours(gpu=4.0)]


def test_waiting_and_foreign_runs_cost_nothing(experiment: Experiment) -> None:
    make_run(experiment, "es-micro", state="queued")
    Attempt.objects.filter(run=make_ended_run(experiment, 5.0)).update(cluster=None, origin="import", drained_at=NOON)
    assert all_hours() == [Hours()]


def test_running_attempt_costs_its_time_so_far(experiment: Experiment) -> None:
    run = make_run(experiment, "es-micro")
    run.attempts.update(started_at=timezone.now() - timedelta(hours=2))
    assert spent_hours(run.attempts.all()).cpu == pytest.approx(2.0, rel=1e-3)


def test_only_hours_after_a_given_time_count(experiment: Experiment) -> None:
    make_ended_run(experiment, 4.0)
    assert spent_hours(Attempt.objects.all(), NOON - timedelta(hours=1)) == Hours(cpu=1.0)
    assert spent_hours(Attempt.objects.all(), NOON) == Hours()


def test_hours_are_grouped_by_user_experiment_sweep_and_cluster(ada: User, bo: User, experiment: Experiment) -> None:
    other = Experiment.objects.create(name="Other", owner=bo)
    other_cluster = Cluster.objects.create(name="far", kind="slurm")
    make_ended_run(experiment, 1.0)
    make_ended_run(experiment, 2.0)
    Attempt.objects.filter(run=make_ended_run(other, 3.0, gpus=1)).update(cluster=other_cluster)

    def hours_by(by: str) -> list[tuple[str, float, float, int]]:
        return [(s.name, s.hours.gpu, s.hours.cpu, s.runs) for s in shares(Run.objects.all(), by)]

    assert hours_by("person") == [("bo", 3.0, 0.0, 1), ("ada", 0.0, 3.0, 2)]
    assert hours_by("experiment") == [("Other", 3.0, 0.0, 1), ("Concise", 0.0, 3.0, 2)]
    assert hours_by("cluster") == [("far", 3.0, 0.0, 1), ("local", 0.0, 3.0, 2)]
    assert hours_by("sweep") == [("", 3.0, 3.0, 3)]


def test_expected_hours_count_runs_without_estimate(experiment: Experiment) -> None:
    run = make_ended_run(experiment, 1.0, cores=2)
    make_ended_run(experiment, 1.0)
    Run.objects.filter(pk=run.pk).update(estimated_seconds=1800)
    assert estimated_hours(Run.objects.all()) == (Hours(cpu=1.0), 1)
