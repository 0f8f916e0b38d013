"""Checkpoints on a cluster's own disk are those that a run's records and its `keep` name."""

from __future__ import annotations

import pytest

from runs import checkpoints
from runs.models import Cluster, Experiment, Run
from tests.runs.launching.storage.saved_weights import es_run

pytestmark = pytest.mark.usefixtures("db", "runs_dir")


@pytest.mark.parametrize(("keep", "steps"), [("last", [4]), ("all", [4, 2]), (None, [4, 2])])
def test_remote_disk_has_what_the_trainer_has_not_deleted(
    experiment: Experiment, keep: str | None, steps: list[int]
) -> None:
    """Runs of earlier versions have no `keep` in their config."""
    cluster = Cluster.objects.create(name="far", kind="slurm", config={"address": "login.example.org"})
    run = es_run(experiment)
    run.attempts.update(cluster=cluster)
    run.config["es"].pop("keep")
    run.config["es"] |= {"keep": keep} if keep else {}
    run.save()

    assert list(checkpoints.by_step(Run.objects.get(pk=run.pk))) == steps
