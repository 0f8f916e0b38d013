"""Runs that an earlier version imported are settled by the upgrade: what lacks answers is partial."""

from importlib import import_module

import pytest
from django.db import connection

from runs.models import Import, Run
from tests.runs.attempt_records import answer
from tests.runs.full_runs import record
from tests.runs.importing.imported_runs import imported_run
from workers.records import Metric

pytestmark = pytest.mark.usefixtures("runs_dir")
SETTLE = import_module("runs.migrations.0028_settle_old_imports")


def seed(experiment, answers: int, file: str, total: float | None = None) -> Run:
    """Create a seed of an evaluation as 0.1 stored it: succeeded, regardless of the content of its file."""
    run = imported_run(experiment, "succeeded")
    Import.objects.filter(run=run).update(kind="evaluation", sha256=file * 32, part=0)
    claims = [] if total is None else [Metric(1, {"eval/total_samples": total})]
    record(run, [*(answer(1, f"a{i}", prompt_id=f"p{i}") for i in range(answers)), *claims])
    return run


def settle() -> None:
    with connection.cursor() as cursor:
        cursor.execute(SETTLE.PARTIAL)
        cursor.execute(SETTLE.ENDED_SOMEHOW)
        cursor.execute(SETTLE.UNKNOWN)


@pytest.mark.django_db
def test_seeds_that_lack_answers_become_partial_and_others_stay(ada, experiment):
    cut = [seed(experiment, 4, "aa"), seed(experiment, 3, "aa")]
    claims = [seed(experiment, 2, "bb", total=2.0), seed(experiment, 2, "cc", total=5.0)]
    odd = [seed(experiment, 2, "dd", total=float("inf")), seed(experiment, 0, "aa")]
    settle()
    states = {run.pk: run for run in Run.objects.all()}
    assert [states[run.pk].state for run in (*cut, *claims, *odd)] == [
        "succeeded", "partial", "succeeded", "partial", "succeeded", "succeeded",
    ]  # fmt: skip
    reasons = [run.attempts.get().reason for run in (cut[1], claims[1])]
    assert reasons == ["3 of 4 answers are in the file", "2 of 5 answers are in the file"]
    assert {run.attempts.get().state for run in (cut[1], claims[1])} == {"partial"}
    settle()
    assert [run.state for run in Run.objects.order_by("pk")] == [states[pk].state for pk in sorted(states)]


@pytest.mark.django_db
def test_event_files_are_no_lost_jobs(experiment):
    events, log = imported_run(experiment, "lost"), imported_run(experiment, "lost")
    Import.objects.filter(run=events).update(kind="TensorBoard events")
    settle()
    assert [(run.attempts.get().state, Run.objects.get(pk=run.pk).state) for run in (events, log)] == [
        ("unknown", "unknown"), ("lost", "lost"),
    ]  # fmt: skip


@pytest.mark.django_db
def test_missing_method_becomes_unknown_for_imports_only(experiment):
    run = imported_run(experiment)
    Run.objects.filter(pk=run.pk).update(method="other", config={"method": "other", "seed": 1})
    settle()
    run.refresh_from_db()
    assert (run.method, run.config) == ("unknown", {"method": "unknown", "seed": 1})
