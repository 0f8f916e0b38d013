"""Imported runs are stored once: a repeat creates nothing, and a file that has grown replaces the old run."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from django.contrib.auth.models import User
from django.db import connection

from runs import importing, metrics
from runs.experiments import trash
from runs.importing import ImportTarget
from runs.launching import commands
from runs.models import Attempt, Batch, Experiment, Run
from tests.cases import each_case
from tests.runs.importing.event_file_writer import event, scalar, write
from tests.runs.importing.sample_logs import ENDED, HEADER, iteration
from workers.config import ConfigError, RunConfig

pytestmark = pytest.mark.usefixtures("runs_dir")


def log(seed: int = 0, steps: tuple[int, ...] = (1, 2, 3, 4), end: str = ENDED) -> str:
    return HEADER.format(seed=seed) + "".join(map(iteration, steps)) + end


def bring_in(path: Path, person: User, name: str = "Imported", **options):
    with ExitStack() as keep:
        return importing.import_runs(importing.files_from_path(path, keep), ImportTarget(person, name, **options))


def curve(run: Run, key: str = "train/reward/mean"):
    return metrics.read([run], [key])[0]


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "es" / "a.log"
    path.parent.mkdir()
    path.write_text(log())
    return path


def test_imported_run_has_settings_events_and_log(ada, file):
    imported = bring_in(file, ada)
    (run,) = imported.new_runs
    attempt = run.attempts.get()
    assert (run.name, run.method, run.seed, run.state) == ("es α0.0005 σ0.001 seed 0", "es", 0, "succeeded")
    assert (run.experiment.name, run.experiment.owner, run.created_by) == ("Imported", ada, ada)
    assert (attempt.cluster, attempt.origin, attempt.seconds, attempt.reason) == (None, "import", 12.5, "")
    assert attempt.events.get().why == "imported from a.log: 4 records"
    assert (run.note, run.preset) == ("Imported from a.log.", "α0.0005 σ0.001")
    assert (attempt.directory / "log.txt").read_text() == file.read_text()
    np.testing.assert_array_equal(curve(run).x, [1, 2, 3, 4])
    assert imported.sentence == "1 new run in Imported."


def test_repeated_import_creates_nothing_and_reports_it(ada, file, tmp_path):
    (run,) = bring_in(file, ada, is_default=True).new_runs
    copy = tmp_path / "other.txt"
    copy.write_text(file.read_text())
    again = bring_in(copy, ada, "Other", is_default=True)
    assert (again.new_runs, again.known_runs, Run.objects.count(), Experiment.objects.count()) == ([], [run], 1, 1)
    assert again.sentence == "0 new runs; 1 run already imported."


def test_another_experiment_that_is_named_gets_its_own(ada, file):
    bring_in(file, ada, "One")
    assert len(bring_in(file, ada, "Two").new_runs) == 1
    assert bring_in(file, ada, "Two").new_runs == []


def test_import_of_another_user_is_separate(ada, bo, file):
    bring_in(file, ada)
    assert len(bring_in(file, bo, is_default=True).new_runs) == 1


def test_deleted_run_can_be_imported_again(ada, file):
    (run,) = bring_in(file, ada).new_runs
    trash.delete_run(run, ada)
    (anew,) = bring_in(file, ada).new_runs
    assert anew != run
    trash.delete_experiment(anew.experiment, ada)
    assert bring_in(file, ada).experiment != anew.experiment


def test_grown_log_replaces_its_earlier_run(ada, file):
    file.write_text(log(steps=(1, 2), end="") + "Iteration 3/4, Ti")
    (run,) = bring_in(file, ada).new_runs
    assert (run.state, len(curve(run).y)) == ("lost", 2)
    Run.objects.filter(pk=run.pk).update(note="mine", tags=["good"])
    file.write_text(log())
    imported = bring_in(file, ada)
    assert (imported.new_runs, imported.continued_runs, Run.objects.count()) == ([], [run], 1)
    run.refresh_from_db()
    assert (run.state, run.note, run.tags, len(curve(run).y)) == ("succeeded", "mine", ["good"], 4)
    assert run.series.get(key="train/reward/mean").points == 4
    assert imported.sentence == "0 new runs; 1 run continued."
    assert bring_in(file, ada).known_runs == [run]


@each_case("order", list(permutations(("failed-1", "failed-2", "seed-0"))))
def test_jobs_with_a_common_prefix_stay_separate_in_any_order(ada, tmp_path, order):
    failure = "Traceback (most recent call last):\nRuntimeError: no device\n"
    texts = {"failed-1": failure, "failed-2": failure} | {f"seed-{n}": failure + log(n, (1, 2)) for n in (0, 1)}
    (tmp_path / "logs").mkdir()
    for name in (*order, "seed-1"):
        (tmp_path / "logs" / f"{name}.log").write_text(texts[name])
        imported = bring_in(tmp_path / "logs" / f"{name}.log", ada)
        assert (len(imported.new_runs), imported.continued_runs, imported.known_runs) == (1, [], [])
    before = list(Run.objects.order_by("pk").values_list())
    assert sorted(Run.objects.values_list("state", "seed")) == [
        ("failed", -1), ("failed", -1), ("succeeded", 0), ("succeeded", 1),
    ]  # fmt: skip
    again = bring_in(tmp_path / "logs", ada)
    assert (again.new_runs, again.continued_runs, len(again.known_runs)) == ([], [], 4)
    assert list(Run.objects.order_by("pk").values_list()) == before


def test_logs_of_unknown_seeds_grow_only_under_their_own_name(ada, tmp_path):
    texts = {"a": "".join(map(iteration, (1, 2))), "b": "".join(map(iteration, (1, 2, 3)))}
    for name, text in texts.items():
        (tmp_path / f"{name}.log").write_text(text)
        assert len(bring_in(tmp_path / f"{name}.log", ada).new_runs) == 1
    (tmp_path / "a.log").write_text(texts["b"] + iteration(4))
    assert len(bring_in(tmp_path / "a.log", ada).continued_runs) == 1
    assert list(Run.objects.values_list("seed", flat=True)) == [-1, -1]


def test_later_states_of_one_trainer_are_one_run(ada, tmp_path):
    entries = [f'{{"loss": {i}.0, "step": {i}}}' for i in range(1, 5)]
    for step in (2, 4):
        folder = tmp_path / "out" / f"checkpoint-{step}"
        folder.mkdir(parents=True)
        (folder / "trainer_state.json").write_text(f'{{"log_history": [{", ".join(entries[:step])}], "max_steps": 4}}')
    imported = bring_in(tmp_path / "out", ada)
    (run,) = imported.new_runs
    assert imported.continued_runs == [run]
    assert list(curve(run, "train/loss").y) == [1.0, 2.0, 3.0, 4.0]


def test_event_files_of_a_folder_are_one_growing_run(ada, tmp_path):
    write(tmp_path / "tb" / "events.1", event(1, scalar("a", 1.0)))
    (run,) = bring_in(tmp_path / "tb", ada).new_runs
    write(tmp_path / "tb" / "events.2", event(2, scalar("a", 2.0), at=1_700_000_500.0))
    assert bring_in(tmp_path / "tb", ada).continued_runs == [run]
    assert list(curve(run, "a").y) == [1.0, 2.0]


def test_a_restart_in_the_log_greys_what_it_went_over(ada, file):
    file.write_text(HEADER.format(seed=0) + "".join(map(iteration, (1, 2, 3, 2, 3, 4))) + ENDED)
    (run,) = bring_in(file, ada).new_runs
    assert list(curve(run).overwritten) == [False, True, True, False, False, False]


def test_file_of_several_runs_creates_each_run_once(ada, file):
    file.write_text(log(0) + log(1))
    first, second = bring_in(file, ada).new_runs
    assert (first.seed, second.seed) == (0, 1)
    trash.delete_run(first, ada)
    again = bring_in(file, ada)
    assert (len(again.new_runs), again.known_runs) == (1, [second])


def test_unreadable_line_is_reported_in_result_and_events(ada, file):
    file.write_text(iteration(1) + "Iteration 2/4, Time: ##\n" + iteration(3))
    imported = bring_in(file, ada)
    (run,) = imported.new_runs
    reason = "iteration 2 has no readable number"
    assert importing.ImportedOut.from_row(imported).model_dump()["files"][0]["not_understood"] == [
        {"place": "line 2", "why": reason}
    ]
    assert run.attempts.get().events.filter(level="warning").get().why == f"a.log, line 2: {reason}"


def test_a_file_without_anything_is_named_and_makes_no_experiment(ada, tmp_path):
    (tmp_path / "notes.md").write_text("# Notes\n")
    imported = bring_in(tmp_path / "notes.md", ada)
    assert (imported.experiment, Experiment.objects.count()) == (None, 0)
    assert imported.refused[0].reason.startswith("contains nothing of a supported kind (ES and TRL logs")


def test_a_config_that_was_imported_is_launched_by_nobody_by_mistake(ada, local, file):
    (run,) = bring_in(file, ada).new_runs
    with pytest.raises(ConfigError, match="imported: is not a known key"):
        commands.launch_run(experiment=run.experiment, person=ada, config=RunConfig.from_json(run.config))
    assert Attempt.objects.count() == 1


def test_more_records_than_a_batch_holds_are_all_there(ada, file, monkeypatch):
    monkeypatch.setattr("runs.importing.store.BATCH_SIZE", 20)
    file.write_text("".join(iteration(i, 50) for i in range(1, 51)))
    (run,) = bring_in(file, ada).new_runs
    np.testing.assert_array_equal(curve(run).x, np.arange(1, 51))
    assert Batch.objects.filter(run=run).count() == 3
    assert run.state == "succeeded"


@pytest.mark.django_db(transaction=True)
def test_concurrent_imports_of_one_file_create_it_once(file):
    person, counts = User.objects.create(username="ada"), []

    def once() -> None:
        try:
            counts.append(len(bring_in(file, person).new_runs))
        finally:
            connection.close()

    threads = [threading.Thread(target=once) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(counts) == [0, 0, 1]
    assert Run.objects.count() == 1
