"""An imported run belongs to no cluster: nothing resumes, rebuilds, restarts, submits, follows or reconciles it."""

from __future__ import annotations

import pytest
from django.db import IntegrityError, transaction

from runs import launching
from runs.ingest import Follower
from runs.launching import rebuilds, reconcile
from runs.models import Attempt, Cluster, Experiment
from tests.cases import each_case
from tests.runs.importing.imported_runs import imported_run


def test_imported_run_cannot_be_resumed(experiment: Experiment) -> None:
    run = imported_run(experiment)
    with pytest.raises(launching.CannotResume, match=r"was imported and is not resumed here; clone it"):
        launching.create_resume_attempt(run)
    assert run.attempts.count() == 1


def test_checkpoints_of_an_import_cannot_be_rebuilt(experiment: Experiment) -> None:
    with pytest.raises(rebuilds.CannotRebuild, match="imported: only the checkpoints that came with it"):
        rebuilds.rebuild_checkpoint(imported_run(experiment), 0, experiment.owner)


def test_imported_run_is_never_restarted(experiment: Experiment) -> None:
    run = imported_run(experiment)
    run.config = {"method": "es", "compute": {"restarts": 5}}
    run.save()
    attempt = run.attempts.get()
    launching.plan_restart(attempt)
    attempt.refresh_from_db()
    assert attempt.restart_at is None


def test_a_tick_and_a_look_pass_it_by(experiment: Experiment, local: Cluster, runs_dir: object) -> None:
    run = imported_run(experiment)
    before = Attempt.objects.filter(run=run).values().get()
    reconcile.reconcile_cluster(local)
    assert Follower().look() == 0
    assert Attempt.objects.filter(run=run).values().get() == before


@each_case("change", [{"state": "running"}, {"drained_at": None}, {"origin": "launch"}])
def test_database_constraint_keeps_imports_ended_without_cluster(
    experiment: Experiment, change: dict[str, object]
) -> None:
    attempts = Attempt.objects.filter(run=imported_run(experiment))
    with pytest.raises(IntegrityError, match="only_attempts_elsewhere_have_no_cluster"), transaction.atomic():
        attempts.update(**change)


def test_only_an_imported_attempt_is_without_a_cluster(experiment: Experiment, local: Cluster) -> None:
    attempts = Attempt.objects.filter(run=imported_run(experiment))
    with pytest.raises(IntegrityError, match="only_attempts_elsewhere_have_no_cluster"), transaction.atomic():
        attempts.update(cluster=local)
