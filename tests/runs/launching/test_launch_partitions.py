"""A run chooses a partition by a name that its cluster's config knows, alike in form, call and sweep."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from runs.clusters.settings import config_errors
from runs.launching import queue
from runs.launching.submit import spec_of
from runs.launching.sweeps import commands
from runs.models import Cluster, Experiment
from tests.runs.launching.test_config_form import sent
from tests.runs.local_cluster import attempt_of, run_of
from workers.config import ConfigError, preset
from workers.executors.slurm import Site
from workers.executors.slurm.job import sbatch_argv

pytestmark = pytest.mark.usefixtures("db", "local", "runs_dir")


@pytest.fixture
def alps(db: None) -> Cluster:
    config = {"partition": "gpu", "partitions": ["cpu", "gpu", "night"]}
    return Cluster.objects.create(name="alps", kind="slurm", config=config)


def refused(experiment: Experiment, **compute: object) -> str:
    with pytest.raises(ConfigError) as error:
        run_of(experiment, **compute)
    assert [problem.path for problem in error.value.problems] == ["compute.partition"]
    return error.value.problems[0].message


def test_sbatch_gets_the_chosen_or_the_clusters_partition(experiment: Experiment, alps: Cluster) -> None:
    for partition, expected in (("night", "night"), ("", "gpu")):
        spec = spec_of(attempt_of(run_of(experiment, cluster="alps", partition=partition)))
        assert f"--partition={expected}" in sbatch_argv(Site(partition="gpu"), spec)


def test_unknown_partition_is_refused_with_the_valid_ones(experiment: Experiment, alps: Cluster) -> None:
    message = "must be one of gpu, cpu, night on cluster alps, or empty for the first, not 'gpux'"
    assert refused(experiment, cluster="alps", partition="gpux") == message
    assert refused(experiment, cluster="local", partition="gpu").startswith("must be empty: cluster local names no")


def test_each_cell_of_a_sweep_is_checked(experiment: Experiment, alps: Cluster) -> None:
    base = {**preset("es-micro").config, "compute": {"cluster": "alps"}}
    new = commands.NewSweep(base, [0], grid={"compute.partition": ["cpu", "nosuch"]})
    with pytest.raises(ConfigError, match="not 'nosuch'"):
        commands.launch_sweep(new, experiment, experiment.owner)


def test_form_suggests_partitions_and_reports_unknown_ones(
    experiment: Experiment, alps: Cluster, ada_client: Client
) -> None:
    page = ada_client.get(reverse("launch", args=[experiment.pk])).content.decode()
    options = '<datalist id="compute.partition"><option value="gpu"></option><option value="cpu">'
    assert options in " ".join(page.split())
    answer = ada_client.post(
        reverse("launch", args=[experiment.pk]), sent(**{"compute.cluster": "alps", "compute.partition": "gpux"})
    )
    assert "must be one of gpu, cpu, night on cluster alps" in answer.content.decode()


def test_a_run_that_moves_leaves_it_behind(experiment: Experiment, alps: Cluster) -> None:
    run = run_of(experiment, cluster="alps", partition="night")
    queue.move_run(run, "local", experiment.owner)
    queue.create_moved_attempts(alps)
    run.refresh_from_db()
    assert run.config["compute"]["partition"] == "" and attempt_of(run).cluster.name == "local"


def test_names_that_are_no_words_are_refused() -> None:
    (complaint,) = config_errors({"partitions": ["gpu", "a b"]}, "slurm")
    assert complaint.startswith("partitions must be a list such as")
