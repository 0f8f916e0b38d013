"""Values that tables sort and filter by are stored with the runs. They equal the computed ones after every writer."""

from datetime import timedelta
from importlib import import_module

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.db.models import Max
from django.utils import timezone

from runs import ingest, launching
from runs.experiments.trash import archive, commands, delete_run, restore
from runs.ingest import compaction, delete_records, tasks
from runs.launching import transition
from runs.models import Attempt, Batch, Cluster, Knob, Run, Series
from runs.models.trash import DAYS_IN_BIN
from tests.runs.api_client import calls
from tests.runs.attempt_records import metrics
from tests.runs.full_runs import a_bit_of_everything, evaluation, make_run, record
from tests.runs.importing.sample_logs import ENDED, HEADER, iteration
from workers.config import RunConfig, preset
from workers.executors.states import State

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("runs_dir")]
CUT = 200
FILL = import_module("runs.migrations.0011_knobs").FILL


def flat(config, path=()):
    """Return (dotted path, value) of the stored values of a config."""
    for name, value in config.items():
        key = ".".join((*path, name))
        if value is None or "." in name or len(key) > CUT:
            continue
        if isinstance(value, dict):
            yield from flat(value, (*path, name))
        if path or not isinstance(value, dict):
            yield key, value[:CUT] if isinstance(value, str) else value


def check():
    """Compare every stored value with the rows that it summarises."""
    for run in Run.objects.all():
        assert dict(run.knobs.values_list("key", "value")) == dict(flat(run.config))
        spans = run.attempts.filter(started_at__isnull=False, ended_at__isnull=False)
        assert run.time_taken == sum((a.ended_at - a.started_at for a in spans), timedelta())
        if not run.batches.exists():
            assert run.last_step == (run.series.aggregate(newest=Max("last_step"))["newest"] or 0)
    assert set(Knob.objects.values_list("run", flat=True)) <= set(Run.objects.values_list("pk", flat=True))


def launched(experiment, ada, name="es-tiny"):
    Cluster.objects.get_or_create(name="local", defaults={"kind": "local"})
    return launching.create_run(
        experiment=experiment, person=ada, config=RunConfig.from_json(preset(name).config), preset=name
    )


def test_columns_follow_launch_end_and_resume(ada, experiment):
    run = launched(experiment, ada)
    check()
    for _ in range(2):
        attempt = run.newest_attempt()
        started = timezone.now() - timedelta(days=2, hours=3)
        transition(attempt, State.RUNNING, "", started_at=started)
        check()
        transition(attempt, State.INTERRUPTED, "the machine went down")
        check()
        run.refresh_from_db()
        launching.new_attempt(run)
    assert run.time_taken > timedelta(days=4)
    assert {config_value.key: config_value.value for config_value in run.knobs.all()}["es.sigma"] == run.config["es"][
        "sigma"
    ]


def test_points_that_are_compacted_and_those_that_come_late(experiment):
    run = make_run(experiment)
    record(run, [evaluation(step, -40.0) for step in (0, 7)])
    check()
    ingest.compact(run.pk)
    check()
    assert Run.objects.get().last_step == 7
    record(run, [evaluation(9, -39.0)])
    ingest.compact(run.pk)
    check()
    assert Run.objects.get().last_step == 9


def test_compaction_with_remaining_batches_reports_nothing(experiment, monkeypatch):
    run = make_run(experiment)
    monkeypatch.setattr(compaction, "BATCHES_PER_TRANSACTION", 2)
    for first in range(0, 30, 10):
        ingest.ingest(run.newest_attempt(), 0, metrics(10, first))
    ingest.compact(run.pk)
    assert (Batch.objects.count(), Run.objects.get().last_step) == (1, 0)
    ingest.compact(run.pk)
    check()
    assert Run.objects.get().last_step == 29


def test_files_that_are_imported(ada):
    for seed, iterations in enumerate((4, 3)):
        log = HEADER.format(seed=seed) + "".join(map(iteration, range(1, iterations + 1))) + ENDED
        answer = calls(ada).post("/api/v1/imports", {"files": [SimpleUploadedFile("a.log", log.encode())]})
        assert answer.status_code == 200
        check()
        tasks.compact_series()
        check()
    assert sorted(Run.objects.values_list("last_step", flat=True)) == [3, 4]


def test_runs_that_are_archived_deleted_restored_and_purged(ada, experiment):
    runs = [make_run(experiment, seed=seed, state="succeeded") for seed in range(2)]
    for run in runs:
        record(run, a_bit_of_everything())
        ingest.compact(run.pk)
    for act in (archive, delete_run):
        act(runs[0], ada)
        check()
    restore(runs[0])
    check()
    Run.objects.filter(pk=runs[0].pk).update(deleted_at=timezone.now() - timedelta(days=DAYS_IN_BIN + 1))
    commands.purge_run(Run.objects.get(pk=runs[0].pk))
    check()
    assert set(Knob.objects.values_list("run", flat=True)) == {runs[1].pk}


def test_stored_columns_follow_recording_and_forgetting(experiment):
    run = make_run(experiment, state="succeeded")
    record(run, a_bit_of_everything())
    ingest.compact(run.pk)
    run.attempts.update(started_at=timezone.now() - timedelta(hours=1), ended_at=timezone.now())
    check()
    delete_records(run)
    check()
    assert not Series.objects.exists()


def test_configs_that_are_odd_or_written_together(experiment, ada):
    odd = {
        "imported": {"a.b": 1, "": 2, "long": "é" * 300, "deep": {"er": {"": [1, "x"]}}, "null": None, "k" * 250: 1},
        "task": {"options": {"n": 10**30, "yes": True, "list": []}}, "one": 1, "name.with": {"dot": 1},
    }  # fmt: skip
    runs = Run.objects.bulk_create(
        Run(experiment=experiment, name="x", method="es", seed=0, config=config, created_by=ada)
        for config in (odd, {}, {"es": {"sigma": 0.1}})
    )
    check()
    Run.objects.filter(pk=runs[1].pk).update(config={"es": {"sigma": 0.2}})
    runs[2].config = odd
    runs[2].save(update_fields=["config"])
    check()


def test_attempts_that_are_written_together(experiment):
    run, now = make_run(experiment), timezone.now()
    run.attempts.update(state="failed")
    cluster = run.attempts.get().cluster
    Attempt.objects.bulk_create(
        Attempt(
            run=run, n=n, key=f"x{n}", cluster=cluster, state="failed", started_at=now, ended_at=now + timedelta(0, n)
        )
        for n in (2, 3)
    )
    check()
    run.attempts.filter(n=2).delete()
    check()
    assert Run.objects.get().time_taken == timedelta(seconds=3)


def test_migration_fills_in_values_of_earlier_rows(experiment):
    run = make_run(experiment, state="succeeded")
    record(run, a_bit_of_everything())
    run.attempts.update(started_at=timezone.now() - timedelta(hours=1), ended_at=timezone.now())
    ingest.compact(run.pk)
    Knob.objects.all().delete()
    Run.objects.update(last_step=0, time_taken=timedelta(0))
    with connection.cursor() as cursor:
        cursor.execute(FILL)
    check()
    assert Run.objects.get().time_taken > timedelta(minutes=59)
    assert Knob.objects.filter(run=run, key="es.sigma").exists()
